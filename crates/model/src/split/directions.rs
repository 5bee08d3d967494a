//! The directions that splits point along: those that halve the documents, turned until they stand at right angles.
//!
//! Halve the documents along some direction, halve the halves, and go on to the leaves. If `d_t` is half the difference
//! between the means of the two sides of node `t`, the mean document of a leaf is the mean of all plus the sum of `d_t` on
//! the way to it, each with its sign: what such splits say about an item, summed up on the way to a leaf, is its inner
//! product with the leaf's mean document, by which an inverted file would choose what to open. But these directions repeat
//! each other, and comparing items along them stretches what differs most among documents at the cost of everything else.
//! The nearest rows at right angles (the polar factor of the matrix) see all of an embedding equally well, so that items
//! compare as they are seen, and still point where documents part.
//!
//! Where there are fewer splits than an embedding is wide, they cannot see all of it. They see what differs most: they are
//! kept within as many principal directions of the documents as there are splits.

use crate::dense;
use crate::random::Random;
use retreever_kernels::gemm::Mat;

/// Fewer documents than this tell no direction.
const FEW: usize = 4;
/// How often a direction is found anew from the halves that the last one makes.
const ROUNDS: usize = 6;
/// How much of a random direction stays in each, so that none of them follow from others.
const RANDOM: f32 = 0.1;
/// Rounds of Newton and Schulz's iteration: each multiplies small singular values by up to 1.5.
const TURNS: usize = 48;
/// Rounds of orthogonal iteration towards the principal directions.
const POWERS: usize = 12;

/// Random directions, `[nodes, width]`, at right angles as far as there is room.
pub(super) fn random(rows: &mut [f32], width: usize, random: &mut Random) {
    rows.iter_mut().for_each(|x| *x = random.normal() as f32);
    square_up(rows, &[], width, &[]);
}

/// Turns random directions of the nodes below some groups of documents, breadth first, to where these can be halved. What is
/// seen `above`, by as many rows at right angles as there are nodes above, is not looked at again until all else is.
/// Returns the groups below them.
pub(super) fn halving<'a>(
    rows: &mut [f32],
    mut groups: Vec<Vec<&'a [f32]>>,
    above: &[f32],
    width: usize,
) -> Vec<Vec<&'a [f32]>> {
    let spread = spread(groups.iter().flatten().copied(), above, width);
    let mut rest = &mut *rows;
    while !rest.is_empty() {
        let (level, below) = rest.split_at_mut((groups.len() * width).min(rest.len()));
        let nodes = groups.into_iter().zip(level.chunks_exact_mut(width));
        groups = nodes.flat_map(|(group, direction)| halve(group, direction)).collect();
        rest = below;
    }
    square_up(rows, above, width, &spread);
    groups
}

/// The covariance of documents, `[width, width]`, without what is seen by `above`, and a little of every direction.
fn spread<'a>(documents: impl Iterator<Item = &'a [f32]>, above: &[f32], width: usize) -> Vec<f32> {
    let mut rows: Vec<f32> = documents.flatten().copied().collect();
    let centre = mean(rows.chunks_exact(width), width);
    for row in rows.chunks_exact_mut(width) {
        row.iter_mut().zip(&centre).for_each(|(x, mean)| *x -= mean);
    }
    let count = rows.len() / width;
    if !above.is_empty() {
        let taken = above.len() / width;
        let (rest, above) = (rows.clone(), Mat::new(above, taken, width));
        let mut along = vec![0.0; count * taken];
        dense::par_gemm(Mat::new(&rest, count, width), above.t(), &mut along);
        along.iter_mut().for_each(|x| *x = -*x);
        dense::par_gemm(Mat::new(&along, count, taken), above, &mut rows);
    }
    let mut spread = vec![0.0; width * width];
    let rows = Mat::new(&rows, count, width);
    dense::par_gemm(rows.t(), rows, &mut spread);
    let total: f32 = spread.iter().step_by(width + 1).sum();
    spread.iter_mut().step_by(width + 1).for_each(|x| *x += 1e-4 * total / width as f32 + f32::MIN_POSITIVE);
    spread
}

/// Turns a direction to where it halves a group best, as far as that can be seen, and halves the group.
fn halve<'a>(group: Vec<&'a [f32]>, direction: &mut [f32]) -> [Vec<&'a [f32]>; 2] {
    if group.len() < FEW {
        return [group, Vec::new()];
    }
    let random = direction.to_vec();
    for _ in 0..ROUNDS {
        let [right, left] = halves(&group, direction).map(|half| mean(half.into_iter(), direction.len()));
        let sides = left.iter().zip(&right);
        direction.iter_mut().zip(sides).for_each(|(x, (left, right))| *x = left - right);
        unit(direction);
    }
    let [right, left] = halves(&group, direction);
    direction.iter_mut().zip(random).for_each(|(x, random)| *x += RANDOM * random);
    [left, right]
}

/// A group in two halves: those less far along a direction, and those farther.
fn halves<'a>(group: &[&'a [f32]], direction: &[f32]) -> [Vec<&'a [f32]>; 2] {
    let mut along: Vec<(f32, &[f32])> = group.iter().map(|x| (dot(x, direction), *x)).collect();
    let middle = along.len() / 2;
    along.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0));
    let (less, more) = along.split_at(middle);
    [less, more].map(|half| half.iter().map(|(_, x)| *x).collect())
}

/// Replaces every `width` rows, counted from the last, by near ones that are of length 1 and at right angles. The first, which
/// are fewer, are kept within the principal directions of `spread`, if there is any, and at right angles to those above,
/// if there is room; two levels at a time keep nearest to where they were: coarse levels must do with few directions.
fn square_up(rows: &mut [f32], above: &[f32], width: usize, spread: &[f32]) {
    let (count, taken) = (rows.len() / width, above.len() / width);
    let first = count % width;
    let (upper, blocks) = rows.split_at_mut(first * width);
    let above = if taken + first > width { &[] } else { above };
    if !spread.is_empty() {
        keep_within(upper, &principal(upper, spread, width), width);
    }
    let mut seen = above.to_vec();
    let (mut done, mut levels) = (0, 2);
    while done < first {
        let end = ((1usize << levels) - 1).saturating_sub(taken).min(first);
        let them = &mut upper[done * width..end.max(done) * width];
        turn(them, &seen, width);
        seen.extend_from_slice(them);
        (done, levels) = (end.max(done), levels + 2);
    }
    blocks.chunks_exact_mut(width * width).for_each(|block| turn(block, &[], width));
}

/// As many principal directions of `spread` as there are rows, about: rows at right angles, the same space.
fn principal(rows: &[f32], spread: &[f32], width: usize) -> Vec<f32> {
    let mut directions = rows.to_vec();
    let (count, spread) = (rows.len() / width, Mat::new(spread, width, width));
    for _ in 0..POWERS {
        let mut stretched = vec![0.0; rows.len()];
        dense::par_gemm(Mat::new(&directions, count, width), spread, &mut stretched);
        turn(&mut stretched, &[], width);
        directions = stretched;
    }
    directions
}

/// Leaves of each row what is within the space of `directions`, which are at right angles.
pub(super) fn keep_within(rows: &mut [f32], directions: &[f32], width: usize) {
    let (count, directions) = (rows.len() / width, Mat::new(directions, directions.len() / width, width));
    let mut along = vec![0.0; count * directions.rows()];
    dense::par_gemm(Mat::new(rows, count, width), directions.t(), &mut along);
    rows.fill(0.0);
    dense::par_gemm(Mat::new(&along, count, directions.rows()), directions, rows);
}

/// What rows that may depend on each other look along: as many directions at right angles.
pub(super) fn space(rows: &[f32], width: usize) -> Vec<f32> {
    let mut directions = rows.to_vec();
    turn(&mut directions, &[], width);
    directions
}

/// Replaces rows by the nearest at right angles to each other and to those of `others`, which are so already.
fn turn(rows: &mut [f32], others: &[f32], width: usize) {
    for row in rows.chunks_exact_mut(width) {
        for other in others.chunks_exact(width) {
            let along = dot(row, other);
            row.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
        }
        unit(row);
    }
    let count = rows.len() / width;
    // No singular value is above the root of the number of rows, and the iteration wants none above that of 3.
    let bound = (count as f32).sqrt();
    rows.iter_mut().for_each(|x| *x /= bound);
    let (mut gram, mut turned) = (vec![0.0; count * count], vec![0.0; rows.len()]);
    for _ in 0..TURNS {
        let x = Mat::new(rows, count, width);
        gram.fill(0.0);
        dense::par_gemm(x, x.t(), &mut gram);
        turned.fill(0.0);
        dense::par_gemm(Mat::new(&gram, count, count), x, &mut turned);
        rows.iter_mut().zip(&turned).for_each(|(x, turned)| *x = 1.5 * *x - 0.5 * turned);
    }
}

/// Brings a row to length 1, if it has any.
fn unit(row: &mut [f32]) {
    let length = dot(row, row).sqrt().max(f32::MIN_POSITIVE);
    row.iter_mut().for_each(|x| *x /= length);
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn mean<'a>(rows: impl ExactSizeIterator<Item = &'a [f32]>, width: usize) -> Vec<f32> {
    let (mut mean, count) = (vec![0.0f32; width], rows.len().max(1) as f32);
    rows.for_each(|row| mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / count));
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn angles(rows: &[f32], width: usize) -> f32 {
        let row = |n: usize| &rows[n * width..][..width];
        let count = rows.len() / width;
        let pairs = (0..count).flat_map(|a| (0..=a).map(move |b| (a, b)));
        pairs.map(|(a, b)| (dot(row(a), row(b)) - f32::from(a == b)).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn fewer_rows_than_wide_are_at_right_angles() {
        let mut rows = vec![0.0; 7 * 12];
        random(&mut rows, 12, &mut Random::new(1, 1));
        assert!(angles(&rows, 12) < 1e-4, "{}", angles(&rows, 12));
    }

    #[test]
    fn of_more_rows_than_wide_every_block_is_at_right_angles() {
        let mut rows = vec![0.0; 31 * 12];
        random(&mut rows, 12, &mut Random::new(1, 1));
        for block in [0..7, 7..19, 19..31] {
            assert!(angles(&rows[block.start * 12..block.end * 12], 12) < 1e-4, "{block:?}");
        }
    }

    /// Documents that differ in the first five of eight numbers, less in each than in the one before.
    fn flat(count: usize, draw: &mut Random) -> Vec<f32> {
        let number = |at: usize, draw: &mut Random| match at {
            0..5 => (5 - at) as f32 * draw.normal() as f32,
            _ => 0.01 * draw.normal() as f32,
        };
        (0..8 * count).map(|at| number(at % 8, draw)).collect()
    }

    #[test]
    fn few_splits_stay_within_what_differs_most_and_go_on_where_others_leave_off() {
        let mut draw = Random::new(4, 1);
        let documents = flat(300, &mut draw);
        let all = || vec![documents.chunks_exact(8).collect::<Vec<_>>()];
        let mut upper = vec![0.0; 3 * 8];
        random(&mut upper, 8, &mut draw);
        let groups = halving(&mut upper, all(), &[], 8);
        assert!(upper.chunks_exact(8).all(|row| dot(&row[3..], &row[3..]) < 1e-2), "{upper:?}");
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [75; 4]);

        let mut lower = vec![0.0; 4 * 8];
        random(&mut lower, 8, &mut draw);
        halving(&mut lower, groups, &upper, 8);
        let both = [upper, lower].concat();
        assert!(angles(&both, 8) < 1e-3, "{both:?}");
        let seen = |number: usize| both.iter().skip(number).step_by(8).map(|x| x * x).sum::<f32>();
        assert!((0..5).all(|number| seen(number) > 0.98), "{both:?}");
    }

    #[test]
    fn splits_point_where_documents_part() {
        // They differ most in the first number; where that is large, in the second, elsewhere in the third.
        let mut draw = Random::new(2, 1);
        let documents: Vec<f32> = (0..400)
            .flat_map(|document| {
                let side = if document % 2 == 0 { 3.0 } else { -3.0 };
                let mut x: Vec<f32> = (0..8).map(|_| 0.1 * draw.normal() as f32).collect();
                x[0] += side;
                x[if side > 0.0 { 1 } else { 2 }] += draw.normal() as f32;
                x
            })
            .collect();
        let mut rows = vec![0.0; 3 * 8];
        random(&mut rows, 8, &mut draw);
        halving(&mut rows, vec![documents.chunks_exact(8).collect()], &[], 8);
        let below = if rows[0] > 0.0 { [1, 2] } else { [2, 1] };
        assert!(
            rows[0].abs() > 0.95 && rows[8 + below[0]].abs() > 0.9 && rows[16 + below[1]].abs() > 0.9,
            "{rows:?}"
        );
        assert!(angles(&rows, 8) < 1e-4);
    }

    #[test]
    fn documents_that_are_all_alike_leave_rows_at_right_angles() {
        let mut rows = vec![0.0; 3 * 4];
        random(&mut rows, 4, &mut Random::new(3, 1));
        halving(&mut rows, vec![[0.5; 4 * 40].chunks_exact(4).collect()], &[], 4);
        assert!(angles(&rows, 4) < 1e-3, "{rows:?}");
    }
}
