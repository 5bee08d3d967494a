//! Cross-attention splits: learnable embeddings of each level ask, the item's tokens answer.
//!
//! For level `l`, embedding `e` and head `h`: `q = level_embeddings W_q^T + b_q`, the attention over the tokens
//! `x_t` is `softmax_t(q_leh . (W_k,h x_t) / sqrt(hd))`, the heads' answers `sum_t att_t (W_v,h x_t + b_v,h)` are
//! concatenated, mapped to a logit by each node of the level, and averaged over the embeddings.
//!
//! It is computed folded, which is the same thing with less work:
//! - `q_leh . (W_k,h x_t) = (W_k,h^T q_leh) . x_t`: the asking side is multiplied out once a step into `folded`,
//!   `[columns, width]`, and keys are never made. (A bias of the keys would add the same to every token's score
//!   and vanish in the softmax, so there is none.)
//! - the node maps are linear, so the mean over the embeddings is taken of the attention weights, the tokens
//!   are averaged with it into `contexts`, and `W_v,h` is applied to those few: values are never made.
//!
//! Two products are most of the work, tokens with `folded` and the gradient of `folded`: these may run on tiles. All others
//! are in full single precision.

mod backward;
mod forward;

use super::{Backward, Kept as AllKept, Pass, Scope, Split, uniform, xavier};
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use retreever_data::Ragged;
use retreever_kernels::attention::{Dropout, Shape};
use retreever_kernels::gemm::{Mat, Packed};
use retreever_tree::Level;
use serde::{Deserialize, Serialize};

/// The sizes of the attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Heads.
    pub heads: usize,
    /// The width of a head; all heads together are the width of a level embedding.
    pub head_width: usize,
    /// Learnable embeddings per level.
    pub level_embeddings: usize,
    /// The share of attention weights dropped in training.
    pub dropout: f32,
}

impl Default for Config {
    fn default() -> Self {
        Self { heads: 16, head_width: 64, level_embeddings: 8, dropout: 0.1 }
    }
}

/// See the module.
pub struct CrossAttention {
    config: Config,
    scope: Scope,
    level_embeddings: Tensor, // [levels, embeddings, all heads]
    wq: Tensor,               // [all heads, all heads]
    bq: Tensor,               // [all heads]
    wk: Tensor,               // [all heads, width]
    wv: Tensor,               // [all heads, width]
    bv: Tensor,               // [all heads]
    node_weight: Tensor,      // [nodes, all heads]
    node_bias: Tensor,        // [nodes]
}

/// What the way back needs. `columns` are (level, embedding, head), `means` are (level, head).
#[derive(Default)]
pub(super) struct Kept {
    asked: Vec<f32>,    // [levels * embeddings, all heads]: q
    folded: Vec<f32>,   // [columns, width]: W_k^T q / sqrt(hd)
    packed: Packed,     // [width, columns]: `folded`, transposed, laid out for products
    weights: Vec<f32>,  // [tokens, columns]: attention, then the gradient of its scores
    means: Vec<f32>,    // [tokens, means]: attention averaged over embeddings
    mass: Vec<f32>,     // [items, means]: its sum over tokens, 1 but for dropout
    contexts: Vec<f32>, // [items, means, width]: tokens averaged by it
    attended: Vec<f32>, // [items, levels, all heads]
    grads: backward::Buffers,
}

impl CrossAttention {
    pub(super) fn new(config: &Config, scope: Scope, layout: &mut Layout) -> Self {
        let (levels, nodes, width) = (scope.end.get(), scope.end.start(), scope.width);
        let all = config.heads * config.head_width;
        let embeddings = config.level_embeddings;
        Self {
            config: config.clone(),
            scope,
            level_embeddings: layout.tensor("split.level_embeddings", &[levels, embeddings, all], Decay::Yes),
            wq: layout.tensor("split.wq", &[all, all], Decay::Yes),
            bq: layout.tensor("split.bq", &[all], Decay::No),
            wk: layout.tensor("split.wk", &[all, width], Decay::Yes),
            wv: layout.tensor("split.wv", &[all, width], Decay::Yes),
            bv: layout.tensor("split.bv", &[all], Decay::No),
            node_weight: layout.tensor("split.node_weight", &[nodes, all], Decay::Yes),
            node_bias: layout.tensor("split.node_bias", &[nodes], Decay::No),
        }
    }

    /// The width of all heads together.
    fn all_heads(&self) -> usize {
        self.config.heads * self.config.head_width
    }

    fn shape(&self, end: Level) -> Shape {
        Shape { levels: end.get(), embeddings: self.config.level_embeddings, heads: self.config.heads }
    }

    /// What is dropped of one item's attention.
    fn dropout(&self, pass: Pass, item: usize) -> Dropout {
        match pass.dropout {
            Some(seed) => Dropout { rate: self.config.dropout, seed: Random::new(seed, item as u64).bits() },
            None => Dropout::NONE,
        }
    }

    /// `1 / sqrt(hd)`, which scores are multiplied with.
    fn temper(&self) -> f32 {
        1.0 / (self.config.head_width as f32).sqrt()
    }

    /// The rows of one head of a projection, `[head_width, width]`.
    fn head<'a>(&self, projection: &'a [f32], head: usize) -> Mat<'a> {
        let (height, width) = (self.config.head_width, self.scope.width);
        Mat::new(&projection[head * height * width..][..height * width], height, width)
    }

    /// The maps of one level's nodes, `[nodes of the level, all heads]`.
    fn level_maps<'a>(&self, params: &'a Parameters, level: Level) -> Mat<'a> {
        let all = self.all_heads();
        let weight = &params[self.node_weight][level.start() * all..][..level.width() * all];
        Mat::new(weight, level.width(), all)
    }
}

impl Split for CrossAttention {
    fn init(&self, params: &mut Parameters, random: &mut Random) {
        let all = self.all_heads();
        params[self.level_embeddings].fill_with(|| random.normal() as f32);
        uniform(&mut params[self.wq], xavier(all, all), random);
        uniform(&mut params[self.wk], xavier(all, self.scope.width), random);
        uniform(&mut params[self.wv], xavier(all, self.scope.width), random);
        uniform(&mut params[self.node_weight], 1.0 / (all as f64).sqrt(), random);
        for bias in [self.bq, self.bv, self.node_bias] {
            params[bias].fill(0.0);
        }
    }

    fn forward(&self, params: &Parameters, batch: &Ragged, pass: Pass, kept: &mut AllKept) {
        self.attend(params, batch, pass, kept);
    }

    fn backward(&self, step: Backward<'_>, grads: &mut Parameters) {
        self.attend_backward(step, grads);
    }
}

/// The levels above `end`, root first.
fn levels_above(end: Level) -> impl Iterator<Item = Level> {
    std::iter::successors(Some(Level::ROOT), |level| Some(level.below())).take(end.get())
}

/// What an item costs by itself, in tokens: its contexts, its values and its maps.
const ITEM: usize = 16;

/// Cuts the items into as many runs as there are threads, with about as much work in each.
fn lanes(offsets: &[usize]) -> Vec<std::ops::Range<usize>> {
    let items = offsets.len() - 1;
    let cost = |end: usize| offsets[end] + ITEM * end;
    let threads = rayon::current_num_threads().min(items);
    let bound =
        |lane: usize| (0..items).find(|&end| cost(end) * threads >= cost(items) * lane).unwrap_or(items);
    (0..threads).map(|lane| bound(lane)..bound(lane + 1)).collect()
}

/// Cuts a run of items into chunks of at most `tokens` tokens, but at least one item.
fn chunks(
    items: std::ops::Range<usize>,
    offsets: &[usize],
    tokens: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut start = items.start;
    std::iter::from_fn(move || {
        (start < items.end).then(|| {
            let fits = |end: &usize| offsets[*end] - offsets[start] <= tokens;
            let end = (start + 1..=items.end).take_while(fits).last().unwrap_or(start + 1);
            std::mem::replace(&mut start, end)..end
        })
    })
}
