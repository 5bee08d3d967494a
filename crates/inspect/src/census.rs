//! The census of a tree: how many items are under each node, how likely nodes are by the routing reading, and which items
//! are typical of them.
//!
//! An item is counted under the nodes above its place, its likeliest leaf ([`Routed::leaf`]). Its mass at a node is the
//! routing probability of that node ([`Routed::chance`]). Every item is read once.

use crate::places::Places;
use rayon::prelude::*;
use retreever_tree::{Assignments, Depth, LeafId, Level, NodeId, Routed, Routing};
use serde::Serialize;

/// How many typical items are kept for each node.
pub const TYPICAL: usize = 6;
/// The share of an item's mass that [`Census::leaves_for_most`] speaks of.
pub const MOST: f64 = 0.9;

/// An item, and how likely a node is for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reach {
    /// The number of the item in the order it was given.
    pub item: u32,
    /// The routing probability of the node.
    pub reach: f32,
}

/// How sure items are of their nodes at one level, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certainty {
    /// The probability of the likeliest node.
    pub sharpness: f64,
    /// Two to the power of the entropy over the nodes.
    pub spread: f64,
}

/// Where the items are.
#[derive(Clone, Debug)]
pub struct Census {
    places: Places,
    mass: Vec<f64>, // [nodes]
    typical: Vec<Vec<Reach>>,
    certainty: Vec<Certainty>, // levels 1 to the leaves
    leaves_for_most: f64,
}

impl Census {
    /// Counts the items.
    pub fn new(items: &Assignments, routing: &Routing) -> Self {
        let depth = items.depth();
        let mut leaves = vec![LeafId::new(0); items.len()];
        let tally = leaves
            .par_chunks_mut(CHUNK)
            .enumerate()
            .fold(
                || Tally::new(depth),
                |mut tally, (chunk, leaves)| {
                    for (leaf, item) in leaves.iter_mut().zip(chunk * CHUNK..) {
                        *leaf = tally.count(item as u32, &routing.read(items.row(item)));
                    }
                    tally
                },
            )
            .reduce(|| Tally::new(depth), Tally::merge);
        let n = items.len().max(1) as f64;
        let mean = |sum: Certainty| Certainty { sharpness: sum.sharpness / n, spread: sum.spread / n };
        Self {
            places: Places::new(depth, leaves),
            mass: tally.mass,
            typical: tally.typical,
            certainty: tally.certainty.into_iter().map(mean).collect(),
            leaves_for_most: tally.leaves_for_most as f64 / n,
        }
    }

    /// The depth of the tree.
    pub fn depth(&self) -> Depth {
        self.places.depth()
    }

    /// The places of the items.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The place of each item.
    pub fn leaves(&self) -> &[LeafId] {
        self.places.leaves()
    }

    /// The items under `node`, leaf by leaf.
    pub fn items(&self, node: NodeId) -> &[u32] {
        self.places.items(node)
    }

    /// How many items are under `node`.
    pub fn count(&self, node: NodeId) -> usize {
        self.places.count(node)
    }

    /// The sum of the items' probabilities of `node`.
    pub fn mass(&self, node: NodeId) -> f64 {
        self.mass[node.index()]
    }

    /// The mean probability of `node`: 1 at the root.
    pub fn share(&self, node: NodeId) -> f64 {
        if self.is_empty() { 0.0 } else { self.mass(node) / self.len() as f64 }
    }

    /// The items that are likeliest under `node`, likeliest first.
    pub fn typical(&self, node: NodeId) -> &[Reach] {
        &self.typical[node.index()]
    }

    /// How sure the items are of their nodes at `level`, which is not the root's.
    pub fn certainty(&self, level: Level) -> Certainty {
        self.certainty[level.get() - 1]
    }

    /// How many of its likeliest leaves hold [`MOST`] of an item's mass, on average.
    pub fn leaves_for_most(&self) -> f64 {
        self.leaves_for_most
    }

    /// How far the subject of `node` still divides: the entropy, in bits, of its mass over the leaves below it.
    pub fn entropy(&self, node: NodeId) -> f64 {
        let start = self.depth().leaf_level().start();
        entropy(node.leaves(self.depth()).map(|leaf| self.mass[start + leaf]))
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
    certainty: Vec<Certainty>, // sums
    leaves_for_most: usize,
}

impl Tally {
    fn new(depth: Depth) -> Self {
        Self {
            mass: vec![0.0; depth.nodes()],
            typical: vec![Vec::new(); depth.nodes()],
            certainty: vec![Certainty::default(); depth.get()],
            leaves_for_most: 0,
        }
    }

    /// Counts one item; its place.
    fn count(&mut self, item: u32, routed: &Routed) -> LeafId {
        for (node, &reach) in routed.nodes().iter().enumerate().filter(|(_, reach)| **reach > 0.0) {
            self.mass[node] += f64::from(reach);
            keep(&mut self.typical[node], Reach { item, reach });
        }
        for (sum, level) in self.certainty.iter_mut().zip(routed.depth().levels()) {
            let row = routed.at(level);
            sum.sharpness += f64::from(row.iter().copied().fold(0.0, f32::max));
            sum.spread += entropy(row.iter().map(|p| f64::from(*p))).exp2();
        }
        self.leaves_for_most += routed.leaves_for(MOST);
        routed.leaf()
    }

    fn merge(mut self, other: Self) -> Self {
        for (mass, more) in self.mass.iter_mut().zip(&other.mass) {
            *mass += more;
        }
        for (typical, more) in self.typical.iter_mut().zip(other.typical) {
            more.into_iter().for_each(|reach| keep(typical, reach));
        }
        for (sum, more) in self.certainty.iter_mut().zip(other.certainty) {
            sum.sharpness += more.sharpness;
            sum.spread += more.spread;
        }
        self.leaves_for_most += other.leaves_for_most;
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
        let items = Assignments::nested(depth, rows).unwrap();
        let census = Census::new(&items, &Routing::same());
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
        let certainty = census.certainty(depth.leaf_level());
        assert!((certainty.sharpness - (0.7 + 0.6 + 0.5 + 0.7) / 4.0).abs() < 1e-6);
    }

    #[test]
    fn counts_and_masses_are_of_the_routing_reading() {
        let depth = Depth::new(1).unwrap();
        let items = Assignments::nested(depth, vec![0.6, 0.4]).unwrap();
        let census = Census::new(&items, &Routing { sharpening: vec![2.0], cover: Vec::new() });
        let expected = 0.36 / (0.36 + 0.16);
        assert!((census.mass(NodeId::new(1)) - expected).abs() < 1e-6);
        assert!((census.certainty(depth.leaf_level()).sharpness - expected).abs() < 1e-6);
        assert_eq!(census.typical(NodeId::new(2))[0].item, 0);
        assert_eq!(census.count(NodeId::new(1)), 1);
        assert_eq!(census.leaves_for_most(), 2.0);
    }

    #[test]
    fn nothing_is_nowhere() {
        let depth = Depth::new(1).unwrap();
        let census = Census::new(&Assignments::nested(depth, vec![]).unwrap(), &Routing::same());
        assert!(census.is_empty());
        assert_eq!(census.share(NodeId::ROOT), 0.0);
        assert_eq!(census.entropy(NodeId::ROOT), 0.0);
    }
}
