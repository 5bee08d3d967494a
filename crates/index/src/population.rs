//! What the live documents of a snapshot are together: how many lie below a node, and their average assignment.
//!
//! Neither reads the corpus: counts follow from the leaf ranges of segments, and the average from the sums that segments
//! keep, less the rows of deleted documents.

use crate::search::Hit;
use crate::{Result, Shape, Snapshot};
use retreever_tree::{LeafId, Nesting, NodeId};
use std::ops::Range;

impl Snapshot {
    /// How many documents are placed below a node, or in it if it is a leaf; 0 if the tree has no such node. The first call
    /// looks at every leaf, later ones at two numbers.
    pub fn count(&self, node: NodeId) -> usize {
        let depth = self.shape().depth;
        if node.index() >= depth.nodes() {
            return 0;
        }
        let before = self.before.get_or_init(|| self.documents_before());
        let leaves = node.leaves(depth);
        before[leaves.end] - before[leaves.start]
    }

    /// For each leaf, and for the end, how many documents are in leaves further left.
    fn documents_before(&self) -> Vec<usize> {
        let mut before = vec![0];
        for leaf in (0..self.shape().depth.leaves()).map(|leaf| LeafId::new(leaf as u32)) {
            let here = self.segments().zip(&self.live).map(|(segment, live)| ones(live, segment.leaf(leaf)));
            before.push(before[leaf.index()] + here.sum::<usize>());
        }
        before
    }

    /// The leaf that holds the document of a hit: the likeliest of its routing reading.
    pub fn place(&self, hit: &Hit) -> LeafId {
        self.segments[hit.segment].leaf_of(hit.row)
    }

    /// The mean assignment of all documents, in the layout of [`retreever_tree::Assignments`]; each level sums to 1. For a
    /// snapshot without documents, the uniform assignment. The first call reads the rows of deleted documents that are still
    /// in segments; the result is kept.
    pub fn average(&self) -> Result<Vec<f32>> {
        if let Some(average) = self.average.get() {
            return Ok(average.clone());
        }
        let mut sums = vec![0.0; self.shape().width()];
        for (number, segment) in self.segments().enumerate() {
            sums.iter_mut().zip(segment.sums()?).for_each(|(sum, more)| *sum += more);
            for row in (0..segment.len()).filter(|row| !self.is_live(number, *row)) {
                sums.iter_mut().zip(segment.row(row)?).for_each(|(sum, dead)| *sum -= f64::from(dead));
            }
        }
        if self.is_empty() {
            sums.fill(1.0);
        }
        let average = normalised(self.shape(), sums);
        Ok(self.average.get_or_init(|| average).clone())
    }
}

/// How many bits of a range are set.
fn ones(bits: &[u64], range: Range<usize>) -> usize {
    let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else { return 0 };
    let within = |word: usize| {
        let from = if word == range.start / 64 { range.start % 64 } else { 0 };
        let to = if word == last / 64 { last % 64 } else { 63 };
        bits[word] >> from << (63 - to + from)
    };
    (range.start / 64..=last / 64).map(|word| within(word).count_ones() as usize).sum()
}

/// Each level divided by its sum. What rounding has left below 0 counts as 0.
fn normalised(shape: Shape, mut sums: Vec<f64>) -> Vec<f32> {
    let normalise = |level: &mut [f64]| {
        level.iter_mut().for_each(|sum| *sum = sum.max(0.0));
        let total: f64 = level.iter().sum();
        level.iter_mut().for_each(|sum| *sum /= total);
    };
    match shape.nesting {
        Nesting::Nested => normalise(&mut sums),
        Nesting::PerLevel => {
            shape.depth.levels().for_each(|level| normalise(&mut sums[level.start() - 1..][..level.width()]));
        }
    }
    sums.into_iter().map(|sum| sum as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_a_range_are_counted() {
        let bits = [0x8000_0000_0000_0001, u64::MAX, 0b1010];
        let naive = |range: Range<usize>| range.filter(|at| bits[at / 64] >> (at % 64) & 1 == 1).count();
        for start in 0..192 {
            for end in start..=192 {
                assert_eq!(ones(&bits, start..end), naive(start..end), "{start}..{end}");
            }
        }
    }
}
