//! The tree's own search over rows of probabilities, in memory and batched, for comparison with the rest.
//!
//! A score is `1 - TVD`, with `TVD = sum |q - d| / 2` over the nodes of one level. Exact search scores every document;
//! leaf search puts each document in the leaf that attracts it most and opens those that attract the query most. (The
//! index on disk is the crate `index`; this is the same ranking without files.)

use super::lists::{Lists, Measure};
use super::matrix::Rows;
use super::{Budget, Ranking, Searcher};
use retreever_tree::{Assignment, Depth, Nesting};

/// How the documents are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// As they come: every search is exact.
    Blocks,
    /// By leaf. [`Budget::Parts`] is the number of leaves opened.
    Leaves,
}

/// Documents in a block: few enough that a block stays in the cache while all queries pass.
const BLOCK: usize = 128;

/// Documents as probabilities over the nodes of one level.
pub struct TreeSearch {
    lists: Lists,
    groups: usize,
    grouping: Grouping,
}

impl TreeSearch {
    /// Groups the documents, rows that each sum to 1.
    pub fn new(documents: Rows<'_>, grouping: Grouping) -> Self {
        let all = 0..documents.len() as u32;
        let groups: Vec<Vec<u32>> = match grouping {
            Grouping::Blocks => all.collect::<Vec<_>>().chunks(BLOCK).map(<[u32]>::to_vec).collect(),
            Grouping::Leaves => {
                let mut leaves = vec![Vec::new(); documents.width()];
                all.for_each(|doc| leaves[item(documents.row(doc as usize)).leaf().index()].push(doc));
                leaves
            }
        };
        let count = groups.len();
        Self { lists: Lists::new(documents, groups, Measure::Variation), groups: count, grouping }
    }
}

/// A row as an item of a tree with as many leaves.
fn item(row: &[f32]) -> Assignment<'_> {
    let depth = Depth::new(row.len().ilog2() as u8).expect("as many numbers as a level has nodes");
    Assignment::new(depth, Nesting::Nested, row)
}

impl Searcher for TreeSearch {
    fn len(&self) -> usize {
        self.lists.len()
    }

    fn search(&self, queries: Rows<'_>, k: usize, budget: Budget) -> Vec<Ranking> {
        let opened: Vec<Vec<u32>> = match self.grouping {
            Grouping::Blocks => vec![(0..self.groups as u32).collect(); queries.len()],
            Grouping::Leaves => (0..queries.len())
                .map(|query| self.lists.choose(&item(queries.row(query)).pull(), budget))
                .collect(),
        };
        self.lists.search(queries, &opened, k)
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;

    /// Softmax of a cloud's rows: distributions over 16 leaves.
    fn distributions(rows: Rows<'_>) -> Vec<f32> {
        let mut out = Vec::new();
        for row in rows.as_slice().chunks_exact(rows.width()) {
            let exps: Vec<f32> = row.iter().map(|x| (8.0 * x).exp()).collect();
            let sum: f32 = exps.iter().sum();
            out.extend(exps.iter().map(|x| x / sum));
        }
        out
    }

    #[test]
    fn blocks_and_leaves_agree_when_everything_is_read() {
        let cloud = Cloud::clustered(500, 16, 20, 3);
        let (documents, queries) = (distributions(cloud.documents()), distributions(cloud.queries()));
        let (documents, queries) = (Rows::new(&documents, 16), Rows::new(&queries, 16));
        let blocks = TreeSearch::new(documents, Grouping::Blocks).search(queries, 10, Budget::Parts(1));
        let tree = TreeSearch::new(documents, Grouping::Leaves);
        assert_eq!(tree.search(queries, 10, Budget::Everything), blocks);
        for (query, ranking) in blocks.iter().enumerate() {
            assert_eq!(ranking.read, 500);
            for hit in &ranking.hits {
                let row = documents.row(hit.doc as usize);
                let shared: f32 = queries.row(query).iter().zip(row).map(|(q, d)| q.min(*d)).sum();
                assert!((hit.score - shared).abs() < 1e-5, "1 - TVD is the shared mass");
            }
        }
        let few = tree.search(queries, 10, Budget::Parts(2));
        assert!(few.iter().all(|ranking| ranking.read < 250));
    }

    #[test]
    fn conforms_in_rankings_and_budgets() {
        let cloud = Cloud::clustered(300, 16, 20, 3);
        let rows = distributions(cloud.documents());
        let tree = TreeSearch::new(Rows::new(&rows, 16), Grouping::Leaves);
        conformance::check_rankings(&tree, &cloud);
    }
}
