//! Attention with AVX-512: eight queries at a time, keys and values in registers of sixteen.
//!
//! Scores and outputs are both products of eight rows with two registers of columns: sixteen running sums.

use super::{LANES, ROWS, Scratch, SelfAttention, lay_out};
use crate::simd::has_avx512;
use std::arch::x86_64::*;

/// Whether the machine has the instructions and heads of this width fill whole registers.
pub(super) fn fits(width: usize) -> bool {
    width.is_multiple_of(LANES) && has_avx512()
}

/// As [`super::self_attention`], which has checked and sized everything.
pub(super) fn run(input: &SelfAttention<'_>, tokens: usize, scratch: &mut Scratch, out: &mut [f32]) {
    assert!(fits(input.width));
    // SAFETY: the machine has the instructions.
    unsafe { heads(input, tokens, scratch, out) }
}

#[target_feature(enable = "avx512f,avx512dq")]
fn heads(input: &SelfAttention<'_>, tokens: usize, scratch: &mut Scratch, out: &mut [f32]) {
    let (width, model) = (input.width, input.heads * input.width);
    let padded = tokens.next_multiple_of(LANES);
    for head in 0..input.heads {
        lay_out(input, head, tokens, scratch);
        let Scratch { keys, values, queries, scores } = &mut *scratch;
        for first in (0..tokens).step_by(ROWS) {
            let rows = ROWS.min(tokens - first);
            // Rows past the last token repeat it; what they give is not read.
            for row in 0..ROWS {
                let token = first + row.min(rows - 1);
                let query = &input.qkv[token * 3 * model + head * width..][..width];
                let bias = &input.query_bias[head * width..][..width];
                for i in 0..width {
                    queries[row * width + i] = (query[i] + bias[i]) * input.scale;
                }
                match input.distance_bias {
                    Some(bias) => {
                        scores[row * padded..][..padded].copy_from_slice(&bias.row(head, token)[..padded])
                    }
                    None => scores[row * padded..][..padded].fill(0.0),
                }
            }
            // scores += queries keys
            let product = Product { left: queries, left_stride: width, inner: width, right: keys };
            for block in (0..padded).step_by(2 * LANES) {
                if block + LANES < padded {
                    product.add::<2>(padded, block, scores, padded);
                } else {
                    product.add::<1>(padded, block, scores, padded);
                }
            }
            let mut scales = [0.0; ROWS];
            for row in 0..ROWS {
                scales[row] = 1.0 / exponentials(&mut scores[row * padded..][..padded], tokens);
            }
            // queries = scores values: the queries have done their work, and their place is the right size.
            queries.fill(0.0);
            let product = Product { left: scores, left_stride: padded, inner: tokens, right: values };
            for block in (0..width).step_by(2 * LANES) {
                if block + LANES < width {
                    product.add::<2>(width, block, queries, width);
                } else {
                    product.add::<1>(width, block, queries, width);
                }
            }
            for row in 0..rows {
                let out = &mut out[(first + row) * model + head * width..][..width];
                for i in 0..width {
                    out[i] = queries[row * width + i] * scales[row];
                }
            }
        }
    }
}

/// Eight rows on the left times a matrix on the right, each of which starts at its slice's beginning.
struct Product<'a> {
    left: &'a [f32],
    left_stride: usize,
    inner: usize,
    right: &'a [f32],
}

impl Product<'_> {
    /// `out += left right` for `N` registers of columns from `column` on.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn add<const N: usize>(&self, right_stride: usize, column: usize, out: &mut [f32], out_stride: usize) {
        let end = column + N * LANES;
        assert!((ROWS - 1) * self.left_stride + self.inner <= self.left.len());
        assert!(self.inner == 0 || (self.inner - 1) * right_stride + end <= self.right.len());
        assert!((ROWS - 1) * out_stride + end <= out.len());
        let mut sums = [[_mm512_setzero_ps(); N]; ROWS];
        // SAFETY: the assertions bound every index below by the slice's length.
        unsafe {
            for row in 0..ROWS {
                for n in 0..N {
                    let from = out.as_ptr().add(row * out_stride + column + n * LANES);
                    sums[row][n] = _mm512_loadu_ps(from);
                }
            }
            for k in 0..self.inner {
                let mut right = [_mm512_setzero_ps(); N];
                for n in 0..N {
                    right[n] =
                        _mm512_loadu_ps(self.right.as_ptr().add(k * right_stride + column + n * LANES));
                }
                for row in 0..ROWS {
                    let left = _mm512_set1_ps(*self.left.get_unchecked(row * self.left_stride + k));
                    for n in 0..N {
                        sums[row][n] = _mm512_fmadd_ps(left, right[n], sums[row][n]);
                    }
                }
            }
            for row in 0..ROWS {
                for n in 0..N {
                    let to = out.as_mut_ptr().add(row * out_stride + column + n * LANES);
                    _mm512_storeu_ps(to, sums[row][n]);
                }
            }
        }
    }
}

/// `x = e^(x - max)` over the first `len` of a row of whole blocks, zero after them, and the sum.
#[target_feature(enable = "avx512f,avx512dq")]
fn exponentials(row: &mut [f32], len: usize) -> f32 {
    let (blocks, rest) = row.as_chunks_mut::<LANES>();
    assert!(rest.is_empty() && len > 0 && len.div_ceil(LANES) == blocks.len());
    let lowest = _mm512_set1_ps(f32::NEG_INFINITY);
    let last: __mmask16 = 0xffff >> (blocks.len() * LANES - len);
    let count = blocks.len();
    let mask = |block: usize| if block + 1 == count { last } else { 0xffff };
    let mut max = lowest;
    for (i, block) in blocks.iter().enumerate() {
        // SAFETY: a block is a register long.
        let x = unsafe { _mm512_loadu_ps(block.as_ptr()) };
        max = _mm512_mask_max_ps(max, mask(i), max, x);
    }
    let max = _mm512_set1_ps(_mm512_reduce_max_ps(max));
    let mut sum = _mm512_setzero_ps();
    for (i, block) in blocks.iter_mut().enumerate() {
        // SAFETY: a block is a register long.
        let x = unsafe { _mm512_loadu_ps(block.as_ptr()) };
        let e = _mm512_maskz_mov_ps(mask(i), exp(_mm512_sub_ps(x, max)));
        sum = _mm512_add_ps(sum, e);
        // SAFETY: a block is a register long.
        unsafe { _mm512_storeu_ps(block.as_mut_ptr(), e) };
    }
    _mm512_reduce_add_ps(sum)
}

/// 1/7!, ..., 1/2!, the highest first; 1 and 1 follow.
const TAYLOR: [f32; 6] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];
/// `ln 2` in two parts; the first has so few bits that its multiples by small integers are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// As [`crate::exp()`], sixteen at a time; what is below 1e-38 becomes 0.
#[target_feature(enable = "avx512f,avx512dq")]
fn exp(x: __m512) -> __m512 {
    let x = _mm512_max_ps(x, _mm512_set1_ps(-120.0));
    let scaled = _mm512_mul_ps(x, _mm512_set1_ps(std::f32::consts::LOG2_E));
    let n = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(scaled);
    let r = _mm512_fnmadd_ps(n, _mm512_set1_ps(LN_2[0]), x);
    let r = _mm512_fnmadd_ps(n, _mm512_set1_ps(LN_2[1]), r);
    let mut p = _mm512_set1_ps(TAYLOR[0]);
    for &coefficient in &TAYLOR[1..] {
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(coefficient));
    }
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0));
    // Subnormal weights are flushed: they slow the product that follows.
    let normal = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(n, _mm512_set1_ps(-125.0));
    _mm512_maskz_scalef_ps(normal, p, n)
}
