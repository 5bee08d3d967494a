//! The splits of a planted tree, and the documents that they are planted in.

use super::halves::{CHILD, FEW};
use super::{Planting, Within};
use crate::dense;
use crate::least_squares;
use crate::linear_algebra::{disturb, dot, mean, polar, principal};
use crate::random::Random;
use crate::split::Spaces;
use rayon::prelude::*;
use retreever_kernels::gemm::Mat;
use retreever_tree::{Depth, Level};
use std::ops::Range;

/// Rounds of moving cuts.
const BALANCING: usize = 10;
/// Logits with a smaller standard deviation are taken to be all alike.
const SMALLEST: f32 = 1e-4;

/// The splits of a tree: a logit is `direction . z + bias`. Directions all have the same length.
#[derive(Clone, Debug)]
pub struct Frame {
    width: usize,
    /// `[splits, width]`.
    pub directions: Vec<f32>,
    /// `[splits]`.
    pub biases: Vec<f32>,
}

/// The documents that a tree is planted in.
pub(crate) struct Documents<'a> {
    pub(super) depth: Depth,
    pub(super) width: usize,
    /// How many splits look at the upper space.
    pub(super) first: usize,
    rows: Spaces<&'a [f32]>, // [documents, width], of length 1
}

impl<'a> Documents<'a> {
    /// Documents in the spaces of a tree whose first `upper` levels of splits form the first block.
    pub(crate) fn new(depth: Depth, upper: usize, width: usize, rows: &'a Spaces<Vec<f32>>) -> Self {
        let first = first_block(depth.leaf_level(), upper, width);
        Self { depth, width, first, rows: Spaces { upper: &rows.upper, lower: &rows.lower } }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.lower.len() / self.width
    }

    /// What the splits look at that begin with this one.
    pub(super) fn rows(&self, split: usize) -> &'a [f32] {
        if split < self.first { self.rows.upper } else { self.rows.lower }
    }

    /// The logits of some splits, all of one space, `[documents, splits]`.
    pub(super) fn logits(&self, splits: Range<usize>, frame: &Frame) -> Vec<f32> {
        let (items, width) = (self.len(), self.width);
        let mut logits: Vec<f32> = (0..items).flat_map(|_| &frame.biases[splits.clone()]).copied().collect();
        if !splits.is_empty() {
            let directions = &frame.directions[splits.start * width..splits.end * width];
            let (rows, directions) =
                (Mat::new(self.rows(splits.start), items, width), Mat::new(directions, splits.len(), width));
            dense::par_gemm(rows, directions.t(), &mut logits);
        }
        logits
    }

    /// The directions of the lower space, at right angles, that predict the logits of the first block best.
    pub(super) fn predicting(&self, frame: &Frame) -> Vec<f32> {
        let mut logits = self.logits(0..self.first, frame);
        let mut rows = self.rows.lower.to_vec();
        centre(&mut logits, self.first);
        centre(&mut rows, self.width);
        let mut directions = least_squares::map(&rows, self.width, &logits, self.first);
        disturb(&mut directions, self.width, &mut Random::new(0, self.first as u64));
        polar(&mut directions, self.width);
        directions
    }
}
impl Frame {
    /// A frame of these directions and biases.
    pub(crate) fn new(width: usize, directions: Vec<f32>, biases: Vec<f32>) -> Self {
        Self { width, directions, biases }
    }

    /// A frame for these documents.
    pub(crate) fn plant(documents: &Documents<'_>, seed: u64) -> Self {
        let &Documents { depth, width, first, .. } = documents;
        let splits = depth.splits();
        let mut frame = Self { width, directions: vec![0.0; splits * width], biases: vec![0.0; splits] };
        let mut planting = Planting::new(documents, seed);
        let space = principal(documents.rows.upper, width, first, seed);
        planting.block(0..first, Within::Space(&space), &mut frame);
        planting.below(&mut frame);
        frame
    }

    /// Turns each level of the first block within the space of its directions, cuts anew, and plants the levels below.
    pub(crate) fn turn(&mut self, documents: &Documents<'_>, seed: u64) {
        let mut planting = Planting::new(documents, seed);
        let levels = documents.depth.levels().map(|below| (below.start() / 2)..below.start());
        for level in levels.take_while(|level| level.end <= documents.first) {
            let span = self.directions[level.start * self.width..level.end * self.width].to_vec();
            planting.block(level, Within::Space(&span), self);
        }
        planting.below(self);
    }

    /// The same splits with directions of length 1; the first block ends with split `first`.
    pub(crate) fn at_length_1(mut self, first: usize) -> Self {
        for part in [0..first, first..self.biases.len()] {
            if !part.is_empty() {
                let length = dot(self.direction(part.start), self.direction(part.start)).sqrt();
                self.divide(part, length.max(f32::MIN_POSITIVE));
            }
        }
        self
    }

    /// The same splits with logits whose standard deviation is 1, on the mean of all splits. The first block is as loud beside the
    /// others as what it tells is in the lower space.
    pub(crate) fn at_deviation_1(mut self, documents: &Documents<'_>) -> Self {
        let (first, splits) = (documents.first, self.biases.len());
        let upper = deviation(&documents.logits(0..first, &self), first);
        let mut total = upper * first as f32;
        if first < splits {
            let directions = documents.predicting(&self);
            let told = Self::new(self.width, directions, vec![0.0; first]);
            let lower_rows = Documents { first: 0, ..*documents };
            let wanted = deviation(&lower_rows.logits(0..first, &told), first);
            self.divide(0..first, upper / wanted.max(SMALLEST));
            let lower = deviation(&documents.logits(first..splits, &self), splits - first);
            total = wanted * first as f32 + lower * (splits - first) as f32;
        }
        self.divide(0..splits, (total / splits as f32).max(SMALLEST));
        self
    }

    /// Moves cuts until no child of a node has less than `CHILD` of its documents by the routing rule, which hears all splits
    /// of a path alike and so places some documents on the other side of an upper cut.
    pub(crate) fn balance(mut self, documents: &Documents<'_>) -> Self {
        let (depth, first, splits) = (documents.depth, documents.first, self.biases.len());
        let biases = std::mem::replace(&mut self.biases, vec![0.0; splits]);
        let (upper, lower) = (documents.logits(0..first, &self), documents.logits(first..splits, &self));
        self.biases = biases;
        let along: Vec<f32> = (0..documents.len())
            .flat_map(|item| {
                let lower = &lower[item * (splits - first)..][..splits - first];
                upper[item * first..][..first].iter().chain(lower).copied()
            })
            .collect();
        for _ in 0..BALANCING {
            let place = |along: &[f32]| -> usize {
                let mut scores = vec![0.0f32];
                for start in depth.levels().map(|below| below.start() / 2) {
                    let logits = along[start..].iter().zip(&self.biases[start..]);
                    scores =
                        scores.iter().zip(logits).flat_map(|(s, (x, b))| [s + x + b, s - x - b]).collect();
                }
                (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0)
            };
            let places: Vec<usize> = along.par_chunks_exact(splits.max(1)).map(place).collect();
            let mut counts = vec![0.0f32; depth.nodes()];
            places.iter().for_each(|leaf| counts[splits + leaf] += 1.0);
            for node in (0..splits).rev() {
                let (left, right) = (counts[2 * node + 1], counts[2 * node + 2]);
                counts[node] = left + right;
                if counts[node] >= FEW as f32 {
                    let share = left / counts[node];
                    self.biases[node] -= share - share.clamp(CHILD, 1.0 - CHILD);
                }
            }
        }
        self
    }

    fn divide(&mut self, splits: Range<usize>, by: f32) {
        let directions = &mut self.directions[splits.start * self.width..splits.end * self.width];
        directions.iter_mut().chain(&mut self.biases[splits]).for_each(|x| *x /= by);
    }

    pub(super) fn direction(&self, node: usize) -> &[f32] {
        &self.directions[node * self.width..][..self.width]
    }
}

/// How many splits the first block has: whole levels, no more than the embedding is wide.
pub(crate) fn first_block(leaves: Level, upper: usize, width: usize) -> usize {
    let levels = std::iter::successors(Some(Level::ROOT.below()), |level| Some(level.below()));
    let levels = levels.take_while(|level| *level <= leaves).take(upper.max(1));
    levels.map(Level::start).take_while(|splits| *splits <= width).last().unwrap_or(1)
}

/// The mean standard deviation of the columns of `[items, columns]` numbers.
pub(super) fn deviation(numbers: &[f32], columns: usize) -> f32 {
    let (mut sums, mut squares) = (vec![0.0f64; columns], vec![0.0f64; columns]);
    for row in numbers.chunks_exact(columns.max(1)) {
        for ((sum, square), x) in sums.iter_mut().zip(&mut squares).zip(row) {
            *sum += f64::from(*x);
            *square += f64::from(*x) * f64::from(*x);
        }
    }
    let count = (numbers.len() / columns.max(1)).max(1) as f64;
    let deviations =
        sums.iter().zip(&squares).map(|(s, q)| (q / count - (s / count).powi(2)).max(0.0).sqrt());
    (deviations.sum::<f64>() / columns.max(1) as f64) as f32
}

/// Takes from rows their mean.
fn centre(rows: &mut [f32], width: usize) {
    let mean = mean(rows, width);
    rows.chunks_exact_mut(width).for_each(|row| row.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean));
}
