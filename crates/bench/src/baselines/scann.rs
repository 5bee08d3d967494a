//! A ScaNN-like index: a k-means partition, residuals in a 4-bit product quantiser with the anisotropic loss, and an
//! exact second look at the best (Guo et al. 2020, "Accelerating Large-Scale Inference with Anisotropic Vector
//! Quantization").
//!
//! The quantiser is in [`super::anisotropic`]. A score is `q . centre + sum over subspaces of table[code]`, so that
//! one table a query serves every list.

use super::anisotropic::{CODES, Quantiser, QuantiserConfig};
use super::ivf::IvfConfig;
use super::kmeans::KMeans;
use super::lists::choose;
use super::matrix::{Rows, dot, map_products};
use super::{Budget, Hit, Ranking, Searcher, keep_best};
use rayon::prelude::*;
use retreever_kernels::gemm::Packed;

/// How the index is built.
#[derive(Clone, Copy, Debug)]
pub struct ScannConfig {
    /// How many lists; without it the square root of the number of documents.
    pub lists: Option<usize>,
    /// Documents scored exactly for each one asked for.
    pub rerank: usize,
    /// Decides the clustering.
    pub seed: u64,
}

/// Quantised residuals in lists. [`Budget::Parts`] is the number of lists opened.
pub struct Scann {
    centres: Packed,
    lists: Vec<List>,
    quantiser: Quantiser,
    documents: Vec<f32>,
    width: usize,
    rerank: usize,
}

struct List {
    docs: Vec<u32>,
    codes: Vec<u8>, // [docs, quantiser.bytes()]
}

impl Scann {
    /// Clusters the documents, trains the quantiser on what the centres leave over, and encodes that.
    pub fn build(documents: Rows<'_>, config: ScannConfig) -> Self {
        let ivf = IvfConfig { lists: config.lists, seed: config.seed };
        let fit = KMeans::fit(documents, ivf.kmeans(documents.len()));
        let width = documents.width();
        let mut residuals = documents.as_slice().to_vec();
        for (row, &centre) in residuals.chunks_exact_mut(width).zip(&fit.assignment) {
            row.iter_mut().zip(fit.centres().row(centre as usize)).for_each(|(x, c)| *x -= c);
        }
        let residuals = Rows::new(&residuals, width);
        let quantiser = Quantiser::train(documents, residuals, QuantiserConfig::new(width, config.seed));
        let codes = quantiser.encode(documents, residuals);
        let lists = fit
            .members()
            .into_iter()
            .map(|docs| {
                let of = |&doc: &u32| &codes[doc as usize * quantiser.bytes()..][..quantiser.bytes()];
                List { codes: docs.iter().flat_map(of).copied().collect(), docs }
            })
            .collect();
        Self {
            centres: fit.centres().pack(),
            lists,
            quantiser,
            documents: documents.as_slice().to_vec(),
            width,
            rerank: config.rerank,
        }
    }

    fn search_one(&self, query: &[f32], centres: &[f32], k: usize, budget: Budget) -> Ranking {
        let opened = choose(centres, budget, self.len(), |list| self.lists[list].docs.len());
        let tables = self.quantiser.tables(query);
        let mut hits = Vec::new();
        for list in opened {
            let (List { docs, codes }, centre) = (&self.lists[list as usize], centres[list as usize]);
            for (&doc, codes) in docs.iter().zip(codes.chunks_exact(self.quantiser.bytes())) {
                hits.push(Hit { doc, score: centre + look_up(&tables, codes) });
            }
        }
        let read = hits.len();
        if budget != Budget::Everything {
            keep_best(&mut hits, k.saturating_mul(self.rerank.max(1)));
        }
        let documents = Rows::new(&self.documents, self.width);
        hits.iter_mut().for_each(|hit| hit.score = dot(query, documents.row(hit.doc as usize)));
        keep_best(&mut hits, k);
        Ranking { hits, read }
    }
}

/// The sum of the table entries that the codes name, two codes a byte.
fn look_up(tables: &[[f32; CODES]], codes: &[u8]) -> f32 {
    let (mut low, mut high) = (0.0, 0.0);
    for (pair, &byte) in tables.chunks_exact(2).zip(codes) {
        low += pair[0][usize::from(byte & 15)];
        high += pair[1][usize::from(byte >> 4)];
    }
    low + high
}

impl Searcher for Scann {
    fn len(&self) -> usize {
        self.documents.len() / self.width
    }

    fn search(&self, queries: Rows<'_>, k: usize, budget: Budget) -> Vec<Ranking> {
        assert_eq!(queries.width(), self.width, "queries and documents of one width");
        let centres = map_products(queries, &self.centres, |_, scores| scores.to_vec());
        centres
            .par_iter()
            .enumerate()
            .map(|(query, centres)| self.search_one(queries.row(query), centres, k, budget))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;

    #[test]
    fn conforms() {
        let config = ScannConfig { lists: None, rerank: 10, seed: 5 };
        conformance::check(|documents| Box::new(Scann::build(documents, config)));
    }

    #[test]
    fn a_tenth_of_clustered_data_holds_almost_all_neighbours() {
        let cloud = Cloud::clustered(4000, 32, 40, 5);
        let scann = Scann::build(cloud.documents(), ScannConfig { lists: Some(40), rerank: 10, seed: 1 });
        assert!(conformance::recall(&scann, &cloud, 10, Budget::Share(0.1)) > 0.9);
    }
}
