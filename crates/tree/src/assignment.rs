//! Assignments: how much of each item reaches each node, at every level.
//!
//! With product propagation a parent is the sum of its children, so the leaf row says everything
//! ([`Nesting::Nested`]). With path-consistency each level is scored on its own; every level's row is kept,
//! normalised to sum to 1 ([`Nesting::PerLevel`]), and no level bounds another.

use crate::{Depth, Level};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Probabilities below this are written as zero: subnormal numbers slow a scan almost tenfold, and nothing
/// this small can change a ranking.
pub const FLUSH: f32 = 1e-9;

/// Whether the coarse levels follow from the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nesting {
    /// A parent is the sum of its children; a row is the leaves alone.
    Nested,
    /// Every level stands for itself; a row is the levels 1 to `D`, one after another.
    PerLevel,
}

impl Nesting {
    /// How many numbers a row holds.
    pub fn row_width(self, depth: Depth) -> usize {
        match self {
            Self::Nested => depth.leaves(),
            Self::PerLevel => depth.nodes() - 1,
        }
    }
}

/// What can be wrong with rows that claim to be assignments.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum AssignmentsError {
    /// The numbers do not fill whole rows.
    #[error("{received} numbers do not make rows of {expected}")]
    Shape {
        /// Numbers in one row.
        expected: usize,
        /// Numbers given.
        received: usize,
    },
    /// A number is negative, infinite or not a number.
    #[error("row {row}, column {column}: {value} is not a probability")]
    NotAProbability {
        /// Row of the number.
        row: usize,
        /// Column of the number.
        column: usize,
        /// The number.
        value: f32,
    },
    /// A level of a row does not sum to 1.
    #[error("row {row}: level {level} sums to {sum}, not to 1")]
    Sum {
        /// Row of the level.
        row: usize,
        /// The level.
        level: usize,
        /// What it sums to.
        sum: f32,
    },
}

/// The assignments of many items to one tree, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignments {
    depth: Depth,
    nesting: Nesting,
    rows: Vec<f32>, // [items, nesting.row_width(depth)]
}

impl Assignments {
    /// Rows of leaf probabilities, `2^D` each.
    pub fn nested(depth: Depth, leaves: Vec<f32>) -> Result<Self, AssignmentsError> {
        Self::new(depth, Nesting::Nested, leaves)
    }

    /// Rows in the layout of `nesting`. Each level of each row must be a probability distribution.
    pub fn new(depth: Depth, nesting: Nesting, mut rows: Vec<f32>) -> Result<Self, AssignmentsError> {
        let width = nesting.row_width(depth);
        if !rows.len().is_multiple_of(width) {
            return Err(AssignmentsError::Shape { expected: width, received: rows.len() });
        }
        for (row, values) in rows.chunks_exact_mut(width).enumerate() {
            if let Some(column) = values.iter().position(|p| !p.is_finite() || *p < 0.0) {
                return Err(AssignmentsError::NotAProbability { row, column, value: values[column] });
            }
            let item = Assignment { depth, nesting, row: values };
            let levels = match nesting {
                Nesting::Nested => depth.levels().len() - 1..depth.levels().len(),
                Nesting::PerLevel => 0..depth.levels().len(),
            };
            for level in depth.levels().skip(levels.start) {
                let sum: f32 = item.at(level).iter().sum();
                if (sum - 1.0).abs() > 1e-3 {
                    return Err(AssignmentsError::Sum { row, level: level.get(), sum });
                }
            }
            for p in values {
                if *p < FLUSH {
                    *p = 0.0;
                }
            }
        }
        Ok(Self { depth, nesting, rows })
    }

    /// The depth of the tree.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Whether coarse levels follow from the leaves.
    pub fn nesting(&self) -> Nesting {
        self.nesting
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.rows.len() / self.nesting.row_width(self.depth)
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The assignment of one item.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn row(&self, item: usize) -> Assignment<'_> {
        let width = self.nesting.row_width(self.depth);
        Assignment { depth: self.depth, nesting: self.nesting, row: &self.rows[item * width..][..width] }
    }

    /// All items in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Assignment<'_>> {
        (0..self.len()).map(|item| self.row(item))
    }

    /// All numbers, row after row.
    pub fn as_slice(&self) -> &[f32] {
        &self.rows
    }

    /// The representation of all items at one level: `[items, 2^level]`.
    pub fn level(&self, level: Level) -> Cow<'_, [f32]> {
        if self.nesting == Nesting::Nested && level == self.depth.leaf_level() {
            return Cow::Borrowed(&self.rows);
        }
        let mut out = Vec::with_capacity(self.len() * level.width());
        for item in self.iter() {
            out.extend_from_slice(&item.at(level));
        }
        Cow::Owned(out)
    }

    /// Appends the items of `other`, which must be of the same tree.
    pub fn extend(&mut self, other: &Self) {
        assert_eq!(
            (self.depth, self.nesting),
            (other.depth, other.nesting),
            "assignments of different trees"
        );
        self.rows.extend_from_slice(&other.rows);
    }
}

/// How much of one item reaches each node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assignment<'a> {
    depth: Depth,
    nesting: Nesting,
    row: &'a [f32],
}

impl<'a> Assignment<'a> {
    /// A row as it is stored.
    ///
    /// # Panics
    /// If it is of another length.
    pub fn new(depth: Depth, nesting: Nesting, row: &'a [f32]) -> Self {
        assert_eq!(row.len(), nesting.row_width(depth), "a row of another tree");
        Self { depth, nesting, row }
    }

    /// The depth of the tree.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Whether coarse levels follow from the leaves.
    pub fn nesting(&self) -> Nesting {
        self.nesting
    }

    /// The probabilities of the nodes of `level`, left to right.
    pub fn at(&self, level: Level) -> Cow<'a, [f32]> {
        match self.nesting {
            Nesting::PerLevel if level == Level::ROOT => Cow::Owned(vec![1.0]),
            Nesting::PerLevel => Cow::Borrowed(&self.row[level.start() - 1..][..level.width()]),
            Nesting::Nested if level == self.depth.leaf_level() => Cow::Borrowed(self.row),
            Nesting::Nested => {
                let mut out = vec![0.0; level.width()];
                coarsen(self.row, &mut out);
                Cow::Owned(out)
            }
        }
    }

    /// The probabilities of the leaves.
    pub fn leaves(&self) -> &'a [f32] {
        &self.row[self.row.len() - self.depth.leaves()..]
    }

    /// The probabilities of all nodes, breadth first.
    pub fn nodes(&self) -> Vec<f32> {
        let mut nodes = vec![1.0; self.depth.nodes()];
        let (above, row) = nodes.split_at_mut(self.depth.nodes() - self.row.len());
        row.copy_from_slice(self.row);
        if self.nesting == Nesting::Nested {
            let mut below = &*row;
            let mut above = above;
            for level in (0..self.depth.get()).rev() {
                let (further, level) = above.split_at_mut((1 << level) - 1);
                for (parent, [left, right]) in level.iter_mut().zip(below.as_chunks::<2>().0) {
                    *parent = left + right;
                }
                (above, below) = (further, level);
            }
        }
        nodes
    }

    /// The row as it is stored.
    pub fn as_slice(&self) -> &'a [f32] {
        self.row
    }
}

/// Sums the probabilities of a fine level into those of a coarser one: a parent is the sum of its children.
///
/// # Panics
/// If `fine` is not a power of two times as long as `coarse`.
pub fn coarsen(fine: &[f32], coarse: &mut [f32]) {
    let run = fine.len() / coarse.len();
    assert!(run.is_power_of_two() && run * coarse.len() == fine.len(), "levels of different trees");
    for (parent, children) in coarse.iter_mut().zip(fine.chunks_exact(run)) {
        *parent = children.iter().sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(d: u8) -> Depth {
        Depth::new(d).unwrap()
    }

    #[test]
    fn bad_rows_are_refused_by_place() {
        assert_eq!(
            Assignments::nested(depth(1), vec![1.0]),
            Err(AssignmentsError::Shape { expected: 2, received: 1 })
        );
        assert!(matches!(
            Assignments::nested(depth(1), vec![0.5, 0.5, 1.5, -0.5]),
            Err(AssignmentsError::NotAProbability { row: 1, column: 1, .. })
        ));
        assert!(matches!(
            Assignments::nested(depth(1), vec![0.5, f32::NAN]),
            Err(AssignmentsError::NotAProbability { row: 0, column: 1, .. })
        ));
        assert!(matches!(
            Assignments::new(depth(2), Nesting::PerLevel, vec![0.5, 0.5, 0.1, 0.1, 0.1, 0.1]),
            Err(AssignmentsError::Sum { row: 0, level: 2, .. })
        ));
    }

    #[test]
    fn levels_of_both_nestings() {
        let nested = Assignments::nested(depth(2), vec![0.1, 0.2, 0.3, 0.4]).unwrap();
        let root = Level::ROOT;
        assert!((nested.row(0).at(root)[0] - 1.0).abs() < 1e-6);
        assert_eq!(nested.level(depth(2).leaf_level()).as_ref(), nested.as_slice());
        let per = Assignments::new(depth(2), Nesting::PerLevel, vec![0.9, 0.1, 0.1, 0.2, 0.3, 0.4]).unwrap();
        assert_eq!(per.row(0).at(root).as_ref(), [1.0]);
        assert_eq!(per.row(0).at(depth(2).level(1).unwrap()).as_ref(), [0.9, 0.1]);
        assert_eq!(per.row(0).leaves(), [0.1, 0.2, 0.3, 0.4]);
        assert_eq!(per.row(0).nodes(), [1.0, 0.9, 0.1, 0.1, 0.2, 0.3, 0.4]);
    }

    #[test]
    fn tiny_masses_are_written_as_zero() {
        let items = Assignments::nested(depth(1), vec![1.0, 1e-12]).unwrap();
        assert_eq!(items.as_slice(), [1.0, 0.0]);
    }
}
