//! What an index costs to keep: building, memory, opening.

use super::corpus::Corpus;
use super::faiss::Peer;
use crate::measurement::{Measurement, Unit, median, times};
use anyhow::{Result, ensure};
use retreever_index::{Document, Index, Query, Shape};
use retreever_tree::{Assignments, Nesting, Routing};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Documents added to the index in one go.
const PART: usize = 50_000;

/// `agreed`: whether what was built has answered as the peer did, in this run.
pub(super) fn build(corpus: &Corpus, peer: &str, theirs: f64, agreed: bool) {
    Measurement::new("search", corpus.case("build"), peer, Unit::Milliseconds)
        .figures(corpus.build_seconds * 1e3, theirs * 1e3)
        .checked(agreed)
        .with("documents_per_second", corpus.count as f64 / corpus.build_seconds)
        .print();
}

/// What is in memory after the searches, by the system's account of the mapped files.
pub(super) fn memory(corpus: &Corpus, theirs: f64, agreed: bool) {
    let Ok(maps) = fs::read_to_string("/proc/self/smaps") else { return };
    let mut inside = false;
    let mut resident = 0.0;
    for line in maps.lines() {
        if line.contains(".segment") {
            inside = true;
        } else if let Some(rest) = line.strip_prefix("Rss:").filter(|_| inside) {
            resident += rest.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) * 1024.0;
            inside = false;
        }
    }
    let count = corpus.count as f64;
    let segments = corpus.segments();
    let disk: u64 = segments.iter().filter_map(|s| fs::metadata(s.path()).ok()).map(|m| m.len()).sum();
    let case = corpus.case("resident bytes a document");
    Measurement::new("search", case, "faiss IndexFlat L1", Unit::Bytes)
        .figures(resident / count, theirs / count)
        .checked(agreed)
        .with("disk_bytes_a_document", disk as f64 / count)
        .print();
}

/// Opening a whole index, documents and all, until it can be searched, beside reading an IndexFlat.
pub(super) fn open(corpus: Corpus, dir: &Path, mut peer: Peer) -> Result<()> {
    let theirs = peer.reopen("flat", &dir.join("flat.faiss"))?;
    drop(peer);
    fs::remove_file(dir.join("flat.faiss"))?;
    for segment in corpus.segments() {
        fs::remove_file(segment.path())?;
    }
    let home = dir.join("index");
    let query = fill(&corpus, &home)?;
    let mut outcome = Ok(());
    let attempt = || -> Result<()> {
        let snapshot = Index::open(&home)?.snapshot()?;
        ensure!(snapshot.len() == corpus.count, "{} documents", snapshot.len());
        Ok(())
    };
    let each = times(5, || outcome = attempt());
    outcome?;
    let answer = Index::open(&home)?.snapshot()?.search(&Query::new(query.row(0), 1))?;
    Measurement::new("search", corpus.case("open"), "faiss read_index IndexFlat", Unit::Milliseconds)
        .figures(median(&each) * 1e3, theirs.seconds * 1e3)
        .checked(answer.hits.first().is_some_and(|hit| hit.score > 1.0 - 1e-6))
        .print();
    Ok(())
}

/// An index of the raw documents; returns the first of them.
fn fill(corpus: &Corpus, home: &Path) -> Result<Assignments> {
    let depth = corpus.depth;
    let mut writer =
        Index::create(home, Shape { depth, nesting: Nesting::Nested }, Routing::same())?.writer()?;
    let mut raw = File::open(&corpus.documents)?;
    let mut first = None;
    for from in (0..corpus.count).step_by(PART) {
        let to = (from + PART).min(corpus.count);
        let mut bytes = vec![0; 4 * (to - from) * depth.leaves()];
        raw.read_exact(&mut bytes)?;
        let rows: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        drop(bytes);
        if first.is_none() {
            first = Some(Assignments::nested(depth, rows[..depth.leaves()].to_vec())?);
        }
        let documents: Vec<Document> =
            (from..to).map(|item| Document::new(format!("d{item}"), format!("document {item}"))).collect();
        writer.add(&documents, &Assignments::nested(depth, rows)?)?;
    }
    writer.commit()?;
    first.ok_or_else(|| anyhow::anyhow!("no documents"))
}
