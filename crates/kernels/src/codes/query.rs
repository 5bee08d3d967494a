//! The other side of a comparison: a query as bytes at the scale of the rows it is compared with.

use crate::lanes::LANES;
use crate::simd::simd;

/// What a query's bytes leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Remainder {
    /// The sum of what exceeds the scale.
    pub excess: f32,
    /// The sum of the rounding errors of the rest.
    pub error: f32,
}

simd! {
    /// Writes each number as a byte of 255ths of `scale`, at most 255. What is left out is right to the rounding of
    /// single-precision sums.
    pub fn query_bytes(numbers: &[f32], scale: f32, bytes: &mut [u8]) -> Remainder {
        assert_eq!(numbers.len(), bytes.len(), "a byte a number");
        let (step, inverse) = (scale / 255.0, 255.0 / scale);
        let (mut excess, mut error) = ([0.0f32; LANES], [0.0f32; LANES]);
        for (run, bytes) in numbers.chunks(LANES).zip(bytes.chunks_mut(LANES)) {
            let mut q = [0.0f32; LANES];
            q[..run.len()].copy_from_slice(run);
            let mut out = [0u8; LANES];
            for lane in 0..LANES {
                let inside = if q[lane] < scale { q[lane] } else { scale };
                let level = q[lane] * inverse + 0.5;
                let level = if level < 255.0 { level } else { 255.0 };
                out[lane] = level as i32 as u8;
                excess[lane] += q[lane] - inside;
                error[lane] += (inside - (level as i32) as f32 * step).abs();
            }
            bytes.copy_from_slice(&out[..bytes.len()]);
        }
        Remainder { excess: excess.iter().sum(), error: error.iter().sum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost(numbers in prop::collection::vec(0f32..1.0, 1..100), scale in 0.01f32..1.2) {
            let total: f32 = numbers.iter().sum::<f32>().max(1.0);
            let numbers: Vec<f32> = numbers.iter().map(|q| q / total).collect();
            let (mut bytes, mut twin) = (vec![0; numbers.len()], vec![0; numbers.len()]);
            let rest = super::query_bytes(&numbers, scale, &mut bytes);
            let twin_rest = query_bytes::scalar(&numbers, scale, &mut twin);
            prop_assert_eq!(&bytes, &twin);
            prop_assert!((rest.error - twin_rest.error).abs() < 1e-6 && (rest.excess - twin_rest.excess).abs() < 1e-6);
            let (mut excess, mut error) = (0.0f64, 0.0f64);
            for (q, byte) in numbers.iter().zip(&bytes) {
                let inside = f64::from(q.min(scale));
                excess += f64::from(*q) - inside;
                error += (inside - f64::from(*byte) * f64::from(scale) / 255.0).abs();
            }
            prop_assert!((f64::from(rest.excess) - excess).abs() < 2e-6);
            prop_assert!((f64::from(rest.error) - error).abs() < 2e-6);
        }
    }
}
