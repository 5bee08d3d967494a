//! Multi-head self-attention of one item: `softmax((q + b) k^T * scale + bias) v`, head by head.
//!
//! The input is one row `q | k | v` per token, each of `heads * width` numbers; the output is one row of
//! `heads * width` numbers per token. The scores of a few rows live in the first-level cache only. A bias of the
//! keys adds the same to all scores of a row and so changes nothing; a bias of the values adds itself to the
//! output (the weights sum to 1). Neither is therefore an argument: callers fold the latter into what follows.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::lanes::LANES;
use crate::simd::simd;
use crate::softmax::exponentials;

/// What attention reads.
#[derive(Clone, Copy, Debug)]
pub struct SelfAttention<'a> {
    /// `[tokens, 3 * heads * width]`: a row is `q | k | v`.
    pub qkv: &'a [f32],
    /// Added to every row of `q`: `[heads * width]`.
    pub query_bias: &'a [f32],
    /// The number of heads.
    pub heads: usize,
    /// The width of a head.
    pub width: usize,
    /// The factor of `q k^T`, as a rule `1 / sqrt(width)`.
    pub scale: f32,
    /// Added to the scores by distance.
    pub distance_bias: Option<&'a DistanceBias>,
}

/// A bias that depends on the head and on how far the key is from the query.
#[derive(Clone, Debug)]
pub struct DistanceBias {
    reach: usize,
    stride: usize,
    values: Vec<f32>, // [heads, 2 * reach - 1 and then zeros]
}

impl DistanceBias {
    /// For items of up to `reach` tokens; `value` gives the bias of a head at a distance, key minus query.
    pub fn new(heads: usize, reach: usize, value: impl Fn(usize, isize) -> f32) -> Self {
        // A kernel reads whole blocks, and may read past the last distance by one block.
        let stride = 2 * reach + LANES;
        let mut values = vec![0.0; heads * stride];
        for head in 0..heads {
            for at in 0..(2 * reach).saturating_sub(1) {
                values[head * stride + at] = value(head, at as isize - (reach as isize - 1));
            }
        }
        Self { reach, stride, values }
    }

    /// The biases of the keys `0, 1, ...` for one query, a block longer than there are tokens.
    #[inline(always)]
    fn row(&self, head: usize, query: usize) -> &[f32] {
        &self.values[head * self.stride + self.reach - 1 - query..(head + 1) * self.stride]
    }
}

/// Memory that attention works in, kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    keys: Vec<f32>,    // [width, tokens rounded up to blocks]
    values: Vec<f32>,  // [tokens, width]
    queries: Vec<f32>, // [rows, width]
    scores: Vec<f32>,  // [rows, tokens rounded up to blocks]
}

/// Attention of one item, all heads.
///
/// # Panics
/// If the lengths do not fit, or the item is longer than the distance bias reaches.
pub fn self_attention(input: SelfAttention<'_>, scratch: &mut Scratch, out: &mut [f32]) {
    let model = input.heads * input.width;
    assert!(model > 0 && input.qkv.len().is_multiple_of(3 * model), "rows of q | k | v");
    let tokens = input.qkv.len() / (3 * model);
    assert_eq!((out.len(), input.query_bias.len()), (tokens * model, model), "sizes of an attention");
    if let Some(bias) = input.distance_bias {
        assert!(tokens <= bias.reach, "{tokens} tokens where the bias reaches {}", bias.reach);
        assert!(bias.values.len() >= input.heads * bias.stride, "a distance bias of fewer heads");
    }
    let padded = tokens.next_multiple_of(LANES);
    scratch.keys.resize(input.width * padded, 0.0);
    scratch.values.resize(input.width * tokens, 0.0);
    scratch.queries.resize(input.width * ROWS, 0.0);
    scratch.scores.resize(ROWS * padded, 0.0);
    #[cfg(target_arch = "x86_64")]
    if avx512::fits(input.width) {
        return avx512::run(&input, tokens, scratch, out);
    }
    wide_heads(&input, tokens, scratch, out);
}

/// How many queries are worked on at a time.
const ROWS: usize = 8;

simd! {
/// The twin of the AVX-512 kernel, one query at a time.
fn wide_heads(input: &SelfAttention<'_>, tokens: usize, scratch: &mut Scratch, out: &mut [f32]) {
    let (width, model) = (input.width, input.heads * input.width);
    let padded = tokens.next_multiple_of(LANES);
    for head in 0..input.heads {
        lay_out(input, head, tokens, scratch);
        for token in 0..tokens {
            let query = &input.qkv[token * 3 * model + head * width..][..width];
            let scores = &mut scratch.scores[..tokens];
            match input.distance_bias {
                Some(bias) => scores.copy_from_slice(&bias.row(head, token)[..tokens]),
                None => scores.fill(0.0),
            }
            for (i, (q, bias)) in query.iter().zip(&input.query_bias[head * width..]).enumerate() {
                let q = (q + bias) * input.scale;
                for (score, key) in scores.iter_mut().zip(&scratch.keys[i * padded..]) {
                    *score = q.mul_add(*key, *score);
                }
            }
            let scale = 1.0 / exponentials(scores);
            let out = &mut out[token * model + head * width..][..width];
            out.fill(0.0);
            for (weight, value) in scores.iter().zip(scratch.values.chunks_exact(width)) {
                for (out, value) in out.iter_mut().zip(value) {
                    *out = weight.mul_add(*value, *out);
                }
            }
            for out in out {
                *out *= scale;
            }
        }
    }
}
}

/// Copies one head's keys, transposed, and values to where they are read in order.
#[inline(always)]
fn lay_out(input: &SelfAttention<'_>, head: usize, tokens: usize, scratch: &mut Scratch) {
    let (width, model) = (input.width, input.heads * input.width);
    let padded = tokens.next_multiple_of(LANES);
    for token in 0..tokens {
        let row = &input.qkv[token * 3 * model + head * width..];
        for (i, &key) in row[model..][..width].iter().enumerate() {
            scratch.keys[i * padded + token] = key;
        }
        scratch.values[token * width..][..width].copy_from_slice(&row[2 * model..][..width]);
    }
}

#[cfg(test)]
mod tests;
