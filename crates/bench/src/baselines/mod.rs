//! The retrievers that the tree is compared with, all over the same embeddings.
//!
//! A [`Searcher`] holds documents as rows of one matrix and ranks them for a batch of queries, within a
//! [`Budget`] of what it may read. [`measure`] adds the time. The adapters that are trained (linear, MLP, nested
//! sizes) are not here: they change the embeddings, and any searcher here then ranks them.

mod anisotropic;
mod bm25;
mod flat;
mod gmm;
mod hierarchy;
mod hnsw;
mod ivf;
mod kmeans;
mod lists;
mod matrix;
mod pca;
mod raptor;
mod scann;
mod summary;
mod tree_search;

#[cfg(test)]
mod conformance;

pub use bm25::Bm25;
pub use flat::Flat;
pub use gmm::{Gmm, GmmConfig};
pub use hierarchy::{Bisection, Hierarchy, HierarchyConfig};
pub use hnsw::{Hnsw, HnswConfig};
pub use ivf::{Ivf, IvfConfig};
pub use kmeans::{KMeans, KMeansConfig};
pub use matrix::{Rows, normalise};
pub use raptor::{Raptor, RaptorConfig, Texts};
pub use scann::{Scann, ScannConfig};
pub use summary::{Endpoint, Summariser};
pub use tree_search::TreeSearch;

use std::time::{Duration, Instant};

/// How much of the corpus a search may read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// All of it: an exact searcher is then exact.
    Everything,
    /// About this share, from 0 to 1: the nearest parts are opened until it is reached.
    Share(f64),
    /// This many parts: leaves, inverted lists, or for a graph the candidates it keeps.
    Parts(usize),
}

/// A document and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Row of the document.
    pub doc: u32,
    /// Higher is better.
    pub score: f32,
}

impl Hit {
    /// Best first; of two equal scores the earlier document.
    pub fn by_rank(a: &Self, b: &Self) -> std::cmp::Ordering {
        b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc))
    }
}

/// What a search found for one query, and what it read to find it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// Best first, at most as many as were asked for.
    pub hits: Vec<Hit>,
    /// How many documents were scored.
    pub read: usize,
}

impl Ranking {
    /// The best `k` of these candidates; `read` is their number.
    pub fn best(mut candidates: Vec<Hit>, k: usize) -> Self {
        let read = candidates.len();
        keep_best(&mut candidates, k);
        Self { hits: candidates, read }
    }
}

/// Leaves the best `k` hits, in order.
pub(crate) fn keep_best(hits: &mut Vec<Hit>, k: usize) {
    if k < hits.len() {
        if k > 0 {
            hits.select_nth_unstable_by(k - 1, Hit::by_rank);
        }
        hits.truncate(k);
    }
    hits.sort_unstable_by(Hit::by_rank);
}

/// Ranks documents for queries of the same width by inner product, which is the cosine for rows of length 1.
///
/// Contract: rankings come in the order of the queries; hits are distinct, best first, and at most `k`; the same
/// call gives the same answer on any number of threads; a larger budget never reads less. With
/// [`Budget::Everything`] the hits are those of [`Flat`], except for [`Raptor`], whose summaries lift documents.
pub trait Searcher: Sync {
    /// How many documents there are.
    fn len(&self) -> usize;

    /// Whether there are no documents.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ranks the documents for each row of `queries`.
    ///
    /// # Panics
    /// If the queries have another width than the documents.
    fn search(&self, queries: Rows<'_>, k: usize, budget: Budget) -> Vec<Ranking>;
}

/// Rankings with what they cost.
#[derive(Clone, Debug)]
pub struct Measured {
    /// One ranking a query.
    pub rankings: Vec<Ranking>,
    /// The share of the corpus that the average query read.
    pub share_read: f64,
    /// Wall time of the whole batch on all threads, per query.
    pub batched: Duration,
    /// Median wall time of single queries, one after another.
    pub single: Duration,
}

/// How many queries are timed one by one.
const SINGLES: usize = 64;

/// Searches all queries in one batch, then some of them alone, and takes the time of both.
pub fn measure(searcher: &dyn Searcher, queries: Rows<'_>, k: usize, budget: Budget) -> Measured {
    measure_search(searcher.len(), queries, &|queries| searcher.search(queries, k, budget))
}

/// The same of any search among so many documents.
pub fn measure_search(
    documents: usize,
    queries: Rows<'_>,
    search: &dyn Fn(Rows<'_>) -> Vec<Ranking>,
) -> Measured {
    let (rankings, batched) = timed(|| search(queries));
    let single = median_time(queries.len(), |query| {
        search(queries.slice(query..query + 1));
    });
    let share_read = share_read(&rankings, documents);
    Measured { rankings, share_read, batched: batched / queries.len().max(1) as u32, single }
}

/// The share of `documents` that the average ranking read.
pub fn share_read(rankings: &[Ranking], documents: usize) -> f64 {
    let read: usize = rankings.iter().map(|ranking| ranking.read).sum();
    read as f64 / (rankings.len() * documents).max(1) as f64
}

/// The result of `work` and how long it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// The median time of `search` over some of `queries` queries, evenly spread.
pub fn median_time(queries: usize, mut search: impl FnMut(usize)) -> Duration {
    let step = queries.div_ceil(SINGLES).max(1);
    let mut times: Vec<Duration> =
        (0..queries).step_by(step).map(|query| timed(|| search(query)).1).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
