//! Learned pooling: the encoder's own pooled embedding, and what a few heads see among the tokens added to it.
//!
//! `x' = x + W_o [c_1 .. c_H] / sqrt(H)`, `c_h = sum_t softmax_t(k_h . x_t) x_t / |mean_t x_t|`. `W_o` starts at zero, so that
//! pooling starts as the encoder's own. The divisions bring all heads together to the length of a pooled embedding,
//! whatever the encoder's tokens are and however many heads: otherwise heads would learn many times as fast as the rest.

use crate::dense;
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use crate::split::{uniform, xavier};
use rayon::prelude::*;
use retreever_data::Ragged;
use retreever_kernels::attention::{Dropout, Shape, weigh, weigh_backward};
use retreever_kernels::gemm::{Mat, MatMut, Write, gemm_single};

/// Items worked on at a time.
const CHUNK: usize = 8;
/// The share of attention weights dropped in training, as the paper has it.
const DROPOUT: f32 = 0.1;

/// See the module.
pub(crate) struct AttentionPooling {
    heads: usize,
    width: usize,
    keys: Tensor, // [heads, width]
    out: Tensor,  // [width, heads * width]
}

/// What the way back needs.
#[derive(Default)]
pub(crate) struct Kept {
    seed: Option<u64>,      // of dropout
    weights: Vec<Vec<f32>>, // of each item [tokens, heads]
    contexts: Vec<f32>,     // [items, heads * width]
    lengths: Vec<f32>,      // [items]: 1 / (sqrt(H) |mean_t x_t|)
    pooled: Vec<f32>,       // [items, width]
    grad: Vec<f32>,         // [items, heads * width]
}

impl Kept {
    /// The result: one row for each item.
    pub(crate) fn pooled(&self) -> &[f32] {
        &self.pooled
    }
}

impl AttentionPooling {
    /// So many heads; names of their tensors start with `prefix`.
    pub(crate) fn new(heads: usize, width: usize, prefix: &str, layout: &mut Layout) -> Self {
        let keys = layout.tensor(format!("{prefix}pooling.keys"), &[heads, width], Decay::Yes);
        let out = layout.tensor(format!("{prefix}pooling.out"), &[width, heads * width], Decay::Yes);
        Self { heads, width, keys, out }
    }

    pub(crate) fn init(&self, params: &mut Parameters, random: &mut Random) {
        uniform(&mut params[self.keys], xavier(self.heads, self.width), random);
    }

    fn shape(&self) -> Shape {
        Shape { levels: 1, embeddings: 1, heads: self.heads }
    }

    /// Fills [`Kept::pooled`].
    pub(crate) fn forward(&self, params: &Parameters, batch: &Ragged, seed: Option<u64>, kept: &mut Kept) {
        kept.seed = seed;
        let (items, heads, width) = (batch.len(), self.heads, self.width);
        let keys = Mat::new(&params[self.keys], heads, width).t();
        kept.weights.resize_with(items, Vec::new);
        kept.lengths.resize(items, 0.0);
        kept.contexts.resize(items * heads * width, 0.0);
        kept.contexts
            .par_chunks_mut(heads * width)
            .zip(&mut kept.weights)
            .zip(&mut kept.lengths)
            .enumerate()
            .with_min_len(CHUNK)
            .for_each_init(Vec::new, |means: &mut Vec<f32>, (item, ((context, weights), length))| {
                let tokens = batch.item(item).len() / width;
                let x = Mat::new(batch.item(item), tokens, width);
                weights.resize(tokens * heads, 0.0);
                means.resize(tokens * heads, 0.0);
                gemm_single(x, keys, MatMut::new(weights, tokens, heads), Write::Set);
                weigh(weights, means, self.shape(), dropout(seed, item));
                *length = 1.0 / ((heads as f32).sqrt() * mean_length(batch.item(item), width));
                gemm_single(
                    Mat::new(means, tokens, heads).t(),
                    x,
                    MatMut::new(context, heads, width),
                    Write::Set,
                );
                context.iter_mut().for_each(|c| *c *= *length);
            });
        kept.pooled.clear();
        kept.pooled.extend_from_slice(batch.pooled());
        let out = Mat::new(&params[self.out], width, heads * width).t();
        dense::par_gemm(Mat::new(&kept.contexts, items, heads * width), out, &mut kept.pooled);
    }

    /// The gradient of the pooled embeddings back to the tensors.
    pub(crate) fn backward(
        &self,
        params: &Parameters,
        batch: &Ragged,
        kept: &mut Kept,
        grad: &[f32],
        grads: &mut Parameters,
    ) {
        let (items, heads, width) = (batch.len(), self.heads, self.width);
        let contexts = Mat::new(&kept.contexts, items, heads * width);
        dense::par_gemm(Mat::new(grad, items, width).t(), contexts, &mut grads[self.out]);
        kept.grad.resize(items * heads * width, 0.0);
        dense::backward_input(grad, &params[self.out], heads * width, &mut kept.grad);
        let parts: Vec<Vec<f32>> = kept
            .grad
            .par_chunks(CHUNK * heads * width)
            .zip(kept.weights.par_chunks_mut(CHUNK))
            .enumerate()
            .map(|(chunk, (grads, weights))| {
                let (mut part, mut means, mut sums) =
                    (vec![0.0; heads * width], Vec::new(), vec![0.0; heads]);
                for (at, (grad, weights)) in grads.chunks_exact(heads * width).zip(weights).enumerate() {
                    let item = chunk * CHUNK + at;
                    let tokens = batch.item(item).len() / width;
                    let x = Mat::new(batch.item(item), tokens, width);
                    means.resize(tokens * heads, 0.0);
                    let grad = Mat::new(grad, heads, width).t();
                    gemm_single(x, grad, MatMut::new(&mut means, tokens, heads), Write::Set);
                    means.iter_mut().for_each(|g| *g *= kept.lengths[item]);
                    weigh_backward(weights, &means, &mut sums, self.shape(), dropout(kept.seed, item));
                    let scores = Mat::new(weights, tokens, heads).t();
                    gemm_single(scores, x, MatMut::new(&mut part, heads, width), Write::Add);
                }
                part
            })
            .collect();
        for part in parts {
            grads[self.keys].iter_mut().zip(part).for_each(|(sum, g)| *sum += g);
        }
    }
}

/// What is dropped of one item's attention.
fn dropout(seed: Option<u64>, item: usize) -> Dropout {
    match seed {
        Some(seed) => Dropout { rate: DROPOUT, seed: Random::new(seed, item as u64).bits() },
        None => Dropout::NONE,
    }
}

/// The length of the mean of some rows.
fn mean_length(rows: &[f32], width: usize) -> f32 {
    let mut sum = vec![0.0f32; width];
    dense::add_columns(rows, &mut sum);
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt() / (rows.len() / width).max(1) as f32;
    length.max(1e-12)
}
