//! Documents in disjoint lists, of which a query opens some: what IVF lists and the leaves of a hierarchy share.
//!
//! A batch is answered list by list: the queries that open a list are multiplied with its documents at once.

use super::matrix::{Rows, products};
use super::{Budget, Hit, Ranking, keep_best};
use rayon::prelude::*;
use retreever_kernels::gemm::Packed;

/// Queries that one task answers together.
const QUERIES: usize = 256;

/// A partition of the documents.
pub(super) struct Lists {
    lists: Vec<List>,
    len: usize,
    width: usize,
}

struct List {
    docs: Vec<u32>,
    rows: Packed, // [width, docs]
}

impl Lists {
    /// One list for each group of documents.
    pub(super) fn new(documents: Rows<'_>, groups: Vec<Vec<u32>>) -> Self {
        let width = documents.width();
        let lists = groups
            .into_par_iter()
            .map(|docs| List { rows: Rows::new(&documents.gather(&docs), width).pack(), docs })
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
            products(Rows::new(&visiting, self.width), &list.rows, &mut scores);
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
