//! The census of a tree: how many items sit under each node, by their leaves and by their mass, and
//! which of them are typical.
//!
//! An item is counted under the nodes on the way to its leaf, the one that attracts it most ([`Assignment::leaf`]). Its
//! mass at a node is the probability of reaching it.
//!
//! [`Assignment::leaf`]: retreever_tree::Assignment::leaf

use rayon::prelude::*;
use retreever_tree::{Assignments, Depth, LeafId, NodeId};
use serde::Serialize;

/// How many typical items are kept for each node.
pub const TYPICAL: usize = 6;

/// An item, and how much of it reaches a node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reach {
    /// The number of the item in the order it was given.
    pub item: u32,
    /// The probability of reaching the node.
    pub reach: f32,
}

/// Where the items are.
#[derive(Clone, Debug)]
pub struct Census {
    depth: Depth,
    leaves: Vec<LeafId>, // where each item ends
    order: Vec<u32>,     // items by leaf, then by number
    starts: Vec<usize>,  // where each leaf begins in `order`; one more at the end
    mass: Vec<f64>,      // [nodes]
    typical: Vec<Vec<Reach>>,
}

impl Census {
    /// Counts the items.
    pub fn new(items: &Assignments) -> Self {
        let depth = items.depth();
        let leaves: Vec<LeafId> =
            (0..items.len()).into_par_iter().map(|item| items.row(item).leaf()).collect();
        let mut starts = vec![0; depth.leaves() + 1];
        for leaf in &leaves {
            starts[leaf.index() + 1] += 1;
        }
        for leaf in 0..depth.leaves() {
            starts[leaf + 1] += starts[leaf];
        }
        let mut order: Vec<u32> = (0..items.len() as u32).collect();
        order.sort_by_key(|item| leaves[*item as usize]);
        let tallies = (0..items.len().div_ceil(CHUNK))
            .into_par_iter()
            .fold(|| Tally::new(depth), |tally, chunk| tally.count(items, chunk))
            .reduce(|| Tally::new(depth), Tally::merge);
        Self { depth, leaves, order, starts, mass: tallies.mass, typical: tallies.typical }
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

    /// The leaf where each item ends.
    pub fn leaves(&self) -> &[LeafId] {
        &self.leaves
    }

    /// The items that come by `node`, leaf by leaf.
    pub fn items(&self, node: NodeId) -> &[u32] {
        let leaves = node.leaves(self.depth);
        &self.order[self.starts[leaves.start]..self.starts[leaves.end]]
    }

    /// How many items sit under `node`.
    pub fn count(&self, node: NodeId) -> usize {
        self.items(node).len()
    }

    /// How much of all items reaches `node`, in items.
    pub fn mass(&self, node: NodeId) -> f64 {
        self.mass[node.index()]
    }

    /// The share of all mass that reaches `node`: 1 at the root.
    pub fn share(&self, node: NodeId) -> f64 {
        if self.is_empty() { 0.0 } else { self.mass(node) / self.len() as f64 }
    }

    /// The items that reach `node` with the highest probability, highest first.
    pub fn typical(&self, node: NodeId) -> &[Reach] {
        &self.typical[node.index()]
    }

    /// How far the subject of `node` still divides: the entropy, in bits, of its mass over the leaves below it.
    pub fn entropy(&self, node: NodeId) -> f64 {
        let start = self.depth.leaf_level().start();
        entropy(node.leaves(self.depth).map(|leaf| self.mass[start + leaf]))
    }
}

/// The entropy in bits of masses that need not sum to 1.
pub fn entropy(masses: impl Iterator<Item = f64> + Clone) -> f64 {
    let total: f64 = masses.clone().sum();
    if total <= 0.0 {
        return 0.0;
    }
    masses
        .filter(|mass| *mass > 0.0)
        .map(|mass| -(mass / total) * (mass / total).log2())
        .sum::<f64>()
        .max(0.0)
}

const CHUNK: usize = 512;

/// What one thread has counted.
struct Tally {
    mass: Vec<f64>,
    typical: Vec<Vec<Reach>>,
}

impl Tally {
    fn new(depth: Depth) -> Self {
        Self { mass: vec![0.0; depth.nodes()], typical: vec![Vec::new(); depth.nodes()] }
    }

    fn count(mut self, items: &Assignments, chunk: usize) -> Self {
        for item in chunk * CHUNK..((chunk + 1) * CHUNK).min(items.len()) {
            for (node, reach) in
                items.row(item).nodes().into_iter().enumerate().filter(|(_, reach)| *reach > 0.0)
            {
                self.mass[node] += f64::from(reach);
                keep(&mut self.typical[node], Reach { item: item as u32, reach });
            }
        }
        self
    }

    fn merge(mut self, other: Self) -> Self {
        for (mass, more) in self.mass.iter_mut().zip(&other.mass) {
            *mass += more;
        }
        for (typical, more) in self.typical.iter_mut().zip(other.typical) {
            more.into_iter().for_each(|reach| keep(typical, reach));
        }
        self
    }
}

/// Keeps the highest reaches in order; of equals the item that came first.
fn keep(best: &mut Vec<Reach>, new: Reach) {
    let before = |a: &Reach, b: &Reach| a.reach > b.reach || (a.reach == b.reach && a.item < b.item);
    if best.len() == TYPICAL && !before(&new, &best[TYPICAL - 1]) {
        return;
    }
    let place = best.iter().position(|old| before(&new, old)).unwrap_or(best.len());
    best.insert(place, new);
    best.truncate(TYPICAL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_items_by_hand() {
        let depth = Depth::new(2).unwrap();
        let rows = vec![
            0.7, 0.1, 0.1, 0.1, //
            0.0, 0.6, 0.2, 0.2, //
            0.5, 0.5, 0.0, 0.0, //
            0.1, 0.1, 0.1, 0.7,
        ];
        let census = Census::new(&Assignments::nested(depth, rows).unwrap());
        assert_eq!(census.items(NodeId::ROOT), [0, 2, 1, 3]);
        assert_eq!(census.items(NodeId::new(1)), [0, 2, 1]);
        assert_eq!(census.count(NodeId::new(5)), 0);
        assert!((census.mass(NodeId::new(1)) - 2.6).abs() < 1e-6);
        assert!((census.share(NodeId::new(1)) - 0.65).abs() < 1e-6);
        assert_eq!(census.typical(NodeId::new(1))[0], Reach { item: 2, reach: 1.0 });
        // leaves 0.4 and 0.4 + 1.0 of the right half: 1.4 in all
        let expected = entropy([0.4, 1.0].into_iter());
        assert!((census.entropy(NodeId::new(2)) - expected).abs() < 1e-6);
        assert_eq!(census.entropy(NodeId::new(6)), 0.0);
        assert_eq!(entropy([1.0, 1.0].into_iter()), 1.0);
    }

    #[test]
    fn nothing_is_nowhere() {
        let census = Census::new(&Assignments::nested(Depth::new(1).unwrap(), vec![]).unwrap());
        assert!(census.is_empty());
        assert_eq!(census.share(NodeId::ROOT), 0.0);
        assert_eq!(census.entropy(NodeId::ROOT), 0.0);
    }
}
