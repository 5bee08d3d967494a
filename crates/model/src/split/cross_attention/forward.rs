//! Cross-attention, items to logits.

use super::{AllKept, CrossAttention, Kept, Pass, chunks, lanes, levels_above};
use crate::cut::Cut;
use crate::dense;
use crate::parameters::Parameters;
use rayon::prelude::*;
use retreever_data::Ragged;
use retreever_kernels::attention;
use retreever_kernels::gemm::{Mat, MatMut, Packed, Write, gemm_packed, gemm_single, par_gemm_single};
use std::ops::Range;

/// Tokens worked on at a time.
const CHUNK: usize = 512;

/// The part of the kept buffers that one thread fills: those of its items.
struct Lane<'a> {
    items: Range<usize>,
    weights: &'a mut [f32],
    means: &'a mut [f32],
    mass: &'a mut [f32],
    contexts: &'a mut [f32],
    attended: &'a mut [f32],
    logits: &'a mut [f32],
}

/// What all threads read.
struct Shared<'a> {
    split: &'a CrossAttention,
    params: &'a Parameters,
    batch: &'a Ragged,
    pass: Pass,
    folded: &'a Packed, // [width, columns]
}

impl CrossAttention {
    pub(super) fn attend(&self, params: &Parameters, batch: &Ragged, pass: Pass, all_kept: &mut AllKept) {
        let (shape, width, all) = (self.shape(pass.end), self.scope.width, self.all_heads());
        let (items, tokens) = (batch.len(), batch.tokens().len() / width);
        let kept = &mut all_kept.attention;
        self.fold(params, pass, kept);
        kept.weights.resize(tokens * shape.columns(), 0.0);
        kept.means.resize(tokens * shape.means(), 0.0);
        kept.mass.resize(items * shape.means(), 0.0);
        kept.contexts.resize(items * shape.means() * width, 0.0);
        kept.attended.resize(items * shape.levels * all, 0.0);
        all_kept.logits.resize(items * pass.end.start(), 0.0);

        let shared = Shared { split: self, params, batch, pass, folded: &kept.packed };

        let mut cut = (
            Cut(&mut kept.weights[..]),
            Cut(&mut kept.means[..]),
            Cut(&mut kept.mass[..]),
            Cut(&mut kept.contexts[..]),
            Cut(&mut kept.attended[..]),
            Cut(&mut all_kept.logits[..]),
        );
        let offsets = batch.offsets();
        let lanes: Vec<Lane<'_>> = lanes(offsets)
            .into_iter()
            .map(|run| {
                let (items, tokens) = (run.len(), offsets[run.end] - offsets[run.start]);
                Lane {
                    items: run,
                    weights: cut.0.take(tokens * shape.columns()),
                    means: cut.1.take(tokens * shape.means()),
                    mass: cut.2.take(items * shape.means()),
                    contexts: cut.3.take(items * shape.means() * width),
                    attended: cut.4.take(items * shape.levels * all),
                    logits: cut.5.take(items * pass.end.start()),
                }
            })
            .collect();
        lanes.into_par_iter().for_each(|lane| shared.run(lane));
    }

    /// `q = level_embeddings W_q^T + b_q` and `folded = W_k^T q / sqrt(hd)`, for the levels above `end`.
    fn fold(&self, params: &Parameters, pass: Pass, kept: &mut Kept) {
        let (shape, width, all) = (self.shape(pass.end), self.scope.width, self.all_heads());
        let (heads, height) = (self.config.heads, self.config.head_width);
        let rows = shape.levels * shape.embeddings;
        kept.asked.clear();
        (0..rows).for_each(|_| kept.asked.extend_from_slice(&params[self.bq]));
        let embeddings = Mat::new(&params[self.level_embeddings][..rows * all], rows, all);
        let wq = Mat::new(&params[self.wq], all, all).t();
        par_gemm_single(embeddings, wq, MatMut::new(&mut kept.asked, rows, all), Write::Add);
        kept.folded.resize(shape.columns() * width, 0.0);
        for head in 0..heads {
            let asked = Mat::strided(&kept.asked[head * height..], rows, height, all);
            let folded = MatMut::strided(&mut kept.folded[head * width..], rows, width, heads * width);
            gemm_single(asked, self.head(&params[self.wk], head), folded, Write::Set);
        }
        let temper = self.temper();
        kept.folded.iter_mut().for_each(|x| *x *= temper);
        kept.packed.pack(Mat::new(&kept.folded, shape.columns(), width).t());
    }
}

impl Shared<'_> {
    fn run(&self, lane: Lane<'_>) {
        let Self { split, batch, pass, .. } = self;
        let (shape, width) = (split.shape(pass.end), split.scope.width);
        let (columns, means) = (shape.columns(), shape.means());
        let offsets = batch.offsets();
        let (first_item, first_token) = (lane.items.start, offsets[lane.items.start]);
        for chunk in chunks(lane.items.clone(), offsets, CHUNK) {
            let tokens = offsets[chunk.start]..offsets[chunk.end];
            let x = &batch.tokens()[tokens.start * width..tokens.end * width];
            let weights =
                &mut lane.weights[(tokens.start - first_token) * columns..][..tokens.len() * columns];
            let scores = MatMut::new(weights, tokens.len(), columns);
            gemm_packed(Mat::new(x, tokens.len(), width), self.folded, scores, Write::Set);
            for item in chunk {
                let (own, here) = (offsets[item]..offsets[item + 1], item - first_item);
                let at = own.start - first_token;
                let weights = &mut lane.weights[at * columns..][..own.len() * columns];
                let mean = &mut lane.means[at * means..][..own.len() * means];
                attention::weigh(weights, mean, shape, split.dropout(*pass, item));
                let mass = &mut lane.mass[here * means..][..means];
                mass.fill(0.0);
                dense::add_columns(mean, mass);
                let context =
                    MatMut::new(&mut lane.contexts[here * means * width..][..means * width], means, width);
                let x = Mat::new(batch.item(item), own.len(), width);
                gemm_single(Mat::new(mean, own.len(), means).t(), x, context, Write::Set);
            }
        }
        self.map(lane);
    }

    /// Contexts to attended values to logits, for all items of the lane at once.
    fn map(&self, lane: Lane<'_>) {
        let Self { split, params, pass, .. } = self;
        let (shape, width, all) = (split.shape(pass.end), split.scope.width, split.all_heads());
        let (heads, height) = (split.config.heads, split.config.head_width);
        let rows = lane.items.len() * shape.levels;
        if rows == 0 {
            return;
        }
        for head in 0..heads {
            let values = split.head(&params[split.wv], head).t();
            let contexts = Mat::strided(&lane.contexts[head * width..], rows, width, heads * width);
            let attended = MatMut::strided(&mut lane.attended[head * height..], rows, height, all);
            gemm_single(contexts, values, attended, Write::Set);
        }
        let bias = &params[split.bv];
        for (at, (attended, mass)) in lane.attended.chunks_exact_mut(height).zip(&*lane.mass).enumerate() {
            let bias = &bias[at % heads * height..];
            attended.iter_mut().zip(bias).for_each(|(x, b)| *x += mass * b);
        }
        let nodes = pass.end.start();
        for level in levels_above(pass.end) {
            let maps = split.level_maps(params, level).t();
            let attended =
                Mat::strided(&lane.attended[level.get() * all..], lane.items.len(), all, shape.levels * all);
            let logits =
                MatMut::strided(&mut lane.logits[level.start()..], lane.items.len(), level.width(), nodes);
            gemm_single(attended, maps, logits, Write::Set);
        }
        for logits in lane.logits.chunks_exact_mut(nodes) {
            logits.iter_mut().zip(&params[split.node_bias]).for_each(|(x, b)| *x += b);
        }
    }
}
