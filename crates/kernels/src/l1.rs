//! The distance of two rows: `sum_i |a_i - b_i|`, the one definition every score of the house rests on.
//!
//! Each difference is taken in double precision, where it is exact for probabilities, and added to one of 32
//! running sums (`i mod 32`), which are folded in halves at the end. The order of additions is part of the
//! definition: the scalar code below and its wider compilations give the same bits on every machine.

const LANES: usize = 32;

/// `sum_i |a_i - b_i|`.
///
/// # Panics
/// If the rows have different lengths.
pub fn l1(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "rows of different lengths");
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the machine has AVX-512F.
            return unsafe { l1_avx512(a, b) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2.
            return unsafe { l1_avx2(a, b) };
        }
    }
    l1_scalar(a, b)
}

#[inline(always)]
fn l1_scalar(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let (a_runs, a_rest) = a.as_chunks::<LANES>();
    let (b_runs, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_runs.iter().zip(b_runs) {
        for lane in 0..LANES {
            sums[lane] += (f64::from(x[lane]) - f64::from(y[lane])).abs();
        }
    }
    for (lane, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] += (f64::from(*x) - f64::from(*y)).abs();
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
    }
    sums[0]
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
fn l1_avx512(a: &[f32], b: &[f32]) -> f64 {
    use std::arch::x86_64::{
        __m512d, _mm256_loadu_ps, _mm512_abs_pd, _mm512_add_pd, _mm512_cvtps_pd, _mm512_setzero_pd,
        _mm512_storeu_pd, _mm512_sub_pd,
    };
    if !a.len().is_multiple_of(LANES) {
        return l1_scalar(a, b);
    }
    let mut sums: [__m512d; 4] = [_mm512_setzero_pd(); 4];
    for start in (0..a.len()).step_by(LANES) {
        for (part, sum) in sums.iter_mut().enumerate() {
            let at = start + 8 * part;
            // SAFETY: both rows are as long as `a`, a multiple of 32, and `at + 8 <= start + 32`.
            let (x, y) =
                unsafe { (_mm256_loadu_ps(a.as_ptr().add(at)), _mm256_loadu_ps(b.as_ptr().add(at))) };
            let difference = _mm512_sub_pd(_mm512_cvtps_pd(x), _mm512_cvtps_pd(y));
            *sum = _mm512_add_pd(*sum, _mm512_abs_pd(difference));
        }
    }
    // Folding in halves: lanes 0-15 with 16-31, then 0-7 with 8-15.
    let low = _mm512_add_pd(sums[0], sums[2]);
    let high = _mm512_add_pd(sums[1], sums[3]);
    let mut lanes = [0.0f64; 8];
    // SAFETY: the array holds the 8 numbers of the register.
    unsafe { _mm512_storeu_pd(lanes.as_mut_ptr(), _mm512_add_pd(low, high)) };
    let quarter: [f64; 4] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 4]);
    (quarter[0] + quarter[2]) + (quarter[1] + quarter[3])
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn l1_avx2(a: &[f32], b: &[f32]) -> f64 {
    l1_scalar(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_width_gives_the_same_bits(pairs in prop::collection::vec((0f32..1.0, 0f32..1.0), 0..300)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            for length in [a.len(), a.len() / LANES * LANES] {
                let (a, b) = (&a[..length], &b[..length]);
                prop_assert_eq!(l1(a, b).to_bits(), l1_scalar(a, b).to_bits());
                let plain: f64 = a.iter().zip(b).map(|(x, y)| (f64::from(*x) - f64::from(*y)).abs()).sum();
                prop_assert!((l1(a, b) - plain).abs() < 1e-10);
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the machine has AVX2.
                    prop_assert_eq!(unsafe { l1_avx2(a, b) }.to_bits(), l1_scalar(a, b).to_bits());
                }
            }
        }
    }
}
