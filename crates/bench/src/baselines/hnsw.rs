//! HNSW, a navigable graph of neighbours in layers (Malkov and Yashunin 2016), by the crate `hnsw_rs`.
//!
//! Insertion is sequential: the crate draws layers from a fixed seed, so that only the order could differ.
//! What was read is counted in the distance function itself.

use super::matrix::{Rows, dot};
use super::{Budget, Hit, Ranking, Searcher, keep_best};
use hnsw_rs::prelude::{Distance, Hnsw as Graph};
use rayon::prelude::*;
use std::cell::Cell;

/// How the graph is built.
#[derive(Clone, Copy, Debug)]
pub struct HnswConfig {
    /// Links of a document on each layer (`M`).
    pub links: usize,
    /// Candidates that are kept while inserting (`ef_construction`).
    pub effort: usize,
}

impl Default for HnswConfig {
    fn default() -> Self {
        Self { links: 24, effort: 200 }
    }
}

thread_local! {
    static DISTANCES: Cell<usize> = const { Cell::new(0) };
}

/// `1 - cosine` for rows of length 1; counts how often it is asked.
#[derive(Clone, Copy, Default)]
struct CountedCosine;

impl Distance<f32> for CountedCosine {
    fn eval(&self, a: &[f32], b: &[f32]) -> f32 {
        DISTANCES.set(DISTANCES.get() + 1);
        (1.0 - dot(a, b)).max(0.0)
    }
}

/// A graph over documents of length 1. [`Budget::Parts`] is the number of candidates kept (`ef`).
pub struct Hnsw {
    graph: Graph<'static, f32, CountedCosine>,
    documents: Vec<f32>,
    width: usize,
}

/// More layers than any corpus in memory fills.
const LAYERS: usize = 16;

impl Hnsw {
    /// Inserts the documents one by one.
    pub fn build(documents: Rows<'_>, config: HnswConfig) -> Self {
        let links = config.links.clamp(2, 255);
        let mut graph = Graph::new(links, documents.len(), LAYERS, config.effort, CountedCosine);
        // Without the links that the heuristic would drop, outlying documents cannot be reached.
        graph.set_keeping_pruned(true);
        for row in 0..documents.len() {
            graph.insert((documents.row(row), row));
        }
        graph.set_searching_mode(true);
        Self { graph, documents: documents.as_slice().to_vec(), width: documents.width() }
    }

    fn search_one(&self, query: &[f32], k: usize, ef: usize) -> Ranking {
        let before = DISTANCES.get();
        let found = self.graph.search(query, ef, ef);
        let documents = Rows::new(&self.documents, self.width);
        let read = (DISTANCES.get() - before).clamp(found.len().min(1), documents.len());
        let mut hits: Vec<Hit> = (found.iter())
            .map(|near| Hit { doc: near.d_id as u32, score: dot(query, documents.row(near.d_id)) })
            .collect();
        keep_best(&mut hits, k);
        Ranking { hits, read }
    }
}

impl Searcher for Hnsw {
    fn len(&self) -> usize {
        self.documents.len() / self.width
    }

    fn search(&self, queries: Rows<'_>, k: usize, budget: Budget) -> Vec<Ranking> {
        assert_eq!(queries.width(), self.width, "queries and documents of one width");
        let least = k.clamp(1, self.len().max(1));
        let ef = match budget {
            Budget::Everything => self.len(),
            Budget::Share(share) => (share * self.len() as f64).ceil() as usize,
            Budget::Parts(parts) => parts.min(self.len()),
        };
        let ef = ef.max(least);
        (0..queries.len()).into_par_iter().map(|row| self.search_one(queries.row(row), k, ef)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;

    #[test]
    fn conforms() {
        conformance::check(|documents| Box::new(Hnsw::build(documents, HnswConfig::default())));
    }

    #[test]
    fn finds_neighbours_reading_little() {
        let cloud = Cloud::new(3000, 16, 5);
        let hnsw = Hnsw::build(cloud.documents(), HnswConfig { links: 12, effort: 60 });
        let recall = conformance::recall(&hnsw, &cloud, 10, Budget::Parts(100));
        assert!(recall > 0.9, "{recall}");
        let rankings = hnsw.search(cloud.queries(), 10, Budget::Parts(20));
        assert!(super::super::share_read(&rankings, 3000) < 0.5);
    }
}
