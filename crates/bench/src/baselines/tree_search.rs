//! The tree's own search over rows of probabilities, in memory and batched, for comparison with the rest.
//!
//! A score is `1 - TVD`, with `TVD = sum |q - d| / 2` over the nodes of one level. Exact search scores every document;
//! leaf search goes by the routing reading: each document is in its likeliest leaf, and a query opens its likeliest leaves.
//! (The index on disk is the crate `index`; this is the same ranking without files.)

use super::lists::{Lists, Measure};
use super::matrix::Rows;
use super::{Budget, Ranking, Searcher};
use retreever_tree::{Assignment, Depth, LeafId, Nesting, Routing};

/// Documents in a block: few enough that a block stays in the cache while all queries pass.
const BLOCK: usize = 128;

/// Documents as probabilities over the nodes of one level.
pub struct TreeSearch {
    lists: Lists,
    grouping: Grouping,
}

/// How the documents are grouped.
enum Grouping {
    /// As they come, in so many blocks: every search is exact.
    Blocks(usize),
    /// By place.
    Leaves { routing: Routing, places: Vec<LeafId> },
}

impl TreeSearch {
    /// Documents, rows that each sum to 1, for exact search.
    pub fn exact(documents: Rows<'_>) -> Self {
        let all: Vec<u32> = (0..documents.len() as u32).collect();
        let blocks: Vec<Vec<u32>> = all.chunks(BLOCK).map(<[u32]>::to_vec).collect();
        let grouping = Grouping::Blocks(blocks.len());
        Self { lists: Lists::new(documents, blocks, Measure::Variation), grouping }
    }

    /// Documents, rows of leaf probabilities, in leaves. [`Budget::Parts`] is the number of leaves opened.
    ///
    /// # Panics
    /// If the routing is of a tree of another depth.
    pub fn leaves(documents: Rows<'_>, routing: Routing) -> Self {
        let rows = 0..documents.len();
        let places: Vec<LeafId> = rows.map(|doc| routing.leaf(item(documents.row(doc)))).collect();
        let mut leaves = vec![Vec::new(); documents.width()];
        places.iter().zip(0..).for_each(|(leaf, doc)| leaves[leaf.index()].push(doc));
        let lists = Lists::new(documents, leaves, Measure::Variation);
        Self { lists, grouping: Grouping::Leaves { routing, places } }
    }

    /// Ranks the documents of the leaves that hold each query's answer with this chance, by the measured curve of cover.
    ///
    /// # Panics
    /// If the documents are not in leaves.
    pub fn cover(&self, queries: Rows<'_>, k: usize, chance: f64) -> Vec<Ranking> {
        let opened: Vec<Vec<u32>> =
            (0..queries.len()).map(|query| self.opened(queries.row(query), chance)).collect();
        self.lists.search(queries, &opened, k)
    }

    /// Whether the leaves opened for `chance` hold this document.
    ///
    /// # Panics
    /// If the documents are not in leaves.
    pub fn covers(&self, query: &[f32], document: usize, chance: f64) -> bool {
        let Grouping::Leaves { places, .. } = &self.grouping else { panic!("documents in leaves") };
        self.opened(query, chance).contains(&(places[document].index() as u32))
    }

    /// The likeliest leaves that hold together what `chance` needs.
    fn opened(&self, query: &[f32], chance: f64) -> Vec<u32> {
        let Grouping::Leaves { routing, .. } = &self.grouping else { panic!("documents in leaves") };
        let query = routing.read(item(query));
        let leaves = &query.order()[..query.leaves_for(routing.opened_for(chance))];
        leaves.iter().map(|leaf| leaf.index() as u32).collect()
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
        let opened: Vec<Vec<u32>> = match &self.grouping {
            Grouping::Blocks(blocks) => vec![(0..*blocks as u32).collect(); queries.len()],
            Grouping::Leaves { routing, .. } => (0..queries.len())
                .map(|query| self.lists.choose(routing.read(item(queries.row(query))).leaves(), budget))
                .collect(),
        };
        self.lists.search(queries, &opened, k)
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;
    use retreever_tree::CoverPoint;

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

    /// Another temperature for routing than for comparing.
    fn routing() -> Routing {
        let cover = [(0.5, 0.3), (0.9, 0.8)].map(|(chance, opened)| CoverPoint { chance, opened });
        Routing { sharpening: vec![1.0, 1.5, 2.0, 2.5], cover: cover.to_vec() }
    }

    #[test]
    fn blocks_and_leaves_agree_when_everything_is_read() {
        let cloud = Cloud::clustered(500, 16, 20, 3);
        let (documents, queries) = (distributions(cloud.documents()), distributions(cloud.queries()));
        let (documents, queries) = (Rows::new(&documents, 16), Rows::new(&queries, 16));
        let blocks = TreeSearch::exact(documents).search(queries, 10, Budget::Parts(1));
        let tree = TreeSearch::leaves(documents, routing());
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
    fn cover_opens_what_the_curve_asks_for() {
        let cloud = Cloud::clustered(300, 16, 20, 3);
        let (documents, queries) = (distributions(cloud.documents()), distributions(cloud.queries()));
        let (documents, queries) = (Rows::new(&documents, 16), Rows::new(&queries, 16));
        let tree = TreeSearch::leaves(documents, routing());
        let [few, more] = [0.5, 0.9].map(|chance| tree.cover(queries, 300, chance));
        for (query, (few, more)) in few.iter().zip(&more).enumerate() {
            assert!(few.read <= more.read && more.read < 300);
            let covered = (0..300).filter(|document| tree.covers(queries.row(query), *document, 0.9));
            assert_eq!(covered.count(), more.read);
        }
    }

    #[test]
    fn conforms_in_rankings_and_budgets() {
        let cloud = Cloud::clustered(300, 16, 20, 3);
        let rows = distributions(cloud.documents());
        let tree = TreeSearch::leaves(Rows::new(&rows, 16), routing());
        conformance::check_rankings(&tree, &cloud);
    }
}
