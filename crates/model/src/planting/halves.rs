//! Two halves of some documents: 2-means, and where to cut along a direction.

use crate::linear_algebra::{dot, unit};
use crate::random::Random;

/// The least share of a node's documents that a child gets. Meaning asks for uneven cuts, reading few documents for even ones.
pub(super) const CHILD: f32 = 0.4;
/// Fewer documents than this give no direction.
pub(super) const FEW: usize = 4;
/// Starts of 2-means; the best result counts.
const RESTARTS: usize = 4;
/// Rounds of Lloyd's algorithm from each start.
const ROUNDS: usize = 15;

/// The items above a cut (which go left) and the others.
pub(super) fn sides(group: &[u32], along: &[f32], cut: f32) -> [Vec<u32>; 2] {
    let (left, right): (Vec<_>, Vec<_>) = group.iter().zip(along).partition(|(_, x)| **x > cut);
    [left, right].map(|side| side.into_iter().map(|(item, _)| *item).collect())
}

/// The unit direction between the means of the two halves that 2-means finds; `None` for items that are too few or all alike.
pub(super) fn two_means(rows: &[f32], width: usize, random: &mut Random) -> Option<Vec<f32>> {
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

/// The values between which a cut leaves each side at least `CHILD`.
fn bounds(along: &[f32]) -> [f32; 2] {
    let mut sorted = along.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let last = (sorted.len() - 1) as f32;
    [sorted[(CHILD * last) as usize], sorted[((1.0 - CHILD) * last) as usize]]
}

/// Where to cut numbers so that the two sides have the least sum of squares, neither with less than `CHILD` of them.
pub(super) fn gap(along: &[f32]) -> f32 {
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

    #[test]
    fn no_child_is_left_with_little() {
        let mut random = Random::new(2, 2);
        let mut along: Vec<f32> = (0..99).map(|_| random.normal() as f32).collect();
        along.push(50.0);
        let cut = gap(&along);
        let left = along.iter().filter(|x| **x > cut).count();
        assert!((39..=61).contains(&left), "{left}");
    }
}
