//! Layer normalisation: `y = gain * (x - mean) / sqrt(variance + epsilon) + shift`, row by row.
//!
//! [`add_layer_norm`] is the end of every sub-layer of a transformer in one pass: the residual, the branch and
//! the branch's bias are added and normalised while the row is in the first-level cache.

use crate::lanes::lane_sum;
use crate::simd::simd;

/// The learned part of a normalisation.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerNorm {
    /// One factor per column.
    pub gain: Vec<f32>,
    /// One summand per column.
    pub shift: Vec<f32>,
    /// Added to the variance.
    pub epsilon: f32,
}

/// `x = norm(x)` on every row, in place.
///
/// # Panics
/// If the lengths do not fit.
pub fn layer_norm(x: &mut [f32], norm: &LayerNorm) {
    check(x, norm);
    norm_rows(x, norm);
}

/// `x = norm(x + branch + bias)` on every row, in place.
///
/// # Panics
/// If the lengths do not fit.
pub fn add_layer_norm(x: &mut [f32], branch: &[f32], bias: &[f32], norm: &LayerNorm) {
    check(x, norm);
    assert_eq!((x.len(), norm.gain.len()), (branch.len(), bias.len()), "sizes of a residual");
    add_norm_rows(x, branch, bias, norm);
}

fn check(x: &[f32], norm: &LayerNorm) {
    let width = norm.gain.len();
    assert!(
        width > 0 && width == norm.shift.len() && x.len().is_multiple_of(width),
        "rows of {width} numbers"
    );
}

simd! {
    fn norm_rows(x: &mut [f32], norm: &LayerNorm) {
        for row in x.chunks_exact_mut(norm.gain.len()) {
            normalise(row, norm);
        }
    }
}

simd! {
    fn add_norm_rows(x: &mut [f32], branch: &[f32], bias: &[f32], norm: &LayerNorm) {
        let width = norm.gain.len();
        for (row, branch) in x.chunks_exact_mut(width).zip(branch.chunks_exact(width)) {
            for ((x, branch), bias) in row.iter_mut().zip(branch).zip(bias) {
                *x += branch + bias;
            }
            normalise(row, norm);
        }
    }
}

#[inline(always)]
fn normalise(row: &mut [f32], norm: &LayerNorm) {
    let count = row.len() as f32;
    let mean = lane_sum(row, |x| x) / count;
    let variance = lane_sum(row, |x| (x - mean) * (x - mean)) / count;
    let factor = 1.0 / (variance + norm.epsilon).sqrt();
    for ((x, gain), shift) in row.iter_mut().zip(&norm.gain).zip(&norm.shift) {
        *x = (*x - mean) * factor * gain + shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, in double precision.
    fn twin(row: &[f32], norm: &LayerNorm) -> Vec<f64> {
        let count = row.len() as f64;
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
        let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
        let factor = 1.0 / (variance + f64::from(norm.epsilon)).sqrt();
        let column = |(i, &x): (usize, &f32)| {
            f64::from(norm.gain[i]) * (f64::from(x) - mean) * factor + f64::from(norm.shift[i])
        };
        row.iter().enumerate().map(column).collect()
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(
            rows in prop::collection::vec(prop::collection::vec(-4f32..4.0, 37), 1..4),
            bias in prop::collection::vec(-1f32..1.0, 37),
        ) {
            let norm = LayerNorm { gain: bias.iter().map(|b| 1.0 + b / 2.0).collect(), shift: bias.clone(), epsilon: 1e-5 };
            let x: Vec<f32> = rows.concat();
            let branch: Vec<f32> = x.iter().rev().copied().collect();
            let sums: Vec<f32> = x.iter().zip(&branch).enumerate().map(|(i, (x, y))| x + (y + bias[i % 37])).collect();
            let (mut alone, mut added) = (sums.clone(), x.clone());
            layer_norm(&mut alone, &norm);
            add_layer_norm(&mut added, &branch, &bias, &norm);
            for (row, sums) in sums.chunks(37).enumerate() {
                for (col, exact) in twin(sums, &norm).into_iter().enumerate() {
                    for found in [alone[row * 37 + col], added[row * 37 + col]] {
                        prop_assert!((f64::from(found) - exact).abs() < 1e-5, "{found} is not {exact}");
                    }
                }
            }
        }
    }
}
