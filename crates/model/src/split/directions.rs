//! The directions that splits start along: those that halve the documents, turned until they stand at right angles.
//!
//! Halve the documents along some direction, halve the halves, and go on to the leaves. If `d_t` is half the difference
//! between the means of the two sides of node `t`, the mean document of a leaf is the mean of all plus the sum of `d_t` on
//! the way to it, each with its sign: what such splits say about an item, summed up on the way to a leaf, is its inner
//! product with the leaf's mean document, by which an inverted file would choose what to open. But these directions repeat
//! each other, and comparing items along them stretches what differs most among documents at the cost of everything else.
//! The nearest rows at right angles (the polar factor of the matrix) see all of an embedding equally well, so that items
//! compare as the encoder has them, and still point where documents part.

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

/// Random directions, `[nodes, width]`, at right angles as far as there is room.
pub(super) fn random(rows: &mut [f32], width: usize, random: &mut Random) {
    rows.iter_mut().for_each(|x| *x = random.normal() as f32);
    square_up(rows, width);
}

/// Turns random directions, breadth first, to where the documents `sample` can be halved.
pub(super) fn halving(rows: &mut [f32], width: usize, sample: &[f32]) {
    let mut groups = vec![sample.chunks_exact(width).collect::<Vec<_>>()];
    let mut rest = &mut *rows;
    while !rest.is_empty() {
        let (level, below) = rest.split_at_mut((groups.len() * width).min(rest.len()));
        let nodes = groups.into_iter().zip(level.chunks_exact_mut(width));
        groups = nodes.flat_map(|(group, direction)| halve(group, direction)).collect();
        rest = below;
    }
    square_up(rows, width);
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

/// Replaces every `width` rows, counted from the last, by near ones that are of length 1 and at right angles. Of the first,
/// which may be fewer, two levels at a time keep nearest to where they were: coarse levels must do with few directions.
fn square_up(rows: &mut [f32], width: usize) {
    let first = (rows.len() / width - 1) % width + 1;
    let (upper, blocks) = rows.split_at_mut(first * width);
    let (mut above, mut levels) = (0, 2);
    while above < first {
        let end = ((1 << levels) - 1).min(first);
        let (above_them, them) = upper[..end * width].split_at_mut(above * width);
        turn(them, above_them, width);
        (above, levels) = (end, levels + 2);
    }
    blocks.chunks_exact_mut(width * width).for_each(|block| turn(block, &[], width));
    even_out(rows, width);
}

/// Replaces rows, where they are more than their width, by the nearest that all together see every direction alike: blocks
/// at right angles do so by themselves, but the first may be too few.
fn even_out(rows: &mut [f32], width: usize) {
    let count = rows.len() / width;
    if count < width {
        return;
    }
    // One more than the number of blocks bounds the square of the singular values.
    let bound = ((count / width + 1) as f32).sqrt();
    rows.iter_mut().for_each(|x| *x /= bound);
    let (mut gram, mut turned) = (vec![0.0; width * width], vec![0.0; rows.len()]);
    for _ in 0..TURNS {
        let x = Mat::new(rows, count, width);
        gram.fill(0.0);
        dense::par_gemm(x.t(), x, &mut gram);
        turned.fill(0.0);
        dense::par_gemm(x, Mat::new(&gram, width, width), &mut turned);
        rows.iter_mut().zip(&turned).for_each(|(x, turned)| *x = 1.5 * *x - 0.5 * turned);
    }
    let length = (count as f32 / width as f32).sqrt();
    rows.iter_mut().for_each(|x| *x *= length);
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

    /// How far the rows are from seeing every direction alike.
    fn unevenness(rows: &[f32], width: usize) -> f32 {
        let per = (width as f32 / (rows.len() / width) as f32).sqrt();
        let columns: Vec<f32> = (0..width)
            .flat_map(|column| rows.iter().skip(column).step_by(width).map(move |x| per * x))
            .collect();
        angles(&columns, rows.len() / width)
    }

    #[test]
    fn fewer_rows_than_wide_are_at_right_angles() {
        let mut rows = vec![0.0; 7 * 12];
        random(&mut rows, 12, &mut Random::new(1, 1));
        assert!(angles(&rows, 12) < 1e-4, "{}", angles(&rows, 12));
    }

    #[test]
    fn more_rows_than_wide_see_every_direction_alike() {
        let mut rows = vec![0.0; 31 * 12];
        random(&mut rows, 12, &mut Random::new(1, 1));
        assert!(unevenness(&rows, 12) < 1e-4, "{}", unevenness(&rows, 12));
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
        halving(&mut rows, 8, &documents);
        let below = if rows[0] > 0.0 { [1, 2] } else { [2, 1] };
        assert!(
            rows[0].abs() > 0.95 && rows[8 + below[0]].abs() > 0.9 && rows[16 + below[1]].abs() > 0.9,
            "{rows:?}"
        );
        assert!(angles(&rows, 8) < 1e-4);
    }

    #[test]
    fn documents_that_are_all_alike_leave_even_rows() {
        let mut rows = vec![0.0; 15 * 4];
        random(&mut rows, 4, &mut Random::new(3, 1));
        halving(&mut rows, 4, &[0.5; 4 * 40]);
        assert!(unevenness(&rows, 4) < 1e-3, "{rows:?}");
    }
}
