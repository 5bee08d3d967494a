//! Activations of a feed-forward layer, with the bias added on the way.
//!
//! `gelu(x) = x/2 (1 + erf(x / sqrt 2))` (Hendrycks & Gimpel 2016). `erf(z) = z P(z^2) / Q(z^2)` on
//! `|z| <= 3.9`, beyond which it is 1 to single precision. `P` and `Q` are a least-maximum fit made for this
//! file (iterated, reweighted least squares on Chebyshev points); its error is 1.5e-8.

use crate::exp::sigmoid;
use crate::simd::simd;

/// Beyond this, `erf` is 1 in single precision.
const END: f32 = 3.9;
/// The highest coefficient first.
#[allow(clippy::approx_constant, reason = "a coefficient of the fit, only near 2 / sqrt(pi)")]
const P: [f32; 6] =
    [2.050_384_4e-6, 2.874_550_7e-4, 3.836_819_7e-3, 5.296_674_4e-2, 1.919_398_3e-1, 1.128_379];
/// The highest coefficient first.
const Q: [f32; 6] = [3.823_06e-5, 1.181_719e-3, 1.510_909_2e-2, 1.147_576_9e-1, 5.034_34e-1, 1.0];

/// What stands between the two products of a feed-forward layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x/2 (1 + erf(x / sqrt 2))`
    Gelu,
    /// `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    GeluTanh,
    /// `max(x, 0)`
    Relu,
}

/// `x = activation(x + bias)` on every row of `x`, in place.
///
/// # Panics
/// If `x` is not whole rows of the bias's length.
pub fn bias_activation(x: &mut [f32], bias: &[f32], activation: Activation) {
    assert!(!bias.is_empty() && x.len().is_multiple_of(bias.len()), "rows of {} numbers", bias.len());
    match activation {
        Activation::Gelu => gelu_rows(x, bias),
        Activation::GeluTanh => gelu_tanh_rows(x, bias),
        Activation::Relu => relu_rows(x, bias),
    }
}

simd! {
    fn gelu_rows(x: &mut [f32], bias: &[f32]) {
        rows(x, bias, gelu);
    }
}

simd! {
    fn gelu_tanh_rows(x: &mut [f32], bias: &[f32]) {
        rows(x, bias, gelu_tanh);
    }
}

simd! {
    fn relu_rows(x: &mut [f32], bias: &[f32]) {
        rows(x, bias, |x| if x > 0.0 { x } else { 0.0 });
    }
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    let half = 0.5 * x;
    half.mul_add(erf((x * std::f32::consts::FRAC_1_SQRT_2).clamp(-END, END)), half)
}

#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    const SQRT_2_OVER_PI: f32 = 0.797_884_6;
    // x/2 (1 + tanh u) = x sigmoid(2u)
    x * sigmoid(2.0 * SQRT_2_OVER_PI * (0.044_715 * x * x).mul_add(x, x))
}

#[inline(always)]
fn rows(x: &mut [f32], bias: &[f32], activate: impl Fn(f32) -> f32) {
    for row in x.chunks_exact_mut(bias.len()) {
        for (x, bias) in row.iter_mut().zip(bias) {
            *x = activate(*x + bias);
        }
    }
}

/// `erf` on `[-END, END]`.
#[inline(always)]
fn erf(z: f32) -> f32 {
    let square = z * z;
    let (mut p, mut q) = (P[0], Q[0]);
    for i in 1..P.len() {
        p = p.mul_add(square, P[i]);
        q = q.mul_add(square, Q[i]);
    }
    z * p / q
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `erf` by its Taylor series, whose terms at `|z| <= 4` cost ten digits of sixteen.
    fn exact_erf(z: f64) -> f64 {
        if z.abs() > 4.0 {
            return z.signum();
        }
        let (mut term, mut sum) = (z, z);
        for n in 1..120 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    }

    fn points() -> Vec<f32> {
        (-40_000..40_000).map(|step| step as f32 * 2.5e-4 + 1e-5).collect()
    }

    #[test]
    fn gelu_is_exact_to_a_millionth() {
        let points = points();
        let (mut wide, mut plain) = (points.clone(), points.clone());
        let bias = vec![0.25; 16];
        bias_activation(&mut wide, &bias, Activation::Gelu);
        gelu_rows::scalar(&mut plain, &bias);
        for (i, point) in points.iter().enumerate() {
            let x = f64::from(point + 0.25);
            let exact = x / 2.0 * (1.0 + exact_erf(x / 2f64.sqrt()));
            for found in [wide[i], plain[i]] {
                let tolerance = 1e-6 * exact.abs().max(1.0);
                assert!((f64::from(found) - exact).abs() < tolerance, "gelu({x}) = {exact}, not {found}");
            }
        }
    }

    #[test]
    fn tanh_gelu_and_relu_agree_with_their_definitions() {
        let points = points();
        let (mut gelu, mut relu) = (points.clone(), points.clone());
        bias_activation(&mut gelu, &[0.0; 16], Activation::GeluTanh);
        bias_activation(&mut relu, &[0.0; 16], Activation::Relu);
        for (i, &point) in points.iter().enumerate() {
            let x = f64::from(point);
            let exact =
                x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh());
            assert!((f64::from(gelu[i]) - exact).abs() < 1e-6 * exact.abs().max(1.0), "{x}");
            assert_eq!(relu[i], point.max(0.0));
        }
    }
}
