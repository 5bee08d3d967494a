//! Softmax of a row: `e^(x_i - max) / sum`.

use crate::exp::exp;
use crate::lanes::{lane_max, lane_sum};
use crate::simd::simd;

/// `x = softmax(x)` on every row of `width` numbers, in place.
///
/// # Panics
/// If `x` is not whole rows.
pub fn softmax(x: &mut [f32], width: usize) {
    assert!(width > 0 && x.len().is_multiple_of(width), "rows of {width} numbers");
    softmax_rows(x, width);
}

simd! {
    fn softmax_rows(x: &mut [f32], width: usize) {
        for row in x.chunks_exact_mut(width) {
            let scale = 1.0 / exponentials(row);
            for x in row {
                *x *= scale;
            }
        }
    }
}

/// `x = e^(x - max)`, and the sum of that.
#[inline(always)]
pub(crate) fn exponentials(row: &mut [f32]) -> f32 {
    let max = lane_max(row);
    for x in row.iter_mut() {
        *x = exp(*x - max);
    }
    lane_sum(row, |x| x)
}

#[cfg(test)]
mod tests {
    use super::softmax;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_definition(row in prop::collection::vec(-90f32..90.0, 1..70)) {
            let max = row.iter().copied().fold(f32::MIN, f32::max);
            let exact: Vec<f64> = row.iter().map(|&x| f64::from(x - max).exp()).collect();
            let sum: f64 = exact.iter().sum();
            let mut found = row.clone();
            softmax(&mut found, row.len());
            for (found, exact) in found.iter().zip(&exact) {
                prop_assert!((f64::from(*found) - exact / sum).abs() < 1e-6);
            }
        }
    }
}
