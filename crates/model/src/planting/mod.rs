//! Planting: directions and cuts of splits from documents alone, without any training.
//!
//! Splits the documents into halves of halves by 2-means and takes the differences of the two means as directions. These
//! repeat each other, so that items compared along them are stretched; the nearest rows at right angles (the polar factor)
//! see the embedding evenly and still point where documents part. Each node then cuts its documents at the widest gap along
//! its direction: the cut with the least sum of squares on both sides, neither with less than `CHILD` of the documents.
//!
//! When a space has been trained in front of the splits, they are planted again below the upper levels, and each upper level is
//! turned: its directions stay within the space that they span together, which the tree's loss has shaped, and point along
//! the halves of the documents as far as that space allows. To soft comparisons only the space of a level matters.
//!
//! Directions are at right angles in blocks. The upper levels form the first block, in a space of their own. Few directions cannot
//! see all of an embedding, so these stay within as many principal directions of the documents. The next block fills what the
//! upper one leaves out, as far as whole levels fit into the width: it is at right angles to the directions of the lower space
//! that predict the upper logits best. Further levels are blocks by themselves, in parts if need be.
mod frame;
mod halves;

pub use frame::Frame;
pub(crate) use frame::{Documents, first_block};

use crate::linear_algebra::{disturb, dot, keep_within, polar, remove, unit};
use crate::random::Random;
use halves::{FEW, gap, sides, two_means};
use rayon::prelude::*;
use retreever_tree::Depth;
use std::ops::Range;

/// At most so many documents of a node are clustered.
const CLUSTERED: usize = 5000;

/// Documents on their way down a frame that is being planted.
struct Planting<'a> {
    documents: &'a Documents<'a>,
    seed: u64,
    /// The documents of each node, as far as cuts are known.
    groups: Vec<Vec<u32>>,
}

/// Where the directions of a block may point.
enum Within<'a> {
    /// Anywhere.
    All,
    /// Within the space of these directions.
    Space(&'a [f32]),
    /// At right angles to these directions.
    Beside(&'a [f32]),
}
/// The blocks below the first `done` splits: the first of them shares its space with those.
fn blocks_below(depth: Depth, done: usize, width: usize) -> Vec<Range<usize>> {
    let splits = depth.splits();
    let fits = depth.levels().map(|level| level.width() - 1).take_while(|splits| *splits <= width).last();
    let shared = fits.unwrap_or(0).max(done);
    let mut blocks = Vec::from_iter(std::iter::once(done..shared));
    for level in
        depth.levels().map(|level| level.width() - 1).filter(|start| *start >= shared && *start < splits)
    {
        let part = (level + 1).min(1 << width.ilog2());
        blocks.extend((level..2 * level + 1).step_by(part).map(|start| start..start + part));
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

impl<'a> Planting<'a> {
    fn new(documents: &'a Documents<'a>, seed: u64) -> Self {
        let mut groups = vec![Vec::new(); documents.depth.nodes()];
        groups[0] = (0..documents.len() as u32).collect();
        Self { documents, seed, groups }
    }

    /// Plants all blocks below the first one.
    fn below(&mut self, frame: &mut Frame) {
        let &Documents { depth, width, first, .. } = self.documents;
        for block in blocks_below(depth, first, width) {
            if block.start == first && block.end <= width {
                let above = self.documents.predicting(frame);
                self.block(block, Within::Beside(&above), frame);
            } else {
                self.block(block, Within::All, frame);
            }
        }
    }

    /// Plants the nodes of one block, whose documents are known for the topmost of them.
    fn block(&mut self, nodes: Range<usize>, within: Within<'_>, frame: &mut Frame) {
        let (width, rows) = (self.documents.width, self.documents.rows(nodes.start));
        let mut seen = match within {
            Within::All => None,
            _ => Some(rows.to_vec()),
        };
        if let Some(seen) = &mut seen {
            match within {
                Within::Space(space) => keep_within(seen, space, width),
                Within::Beside(above) => remove(seen, above, width),
                Within::All => {}
            }
        }
        let seen = seen.as_deref().unwrap_or(rows);
        // The halves of 2-means lead down the block until its directions are turned.
        let (mut reached, mut wanted) = (self.groups.clone(), vec![0.0; nodes.len() * width]);
        let mut start = nodes.start;
        while start < nodes.end {
            let end = (2 * start + 1).min(nodes.end);
            let found: Vec<_> =
                (start..end).into_par_iter().map(|node| self.halve(node, &reached[node], seen)).collect();
            for (node, (direction, halves)) in (start..end).zip(found) {
                wanted[(node - nodes.start) * width..][..width].copy_from_slice(&direction);
                let [left, right] = halves;
                (reached[2 * node + 1], reached[2 * node + 2]) = (left, right);
            }
            start = end;
        }
        disturb(&mut wanted, width, &mut Random::new(self.seed, (nodes.start as u64) << 32));
        match within {
            Within::Space(space) => keep_within(&mut wanted, space, width),
            Within::Beside(above) => remove(&mut wanted, above, width),
            Within::All => {}
        }
        polar(&mut wanted, width);
        frame.directions[nodes.start * width..nodes.end * width].copy_from_slice(&wanted);
        self.cut(nodes, frame);
    }

    /// The direction between the halves of a group, and the halves.
    fn halve(&self, node: usize, group: &[u32], seen: &[f32]) -> (Vec<f32>, [Vec<u32>; 2]) {
        let (width, mut random) = (self.documents.width, Random::new(self.seed, node as u64));
        let row = |item: u32| &seen[item as usize * width..][..width];
        let mut some = group.to_vec();
        random.shuffle(&mut some);
        some.truncate(CLUSTERED);
        let sample: Vec<f32> = some.iter().flat_map(|item| row(*item)).copied().collect();
        let Some(direction) = two_means(&sample, width, &mut random) else {
            let mut direction: Vec<f32> = (0..width).map(|_| random.normal() as f32).collect();
            unit(&mut direction);
            return (direction, [group.to_vec(), Vec::new()]);
        };
        let along: Vec<f32> = group.iter().map(|item| dot(row(*item), &direction)).collect();
        let cut = gap(&along);
        let halves = sides(group, &along, cut);
        (direction, halves)
    }

    /// Cuts each of these nodes where its documents have the widest gap along its direction, from the top down.
    fn cut(&mut self, nodes: Range<usize>, frame: &mut Frame) {
        let mut start = nodes.start;
        while start < nodes.end {
            let end = (2 * start + 1).min(nodes.end);
            let found: Vec<_> = (start..end).into_par_iter().map(|node| self.cut_at(node, frame)).collect();
            for (node, (bias, [left, right])) in (start..end).zip(found) {
                frame.biases[node] = bias;
                (self.groups[2 * node + 1], self.groups[2 * node + 2]) = (left, right);
            }
            start = end;
        }
    }

    fn cut_at(&self, node: usize, frame: &Frame) -> (f32, [Vec<u32>; 2]) {
        let group = &self.groups[node];
        let along = self.along(group, node, frame);
        let cut = if group.len() >= FEW {
            gap(&along)
        } else {
            // Too few documents to tell: the mean of all is split evenly.
            let all: Vec<u32> = (0..self.documents.len().min(CLUSTERED) as u32).collect();
            let along = self.along(&all, node, frame);
            along.iter().sum::<f32>() / along.len().max(1) as f32
        };
        (-cut, sides(group, &along, cut))
    }

    fn along(&self, group: &[u32], node: usize, frame: &Frame) -> Vec<f32> {
        let (width, rows) = (self.documents.width, self.documents.rows(node));
        let row = |item: &u32| &rows[*item as usize * width..][..width];
        group.iter().map(|item| dot(row(item), frame.direction(node))).collect()
    }
}
#[cfg(test)]
mod tests {
    use super::frame::deviation;
    use super::*;
    use crate::split::Spaces;

    fn both(rows: &[f32]) -> Spaces<Vec<f32>> {
        Spaces { upper: rows.to_vec(), lower: rows.to_vec() }
    }

    fn depth(levels: u8) -> Depth {
        Depth::new(levels).unwrap()
    }

    fn largest_angle(rows: &[f32], width: usize) -> f32 {
        let row = |n: usize| &rows[n * width..][..width];
        let count = rows.len() / width;
        let pairs = (0..count).flat_map(|a| (0..=a).map(move |b| (a, b)));
        pairs.map(|(a, b)| (dot(row(a), row(b)) - f32::from(a == b)).abs()).fold(0.0, f32::max)
    }

    /// Documents in four clusters, two of them near each other.
    fn clusters(count: usize, width: usize) -> Vec<f32> {
        let mut random = Random::new(1, 1);
        let mut rows = Vec::new();
        for document in 0..count {
            let mut row: Vec<f32> = (0..width).map(|_| 0.1 * random.normal() as f32).collect();
            row[0] += if document % 4 < 2 { 1.0 } else { -1.0 };
            row[1 + document % 4 / 2] += if document % 2 == 0 { 0.5 } else { -0.5 };
            unit(&mut row);
            rows.extend(row);
        }
        rows
    }

    #[test]
    fn blocks_are_whole_levels_as_far_as_they_fit() {
        assert_eq!(first_block(depth(10).leaf_level(), 6, 384), 63);
        assert_eq!(blocks_below(depth(10), 63, 384), [63..255, 255..511, 511..767, 767..1023]);
        assert_eq!(blocks_below(depth(10), 63, 768), [63..511, 511..1023]);
        assert_eq!(first_block(depth(5).leaf_level(), 6, 8), 7);
        assert_eq!(blocks_below(depth(5), 7, 8), [7..15, 15..23, 23..31]);
        assert_eq!(first_block(depth(2).leaf_level(), 6, 1), 1);
        assert_eq!(blocks_below(depth(2), 1, 1), [1..2, 2..3]);
    }

    #[test]
    fn splits_point_where_documents_part_and_stand_at_right_angles() {
        let rows = clusters(400, 8);
        let spaces = both(&rows);
        let documents = Documents::new(depth(4), 2, 8, &spaces);
        let frame = Frame::plant(&documents, 1);
        assert!(frame.directions[0].abs() > 0.9, "{:?}", &frame.directions[..8]);
        for block in [0..3, 3..7, 7..15] {
            let rows = &frame.directions[block.start * 8..block.end * 8];
            assert!(largest_angle(rows, 8) < 1e-3, "{block:?}");
        }
        assert!(
            largest_angle(&frame.directions[..7 * 8], 8) < 0.05,
            "the second block goes on beside the first"
        );
        let mut planting = Planting::new(&documents, 1);
        planting.cut(0..15, &mut frame.clone());
        for (leaf, group) in planting.groups[3..7].iter().enumerate() {
            let classes: Vec<u32> = group.iter().map(|document| document % 4).collect();
            assert!(classes.len() == 100 && classes.iter().all(|class| *class == classes[0]), "{leaf}");
        }
    }

    #[test]
    fn documents_that_are_alike_or_missing_leave_a_usable_frame() {
        for rows in [vec![0.5; 4 * 40], vec![0.5; 4], Vec::new()] {
            let spaces = both(&rows);
            let frame = Frame::plant(&Documents::new(depth(3), 6, 4, &spaces), 1);
            assert!(frame.directions.iter().chain(&frame.biases).all(|x| x.is_finite()), "{rows:?}");
            assert!(largest_angle(&frame.directions[..3 * 4], 4) < 1e-3);
        }
    }

    #[test]
    fn upper_levels_turn_within_their_spaces() {
        let (rows, other) = (clusters(200, 8), clusters(300, 8));
        let spaces = both(&rows);
        let mut frame = Frame::plant(&Documents::new(depth(4), 2, 8, &spaces), 1);
        let before = frame.clone();
        let spaces = both(&other[800..]);
        frame.turn(&Documents::new(depth(4), 2, 8, &spaces), 1);
        for level in [0..1, 1..3] {
            let rows = level.start * 8..level.end * 8;
            let mut rest = frame.directions[rows.clone()].to_vec();
            assert!(largest_angle(&rest, 8) < 1e-3);
            remove(&mut rest, &before.directions[rows], 8);
            assert!(rest.iter().all(|x| x.abs() < 1e-3), "{level:?}: {rest:?}");
        }
        assert_ne!(frame.directions, before.directions);
    }

    #[test]
    fn logits_get_a_deviation_of_1() {
        let rows = clusters(200, 8);
        let spaces = both(&rows);
        let documents = Documents::new(depth(4), 2, 8, &spaces);
        let frame = Frame::plant(&documents, 1);
        let scaled = frame.clone().at_deviation_1(&documents);
        assert!((deviation(&documents.logits(0..15, &scaled), 15) - 1.0).abs() < 1e-2);
        let back = scaled.at_length_1(3);
        assert!(frame.directions.iter().zip(&back.directions).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
