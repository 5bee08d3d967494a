//! The exponential and the logistic function, without branches, so that loops over them become vectors.

/// `e^x` to within 2e-7 of the true value, relatively; 0 below -87, and no larger than `e^88`.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // x = n ln 2 + r with |r| <= ln 2 / 2; the polynomial is Taylor's to degree 7.
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
    let clamped = x.clamp(-87.0, 88.0);
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (clamped - n * LN2_HI) - n * LN2_LO;
    let p = 1.0
        + r * (1.0
            + r * (0.5
                + r * (1.0 / 6.0
                    + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)))))));
    let scale = f32::from_bits((shifted.to_bits().wrapping_add(127)) << 23);
    if x < -87.0 { 0.0 } else { p * scale }
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_to_the_library_everywhere() {
        for i in -90_000..88_000 {
            let x = i as f32 * 1e-3 + 1.7e-4;
            let (ours, theirs) = (exp(x), f64::from(x).exp());
            assert!((f64::from(ours) - theirs).abs() <= 2e-7 * theirs + 1e-37, "e^{x}: {ours} for {theirs}");
        }
        assert_eq!((exp(0.0), exp(-1000.0), sigmoid(0.0)), (1.0, 0.0, 0.5));
        assert!(exp(1000.0).is_finite() && exp(f32::NEG_INFINITY) == 0.0 && exp(f32::NAN).is_nan());
        assert!(sigmoid(100.0) == 1.0 && sigmoid(-100.0) < 1e-37);
    }
}
