//! Planting: directions and cuts of splits from documents alone, without any training.
//!
//! Splits the documents into halves of halves by 2-means and takes the differences of the two means as directions. These
//! repeat each other, so that items compared along them are stretched; the nearest rows at right angles (the polar factor)
//! see the embedding evenly and still point where documents part. Each node then cuts its documents at the widest gap along
//! its direction: the cut with the least sum of squares on both sides, neither with less than [`CHILD`] of the documents.
//!
//! When a space has been trained in front of the splits, they are planted again below the upper levels, and each upper level is
//! turned: its directions stay within the space that they span together, which the tree's loss has shaped, and point along
//! the halves of the documents as far as that space allows. To soft comparisons only the space of a level matters.
//!
//! Directions are at right angles in blocks. The upper levels form the first block, in a space of their own. Few directions cannot
//! see all of an embedding, so these stay within as many principal directions of the documents. The next block fills what the
//! upper one leaves out, as far as whole levels fit into the width: it is at right angles to the directions of the lower space
//! that predict the upper logits best. Further levels are blocks by themselves, in parts if need be.

use crate::dense;
use crate::least_squares;
use crate::linear_algebra::{disturb, dot, keep_within, mean, polar, principal, remove, unit};
use crate::random::Random;
use crate::split::Spaces;
use rayon::prelude::*;
use retreever_kernels::gemm::Mat;
use retreever_tree::{Depth, Level};
use std::ops::Range;

/// The least share of a node's documents that a child gets. Meaning asks for uneven cuts, reading few documents for even ones.
const CHILD: f32 = 0.4;
/// Fewer documents than this give no direction.
const FEW: usize = 4;
/// At most so many documents of a node are clustered.
const CLUSTERED: usize = 5000;
/// Starts of 2-means; the best result counts.
const RESTARTS: usize = 4;
/// Rounds of moving cuts.
const BALANCING: usize = 10;
/// Logits with a smaller standard deviation are taken to be all alike.
const SMALLEST: f32 = 1e-4;
/// Rounds of Lloyd's algorithm from each start.
const ROUNDS: usize = 15;

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
    depth: Depth,
    width: usize,
    /// How many splits look at the upper space.
    first: usize,
    rows: Spaces<&'a [f32]>, // [documents, width], of length 1
}

impl<'a> Documents<'a> {
    /// Documents in the spaces of a tree whose first `upper` levels of splits form the first block.
    pub(crate) fn new(depth: Depth, upper: usize, width: usize, rows: &'a Spaces<Vec<f32>>) -> Self {
        let first = first_block(depth.leaf_level(), upper, width);
        Self { depth, width, first, rows: Spaces { upper: &rows.upper, lower: &rows.lower } }
    }

    fn len(&self) -> usize {
        self.rows.lower.len() / self.width
    }

    /// What the splits look at that begin with this one.
    fn rows(&self, split: usize) -> &'a [f32] {
        if split < self.first { self.rows.upper } else { self.rows.lower }
    }

    /// The logits of some splits, all of one space, `[documents, splits]`.
    fn logits(&self, splits: Range<usize>, frame: &Frame) -> Vec<f32> {
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
    fn predicting(&self, frame: &Frame) -> Vec<f32> {
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

    /// Moves cuts until no child of a node has less than [`CHILD`] of its documents by the routing rule, which hears all splits
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

    fn direction(&self, node: usize) -> &[f32] {
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
fn deviation(numbers: &[f32], columns: usize) -> f32 {
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

/// The items above a cut (which go left) and the others.
fn sides(group: &[u32], along: &[f32], cut: f32) -> [Vec<u32>; 2] {
    let (left, right): (Vec<_>, Vec<_>) = group.iter().zip(along).partition(|(_, x)| **x > cut);
    [left, right].map(|side| side.into_iter().map(|(item, _)| *item).collect())
}

/// The unit direction between the means of the two halves that 2-means finds; `None` for items that are too few or all alike.
fn two_means(rows: &[f32], width: usize, random: &mut Random) -> Option<Vec<f32>> {
    let count = rows.len() / width;
    if count < FEW {
        return None;
    }
    let row = |item: usize| &rows[item * width..][..width];
    let mut best: Option<(f64, Vec<f32>)> = None;
    for _ in 0..RESTARTS {
        let mut means = [row(random.below(count)).to_vec(), row(random.below(count)).to_vec()];
        let mut cost = None;
        for _ in 0..ROUNDS {
            let direction: Vec<f32> = means[0].iter().zip(&means[1]).map(|(a, b)| a - b).collect();
            let along: Vec<f32> = (0..count).map(|item| dot(row(item), &direction)).collect();
            let middle = 0.5 * (dot(&means[0], &means[0]) - dot(&means[1], &means[1]));
            let [low, high] = bounds(&along);
            let cut = middle.clamp(low, high);
            let Some(next) = means_of(rows, width, &along, cut) else {
                cost = None;
                break;
            };
            cost = Some(next.1);
            means = next.0;
        }
        if let Some(cost) = cost.filter(|cost| best.as_ref().is_none_or(|(best, _)| cost < best)) {
            best = Some((cost, means[0].iter().zip(&means[1]).map(|(a, b)| a - b).collect()));
        }
    }
    let mut direction = best?.1;
    unit(&mut direction);
    Some(direction)
}

/// The means of the items above and below a cut, and minus the squares that they explain; `None` if a side is empty.
fn means_of(rows: &[f32], width: usize, along: &[f32], cut: f32) -> Option<([Vec<f32>; 2], f64)> {
    let (mut means, mut counts) = ([vec![0.0f32; width], vec![0.0f32; width]], [0u32; 2]);
    for (row, x) in rows.chunks_exact(width).zip(along) {
        let side = usize::from(*x <= cut);
        counts[side] += 1;
        means[side].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    if counts.contains(&0) {
        return None;
    }
    for (mean, count) in means.iter_mut().zip(counts) {
        mean.iter_mut().for_each(|x| *x /= count as f32);
    }
    let explained = |side: usize| f64::from(counts[side]) * f64::from(dot(&means[side], &means[side]));
    let cost = -(explained(0) + explained(1));
    Some((means, cost))
}

/// The values between which a cut leaves each side at least [`CHILD`].
fn bounds(along: &[f32]) -> [f32; 2] {
    let mut sorted = along.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let last = (sorted.len() - 1) as f32;
    [sorted[(CHILD * last) as usize], sorted[((1.0 - CHILD) * last) as usize]]
}

/// Where to cut numbers so that the two sides have the least sum of squares, neither with less than [`CHILD`] of them.
fn gap(along: &[f32]) -> f32 {
    let mut sorted = along.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let count = sorted.len();
    let total: f64 = sorted.iter().map(|x| f64::from(*x)).sum();
    let last = (count - 1) as f32;
    let allowed = (CHILD * last) as usize..=((1.0 - CHILD) * last) as usize;
    let (mut sum, mut best) = (0.0, (f64::NEG_INFINITY, sorted[count / 2]));
    for (at, x) in sorted[..count - 1].iter().enumerate() {
        sum += f64::from(*x);
        let (below, above) = ((at + 1) as f64, (count - at - 1) as f64);
        let explained = sum * sum / below + (total - sum).powi(2) / above;
        if allowed.contains(&at) && *x < sorted[at + 1] && explained > best.0 {
            best = (explained, 0.5 * (x + sorted[at + 1]));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn no_child_is_left_with_little() {
        let mut random = Random::new(2, 2);
        let mut along: Vec<f32> = (0..99).map(|_| random.normal() as f32).collect();
        along.push(50.0);
        let cut = gap(&along);
        let left = along.iter().filter(|x| **x > cut).count();
        assert!((39..=61).contains(&left), "{left}");
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
