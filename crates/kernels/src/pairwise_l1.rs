//! L1 distances between all rows of two matrices, and the way back to the rows.
//!
//! `D[i, j] = sum_k |a[i, k] - b[j, k]|`, and with `G = dL/dD`
//! `dL/da[i, k] = sum_j G[i, j] sign(a[i, k] - b[j, k])`, `dL/db[j, k] = -sum_i G[i, j] sign(...)`.
//! The `[rows, rows, width]` differences are never written down.

use crate::simd::simd;
use rayon::prelude::*;

const LANES: usize = 16;
const WIDE: usize = 4 * LANES;
/// Rows that a thread works on at a time.
const SHARE: usize = 8;

/// Rows of equal width, `stride` apart in a slice.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    data: &'a [f32],
    len: usize,
    width: usize,
    stride: usize,
}

impl<'a> Rows<'a> {
    /// `len` rows of `width`, the first at the start of `data`.
    ///
    /// # Panics
    /// If the last row leaves the slice.
    pub fn new(data: &'a [f32], len: usize, width: usize, stride: usize) -> Self {
        assert!(
            len == 0 || (len - 1) * stride + width <= data.len(),
            "{len} rows at {stride} leave the slice"
        );
        Self { data, len, width, stride }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The rows from `first` on, at most [`SHARE`] of them.
    fn share(&self, first: usize) -> Self {
        Self { data: &self.data[first * self.stride..], len: SHARE.min(self.len - first), ..*self }
    }

    /// One row.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [f32] {
        &self.data[i * self.stride..][..self.width]
    }
}

/// As [`distances()`], to the same bits, on all threads.
///
/// # Panics
/// As [`distances()`].
pub fn par_distances(a: Rows<'_>, b: Rows<'_>, out: &mut [f32]) {
    assert_eq!(out.len(), a.len * b.len, "a distance for every pair");
    let shares = out.par_chunks_mut((SHARE * b.len).max(1)).enumerate();
    shares.for_each(|(share, out)| distances(a.share(share * SHARE), b, out));
}

/// As [`distances_backward()`], to the same bits, on all threads.
///
/// # Panics
/// As [`distances_backward()`].
pub fn par_distances_backward(a: Rows<'_>, b: Rows<'_>, grad: &[f32], out: &mut [f32]) {
    assert_eq!(grad.len(), a.len * b.len, "a gradient for every pair");
    assert_eq!(out.len(), a.len * a.width, "a gradient for every number");
    let grads = grad.par_chunks((SHARE * b.len).max(1));
    let shares = out.par_chunks_mut((SHARE * a.width).max(1)).zip(grads).enumerate();
    shares.for_each(|(share, (out, grad))| distances_backward(a.share(share * SHARE), b, grad, out));
}

simd! {
    /// Writes the distances between every row of `a` and every row of `b` to `out`, `[a.len(), b.len()]`.
    ///
    /// # Panics
    /// If the widths differ or `out` has another size.
    pub fn distances(a: Rows<'_>, b: Rows<'_>, out: &mut [f32]) {
        assert_eq!(a.width, b.width, "rows of different widths");
        assert_eq!(out.len(), a.len * b.len, "a distance for every pair");
        for i in 0..a.len {
            let x = a.row(i);
            for j in 0..b.len {
                out[i * b.len + j] = l1(x, b.row(j));
            }
        }
    }
}

#[inline(always)]
fn l1(x: &[f32], y: &[f32]) -> f32 {
    let mut sum = [[0.0f32; LANES]; 2];
    let (xs, ys) = (x.chunks_exact(2 * LANES), y.chunks_exact(2 * LANES));
    let mut tail = 0.0;
    for (x, y) in xs.remainder().iter().zip(ys.remainder()) {
        tail += (x - y).abs();
    }
    for (x, y) in xs.zip(ys) {
        for half in 0..2 {
            for lane in 0..LANES {
                sum[half][lane] += (x[half * LANES + lane] - y[half * LANES + lane]).abs();
            }
        }
    }
    for lane in 0..LANES {
        tail += sum[0][lane] + sum[1][lane];
    }
    tail
}

simd! {
    /// Writes `dL/da`, rows of `a` one after another, given `grad = dL/dD`, `[a.len(), b.len()]`.
    ///
    /// For `dL/db`, exchange the two and transpose `grad`: the distance is symmetric. Pairs with a gradient of 0 are
    /// passed over.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn distances_backward(a: Rows<'_>, b: Rows<'_>, grad: &[f32], out: &mut [f32]) {
        assert_eq!(a.width, b.width, "rows of different widths");
        assert_eq!(grad.len(), a.len * b.len, "a gradient for every pair");
        assert_eq!(out.len(), a.len * a.width, "a gradient for every number");
        let mut some: Vec<(usize, f32)> = Vec::with_capacity(b.len);
        for i in 0..a.len {
            some.clear();
            some.extend(grad[i * b.len..][..b.len].iter().copied().enumerate().filter(|(_, g)| *g != 0.0));
            let (x, out) = (a.row(i), &mut out[i * a.width..][..a.width]);
            let mut first = 0;
            while first + WIDE <= a.width {
                sum_signed::<WIDE>(x, b, &some, first, out);
                first += WIDE;
            }
            while first + LANES <= a.width {
                sum_signed::<LANES>(x, b, &some, first, out);
                first += LANES;
            }
            for k in first..a.width {
                out[k] = some.iter().map(|&(j, g)| signed(x[k] - b.row(j)[k], g)).sum();
            }
        }
    }
}

/// The gradient of `N` numbers of `x`, from `first` on.
#[inline(always)]
fn sum_signed<const N: usize>(x: &[f32], b: Rows<'_>, some: &[(usize, f32)], first: usize, out: &mut [f32]) {
    let x = part::<N>(x, first);
    let mut sum = [0.0f32; N];
    for &(j, g) in some {
        let y = part::<N>(b.row(j), first);
        for k in 0..N {
            sum[k] += signed(x[k] - y[k], g);
        }
    }
    out[first..][..N].copy_from_slice(&sum);
}

#[inline(always)]
fn part<const N: usize>(row: &[f32], first: usize) -> &[f32; N] {
    row[first..].first_chunk().expect("as many numbers in the row")
}

/// `g sign(difference)`.
#[inline(always)]
fn signed(difference: f32, g: f32) -> f32 {
    let up = if difference > 0.0 { g } else { 0.0 };
    let down = if difference < 0.0 { g } else { 0.0 };
    up - down
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_formula(
            (na, nb, width, gap) in (1usize..20, 1usize..5, 1usize..150, 0usize..3),
            numbers in prop::collection::vec(-3i8..3, 1021),
        ) {
            let stride = width + gap;
            let number = |k: usize| f32::from(numbers[k % numbers.len()]) * 0.37;
            let a: Vec<f32> = (0..na * stride).map(number).collect();
            let b: Vec<f32> = (0..nb * stride).map(|k| number(3 * k + 7)).collect();
            let grad: Vec<f32> = (0..na * nb).map(|k| number(5 * k + 1)).collect();
            let (a, b) = (Rows::new(&a, na, width, stride), Rows::new(&b, nb, width, stride));
            let (mut d, mut twin) = (vec![0.0; na * nb], vec![0.0; na * nb]);
            super::distances(a, b, &mut d);
            distances::scalar(a, b, &mut twin);
            let (mut back, mut back_twin) = (vec![0.0; na * width], vec![0.0; na * width]);
            super::distances_backward(a, b, &grad, &mut back);
            distances_backward::scalar(a, b, &grad, &mut back_twin);
            let mut shared = vec![0.0; na * nb];
            par_distances(a, b, &mut shared);
            prop_assert_eq!(&shared, &d);
            let mut shared = vec![0.0; na * width];
            par_distances_backward(a, b, &grad, &mut shared);
            prop_assert_eq!(&shared, &back);
            for i in 0..na {
                for j in 0..nb {
                    let expected: f32 = (0..width).map(|k| (a.row(i)[k] - b.row(j)[k]).abs()).sum();
                    prop_assert!((d[i * nb + j] - expected).abs() < 1e-4 * (1.0 + expected));
                    prop_assert!((d[i * nb + j] - twin[i * nb + j]).abs() < 1e-4 * (1.0 + expected));
                }
                for k in 0..width {
                    let expected: f32 = (0..nb)
                        .map(|j| {
                            let x = a.row(i)[k] - b.row(j)[k];
                            if x == 0.0 { 0.0 } else { x.signum() * grad[i * nb + j] }
                        })
                        .sum();
                    prop_assert!((back[i * width + k] - expected).abs() < 1e-5);
                    prop_assert!((back_twin[i * width + k] - expected).abs() < 1e-5);
                }
            }
        }
    }
}
