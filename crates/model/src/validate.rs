//! The validation score: nDCG@10 of held-out queries among a fixed pool of documents.

use crate::learner::{Learner, Similarity};
use crate::random::Random;
use rayon::prelude::*;
use retreever_data::{Embeddings, Pair, Ragged, metrics};
use retreever_kernels::gemm::{Mat, MatMut, Packed, Write, gemm_packed};
use retreever_kernels::pairwise_l1::{Rows, distances};
use std::collections::{BTreeMap, BTreeSet};

/// How deep a ranking is looked at.
const K: usize = 10;
/// Items represented at a time.
const BATCH: usize = 64;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// At most this many queries.
    pub queries: usize,
    /// At least this many documents, if there are as many: the queries' own, and others drawn at random.
    pub documents: usize,
}

/// What turns items into rows that are compared.
pub(crate) trait Represent {
    /// Appends one row for each item.
    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>);
    /// How many numbers a row has.
    fn width(&self) -> usize;
    /// How rows are compared.
    fn similarity(&self) -> Similarity;
}

impl<L: Learner + ?Sized> Represent for L {
    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>) {
        Learner::represent(self, batch, rows);
    }

    fn width(&self) -> usize {
        Learner::width(self)
    }

    fn similarity(&self) -> Similarity {
        Learner::similarity(self)
    }
}

/// A fixed set of held-out queries, the documents they are looked for among, and which of those are theirs.
pub struct Validation {
    queries: Vec<usize>,
    documents: Vec<usize>,
    relevant: Vec<Vec<usize>>, // for each query, places in `documents`
}

impl Validation {
    /// Draws a validation set from held-out pairs.
    pub fn draw(pairs: &[Pair], documents: usize, size: Size, seed: u64) -> Self {
        let mut of_query: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for pair in pairs {
            of_query.entry(pair.query as usize).or_default().insert(pair.document as usize);
        }
        let mut random = Random::new(seed, u64::MAX);
        let mut queries: Vec<usize> = of_query.keys().copied().collect();
        random.shuffle(&mut queries);
        queries.truncate(size.queries);
        let mut pool: BTreeSet<usize> = queries.iter().flat_map(|query| &of_query[query]).copied().collect();
        let mut others: Vec<usize> = (0..documents).filter(|document| !pool.contains(document)).collect();
        random.shuffle(&mut others);
        pool.extend(others.into_iter().take(size.documents.saturating_sub(pool.len())));
        let place: BTreeMap<usize, usize> =
            pool.iter().enumerate().map(|(at, document)| (*document, at)).collect();
        let relevant = queries
            .iter()
            .map(|query| of_query[query].iter().map(|document| place[document]).collect())
            .collect();
        Self { queries, documents: pool.into_iter().collect(), relevant }
    }

    /// Whether there is nothing to validate on.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// nDCG@10, between 0 and 1.
    pub fn score(
        &self,
        learner: &mut dyn Learner,
        queries: &dyn Embeddings,
        documents: &dyn Embeddings,
    ) -> f64 {
        mean(&self.scores(learner, queries, documents))
    }

    /// The same of each query.
    pub(crate) fn scores<R: Represent + ?Sized>(
        &self,
        learner: &mut R,
        queries: &dyn Embeddings,
        documents: &dyn Embeddings,
    ) -> Vec<f64> {
        let asked = represent(learner, queries, &self.queries);
        let held = represent(learner, documents, &self.documents);
        let (width, pool) = (learner.width(), self.documents.len());
        let similarity = learner.similarity();
        let packed = match similarity {
            Similarity::Cosine => Packed::new(Mat::new(&held, pool, width).t()),
            Similarity::TotalVariation => Packed::default(),
        };
        asked
            .par_chunks(width)
            .zip(&self.relevant)
            .map_init(
                || vec![0.0f32; pool],
                |row, (query, relevant)| {
                    match similarity {
                        Similarity::Cosine => {
                            gemm_packed(
                                Mat::new(query, 1, width),
                                &packed,
                                MatMut::new(row, 1, pool),
                                Write::Set,
                            );
                        }
                        Similarity::TotalVariation => {
                            distances(
                                Rows::new(query, 1, width, width),
                                Rows::new(&held, pool, width, width),
                                row,
                            );
                            row.iter_mut().for_each(|distance| *distance = -*distance);
                        }
                    }
                    ndcg(row, relevant)
                },
            )
            .collect()
    }
}

/// The mean of some scores.
pub(crate) fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len().max(1) as f64
}

/// nDCG@10 of a row of scores, given the places of the relevant documents. Of equal scores, relevant ones come last:
/// a model that cannot tell documents apart is not rewarded for it.
fn ndcg(scores: &[f32], relevant: &[usize]) -> f64 {
    let mut ranked = vec![0u32; K];
    let mut ranks: Vec<usize> = relevant
        .iter()
        .map(|&place| {
            let better = |&(other, score): &(usize, &f32)| {
                // What is not a number is never the best.
                let worse = *score < scores[place];
                let equal = *score == scores[place] && (other == place || relevant.contains(&other));
                !worse && !equal
            };
            scores.iter().enumerate().filter(better).count()
        })
        .collect();
    ranks.sort_unstable();
    for at in 1..ranks.len() {
        ranks[at] = ranks[at].max(ranks[at - 1] + 1);
    }
    for rank in ranks {
        if rank < K {
            ranked[rank] = 1;
        }
    }
    metrics::ndcg(&ranked, &vec![1; relevant.len()], K)
}

fn represent<R: Represent + ?Sized>(learner: &mut R, items: &dyn Embeddings, which: &[usize]) -> Vec<f32> {
    let mut batch = Ragged::new(items.width());
    let mut rows = Vec::with_capacity(which.len() * learner.width());
    for some in which.chunks(BATCH) {
        items.gather(some, &mut batch);
        learner.represent(&batch, &mut rows);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_counted_from_the_scores() {
        let scores = [0.1, 0.9, 0.5, 0.5, 0.3];
        assert_eq!(ndcg(&scores, &[1]), 1.0);
        assert!((ndcg(&scores, &[2]) - 1.0 / 4f64.log2()).abs() < 1e-12, "a tie counts against us");
        assert!((ndcg(&scores, &[1, 2]) - (1.0 + 0.5) / (1.0 + 1.0 / 3f64.log2())).abs() < 1e-12);
        assert_eq!(ndcg(&[1.0; 20], &[3]), 0.0);
    }

    #[test]
    fn a_draw_holds_every_relevant_document_and_no_more_than_asked() {
        let pairs: Vec<Pair> = (0..20).map(|n| Pair { query: n % 10, document: n }).collect();
        let set = Validation::draw(&pairs, 100, Size { queries: 5, documents: 30 }, 1);
        assert_eq!((set.queries.len(), set.documents.len()), (5, 30));
        for (query, relevant) in set.queries.iter().zip(&set.relevant) {
            assert_eq!(relevant.len(), 2);
            assert!(relevant.iter().all(|at| set.documents[*at] % 10 == *query));
        }
    }
}
