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
//! Directions are at right angles in blocks. The upper levels form the first block. Few directions cannot see all of an
//! embedding, so these stay within as many principal directions of the documents. The next block fills what the upper one
//! leaves out, as far as whole levels fit into the width. Further levels are blocks by themselves, in parts if need be.

use crate::dense;
use crate::linear_algebra::{disturb, dot, keep_within, polar, principal, remove, unit};
use crate::random::Random;
use rayon::prelude::*;
use retreever_kernels::gemm::Mat;
use retreever_tree::Depth;
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

/// Documents on their way down a frame that is being planted.
struct Planting<'a> {
    depth: Depth,
    rows: &'a [f32], // [documents, width]
    width: usize,
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

    /// The frame of a tree whose first `upper` levels of splits form the first block, for documents `rows` of length 1.
    pub(crate) fn plant(depth: Depth, upper: usize, rows: &[f32], width: usize, seed: u64) -> Self {
        let splits = depth.splits();
        let mut frame = Self { width, directions: vec![0.0; splits * width], biases: vec![0.0; splits] };
        let mut planting = Planting::new(depth, rows, width, seed);
        let first = first_block(depth, upper, width);
        let space = principal(rows, width, first, seed);
        planting.block(0..first, Within::Space(&space), &mut frame);
        planting.below(first, &mut frame);
        frame
    }

    /// Turns each level of the first block within the space of its directions, cuts anew, and plants the levels below.
    pub(crate) fn turn(&mut self, depth: Depth, upper: usize, rows: &[f32], seed: u64) {
        let mut planting = Planting::new(depth, rows, self.width, seed);
        let first = first_block(depth, upper, self.width);
        let levels = depth.levels().map(|below| (below.start() / 2)..below.start());
        for level in levels.take_while(|level| level.end <= first) {
            let span = self.directions[level.start * self.width..level.end * self.width].to_vec();
            planting.block(level, Within::Space(&span), self);
        }
        planting.below(first, self);
    }

    /// The same splits with directions of length 1.
    pub(crate) fn at_length_1(mut self) -> Self {
        let length = dot(self.direction(0), self.direction(0)).sqrt().max(f32::MIN_POSITIVE);
        self.divide(length);
        self
    }

    /// The same splits with logits whose standard deviation over these rows is 1, on the mean of all splits.
    pub(crate) fn at_deviation_1(mut self, rows: &[f32]) -> Self {
        self.divide(self.mean_deviation(rows).max(SMALLEST));
        self
    }

    /// Moves cuts until no child of a node has less than [`CHILD`] of its documents by the routing rule, which hears all splits
    /// of a path alike and so places some documents on the other side of an upper cut.
    pub(crate) fn balance(mut self, depth: Depth, rows: &[f32]) -> Self {
        let (items, splits, width) = (rows.len() / self.width, self.biases.len(), self.width);
        let mut along = vec![0.0; items * splits];
        dense::par_gemm(
            Mat::new(rows, items, width),
            Mat::new(&self.directions, splits, width).t(),
            &mut along,
        );
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

    fn divide(&mut self, by: f32) {
        self.directions.iter_mut().chain(&mut self.biases).for_each(|x| *x /= by);
    }

    /// The standard deviation of logits of these rows, on the mean of all splits.
    fn mean_deviation(&self, rows: &[f32]) -> f32 {
        let (items, splits) = (rows.len() / self.width, self.biases.len());
        let directions = Mat::new(&self.directions, splits, self.width);
        let (mut sums, mut squares) = (vec![0.0f64; splits], vec![0.0f64; splits]);
        for some in rows.chunks(1024 * self.width) {
            let mut logits = vec![0.0; some.len() / self.width * splits];
            dense::par_gemm(Mat::new(some, some.len() / self.width, self.width), directions.t(), &mut logits);
            for row in logits.chunks_exact(splits) {
                for ((sum, square), logit) in sums.iter_mut().zip(&mut squares).zip(row) {
                    *sum += f64::from(*logit);
                    *square += f64::from(*logit) * f64::from(*logit);
                }
            }
        }
        let count = items.max(1) as f64;
        let deviations =
            sums.iter().zip(&squares).map(|(s, q)| (q / count - (s / count).powi(2)).max(0.0).sqrt());
        (deviations.sum::<f64>() / splits as f64) as f32
    }

    fn direction(&self, node: usize) -> &[f32] {
        &self.directions[node * self.width..][..self.width]
    }
}

/// How many splits the first block has: whole levels, no more than the embedding is wide.
pub(crate) fn first_block(depth: Depth, upper: usize, width: usize) -> usize {
    let mut levels = depth.levels().take(upper.max(1)).map(|level| level.width() - 1);
    let fitting = levels.by_ref().take_while(|splits| *splits <= width).last();
    fitting.unwrap_or(1).max(1)
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
    fn new(depth: Depth, rows: &'a [f32], width: usize, seed: u64) -> Self {
        let mut groups = vec![Vec::new(); depth.nodes()];
        groups[0] = (0..(rows.len() / width) as u32).collect();
        Self { depth, rows, width, seed, groups }
    }

    /// Plants all blocks below the first `done` splits.
    fn below(&mut self, done: usize, frame: &mut Frame) {
        for block in blocks_below(self.depth, done, self.width) {
            let above = frame.directions[..done * self.width].to_vec();
            let within = if block.start == done && block.end <= self.width {
                Within::Beside(&above)
            } else {
                Within::All
            };
            self.block(block, within, frame);
        }
    }

    /// Plants the nodes of one block, whose documents are known for the topmost of them.
    fn block(&mut self, nodes: Range<usize>, within: Within<'_>, frame: &mut Frame) {
        let width = self.width;
        let mut seen = match within {
            Within::All => None,
            _ => Some(self.rows.to_vec()),
        };
        if let Some(seen) = &mut seen {
            match within {
                Within::Space(space) => keep_within(seen, space, width),
                Within::Beside(above) => remove(seen, above, width),
                Within::All => {}
            }
        }
        let seen = seen.as_deref().unwrap_or(self.rows);
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
        let mut random = Random::new(self.seed, node as u64);
        let row = |item: u32| &seen[item as usize * self.width..][..self.width];
        let mut some = group.to_vec();
        random.shuffle(&mut some);
        some.truncate(CLUSTERED);
        let sample: Vec<f32> = some.iter().flat_map(|item| row(*item)).copied().collect();
        let Some(direction) = two_means(&sample, self.width, &mut random) else {
            let mut direction: Vec<f32> = (0..self.width).map(|_| random.normal() as f32).collect();
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
        let along = self.along(group, frame.direction(node));
        let cut = if group.len() >= FEW {
            gap(&along)
        } else {
            // Too few documents to tell: the mean of all is split evenly.
            let all: Vec<u32> = (0..(self.rows.len() / self.width).min(CLUSTERED) as u32).collect();
            let along = self.along(&all, frame.direction(node));
            along.iter().sum::<f32>() / along.len().max(1) as f32
        };
        (-cut, sides(group, &along, cut))
    }

    fn along(&self, group: &[u32], direction: &[f32]) -> Vec<f32> {
        let row = |item: &u32| &self.rows[*item as usize * self.width..][..self.width];
        group.iter().map(|item| dot(row(item), direction)).collect()
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
        assert_eq!(first_block(depth(10), 6, 384), 63);
        assert_eq!(blocks_below(depth(10), 63, 384), [63..255, 255..511, 511..767, 767..1023]);
        assert_eq!(blocks_below(depth(10), 63, 768), [63..511, 511..1023]);
        assert_eq!(first_block(depth(5), 6, 8), 7);
        assert_eq!(blocks_below(depth(5), 7, 8), [7..15, 15..23, 23..31]);
        assert_eq!(first_block(depth(2), 6, 1), 1);
        assert_eq!(blocks_below(depth(2), 1, 1), [1..2, 2..3]);
    }

    #[test]
    fn splits_point_where_documents_part_and_stand_at_right_angles() {
        let rows = clusters(400, 8);
        let frame = Frame::plant(depth(4), 2, &rows, 8, 1);
        assert!(frame.directions[0].abs() > 0.9, "{:?}", &frame.directions[..8]);
        for block in [0..3, 3..7, 7..15] {
            let rows = &frame.directions[block.start * 8..block.end * 8];
            assert!(largest_angle(rows, 8) < 1e-3, "{block:?}");
        }
        assert!(
            largest_angle(&frame.directions[..7 * 8], 8) < 1e-3,
            "the second block goes on beside the first"
        );
        let mut planting = Planting::new(depth(4), &rows, 8, 1);
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
            let frame = Frame::plant(depth(3), 6, &rows, 4, 1);
            assert!(frame.directions.iter().chain(&frame.biases).all(|x| x.is_finite()), "{rows:?}");
            assert!(largest_angle(&frame.directions[..3 * 4], 4) < 1e-3);
        }
    }

    #[test]
    fn upper_levels_turn_within_their_spaces() {
        let (rows, other) = (clusters(200, 8), clusters(300, 8));
        let mut frame = Frame::plant(depth(4), 2, &rows, 8, 1);
        let before = frame.clone();
        frame.turn(depth(4), 2, &other[800..], 1);
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
        let frame = Frame::plant(depth(4), 2, &rows, 8, 1);
        let scaled = frame.clone().at_deviation_1(&rows);
        assert!((scaled.mean_deviation(&rows) - 1.0).abs() < 1e-3);
        let back = scaled.at_length_1();
        assert!(frame.directions.iter().zip(&back.directions).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
