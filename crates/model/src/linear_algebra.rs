//! Rows of numbers as directions: lengths, projections, principal directions and the nearest rows at right angles.

use crate::dense;
use crate::random::Random;
use retreever_kernels::gemm::Mat;

/// Rounds of Newton and Schulz's iteration: each multiplies small singular values by up to 1.5.
const TURNS: usize = 48;
/// Rounds of orthogonal iteration towards the principal directions.
const POWERS: usize = 24;
/// The length of the random direction that [`disturb`] adds.
const NOISE: f32 = 1e-2;

/// The inner product, in blocks of running sums.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0f32; LANES];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<f32>()
}

/// Brings a row to length 1, if it has any length.
pub(crate) fn unit(row: &mut [f32]) {
    let length = dot(row, row).sqrt().max(f32::MIN_POSITIVE);
    row.iter_mut().for_each(|x| *x /= length);
}

/// The mean of rows.
pub(crate) fn mean(rows: &[f32], width: usize) -> Vec<f32> {
    let mut sums = vec![0.0f64; width];
    for row in rows.chunks_exact(width) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let count = (rows.len() / width).max(1) as f64;
    sums.into_iter().map(|sum| (sum / count) as f32).collect()
}

/// The coordinates of rows along `directions`, `[rows, directions]`.
fn along(rows: &[f32], directions: &[f32], width: usize) -> Vec<f32> {
    let (count, taken) = (rows.len() / width, directions.len() / width);
    let mut along = vec![0.0; count * taken];
    dense::par_gemm(Mat::new(rows, count, width), Mat::new(directions, taken, width).t(), &mut along);
    along
}

/// Leaves of each row what is within the space of `directions`, which are at right angles.
pub(crate) fn keep_within(rows: &mut [f32], directions: &[f32], width: usize) {
    let (count, taken) = (rows.len() / width, directions.len() / width);
    let along = along(rows, directions, width);
    rows.fill(0.0);
    dense::par_gemm(Mat::new(&along, count, taken), Mat::new(directions, taken, width), rows);
}

/// Takes from each row what is within the space of `directions`, which are at right angles.
pub(crate) fn remove(rows: &mut [f32], directions: &[f32], width: usize) {
    let (count, taken) = (rows.len() / width, directions.len() / width);
    let mut along = along(rows, directions, width);
    along.iter_mut().for_each(|x| *x = -*x);
    dense::par_gemm(Mat::new(&along, count, taken), Mat::new(directions, taken, width), rows);
}

/// The first `count` principal directions of rows: at right angles, found by orthogonal iteration from random ones.
pub(crate) fn principal(rows: &[f32], width: usize, count: usize, seed: u64) -> Vec<f32> {
    let mean = mean(rows, width);
    let mut centred = rows.to_vec();
    for row in centred.chunks_exact_mut(width) {
        row.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
    }
    let mut spread = vec![0.0; width * width];
    let items = rows.len() / width;
    dense::par_gemm(Mat::new(&centred, items, width).t(), Mat::new(&centred, items, width), &mut spread);
    // A little of every direction, for documents that are alike.
    let total: f32 = spread.iter().step_by(width + 1).sum();
    spread.iter_mut().step_by(width + 1).for_each(|x| *x += 1e-4 * total / width as f32 + f32::MIN_POSITIVE);
    let mut random = Random::new(seed, 0x7063_6100);
    let mut directions: Vec<f32> = (0..count * width).map(|_| random.normal() as f32).collect();
    polar(&mut directions, width);
    for _ in 0..POWERS {
        let mut stretched = vec![0.0; directions.len()];
        dense::par_gemm(Mat::new(&directions, count, width), Mat::new(&spread, width, width), &mut stretched);
        orthonormal(&mut stretched, width);
        directions = stretched;
    }
    directions
}

/// Replaces rows by an orthonormal basis of their space, one after the other (Gram and Schmidt, twice).
fn orthonormal(rows: &mut [f32], width: usize) {
    for row in 0..rows.len() / width {
        let (before, rest) = rows.split_at_mut(row * width);
        let row = &mut rest[..width];
        unit(row);
        for _ in 0..2 {
            for other in before.chunks_exact(width) {
                let along = dot(row, other);
                row.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
            }
            unit(row);
        }
    }
}

/// Adds a little of a random direction to each row, so that none of them follows from others.
pub(crate) fn disturb(rows: &mut [f32], width: usize, random: &mut Random) {
    rows.iter_mut().for_each(|x| *x += NOISE * random.normal() as f32 / (width as f32).sqrt());
}

/// Replaces rows by the nearest at right angles: the polar factor of the matrix, by Newton and Schulz's iteration.
pub(crate) fn polar(rows: &mut [f32], width: usize) {
    let count = rows.len() / width;
    rows.chunks_exact_mut(width).for_each(unit);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn random(count: usize) -> Vec<f32> {
        let mut random = Random::new(7, 7);
        (0..count).map(|_| random.normal() as f32).collect()
    }

    #[test]
    fn the_polar_factor_is_at_right_angles_and_near() {
        let mut rows = random(5 * 12);
        let before = rows.clone();
        polar(&mut rows, 12);
        for a in 0..5 {
            for b in 0..5 {
                let angle = dot(&rows[a * 12..][..12], &rows[b * 12..][..12]);
                assert!((angle - f32::from(a == b)).abs() < 1e-4);
            }
            assert!(dot(&rows[a * 12..][..12], &before[a * 12..][..12]) > 0.0);
        }
    }

    #[test]
    fn principal_directions_are_where_rows_differ_most() {
        let rows: Vec<f32> =
            random(300 * 8).iter().enumerate().map(|(at, x)| x / (1 + at % 8) as f32).collect();
        let found = principal(&rows, 8, 2, 1);
        for direction in found.chunks_exact(8) {
            assert!(dot(&direction[..2], &direction[..2]) > 0.95, "{direction:?}");
        }
    }

    #[test]
    fn what_is_within_and_what_is_removed_add_up() {
        let rows = random(3 * 20);
        let mut directions = random(2 * 20);
        polar(&mut directions, 20);
        let (mut within, mut rest) = (rows.clone(), rows.clone());
        keep_within(&mut within, &directions, 20);
        remove(&mut rest, &directions, 20);
        assert!(rows.iter().zip(within.iter().zip(&rest)).all(|(x, (a, b))| (x - a - b).abs() < 1e-4));
        assert!(dot(&within[..20], &rest[..20]).abs() < 1e-4);
    }
}
