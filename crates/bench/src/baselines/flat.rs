//! Exact search: the inner product of every query with every document (`Encoder` in the tables).

use super::matrix::{Rows, products};
use super::{Budget, Hit, Ranking, Searcher, keep_best};
use rayon::prelude::*;
use retreever_kernels::gemm::Packed;

/// Documents that are multiplied at a time: the scores of one block stay in the cache.
const DOCUMENTS: usize = 2048;
/// Queries that one task answers.
const QUERIES: usize = 64;

/// Reads every document for every query.
pub struct Flat {
    blocks: Vec<Packed>,
    len: usize,
    width: usize,
}

impl Flat {
    /// Lays out the documents.
    pub fn new(documents: Rows<'_>) -> Self {
        let len = documents.len();
        let blocks = (0..len.div_ceil(DOCUMENTS))
            .into_par_iter()
            .map(|block| documents.slice(block * DOCUMENTS..len.min((block + 1) * DOCUMENTS)).pack())
            .collect();
        Self { blocks, len, width: documents.width() }
    }

    fn search_block(&self, queries: Rows<'_>, k: usize) -> Vec<Ranking> {
        let mut hits: Vec<Vec<Hit>> = vec![Vec::new(); queries.len()];
        let mut scores = Vec::new();
        for (block, documents) in self.blocks.iter().enumerate() {
            products(queries, documents, &mut scores);
            for (hits, scores) in hits.iter_mut().zip(scores.chunks_exact(documents.cols())) {
                push_better(hits, scores, (block * DOCUMENTS) as u32, k);
            }
        }
        hits.into_iter()
            .map(|mut hits| {
                keep_best(&mut hits, k);
                Ranking { hits, read: self.len }
            })
            .collect()
    }
}

/// Adds the scores of consecutive documents that may still be among the best `k`, and forgets the worst when
/// they have become too many.
fn push_better(hits: &mut Vec<Hit>, scores: &[f32], first: u32, k: usize) {
    let mut threshold = f32::NEG_INFINITY;
    if hits.len() >= k && k > 0 {
        keep_best(hits, k);
        threshold = hits[k - 1].score;
    }
    for (doc, &score) in (first..).zip(scores) {
        // An equal score of a later document never replaces an earlier one.
        if score > threshold || hits.len() < k {
            hits.push(Hit { doc, score });
        }
    }
}

impl Searcher for Flat {
    fn len(&self) -> usize {
        self.len
    }

    fn search(&self, queries: Rows<'_>, k: usize, _: Budget) -> Vec<Ranking> {
        assert_eq!(queries.width(), self.width, "queries and documents of one width");
        let blocks: Vec<Vec<Ranking>> = (0..queries.len().div_ceil(QUERIES))
            .into_par_iter()
            .map(|block| {
                let range = block * QUERIES..queries.len().min((block + 1) * QUERIES);
                self.search_block(queries.slice(range), k)
            })
            .collect();
        blocks.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;

    #[test]
    fn conforms() {
        conformance::check(|documents| Box::new(Flat::new(documents)));
    }

    #[test]
    fn is_the_sorted_list_of_inner_products() {
        let cloud = Cloud::new(5000, 9, 1);
        let rankings = Flat::new(cloud.documents()).search(cloud.queries(), 7, Budget::Everything);
        for (query, ranking) in rankings.iter().enumerate() {
            let query = cloud.queries().row(query);
            let mut expected: Vec<Hit> = (0..5000)
                .map(|doc| {
                    let row = cloud.documents().row(doc);
                    Hit { doc: doc as u32, score: query.iter().zip(row).map(|(a, b)| a * b).sum() }
                })
                .collect();
            expected.sort_by(Hit::by_rank);
            for (hit, expected) in ranking.hits.iter().zip(&expected[..7]) {
                assert_eq!(hit.doc, expected.doc);
                assert!((hit.score - expected.score).abs() < 1e-5);
            }
        }
    }
}
