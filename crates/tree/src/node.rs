//! Levels, nodes and leaves: the numbering of a complete binary tree, and nothing else.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The deepest tree that can be built (16,384 leaves).
pub const MAX_DEPTH: u8 = 14;

/// How deep a tree is: between 1 and [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Depth(u8);

impl Depth {
    /// A depth from 1 to [`MAX_DEPTH`], or nothing.
    pub fn new(depth: u8) -> Option<Self> {
        (1..=MAX_DEPTH).contains(&depth).then_some(Self(depth))
    }

    /// The depth as a number.
    pub fn get(self) -> usize {
        self.0.into()
    }

    /// The number of split nodes, `2^D - 1`: every node that is not a leaf.
    pub fn splits(self) -> usize {
        self.leaves() - 1
    }

    /// The number of nodes, leaves included: `2^(D+1) - 1`.
    pub fn nodes(self) -> usize {
        2 * self.leaves() - 1
    }

    /// The number of leaves, `2^D`.
    pub fn leaves(self) -> usize {
        self.leaf_level().width()
    }

    /// The level of the leaves.
    pub fn leaf_level(self) -> Level {
        Level(self.0)
    }

    /// Level `level` of this tree, or nothing below the leaves.
    pub fn level(self, level: u8) -> Option<Level> {
        (level <= self.0).then_some(Level(level))
    }

    /// The levels that represent an item, coarse to fine: 1 to the leaves. (The root says nothing.)
    pub fn levels(self) -> impl DoubleEndedIterator<Item = Level> + ExactSizeIterator {
        (0..self.0).map(|level| Level(level + 1))
    }
}

impl TryFrom<u8> for Depth {
    type Error = String;
    fn try_from(depth: u8) -> Result<Self, String> {
        Self::new(depth).ok_or_else(|| format!("a tree is 1 to {MAX_DEPTH} deep, not {depth}"))
    }
}

impl From<Depth> for u8 {
    fn from(depth: Depth) -> u8 {
        depth.0
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A level of the tree: 0 is the root, the [`Depth`] is the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Level(u8);

impl Level {
    /// The level of the root alone.
    pub const ROOT: Self = Self(0);

    /// The level as a number.
    pub fn get(self) -> usize {
        self.0.into()
    }

    /// How many nodes the level has, which is how many numbers represent an item there: `2^l`.
    pub fn width(self) -> usize {
        1 << self.0
    }

    /// The nodes of this level, left to right.
    pub fn nodes(self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator {
        let first = self.width() as u32 - 1;
        (0..self.width() as u32).map(move |rank| NodeId(first + rank))
    }

    /// The level underneath, whether or not a tree goes that far.
    pub fn below(self) -> Self {
        Self(self.0 + 1)
    }

    /// The first node of this level: how many nodes stand above it.
    pub fn start(self) -> usize {
        self.width() - 1
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A node in breadth-first order: the root is 0, the children of `t` are `2t + 1` (left) and `2t + 2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(u32);

impl NodeId {
    /// The node that every item reaches.
    pub const ROOT: Self = Self(0);

    /// The node with this breadth-first number.
    pub const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The node at `rank` (from the left) of `level`.
    pub fn at(level: Level, rank: usize) -> Self {
        debug_assert!(rank < level.width());
        Self((level.start() + rank) as u32)
    }

    /// The breadth-first number.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The level the node is on.
    pub fn level(self) -> Level {
        Level((self.0 + 1).ilog2() as u8)
    }

    /// The position from the left on its level.
    pub fn rank(self) -> usize {
        self.index() - self.level().start()
    }

    /// The node above, or nothing for the root.
    pub fn parent(self) -> Option<Self> {
        (self.0 > 0).then(|| Self((self.0 - 1) / 2))
    }

    /// The child that probability `sigmoid(s)` goes to.
    pub fn left(self) -> Self {
        Self(2 * self.0 + 1)
    }

    /// The child that the rest goes to.
    pub fn right(self) -> Self {
        Self(2 * self.0 + 2)
    }

    /// The ancestor on `level`: the node itself on its own level, nothing further down.
    pub fn ancestor(self, level: Level) -> Option<Self> {
        let up = self.level().get().checked_sub(level.get())?;
        Some(Self::at(level, self.rank() >> up))
    }

    /// Whether the node is `above` or below it.
    pub fn is_under(self, above: Self) -> bool {
        self.ancestor(above.level()) == Some(above)
    }

    /// The deepest node that both nodes are under.
    pub fn common_ancestor(self, other: Self) -> Self {
        let level = self.level().min(other.level());
        let (mut a, mut b) =
            (self.rank() >> (self.level().0 - level.0), other.rank() >> (other.level().0 - level.0));
        let mut height = level.0;
        while a != b {
            (a, b, height) = (a / 2, b / 2, height - 1);
        }
        Self::at(Level(height), a)
    }

    /// The nodes from the root to this one, both included.
    pub fn path(self) -> impl Iterator<Item = Self> {
        (0..=self.level().0).filter_map(move |level| self.ancestor(Level(level)))
    }

    /// The leaves under this node, as a range of leaf numbers.
    pub fn leaves(self, depth: Depth) -> std::ops::Range<usize> {
        let down = depth.get().saturating_sub(self.level().get());
        self.rank() << down..(self.rank() + 1) << down
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A leaf, counted from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeafId(u32);

impl LeafId {
    /// The leaf with this number from the left.
    pub const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The number from the left.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The node that the leaf is in a tree of this depth.
    pub fn node(self, depth: Depth) -> NodeId {
        NodeId::at(depth.leaf_level(), self.index())
    }
}

impl fmt::Display for LeafId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_depth_is_between_1_and_14() {
        assert_eq!(Depth::new(0), None);
        assert_eq!(Depth::new(15), None);
        assert!(serde_round_trip_rejects_zero());
        let depth = Depth::new(10).unwrap();
        assert_eq!((depth.splits(), depth.leaves(), depth.nodes()), (1023, 1024, 2047));
        assert_eq!(depth.levels().map(Level::width).sum::<usize>(), 2046);
    }

    fn serde_round_trip_rejects_zero() -> bool {
        Depth::try_from(0).is_err() && u8::from(Depth::new(7).unwrap()) == 7
    }

    proptest! {
        #[test]
        fn numbering_is_consistent(a in 0u32..(1 << 15) - 1, b in 0u32..(1 << 15) - 1) {
            let (a, b) = (NodeId::new(a), NodeId::new(b));
            prop_assert_eq!(NodeId::at(a.level(), a.rank()), a);
            prop_assert_eq!(a.left().parent(), Some(a));
            prop_assert_eq!(a.right().parent(), Some(a));
            prop_assert_eq!(a.path().count(), a.level().get() + 1);
            prop_assert!(a.is_under(NodeId::ROOT) && a.left().is_under(a) && !a.is_under(a.right()));
            let lca = a.common_ancestor(b);
            let shared = a.path().zip(b.path()).take_while(|(x, y)| x == y).last().unwrap().0;
            prop_assert_eq!(lca, shared);
        }

        #[test]
        fn the_leaves_of_a_level_tile_the_tree(level in 0u8..=6) {
            let depth = Depth::new(6).unwrap();
            let mut next = 0;
            for node in depth.level(level).unwrap().nodes() {
                let leaves = node.leaves(depth);
                prop_assert_eq!(leaves.start, next);
                for leaf in leaves.clone() {
                    prop_assert!(LeafId::new(leaf as u32).node(depth).is_under(node));
                }
                next = leaves.end;
            }
            prop_assert_eq!(next, depth.leaves());
        }
    }
}
