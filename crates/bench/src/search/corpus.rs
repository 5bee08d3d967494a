//! The documents: raw for the peer, segments for us.
//!
//! Real rows come first, then mixtures of two: row `i` of the real ones and another, `j`, give `(1 - a) i + a j`, with
//! `j` and `a` (between 0.05 and 0.35) drawn from the document's number. So each real document gets a neighbourhood
//! of variants, and the shares of leaves stay as diffuse or as sharp as the tree made them.

use anyhow::Result;
use rayon::prelude::*;
use retreever_index::Shape;
use retreever_index::segment::{Durability, Input, Segment, build};
use retreever_tree::{Assignments, Depth, Level, Nesting, Routing};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Documents made, written and indexed in one go.
const PART: usize = 100_000;

pub(super) struct Corpus {
    /// What the rows are.
    name: String,
    /// The documents, raw.
    pub(super) documents: PathBuf,
    /// The queries, raw.
    pub(super) queries: PathBuf,
    segments: Vec<Segment>,
    pub(super) count: usize,
    pub(super) depth: Depth,
    pub(super) build_seconds: f64,
}

impl Corpus {
    pub(super) fn make(
        dir: &Path,
        name: String,
        base: &Assignments,
        queries: &Assignments,
        count: usize,
    ) -> Result<Self> {
        let depth = base.depth();
        let (shape, routing) = (Shape { depth, nesting: Nesting::Nested }, Routing::same());
        let (documents, asked) = (dir.join("documents.f32"), dir.join("queries.f32"));
        write(&mut File::create(&asked)?, queries.as_slice())?;
        let mut raw = BufWriter::new(File::create(&documents)?);
        let mut build_seconds = 0.0;
        let mut segments = Vec::new();
        for from in (0..count).step_by(PART) {
            let to = (from + PART).min(count);
            let rows: Vec<f32> = (from..to).into_par_iter().flat_map_iter(|item| mixed(base, item)).collect();
            write(&mut raw, &rows)?;
            let sequence: Vec<u64> = (from as u64..to as u64).collect();
            let path = dir.join(format!("{from}.segment"));
            let start = Instant::now();
            build(
                &path,
                Input { shape, routing: &routing, rows: &rows, sequence: &sequence },
                Durability::Written,
            )?;
            build_seconds += start.elapsed().as_secs_f64();
            segments.push(Segment::open(&path)?);
            eprintln!("{to} documents");
        }
        raw.flush()?;
        Ok(Self { name, documents, queries: asked, segments, count, depth, build_seconds })
    }

    pub(super) fn segments(&self) -> Vec<&Segment> {
        self.segments.iter().collect()
    }

    pub(super) fn level(&self) -> Level {
        self.depth.leaf_level()
    }

    pub(super) fn case(&self, what: &str) -> String {
        format!("{}, {} documents, {what}", self.name, self.count)
    }
}

fn write(out: &mut impl Write, rows: &[f32]) -> Result<()> {
    for part in rows.chunks(1 << 16) {
        let bytes: Vec<u8> = part.iter().flat_map(|p| p.to_le_bytes()).collect();
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Document `item`: one of the rows while they last, then mixtures of two.
fn mixed(base: &Assignments, item: usize) -> Vec<f32> {
    let row = base.row(item % base.len()).as_slice();
    if item < base.len() {
        return row.to_vec();
    }
    let mut random = fastrand::Rng::with_seed(item as u64);
    let other = base.row(random.usize(0..base.len())).as_slice();
    let share = 0.05 + 0.3 * random.f32();
    row.iter().zip(other).map(|(p, q)| (1.0 - share) * p + share * q).collect()
}
