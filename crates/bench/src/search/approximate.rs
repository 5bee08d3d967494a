//! The approximate cases: the least effort that finds 99 % of the exact answer, beside IndexFlat, HNSW and IVFFlat.

use super::K;
use super::corpus::Corpus;
use super::faiss::Peer;
use crate::measurement::{Measurement, Unit, median, times};
use anyhow::Result;
use retreever_index::search::rows::approximate;
use retreever_tree::Assignments;

/// Documents that our mode may score before it counts as failed.
const EFFORTS: [usize; 8] = [50, 100, 200, 500, 1000, 2000, 5000, 10_000];
/// `efSearch` of HNSW, `nprobe` of IVFFlat.
const THEIR_EFFORTS: [usize; 10] = [12, 16, 24, 32, 64, 96, 128, 256, 512, 1024];
/// What an approximate mode must find of the exact answer.
const RECALL: f64 = 0.99;

fn recall(found: &[Vec<u64>], truth: &[Vec<u64>]) -> f64 {
    let hits: usize = found
        .iter()
        .zip(truth)
        .map(|(found, truth)| found.iter().filter(|id| truth.contains(id)).count())
        .sum();
    hits as f64 / truth.iter().map(Vec::len).sum::<usize>() as f64
}

/// The cheapest effort with enough recall; returns its time with one thread.
pub(super) fn cases(
    corpus: &Corpus,
    queries: &Assignments,
    truth: &[Vec<u64>],
    peer: &mut Peer,
) -> Result<f64> {
    let segments = corpus.segments();
    let mut quick = f64::NAN;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        for rerank in EFFORTS {
            let (mut found, mut each) = (Vec::new(), Vec::new());
            for query in queries.iter() {
                let mut outcome = Ok(Vec::new());
                each.extend(times(1, || {
                    outcome = pool.install(|| approximate(&segments, query, corpus.level(), (rerank, K)));
                }));
                found.push(outcome?.iter().map(|hit| hit.sequence).collect::<Vec<u64>>());
            }
            let recall = recall(&found, truth);
            if recall < RECALL {
                continue;
            }
            let (ours, theirs) = (median(&each), peer.search("flat", (threads, 1), 8, 0)?);
            if threads == 1 {
                quick = ours;
            }
            let case = corpus.case(&format!("single, approximate, {threads} threads"));
            Measurement::new("search", case, "faiss IndexFlat L1", Unit::Milliseconds)
                .figures(ours * 1e3, theirs.seconds * 1e3)
                .checked(true)
                .with("recall", recall)
                .with("rerank", rerank as f64)
                .print();
            break;
        }
    }
    Ok(quick)
}

/// A graph or inverted lists of the peer at enough recall, beside our approximate mode.
pub(super) fn graph(
    corpus: &Corpus,
    (kind, name, bytes): (&str, &str, f64),
    truth: &[Vec<u64>],
    quick: f64,
    peer: &mut Peer,
) -> Result<()> {
    for effort in THEIR_EFFORTS {
        let found = peer.search(kind, (1, 1), truth.len(), effort)?;
        let recall = recall(&found.ids, truth);
        if recall >= RECALL || Some(&effort) == THEIR_EFFORTS.last() {
            let case = corpus.case("single, approximate, 1 threads");
            Measurement::new("search", case, name, Unit::Milliseconds)
                .figures(quick * 1e3, found.seconds * 1e3)
                .checked(recall >= RECALL)
                .with("their_recall", recall)
                .with("their_effort", effort as f64)
                .with("their_bytes_a_document", bytes / corpus.count as f64)
                .print();
            break;
        }
    }
    Ok(())
}
