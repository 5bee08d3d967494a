//! The routing reading of an assignment: where an item belongs, and how likely each node is.
//!
//! An assignment compares items. Its temperatures are soft, so that hundreds of leaves share an item and distances keep the
//! geometry of the embedding. The routing reading takes the same split logits at other temperatures, one for each level of
//! splits, calibrated so that the probability of a node is the chance that the answer to a query lies below it.
//!
//! With product propagation nothing else is needed: the share that goes left at a node is `l / (l + r)`, so its comparing
//! logit is `ln l - ln r`, and the routing logit is that times `sharpening[level]`, the comparing temperature divided by the
//! routing one. Trees of the paper's recipe have one temperature: a sharpening of 1 everywhere.

use crate::{Assignment, Depth, LeafId, Level, Nesting, NodeId};
use serde::{Deserialize, Serialize};

/// How the routing reading follows from an assignment. Part of a tree's configuration and of an index's format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// What comparing logits are multiplied with, for each level of splits from the root's on.
    pub sharpening: Vec<f32>,
    /// How much routing probability must be opened to find an answer; empty for a tree that was never calibrated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cover: Vec<CoverPoint>,
}

/// A point of the measured curve of cover: held-out pairs' answers against opened probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoverPoint {
    /// The share of queries whose answer lies in the opened leaves.
    pub chance: f64,
    /// The routing probability that the opened leaves must hold for that.
    pub opened: f64,
}

impl Routing {
    /// One temperature for comparing and routing, without calibration: the paper's own rule.
    pub fn same(depth: Depth) -> Self {
        Self { sharpening: vec![1.0; depth.get()], cover: Vec::new() }
    }

    /// Whether it can be used with trees of this depth, or what is wrong.
    pub fn check(&self, depth: Depth) -> Result<(), String> {
        if self.sharpening.len() != depth.get() {
            let (expected, received) = (depth.get(), self.sharpening.len());
            return Err(format!(
                "`sharpening` has {received} numbers, but the tree has {expected} levels of splits"
            ));
        }
        if let Some(bad) = self.sharpening.iter().find(|x| !(x.is_finite() && **x > 0.0)) {
            return Err(format!("`sharpening` holds {bad}, but must be finite and above 0"));
        }
        let chance = |p: f64| (0.0..=1.0).contains(&p);
        let rising = self.cover.is_sorted_by(|a, b| a.chance < b.chance && a.opened <= b.opened);
        if !rising || !self.cover.iter().all(|point| chance(point.chance) && chance(point.opened)) {
            return Err("`cover` must rise, within 0 and 1".to_owned());
        }
        Ok(())
    }

    /// Whether routing probabilities were calibrated on held-out pairs.
    pub fn is_calibrated(&self) -> bool {
        !self.cover.is_empty()
    }

    /// The routing probability that opened leaves must hold so that an answer is among them with this chance: interpolated
    /// between measured points, or the chance itself where nothing was measured.
    pub fn opened_for(&self, chance: f64) -> f64 {
        let (mut below, mut above) =
            (CoverPoint { chance: 0.0, opened: 0.0 }, CoverPoint { chance: 1.0, opened: 1.0 });
        for point in &self.cover {
            if point.chance <= chance {
                below = *point;
            } else {
                above = *point;
                break;
            }
        }
        if self.cover.is_empty() || above.chance <= below.chance {
            return chance;
        }
        let share = (chance - below.chance) / (above.chance - below.chance);
        below.opened + share * (above.opened - below.opened)
    }

    /// The chance that an answer is among opened leaves that hold this routing probability: the inverse of
    /// [`Routing::opened_for`], the largest chance where several need as much.
    pub fn chance_of(&self, opened: f64) -> f64 {
        let opened = opened.clamp(0.0, 1.0);
        if self.cover.is_empty() {
            return opened;
        }
        let mut below = CoverPoint { chance: 0.0, opened: 0.0 };
        for above in self.cover.iter().copied().chain([CoverPoint { chance: 1.0, opened: 1.0 }]) {
            if above.opened > opened {
                let share = (opened - below.opened) / (above.opened - below.opened);
                return below.chance + share * (above.chance - below.chance);
            }
            below = above;
        }
        below.chance
    }

    /// The routing reading of one item.
    ///
    /// # Panics
    /// If the item is of a tree of another depth.
    pub fn read(&self, item: Assignment<'_>) -> Routed {
        let depth = item.depth();
        assert_eq!(self.sharpening.len(), depth.get(), "an assignment of another tree");
        let mut nodes = item.nodes();
        if !self.is_sharper(item) {
            return Routed { depth, nodes };
        }
        for node in 0..depth.splits() {
            let [left, right] = self.children(NodeId::new(node as u32), nodes[node], &nodes);
            // The children's own children still hold comparing masses, of which only the ratio counts.
            (nodes[2 * node + 1], nodes[2 * node + 2]) = (left, right);
        }
        Routed { depth, nodes }
    }

    /// The likeliest leaf of one item, the leftmost of equals: the one place of a document. As [`Routed::leaf`], without
    /// looking below nodes that are less likely than a leaf found before.
    ///
    /// # Panics
    /// If the item is of a tree of another depth.
    pub fn leaf(&self, item: Assignment<'_>) -> LeafId {
        let depth = item.depth();
        assert_eq!(self.sharpening.len(), depth.get(), "an assignment of another tree");
        if !self.is_sharper(item) {
            return likeliest(item.leaves());
        }
        let nodes = item.nodes();
        let (mut best, mut leaf) = (-1.0, LeafId::new(0));
        let mut open = vec![(NodeId::ROOT, 1.0f32)];
        while let Some((node, chance)) = open.pop() {
            if chance < best {
                continue;
            }
            if node.level() == depth.leaf_level() {
                let here = LeafId::new(node.rank() as u32);
                if chance > best || here < leaf {
                    (best, leaf) = (chance, here);
                }
                continue;
            }
            let [left, right] = self.children(node, chance, &nodes);
            let children = [(node.left(), left), (node.right(), right)];
            // The likelier child is looked at first.
            open.extend(if left < right { children } else { [children[1], children[0]] });
        }
        leaf
    }

    /// Whether the routing reading differs from the assignment.
    fn is_sharper(&self, item: Assignment<'_>) -> bool {
        item.nesting() == Nesting::Nested && self.sharpening.iter().any(|sharpening| *sharpening != 1.0)
    }

    /// The probabilities of a node's children, given its own and the comparing masses of all nodes.
    fn children(&self, node: NodeId, chance: f32, masses: &[f32]) -> [f32; 2] {
        let (left, right) = (masses[node.left().index()], masses[node.right().index()]);
        let share = if left > 0.0 || right > 0.0 {
            let odds = left.max(f32::MIN_POSITIVE) / right.max(f32::MIN_POSITIVE);
            sigmoid(self.sharpening[node.level().get()] * odds.ln())
        } else {
            0.5
        };
        [chance * share, chance * (1.0 - share)]
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The largest of some leaves, the leftmost of equals.
fn likeliest(leaves: &[f32]) -> LeafId {
    let most = leaves.iter().copied().fold(f32::MIN, f32::max);
    LeafId::new(leaves.iter().position(|p| *p == most).unwrap_or(0) as u32)
}

/// How likely one item is to belong below each node.
#[derive(Clone, Debug, PartialEq)]
pub struct Routed {
    depth: Depth,
    nodes: Vec<f32>, // [nodes], breadth first
}

impl Routed {
    /// The depth of the tree.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// The probability of a node; 1 for the root.
    pub fn chance(&self, node: NodeId) -> f32 {
        self.nodes[node.index()]
    }

    /// The probabilities of all nodes, breadth first.
    pub fn nodes(&self) -> &[f32] {
        &self.nodes
    }

    /// The probabilities of the nodes of `level`, left to right.
    pub fn at(&self, level: Level) -> &[f32] {
        &self.nodes[level.start()..][..level.width()]
    }

    /// The probabilities of the leaves.
    pub fn leaves(&self) -> &[f32] {
        self.at(self.depth.leaf_level())
    }

    /// The likeliest node of a level, the leftmost of equals.
    pub fn likeliest(&self, level: Level) -> NodeId {
        NodeId::at(level, likeliest(self.at(level)).index())
    }

    /// The likeliest leaf, the leftmost of equals: the one place of a document.
    pub fn leaf(&self) -> LeafId {
        LeafId::new(self.likeliest(self.depth.leaf_level()).rank() as u32)
    }

    /// The leaves, likeliest first: the order in which a query opens them.
    pub fn order(&self) -> Vec<LeafId> {
        let leaves = self.leaves();
        let mut order: Vec<LeafId> = (0..leaves.len() as u32).map(LeafId::new).collect();
        order.sort_by(|a, b| leaves[b.index()].total_cmp(&leaves[a.index()]));
        order
    }

    /// How many of the likeliest leaves hold `share` of the probability together.
    pub fn leaves_for(&self, share: f64) -> usize {
        let mut left = share;
        let leaves = self.leaves();
        let held = self.order().into_iter().take_while(|leaf| {
            let wanted = left > 0.0;
            left -= f64::from(leaves[leaf.index()]);
            wanted
        });
        held.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The leaves of a tree with these split logits.
    fn leaves(depth: Depth, logits: &[f32], factors: &[f32]) -> Vec<f32> {
        let mut nodes = vec![1.0f32; depth.nodes()];
        for node in 0..depth.splits() {
            let share = sigmoid(logits[node] * factors[NodeId::new(node as u32).level().get()]);
            nodes[2 * node + 1] = nodes[node] * share;
            nodes[2 * node + 2] = nodes[node] * (1.0 - share);
        }
        nodes.split_off(depth.splits())
    }

    proptest! {
        #[test]
        fn the_same_logits_are_read_at_another_temperature(
            logits in prop::collection::vec(-3.0f32..3.0, 15),
            compare in prop::collection::vec(0.05f32..1.5, 4),
            sharpening in prop::collection::vec(0.5f32..8.0, 4),
        ) {
            let depth = Depth::new(4).unwrap();
            let row = leaves(depth, &logits, &compare);
            let sharp: Vec<f32> = compare.iter().zip(&sharpening).map(|(a, b)| a * b).collect();
            let expected = leaves(depth, &logits, &sharp);
            let routing = Routing { sharpening, cover: Vec::new() };
            let routed = routing.read(Assignment::new(depth, Nesting::Nested, &row));
            for (got, expected) in routed.leaves().iter().zip(&expected) {
                prop_assert!((got - expected).abs() < 1e-3, "{got} {expected}");
            }
            for node in 0..depth.splits() {
                let below = routed.nodes()[2 * node + 1] + routed.nodes()[2 * node + 2];
                prop_assert!((routed.nodes()[node] - below).abs() < 1e-5);
            }
            prop_assert_eq!(routing.leaf(Assignment::new(depth, Nesting::Nested, &row)), routed.leaf());
        }
    }

    #[test]
    fn one_temperature_is_the_likeliest_leaf() {
        let depth = Depth::new(2).unwrap();
        let row = [0.31, 0.29, 0.40, 0.0];
        let routed = Routing::same(depth).read(Assignment::new(depth, Nesting::Nested, &row));
        assert_eq!(routed.leaf(), LeafId::new(2));
        assert_eq!(routed.leaves(), row);
        assert_eq!(routed.order(), [2, 0, 1, 3].map(LeafId::new));
        assert_eq!((routed.leaves_for(0.4), routed.leaves_for(0.5), routed.leaves_for(1.0)), (1, 2, 3));
        assert_eq!(routed.likeliest(Level::ROOT.below()), NodeId::new(1));
    }

    #[test]
    fn leaves_without_mass_are_split_evenly() {
        let depth = Depth::new(2).unwrap();
        let row = [1.0, 0.0, 0.0, 0.0];
        let routing = Routing { sharpening: vec![2.0, 2.0], cover: Vec::new() };
        let routed = routing.read(Assignment::new(depth, Nesting::Nested, &row));
        assert!(routed.leaves().iter().all(|p| p.is_finite()));
        assert_eq!(routed.leaf(), LeafId::new(0));
    }

    #[test]
    fn cover_is_read_between_measured_points() {
        let depth = Depth::new(1).unwrap();
        let mut routing = Routing::same(depth);
        assert_eq!(routing.opened_for(0.9), 0.9);
        let point = |chance, opened| CoverPoint { chance, opened };
        routing.cover = vec![point(0.5, 0.4), point(0.9, 0.8), point(0.99, 0.99)];
        assert_eq!(routing.check(depth), Ok(()));
        for (chance, opened) in [(0.0, 0.0), (0.5, 0.4), (0.7, 0.6), (0.9, 0.8), (1.0, 1.0)] {
            assert!((routing.opened_for(chance) - opened).abs() < 1e-9, "{chance}");
        }
    }

    #[test]
    fn cover_is_read_backwards() {
        let depth = Depth::new(1).unwrap();
        let mut routing = Routing::same(depth);
        assert_eq!((routing.chance_of(0.3), routing.chance_of(2.0)), (0.3, 1.0));
        let point = |chance, opened| CoverPoint { chance, opened };
        routing.cover = vec![point(0.5, 0.4), point(0.7, 0.4), point(0.9, 0.8), point(0.99, 0.99)];
        for (opened, chance) in [(0.0, 0.0), (0.2, 0.25), (0.4, 0.7), (0.6, 0.8), (0.99, 0.99), (1.0, 1.0)] {
            assert!((routing.chance_of(opened) - chance).abs() < 1e-9, "{opened}");
            assert!((routing.opened_for(chance) - opened).abs() < 1e-9, "{opened}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        let depth = Depth::new(2).unwrap();
        let with = |sharpening: &[f32]| Routing { sharpening: sharpening.to_vec(), cover: Vec::new() };
        assert!(with(&[1.0]).check(depth).is_err());
        assert!(with(&[1.0, 0.0]).check(depth).is_err());
        assert!(with(&[1.0, f32::NAN]).check(depth).is_err());
        let point = |chance, opened| CoverPoint { chance, opened };
        let falling = Routing { cover: vec![point(0.5, 0.4), point(0.9, 0.3)], ..Routing::same(depth) };
        assert!(falling.check(depth).is_err());
    }
}
