//! MLP splits: one hidden layer (ReLU, dropout) from the pooled embedding to all logits.

use super::{Backward, Kept as AllKept, Pass, Scope, Split, uniform, xavier};
use crate::dense;
use crate::hidden::{self, Dropout};
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use retreever_data::Ragged;
use retreever_kernels::gemm::Mat;
use serde::{Deserialize, Serialize};

/// The hidden layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Its width.
    pub hidden: usize,
    /// The share of hidden numbers dropped in training.
    pub dropout: f32,
}

impl Default for Config {
    fn default() -> Self {
        Self { hidden: 1024, dropout: 0.1 }
    }
}

/// The hidden numbers after ReLU and dropout, and room for their gradient.
#[derive(Default)]
pub(super) struct Kept {
    hidden: Vec<f32>, // [items, hidden]
    grad: Vec<f32>,
}

/// See the module.
pub struct Mlp {
    config: Config,
    scope: Scope,
    w1: Tensor, // [hidden, width]
    b1: Tensor, // [hidden]
    w2: Tensor, // [nodes, hidden]
    b2: Tensor, // [nodes]
}

impl Mlp {
    pub(super) fn new(config: &Config, scope: Scope, layout: &mut Layout) -> Self {
        let (nodes, hidden) = (scope.end.start(), config.hidden);
        Self {
            config: config.clone(),
            scope,
            w1: layout.tensor("split.w1", &[hidden, scope.width], Decay::Yes),
            b1: layout.tensor("split.b1", &[hidden], Decay::No),
            w2: layout.tensor("split.w2", &[nodes, hidden], Decay::Yes),
            b2: layout.tensor("split.b2", &[nodes], Decay::No),
        }
    }

    fn dropout(&self, pass: Pass) -> Dropout {
        Dropout { rate: self.config.dropout, seed: pass.dropout }
    }
}

impl Split for Mlp {
    fn init(&self, params: &mut Parameters, random: &mut Random) {
        let hidden = self.config.hidden;
        uniform(&mut params[self.w1], xavier(hidden, self.scope.width), random);
        uniform(&mut params[self.w2], 1.0 / (hidden as f64).sqrt(), random);
        params[self.b1].fill(0.0);
        params[self.b2].fill(0.0);
    }

    fn forward(&self, params: &Parameters, batch: &Ragged, pass: Pass, kept: &mut AllKept) {
        let (nodes, hidden, items) = (pass.end.start(), self.config.hidden, batch.len());
        let h = &mut kept.hidden.hidden;
        h.resize(items * hidden, 0.0);
        dense::forward(
            Mat::new(batch.pooled(), items, self.scope.width),
            &params[self.w1],
            &params[self.b1],
            h,
        );
        hidden::forward(h, self.dropout(pass));
        kept.logits.resize(items * nodes, 0.0);
        let (w2, b2) = (&params[self.w2][..nodes * hidden], &params[self.b2][..nodes]);
        dense::forward(Mat::new(h, items, hidden), w2, b2, &mut kept.logits);
    }

    fn backward(&self, step: Backward<'_>, grads: &mut Parameters) {
        let (nodes, hidden, items) = (step.pass.end.start(), self.config.hidden, step.batch.len());
        let Kept { hidden: h, grad } = &mut step.kept.hidden;
        let kept = Mat::new(h, items, hidden);
        dense::par_gemm(Mat::new(step.grad, items, nodes).t(), kept, &mut grads[self.w2][..nodes * hidden]);
        dense::add_columns(step.grad, &mut grads[self.b2][..nodes]);
        grad.resize(items * hidden, 0.0);
        dense::backward_input(step.grad, &step.params[self.w2][..nodes * hidden], hidden, grad);
        hidden::backward(h, self.dropout(step.pass), grad);
        let x = Mat::new(step.batch.pooled(), items, self.scope.width);
        dense::par_gemm(Mat::new(grad, items, hidden).t(), x, &mut grads[self.w1]);
        dense::add_columns(grad, &mut grads[self.b1]);
    }
}
