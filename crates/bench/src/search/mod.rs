//! `retreever-bench search`: nearest assignments beside FAISS (IndexFlat, HNSW and IVFFlat with METRIC_L1), on the
//! same vectors, one and two threads, single queries and batches of 64.
//!
//! `items` says where rows come from, `corpus` how they are enlarged and indexed, `faiss` speaks to the peer;
//! the other files hold the cases. Every exact answer is compared with FAISS's: at each rank the distances agree to
//! 1e-5, so documents differ only where rounding cannot tell them apart.

mod approximate;
mod corpus;
mod exact;
mod faiss;
mod items;
mod keeping;

use anyhow::{Context, Result};
use corpus::Corpus;
use faiss::Peer;
use retreever_tree::Assignments;
use std::fs;
use std::path::PathBuf;

/// How many documents a query finds.
const K: usize = 10;
/// Queries of a batch.
const BATCH: usize = 64;

/// What is searched.
#[derive(clap::Args)]
pub struct Args {
    /// How many documents.
    #[arg(long, default_value_t = 100_000)]
    documents: usize,
    #[command(flatten)]
    source: items::Source,
    /// Also measure HNSW and IVFFlat, whose building takes minutes.
    #[arg(long)]
    graphs: bool,
    /// Where files go meanwhile; without it, the cache directory. One in memory shows what building takes without the disk.
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// Runs all cases.
pub fn run(args: &Args) -> Result<()> {
    let home = args.dir.clone().unwrap_or_else(retreever_fetch::cache_dir);
    fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
    let dir = tempfile::Builder::new().prefix("search-").tempdir_in(home)?;
    let (base, queries) = args.source.open()?;
    let corpus = Corpus::make(dir.path(), args.source.to_string(), &base, &queries, args.documents)?;
    let mut peer = Peer::start(&corpus)?;
    let flat = peer.build("flat")?;
    let agreed = exact::cases(&corpus, &queries, &mut peer)?;
    keeping::build(&corpus, "faiss IndexFlat L1", flat.seconds, agreed);
    keeping::memory(&corpus, flat.bytes, agreed);
    let truth = truth(&corpus, &queries)?;
    let quick = approximate::cases(&corpus, &queries, &truth, &mut peer)?;
    if args.graphs {
        for (kind, name) in [("hnsw", "faiss HNSW32 L1"), ("ivf", "faiss IVFFlat L1")] {
            let built = peer.build(kind)?;
            keeping::build(&corpus, name, built.seconds, agreed);
            approximate::graph(&corpus, (kind, name, built.bytes), &truth, quick, &mut peer)?;
        }
    }
    keeping::open(corpus, dir.path(), peer)
}

/// The exact answers that approximate ones are held against: ours, which [`exact::cases`] compares with the peer's.
fn truth(corpus: &Corpus, queries: &Assignments) -> Result<Vec<Vec<u64>>> {
    let rows: Vec<_> = queries.iter().collect();
    let hits = retreever_index::search::rows::exact(&corpus.segments(), &rows, corpus.level(), K)?;
    Ok(hits.into_iter().map(|hits| hits.iter().map(|hit| hit.sequence).collect()).collect())
}
