//! What every [`Searcher`] must do, checked on made-up clouds of points; and the clouds.

use super::matrix::{Rows, normalise};
use super::{Budget, Flat, Searcher, share_read};
use std::collections::HashSet;

/// Documents and queries of length 1.
pub(super) struct Cloud {
    documents: Vec<f32>,
    queries: Vec<f32>,
    width: usize,
}

impl Cloud {
    /// Directions without structure, and ten queries.
    pub(super) fn new(documents: usize, width: usize, seed: u64) -> Self {
        Self::clustered(documents, width, documents.max(1), seed)
    }

    /// Document `i` is near centre `i % centres`; the ten queries are near centres too.
    pub(super) fn clustered(documents: usize, width: usize, centres: usize, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut gauss = || (0..6).map(|_| rng.f32() - 0.5).sum::<f32>();
        let centres: Vec<Vec<f32>> = (0..centres).map(|_| (0..width).map(|_| gauss()).collect()).collect();
        let mut around = |count: usize, step: usize| {
            let mut rows: Vec<f32> = (0..count)
                .flat_map(|row| centres[row * step % centres.len()].clone())
                .map(|x| x + 0.25 * gauss())
                .collect();
            normalise(&mut rows, width);
            rows
        };
        Self { documents: around(documents, 1), queries: around(10, 3), width }
    }

    pub(super) fn documents(&self) -> Rows<'_> {
        Rows::new(&self.documents, self.width)
    }

    pub(super) fn queries(&self) -> Rows<'_> {
        Rows::new(&self.queries, self.width)
    }
}

/// Rows that a line of Python makes too: `sin(1.3 i (j + 1) + j j)`.
pub(super) fn waves(rows: usize, width: usize) -> Vec<f32> {
    let wave = |i: usize, j: usize| (1.3 * (i * (j + 1)) as f64 + (j * j) as f64).sin() as f32;
    (0..rows).flat_map(|i| (0..width).map(move |j| wave(i, j))).collect()
}

/// The share of the true best `k` that the searcher finds.
pub(super) fn recall(searcher: &dyn Searcher, cloud: &Cloud, k: usize, budget: Budget) -> f64 {
    let truth = Flat::new(cloud.documents()).search(cloud.queries(), k, Budget::Everything);
    let found = searcher.search(cloud.queries(), k, budget);
    let mut shared = 0;
    for (truth, found) in truth.iter().zip(&found) {
        let truth: HashSet<u32> = truth.hits.iter().map(|hit| hit.doc).collect();
        shared += found.hits.iter().filter(|hit| truth.contains(&hit.doc)).count();
    }
    shared as f64 / (k * truth.len()) as f64
}

/// The whole contract, for a searcher that is exact when it reads everything.
pub(super) fn check(build: impl Fn(Rows<'_>) -> Box<dyn Searcher>) {
    for cloud in [Cloud::new(300, 8, 2), Cloud::clustered(1000, 24, 30, 4), Cloud::new(1, 4, 3)] {
        let searcher = build(cloud.documents());
        check_rankings(&*searcher, &cloud);
        let k = cloud.documents().len().min(10);
        assert_eq!(recall(&*searcher, &cloud, k, Budget::Everything), 1.0, "exact when it reads everything");
        let exact = Flat::new(cloud.documents()).search(cloud.queries(), k, Budget::Everything);
        let found = searcher.search(cloud.queries(), k, Budget::Everything);
        for (exact, found) in exact.iter().zip(&found) {
            for (exact, found) in exact.hits.iter().zip(&found.hits) {
                assert!((exact.score - found.score).abs() < 1e-5, "scores are inner products");
            }
        }
        check_budgets(&*searcher, &cloud);
        check_determinism(&*searcher, &*build(cloud.documents()), &cloud);
    }
}

/// Hits are distinct, best first, and as many as there can be.
pub(super) fn check_rankings(searcher: &dyn Searcher, cloud: &Cloud) {
    let documents = cloud.documents().len();
    assert_eq!(searcher.len(), documents);
    for k in [0, 1, 10, documents, documents + 5] {
        let rankings = searcher.search(cloud.queries(), k, Budget::Everything);
        assert_eq!(rankings.len(), cloud.queries().len());
        for ranking in rankings {
            assert_eq!(ranking.hits.len(), k.min(documents));
            assert!(ranking.hits.is_sorted_by(|a, b| a.score >= b.score), "best first");
            let distinct: HashSet<u32> = ranking.hits.iter().map(|hit| hit.doc).collect();
            assert_eq!(distinct.len(), ranking.hits.len(), "no document twice");
            assert!(distinct.iter().all(|&doc| (doc as usize) < documents));
        }
    }
}

/// More budget never reads less, and never more than there is.
pub(super) fn check_budgets(searcher: &dyn Searcher, cloud: &Cloud) {
    let read = |budget| share_read(&searcher.search(cloud.queries(), 10, budget), searcher.len());
    let shares: Vec<f64> = [0.0, 0.01, 0.1, 0.5, 1.0].map(|share| read(Budget::Share(share))).into();
    let parts: Vec<f64> = [0, 1, 4, 16, 1000].map(|parts| read(Budget::Parts(parts))).into();
    for reads in [shares, parts] {
        assert!(reads.is_sorted(), "{reads:?}");
        assert!(reads.iter().all(|&share| share > 0.0 && share <= 1.0), "{reads:?}");
    }
}

/// The same build and the same call give the same bits, in a batch or alone.
pub(super) fn check_determinism(one: &dyn Searcher, other: &dyn Searcher, cloud: &Cloud) {
    for budget in [Budget::Everything, Budget::Share(0.2), Budget::Parts(3)] {
        let rankings = one.search(cloud.queries(), 10, budget);
        assert_eq!(rankings, other.search(cloud.queries(), 10, budget));
        for (query, ranking) in rankings.iter().enumerate() {
            let alone = one.search(cloud.queries().slice(query..query + 1), 10, budget);
            assert_eq!(alone[0], *ranking, "a query alone is answered as in a batch");
        }
    }
}
