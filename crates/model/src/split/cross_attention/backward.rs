//! Cross-attention, the gradient of the logits back to the tensors.

use super::{AllKept, Backward, CrossAttention, Kept, Pass, chunks, lanes, levels_above};
use crate::cut::Cut;
use crate::dense;
use crate::parameters::Parameters;
use rayon::prelude::*;
use retreever_data::Ragged;
use retreever_kernels::attention;
use retreever_kernels::gemm::{Mat, MatMut, Write, gemm, gemm_single, par_gemm_single};
use std::ops::Range;

/// Tokens worked on at a time.
const CHUNK: usize = 512;

/// Room for gradients that are not those of tensors.
#[derive(Default)]
pub(super) struct Buffers {
    attended: Vec<f32>, // [items, levels, all heads]
    asked: Vec<f32>,    // [levels * embeddings, all heads]
    folded: Vec<f32>,   // [columns, width]
    lanes: Vec<Scratch>,
}

/// What one thread needs for itself.
#[derive(Default)]
struct Scratch {
    contexts: Vec<f32>, // [means, width]: gradient of an item's contexts
    offsets: Vec<f32>,  // [means]: what every token's mean gets from b_v
    means: Vec<f32>,    // [tokens of the item, means]
    sums: Vec<f32>,     // [columns]
    folded: Vec<f32>,   // [width, columns]: gradient of `folded` from this lane's tokens, transposed
}

/// What all threads read.
struct Shared<'a> {
    split: &'a CrossAttention,
    params: &'a Parameters,
    batch: &'a Ragged,
    pass: Pass,
    grad: &'a [f32],
}

impl CrossAttention {
    pub(super) fn attend_backward(&self, step: Backward<'_>, grads: &mut Parameters) {
        let Backward { params, batch, pass, kept: AllKept { attention: kept, .. }, grad, .. } = step;
        let (shape, width, all) = (self.shape(pass.end), self.scope.width, self.all_heads());
        let items = batch.len();
        let mut buffers = std::mem::take(&mut kept.grads);
        buffers.attended.resize(items * shape.levels * all, 0.0);
        let shared = Shared { split: self, params, batch, pass, grad };

        let lanes = lanes(batch.offsets());
        buffers.lanes.resize_with(lanes.len(), Scratch::default);
        let mut weights = Cut(&mut kept.weights[..]);
        let mut attended = Cut(&mut buffers.attended[..]);
        let work: Vec<_> = lanes
            .into_iter()
            .zip(&mut buffers.lanes)
            .map(|(run, scratch)| {
                let tokens = batch.offsets()[run.end] - batch.offsets()[run.start];
                let attended = attended.take(run.len() * shape.levels * all);
                (run, weights.take(tokens * shape.columns()), attended, scratch)
            })
            .collect();
        work.into_par_iter().for_each(|(run, weights, attended, scratch)| {
            shared.run(run, weights, attended, scratch);
        });

        self.maps_backward(pass, grad, kept, grads);
        self.values_backward(pass, &buffers.attended, kept, grads);
        buffers.folded.resize(shape.columns() * width, 0.0);
        let lanes: Vec<&[f32]> = buffers.lanes.iter().map(|lane| &lane.folded[..]).collect();
        add_transposed(&lanes, width, &mut buffers.folded);
        self.fold_backward(params, pass, kept, &mut buffers, grads);
        kept.grads = buffers;
    }

    /// The gradients of the node maps.
    fn maps_backward(&self, pass: Pass, grad: &[f32], kept: &Kept, grads: &mut Parameters) {
        let (nodes, all, levels) = (pass.end.start(), self.all_heads(), pass.end.get());
        let items = grad.len() / nodes;
        for level in levels_above(pass.end) {
            let grad = Mat::strided(&grad[level.start()..], items, level.width(), nodes);
            let attended = Mat::strided(&kept.attended[level.get() * all..], items, all, levels * all);
            let out = &mut grads[self.node_weight][level.start() * all..][..level.width() * all];
            par_gemm_single(grad.t(), attended, MatMut::new(out, level.width(), all), Write::Add);
        }
        dense::add_columns(grad, &mut grads[self.node_bias][..nodes]);
    }

    /// The gradients of `W_v` and `b_v`.
    fn values_backward(&self, pass: Pass, grad: &[f32], kept: &Kept, grads: &mut Parameters) {
        let (width, all) = (self.scope.width, self.all_heads());
        let (heads, height) = (self.config.heads, self.config.head_width);
        let rows = grad.len() / all;
        debug_assert_eq!(rows % pass.end.get(), 0);
        dense::par_chunks(&mut grads[self.wv], heads, Write::Add, |head| {
            let grad = Mat::strided(&grad[head * height..], rows, height, all);
            let contexts = Mat::strided(&kept.contexts[head * width..], rows, width, heads * width);
            (grad.t(), contexts)
        });
        let bias = &mut grads[self.bv];
        for (at, (grad, mass)) in grad.chunks_exact(height).zip(&kept.mass).enumerate() {
            let bias = &mut bias[at % heads * height..][..height];
            bias.iter_mut().zip(grad).for_each(|(bias, grad)| *bias += mass * grad);
        }
    }

    /// The gradient of `folded` to `W_k`, `W_q`, `b_q` and the level embeddings.
    fn fold_backward(
        &self,
        params: &Parameters,
        pass: Pass,
        kept: &Kept,
        buffers: &mut Buffers,
        grads: &mut Parameters,
    ) {
        let (shape, width, all) = (self.shape(pass.end), self.scope.width, self.all_heads());
        let (heads, height) = (self.config.heads, self.config.head_width);
        let rows = shape.levels * shape.embeddings;
        let temper = self.temper();
        buffers.folded.iter_mut().for_each(|x| *x *= temper);
        let folded = &buffers.folded;
        let of_head = |head: usize| Mat::strided(&folded[head * width..], rows, width, heads * width);
        dense::par_chunks(&mut grads[self.wk], heads, Write::Add, |head| {
            (Mat::strided(&kept.asked[head * height..], rows, height, all).t(), of_head(head))
        });
        buffers.asked.resize(rows * all, 0.0);
        for head in 0..heads {
            let asked = MatMut::strided(&mut buffers.asked[head * height..], rows, height, all);
            gemm_single(of_head(head), self.head(&params[self.wk], head).t(), asked, Write::Set);
        }
        let asked = Mat::new(&buffers.asked, rows, all);
        let embeddings = Mat::new(&params[self.level_embeddings][..rows * all], rows, all);
        par_gemm_single(asked.t(), embeddings, MatMut::new(&mut grads[self.wq], all, all), Write::Add);
        dense::add_columns(&buffers.asked, &mut grads[self.bq]);
        let out = &mut grads[self.level_embeddings][..rows * all];
        let wq = Mat::new(&params[self.wq], all, all);
        par_gemm_single(asked, wq, MatMut::new(out, rows, all), Write::Add);
    }
}

impl Shared<'_> {
    /// The gradient of the logits of a run of items back to `attended`, and on to this lane's part of `folded`.
    fn run(&self, items: Range<usize>, weights: &mut [f32], attended: &mut [f32], scratch: &mut Scratch) {
        let Self { split, params, batch, pass, .. } = self;
        let (shape, width, all) = (split.shape(pass.end), split.scope.width, split.all_heads());
        let (heads, height, levels) = (split.config.heads, split.config.head_width, shape.levels);
        let (columns, means, nodes) = (shape.columns(), shape.means(), pass.end.start());
        scratch.folded.clear();
        scratch.folded.resize(width * columns, 0.0);
        if items.is_empty() {
            return;
        }
        for level in levels_above(pass.end) {
            let grad = &self.grad[items.start * nodes + level.start()..];
            let grad = Mat::strided(grad, items.len(), level.width(), nodes);
            let out = MatMut::strided(&mut attended[level.get() * all..], items.len(), all, levels * all);
            gemm_single(grad, split.level_maps(params, level), out, Write::Set);
        }
        let offsets = batch.offsets();
        let first_token = offsets[items.start];
        scratch.contexts.resize(means * width, 0.0);
        scratch.offsets.resize(means, 0.0);
        scratch.sums.resize(columns, 0.0);
        for chunk in chunks(items.clone(), offsets, CHUNK) {
            let tokens = offsets[chunk.start]..offsets[chunk.end];
            for item in chunk {
                let attended = &attended[(item - items.start) * levels * all..][..levels * all];
                for head in 0..heads {
                    let grad = Mat::strided(&attended[head * height..], levels, height, all);
                    let out =
                        MatMut::strided(&mut scratch.contexts[head * width..], levels, width, heads * width);
                    gemm_single(grad, split.head(&params[split.wv], head), out, Write::Set);
                }
                for (offset, (at, grad)) in
                    scratch.offsets.iter_mut().zip(attended.chunks_exact(height).enumerate())
                {
                    let bias = &params[split.bv][at % heads * height..];
                    *offset = grad.iter().zip(bias).map(|(g, b)| g * b).sum();
                }
                let own = offsets[item]..offsets[item + 1];
                scratch.means.resize(own.len() * means, 0.0);
                for row in scratch.means.chunks_exact_mut(means) {
                    row.copy_from_slice(&scratch.offsets);
                }
                let contexts = Mat::new(&scratch.contexts, means, width).t();
                let out = MatMut::new(&mut scratch.means, own.len(), means);
                gemm_single(Mat::new(batch.item(item), own.len(), width), contexts, out, Write::Add);
                let weights = &mut weights[(own.start - first_token) * columns..][..own.len() * columns];
                let dropout = split.dropout(*pass, item);
                attention::weigh_backward(weights, &scratch.means, &mut scratch.sums, shape, dropout);
            }
            let x = &batch.tokens()[tokens.start * width..tokens.end * width];
            let scores = &weights[(tokens.start - first_token) * columns..][..tokens.len() * columns];
            let out = MatMut::new(&mut scratch.folded, width, columns);
            let (x, scores) = (Mat::new(x, tokens.len(), width), Mat::new(scores, tokens.len(), columns));
            gemm(x.t(), scores, out, Write::Add);
        }
    }
}

/// Adds up matrices `[width, columns]` of the lanes, in their order, into `out`, `[columns, width]`.
fn add_transposed(lanes: &[&[f32]], width: usize, out: &mut [f32]) {
    const BLOCK: usize = 16;
    let columns = out.len() / width;
    out.par_chunks_mut(BLOCK * width).enumerate().for_each(|(block, out)| {
        for x in 0..width {
            let at = x * columns + block * BLOCK;
            for (row, out) in out.chunks_exact_mut(width).enumerate() {
                out[x] = lanes.iter().map(|lane| lane[at + row]).sum();
            }
        }
    });
}
