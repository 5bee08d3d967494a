//! Residual maps of the pooled embedding that start as the identity: `u = y / |y|`, `y = x + f(x)`.
//!
//! A trunk stands before planted splits; by itself, compared by cosine, it is the adapter that trees are measured against.
//! `f` is zero (nothing is learned), linear (`W x + b`) or has one hidden layer (`W2 relu(W1 x + b1) + b2`); its last layer
//! starts at zero.

use crate::dense;
use crate::hidden::{self, Dropout};
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use crate::split::{uniform, xavier};
use retreever_kernels::gemm::Mat;
use serde::{Deserialize, Serialize};

/// Which map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TrunkConfig {
    /// None: the embedding at length 1.
    Identity,
    /// A linear one.
    Linear,
    /// One with a hidden layer.
    Mlp {
        /// The width of the hidden layer.
        hidden: usize,
        /// The share of hidden numbers dropped in training.
        #[serde(default)]
        dropout: f32,
    },
}

/// See the module.
pub(crate) struct Trunk {
    width: usize,
    hidden: Option<Dense>,
    dropout: f32,
    last: Option<Dense>,
}

/// A dense layer: where its tensors are and how wide it is.
struct Dense {
    weight: Tensor, // [out, in]
    bias: Tensor,   // [out]
    out: usize,
}

/// What the way back needs.
#[derive(Default)]
pub(crate) struct Kept {
    dropout: Dropout,
    hidden: Vec<f32>, // [items, hidden]
    unit: Vec<f32>,   // [items, width]
    norms: Vec<f32>,  // [items]
    grad: Vec<f32>,
    grad_hidden: Vec<f32>,
}

impl Kept {
    /// The result: one row of length 1 for each item.
    pub(crate) fn unit(&self) -> &[f32] {
        &self.unit
    }
}

impl Dense {
    fn new(name: &str, out: usize, inner: usize, layout: &mut Layout) -> Self {
        let weight = layout.tensor(format!("{name}.weight"), &[out, inner], Decay::Yes);
        Self { weight, bias: layout.tensor(format!("{name}.bias"), &[out], Decay::No), out }
    }
}

impl Trunk {
    /// A trunk, its tensors laid out under this name.
    pub(crate) fn new(name: &str, config: TrunkConfig, width: usize, layout: &mut Layout) -> Self {
        let mut dense = |layer: &str, out, inner| Dense::new(&format!("{name}.{layer}"), out, inner, layout);
        match config {
            TrunkConfig::Identity => Self { width, hidden: None, dropout: 0.0, last: None },
            TrunkConfig::Linear => {
                Self { width, hidden: None, dropout: 0.0, last: Some(dense("last", width, width)) }
            }
            TrunkConfig::Mlp { hidden, dropout } => {
                let first = dense("hidden", hidden, width);
                Self { width, hidden: Some(first), dropout, last: Some(dense("last", width, hidden)) }
            }
        }
    }

    pub(crate) fn init(&self, params: &mut Parameters, random: &mut Random) {
        if let Some(hidden) = &self.hidden {
            uniform(&mut params[hidden.weight], xavier(hidden.out, self.width), random);
        }
    }

    /// Fills [`Kept::unit`]. `seed` is that of dropout; `None` at inference.
    pub(crate) fn forward(&self, params: &Parameters, pooled: &[f32], seed: Option<u64>, kept: &mut Kept) {
        let items = pooled.len() / self.width;
        let x = Mat::new(pooled, items, self.width);
        let out = &mut kept.unit;
        out.resize(items * self.width, 0.0);
        match (&self.hidden, &self.last) {
            (_, None) => out.fill(0.0),
            (None, Some(last)) => dense::forward(x, &params[last.weight], &params[last.bias], out),
            (Some(hidden), Some(last)) => {
                kept.hidden.resize(items * hidden.out, 0.0);
                dense::forward(x, &params[hidden.weight], &params[hidden.bias], &mut kept.hidden);
                kept.dropout = Dropout { rate: self.dropout, seed };
                hidden::forward(&mut kept.hidden, kept.dropout);
                let inner = Mat::new(&kept.hidden, items, hidden.out);
                dense::forward(inner, &params[last.weight], &params[last.bias], out);
            }
        }
        kept.norms.clear();
        for (row, x) in out.chunks_exact_mut(self.width).zip(pooled.chunks_exact(self.width)) {
            row.iter_mut().zip(x).for_each(|(y, x)| *y += x);
            let norm = row.iter().map(|y| y * y).sum::<f32>().sqrt().max(1e-12);
            row.iter_mut().for_each(|y| *y /= norm);
            kept.norms.push(norm);
        }
    }

    /// The gradient of the unit rows back to the tensors: of `y / |y|` it is `(g - (g . u) u) / |y|`.
    pub(crate) fn backward(
        &self,
        params: &Parameters,
        pooled: &[f32],
        kept: &mut Kept,
        grad: &[f32],
        grads: &mut Parameters,
    ) {
        let Some(last) = &self.last else { return };
        let (items, width) = (pooled.len() / self.width, self.width);
        kept.grad.clear();
        for ((g, u), norm) in grad.chunks_exact(width).zip(kept.unit.chunks_exact(width)).zip(&kept.norms) {
            let along: f32 = g.iter().zip(u).map(|(g, u)| g * u).sum();
            kept.grad.extend(g.iter().zip(u).map(|(g, u)| (g - along * u) / norm));
        }
        let x = Mat::new(pooled, items, width);
        let flow = Mat::new(&kept.grad, items, width);
        dense::add_columns(&kept.grad, &mut grads[last.bias]);
        let Some(hidden) = &self.hidden else {
            return dense::par_gemm(flow.t(), x, &mut grads[last.weight]);
        };
        dense::par_gemm(flow.t(), Mat::new(&kept.hidden, items, hidden.out), &mut grads[last.weight]);
        kept.grad_hidden.resize(items * hidden.out, 0.0);
        dense::backward_input(&kept.grad, &params[last.weight], hidden.out, &mut kept.grad_hidden);
        hidden::backward(&kept.hidden, kept.dropout, &mut kept.grad_hidden);
        dense::par_gemm(Mat::new(&kept.grad_hidden, items, hidden.out).t(), x, &mut grads[hidden.weight]);
        dense::add_columns(&kept.grad_hidden, &mut grads[hidden.bias]);
    }
}
