//! The routing reading of an assignment: where an item belongs, and how likely each node is.
//!
//! An assignment compares items. Its temperatures are soft, so that hundreds of leaves share an item and distances keep the
//! geometry of the embedding. The routing reading takes the same split logits at other temperatures, one for each level of
//! splits, calibrated so that the probability of a node is the chance that the answer to a query lies below it:
//!
//! ```text
//! x_t     = ln p(left child of t) - ln p(right child of t)               the comparing logit of split t
//! S(leaf) = sum over the splits t above of  +- sharpening[level of t] * x_t / 2       + to the left, - to the right
//! P(leaf) = exp S(leaf) / sum over all leaves of exp S                   P(node) = sum over the leaves below
//! ```
//!
//! All splits of a path are heard alike: a document that leans a little to the left at the root, and clearly fits a leaf on
//! the right, is placed on the right. A product of the splits' own probabilities would decide that at the root. Trees of the
//! paper's recipe have one temperature, and their routing probabilities are the assignment itself.

use crate::{Assignment, Depth, FLUSH, LeafId, Level, Nesting, NodeId};
use serde::{Deserialize, Serialize};

/// How the routing reading follows from an assignment. Part of a tree's configuration and of an index's format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// What comparing logits are multiplied with, for each level of splits from the root's on; empty for a tree with one
    /// temperature, whose assignments are routing probabilities as they are.
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
    pub fn same() -> Self {
        Self { sharpening: Vec::new(), cover: Vec::new() }
    }

    /// Whether it can be used with trees of this depth, or what is wrong.
    pub fn check(&self, depth: Depth) -> Result<(), String> {
        if !self.sharpening.is_empty() && self.sharpening.len() != depth.get() {
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
        let (depth, mut nodes) = (item.depth(), item.nodes());
        if let Some(scores) = self.scores(item, &nodes) {
            let most = scores.iter().copied().fold(f32::MIN, f32::max);
            let leaves = &mut nodes[depth.splits()..];
            leaves.iter_mut().zip(&scores).for_each(|(p, score)| *p = (score - most).exp());
            let total: f32 = leaves.iter().sum();
            leaves.iter_mut().for_each(|p| *p /= total);
            for node in (0..depth.splits()).rev() {
                nodes[node] = nodes[2 * node + 1] + nodes[2 * node + 2];
            }
        }
        Routed { depth, nodes }
    }

    /// The likeliest leaf of one item, the leftmost of equals: the one place of a document. The same as [`Routed::leaf`], but
    /// cheaper.
    ///
    /// # Panics
    /// If the item is of a tree of another depth.
    pub fn leaf(&self, item: Assignment<'_>) -> LeafId {
        match self.scores(item, &item.nodes()) {
            Some(scores) => likeliest(&scores),
            None => likeliest(item.leaves()),
        }
    }

    /// `S` of each leaf, given the item's masses of all nodes; `None` where the assignment is the routing reading.
    fn scores(&self, item: Assignment<'_>, masses: &[f32]) -> Option<Vec<f32>> {
        if item.nesting() == Nesting::PerLevel || self.sharpening.is_empty() {
            return None;
        }
        assert_eq!(self.sharpening.len(), item.depth().get(), "an assignment of another tree");
        let mut scores = vec![0.0f32];
        for (level, sharpening) in item.depth().levels().zip(&self.sharpening) {
            let children = &masses[level.start()..][..level.width()];
            let children = children.as_chunks::<2>().0;
            scores = scores
                .iter()
                .zip(children)
                .flat_map(|(score, [left, right])| {
                    // Masses that were flushed to zero are at most this.
                    let lean = 0.5 * sharpening * (left.max(FLUSH) / right.max(FLUSH)).ln();
                    [score + lean, score - lean]
                })
                .collect();
        }
        Some(scores)
    }
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

    /// The leaves of a tree with these split logits, divided by these temperatures.
    fn leaves(depth: Depth, logits: &[f32], compare: &[f32]) -> Vec<f32> {
        let mut nodes = vec![1.0f32; depth.nodes()];
        for node in 0..depth.splits() {
            let level = NodeId::new(node as u32).level().get();
            let share = 1.0 / (1.0 + (-logits[node] / compare[level]).exp());
            nodes[2 * node + 1] = nodes[node] * share;
            nodes[2 * node + 2] = nodes[node] * (1.0 - share);
        }
        nodes.split_off(depth.splits())
    }

    proptest! {
        #[test]
        fn the_same_logits_are_read_at_another_temperature(
            logits in prop::collection::vec(-3.0f32..3.0, 15),
            compare in prop::collection::vec(0.7f32..20.0, 4),
            route in prop::collection::vec(0.5f32..8.0, 4),
        ) {
            let depth = Depth::new(4).unwrap();
            let row = leaves(depth, &logits, &compare);
            let sharpening = compare.iter().zip(&route).map(|(compare, route)| compare / route).collect();
            let routing = Routing { sharpening, cover: Vec::new() };
            let item = Assignment::new(depth, Nesting::Nested, &row);
            let routed = routing.read(item);
            let score = |leaf: usize| -> f32 {
                let way: Vec<NodeId> = LeafId::new(leaf as u32).node(depth).path().collect();
                let lean = |step: &[NodeId]| {
                    let lean = 0.5 * logits[step[0].index()] / route[step[0].level().get()];
                    if step[1] == step[0].left() { lean } else { -lean }
                };
                way.windows(2).map(lean).sum()
            };
            let expected: Vec<f32> = (0..16).map(|leaf| score(leaf).exp()).collect();
            let total: f32 = expected.iter().sum();
            for (got, expected) in routed.leaves().iter().zip(&expected) {
                prop_assert!((got - expected / total).abs() < 1e-3, "{got} {}", expected / total);
            }
            for node in 0..depth.splits() {
                let below = routed.nodes()[2 * node + 1] + routed.nodes()[2 * node + 2];
                prop_assert!((routed.nodes()[node] - below).abs() < 1e-5);
            }
            let place = routing.leaf(item).node(depth);
            prop_assert!((routed.chance(place) - routed.chance(routed.leaf().node(depth))).abs() < 1e-6);
        }
    }

    #[test]
    fn one_temperature_is_the_likeliest_leaf() {
        let depth = Depth::new(2).unwrap();
        let row = [0.31, 0.29, 0.40, 0.0];
        let item = Assignment::new(depth, Nesting::Nested, &row);
        let routed = Routing::same().read(item);
        assert_eq!((routed.leaf(), Routing::same().leaf(item)), (LeafId::new(2), LeafId::new(2)));
        assert_eq!(routed.leaves(), row);
        assert_eq!(routed.order(), [2, 0, 1, 3].map(LeafId::new));
        assert_eq!((routed.leaves_for(0.4), routed.leaves_for(0.5), routed.leaves_for(1.0)), (1, 2, 3));
        assert_eq!(routed.likeliest(Level::ROOT.below()), NodeId::new(1));
    }

    #[test]
    fn all_splits_of_a_path_are_heard() {
        let depth = Depth::new(2).unwrap();
        // It leans a little to the left at the root, and clearly to the right-hand child on the right.
        let row = [0.26, 0.26, 0.08, 0.40];
        let routing = Routing { sharpening: vec![4.0, 4.0], cover: Vec::new() };
        assert_eq!(routing.read(Assignment::new(depth, Nesting::Nested, &row)).leaf(), LeafId::new(3));
    }

    #[test]
    fn leaves_without_mass_leave_a_usable_reading() {
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
        let mut routing = Routing::same();
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
        let mut routing = Routing::same();
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
        let falling = Routing { cover: vec![point(0.5, 0.4), point(0.9, 0.3)], ..Routing::same() };
        assert!(falling.check(depth).is_err());
    }
}
