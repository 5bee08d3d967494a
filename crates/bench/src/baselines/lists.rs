//! Documents in disjoint lists, of which a query opens some: what IVF lists and the leaves of a tree share.
//!
//! A batch is answered list by list: the queries that open a list are multiplied with its documents at once.

use super::matrix::{Rows, products};
use super::{Budget, Hit, Ranking, keep_best};
use rayon::prelude::*;
use retreever_kernels::gemm::Packed;
use retreever_kernels::pairwise_l1::{self, distances};

/// Queries that one task answers together.
const QUERIES: usize = 256;

/// A partition of the documents.
pub(super) struct Lists {
    lists: Vec<List>,
    len: usize,
    width: usize,
}

/// How a document is compared with a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The inner product.
    Product,
    /// One minus the total variation distance, `1 - sum |q - d| / 2`.
    Variation,
}

struct List {
    docs: Vec<u32>,
    rows: Stored,
}

enum Stored {
    Product(Packed),     // [width, docs]
    Variation(Vec<f32>), // [docs, width]
}

impl Stored {
    fn new(rows: Vec<f32>, width: usize, measure: Measure) -> Self {
        match measure {
            Measure::Product => Self::Product(Rows::new(&rows, width).pack()),
            Measure::Variation => Self::Variation(rows),
        }
    }

    /// The scores of all documents for each query, `[queries, docs]`.
    fn score(&self, queries: Rows<'_>, scores: &mut Vec<f32>) {
        match self {
            Self::Product(rows) => products(queries, rows, scores),
            Self::Variation(rows) => {
                let width = queries.width();
                let (asked, docs) = (queries.len(), rows.len() / width);
                scores.clear();
                scores.resize(asked * docs, 0.0);
                distances(
                    pairwise_l1::Rows::new(queries.as_slice(), asked, width, width),
                    pairwise_l1::Rows::new(rows, docs, width, width),
                    scores,
                );
                scores.iter_mut().for_each(|score| *score = 1.0 - *score / 2.0);
            }
        }
    }
}

impl Lists {
    /// One list for each group of documents.
    pub(super) fn new(documents: Rows<'_>, groups: Vec<Vec<u32>>, measure: Measure) -> Self {
        let width = documents.width();
        let lists = groups
            .into_par_iter()
            .map(|docs| List { rows: Stored::new(documents.gather(&docs), width, measure), docs })
            .collect();
        Self { lists, len: documents.len(), width }
    }

    /// How many documents there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Which lists a query opens, given its score for each: the best ones, as many as the budget allows.
    pub(super) fn choose(&self, scores: &[f32], budget: Budget) -> Vec<u32> {
        choose(scores, budget, self.len, |list| self.lists[list].docs.len())
    }

    /// The best `k` documents in the lists that each query opens.
    pub(super) fn search(&self, queries: Rows<'_>, opened: &[Vec<u32>], k: usize) -> Vec<Ranking> {
        assert_eq!(queries.width(), self.width, "queries and documents of one width");
        // At least a task for each of two threads, if there are that many queries.
        let block = queries.len().div_ceil(2).clamp(1, QUERIES);
        let blocks: Vec<Vec<Ranking>> = opened
            .par_chunks(block)
            .enumerate()
            .map(|(index, opened)| {
                let first = index * block;
                self.search_block(queries.slice(first..first + opened.len()), opened, k)
            })
            .collect();
        blocks.into_iter().flatten().collect()
    }

    fn search_block(&self, queries: Rows<'_>, opened: &[Vec<u32>], k: usize) -> Vec<Ranking> {
        let mut visitors: Vec<Vec<u32>> = vec![Vec::new(); self.lists.len()];
        for (query, lists) in (0..).zip(opened) {
            lists.iter().for_each(|&list| visitors[list as usize].push(query));
        }
        let mut rankings = vec![Ranking::default(); queries.len()];
        let mut scores = Vec::new();
        for (list, visitors) in self.lists.iter().zip(&visitors) {
            if visitors.is_empty() || list.docs.is_empty() {
                continue;
            }
            let visiting = queries.gather(visitors);
            list.rows.score(Rows::new(&visiting, self.width), &mut scores);
            for (&query, scores) in visitors.iter().zip(scores.chunks_exact(list.docs.len())) {
                let ranking = &mut rankings[query as usize];
                ranking.read += list.docs.len();
                ranking.hits.extend(list.docs.iter().zip(scores).map(|(&doc, &score)| Hit { doc, score }));
                if ranking.hits.len() > 4 * k + 256 {
                    keep_best(&mut ranking.hits, k);
                }
            }
        }
        rankings.iter_mut().for_each(|ranking| keep_best(&mut ranking.hits, k));
        rankings
    }
}

/// The best lists by score, as many as the budget allows; at least one.
pub(super) fn choose(scores: &[f32], budget: Budget, len: usize, size: impl Fn(usize) -> usize) -> Vec<u32> {
    let mut order: Vec<Hit> = (0..).zip(scores).map(|(doc, &score)| Hit { doc, score }).collect();
    match budget {
        Budget::Everything => {}
        Budget::Parts(parts) => keep_best(&mut order, parts.max(1)),
        Budget::Share(share) => {
            order.sort_unstable_by(Hit::by_rank);
            let target = share * len as f64;
            let mut read = 0;
            let enough = order.iter().position(|list| {
                read += size(list.doc as usize);
                read as f64 >= target
            });
            order.truncate(enough.map_or(order.len(), |last| last + 1));
        }
    }
    order.into_iter().map(|list| list.doc).collect()
}
