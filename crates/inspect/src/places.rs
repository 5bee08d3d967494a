//! The places of items: each is in one leaf, and under every node above that leaf.
//!
//! With a tree that learned, an item's place is its likeliest leaf by the routing reading, [`Routing::leaf`]. Words and
//! counts need no more than places.

use rayon::prelude::*;
use retreever_tree::{Assignments, Depth, LeafId, NodeId, Routing};

/// Items by leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    depth: Depth,
    leaves: Vec<LeafId>, // of each item
    order: Vec<u32>,     // items by leaf, then by number
    starts: Vec<usize>,  // where each leaf begins in `order`; one more at the end
}

impl Places {
    /// Items whose leaves are known.
    ///
    /// # Panics
    /// If a leaf is not of this tree.
    pub fn new(depth: Depth, leaves: Vec<LeafId>) -> Self {
        let mut starts = vec![0; depth.leaves() + 1];
        for leaf in &leaves {
            starts[leaf.index() + 1] += 1;
        }
        for leaf in 0..depth.leaves() {
            starts[leaf + 1] += starts[leaf];
        }
        let mut order: Vec<u32> = (0..leaves.len() as u32).collect();
        order.sort_by_key(|item| leaves[*item as usize]);
        Self { depth, leaves, order, starts }
    }

    /// Each item in its likeliest leaf.
    pub fn routed(items: &Assignments, routing: &Routing) -> Self {
        let leaves = (0..items.len()).into_par_iter().map(|item| routing.leaf(items.row(item))).collect();
        Self::new(items.depth(), leaves)
    }

    /// The depth of the tree.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The leaf of each item.
    pub fn leaves(&self) -> &[LeafId] {
        &self.leaves
    }

    /// The items under `node`, leaf by leaf.
    pub fn items(&self, node: NodeId) -> &[u32] {
        let leaves = node.leaves(self.depth);
        &self.order[self.starts[leaves.start]..self.starts[leaves.end]]
    }

    /// How many items are under `node`.
    pub fn count(&self, node: NodeId) -> usize {
        self.items(node).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_under_all_nodes_above_their_leaves() {
        let places = Places::new(Depth::new(2).unwrap(), [3, 0, 3, 1].map(LeafId::new).to_vec());
        assert_eq!(places.items(NodeId::ROOT), [1, 3, 0, 2]);
        assert_eq!(places.items(NodeId::new(1)), [1, 3]);
        assert_eq!((places.count(NodeId::new(5)), places.count(NodeId::new(6))), (0, 2));
        assert_eq!((places.len(), places.is_empty(), places.leaves()[0]), (4, false, LeafId::new(3)));
    }

    #[test]
    fn places_follow_the_routing_reading() {
        // The largest mass is in leaf 0; the split above leaf 2, five times as sharp, outweighs the root's.
        let depth = Depth::new(2).unwrap();
        let items = Assignments::nested(depth, vec![0.31, 0.29, 0.25, 0.15]).unwrap();
        let place = |routing: &Routing| Places::routed(&items, routing).leaves()[0];
        assert_eq!(place(&Routing::same()), LeafId::new(0));
        let sharp = Routing { sharpening: vec![1.0, 5.0], cover: Vec::new() };
        assert_eq!(place(&sharp), LeafId::new(2));
    }
}
