//! The maps of the adapters: residual or not, with a hidden layer or without.

use super::AdapterConfig;
use crate::dense;
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use crate::split::{uniform, xavier};
use retreever_data::Ragged;
use retreever_kernels::gemm::Mat;

/// `[x +] W h + b`, where `h` is `x` itself or a hidden layer of it.
pub(super) struct Map {
    width: usize,
    residual: bool,
    hidden: Option<Dense>,
    last: Dense,
}

/// A dense layer: where its tensors are and how wide it is.
struct Dense {
    weight: Tensor, // [out, in]
    bias: Tensor,   // [out]
    out: usize,
}

/// What the way back needs.
#[derive(Default)]
pub(super) struct Kept {
    hidden: Vec<f32>, // [items, hidden]
    grad: Vec<f32>,
}

impl Dense {
    fn new(name: &str, out: usize, inner: usize, layout: &mut Layout) -> Self {
        let weight = layout.tensor(format!("{name}.weight"), &[out, inner], Decay::Yes);
        Self { weight, bias: layout.tensor(format!("{name}.bias"), &[out], Decay::No), out }
    }
}

impl Map {
    pub(super) fn new(config: &AdapterConfig, width: usize, layout: &mut Layout) -> Self {
        let (residual, hidden, out) = match config {
            AdapterConfig::Linear => (true, None, width),
            AdapterConfig::Mlp { hidden } => (true, Some(*hidden), width),
            AdapterConfig::Matryoshka { largest } => (false, None, *largest),
        };
        let hidden = hidden.map(|hidden| Dense::new("hidden", hidden, width, layout));
        let inner = hidden.as_ref().map_or(width, |hidden| hidden.out);
        Self { width, residual, hidden, last: Dense::new("last", out, inner, layout) }
    }

    /// The width of what comes out.
    pub(super) fn out(&self) -> usize {
        self.last.out
    }

    /// Residual maps start as the identity; others with the identity in their first rows and random directions after.
    pub(super) fn init(&self, params: &mut Parameters, random: &mut Random) {
        if let Some(hidden) = &self.hidden {
            uniform(&mut params[hidden.weight], xavier(hidden.out, self.width), random);
        }
        if !self.residual {
            let deviation = 1.0 / (self.width as f64).sqrt();
            for (row, weights) in params[self.last.weight].chunks_exact_mut(self.width).enumerate() {
                for (col, weight) in weights.iter_mut().enumerate() {
                    let same = f32::from(u8::from(row == col));
                    *weight = if row < self.width { same } else { (random.normal() * deviation) as f32 };
                }
            }
        }
    }

    pub(super) fn forward(&self, params: &Parameters, batch: &Ragged, kept: &mut Kept, out: &mut Vec<f32>) {
        let items = batch.len();
        let x = Mat::new(batch.pooled(), items, self.width);
        out.resize(items * self.last.out, 0.0);
        let (weight, bias) = (&params[self.last.weight], &params[self.last.bias]);
        match &self.hidden {
            None => dense::forward(x, weight, bias, out),
            Some(hidden) => {
                kept.hidden.resize(items * hidden.out, 0.0);
                dense::forward(x, &params[hidden.weight], &params[hidden.bias], &mut kept.hidden);
                kept.hidden.iter_mut().for_each(|h| *h = h.max(0.0));
                dense::forward(Mat::new(&kept.hidden, items, hidden.out), weight, bias, out);
            }
        }
        if self.residual {
            out.iter_mut().zip(batch.pooled()).for_each(|(out, x)| *out += x);
        }
    }

    pub(super) fn backward(
        &self,
        params: &Parameters,
        batch: &Ragged,
        kept: &mut Kept,
        grad: &[f32],
        grads: &mut Parameters,
    ) {
        let items = batch.len();
        let x = Mat::new(batch.pooled(), items, self.width);
        let flow = Mat::new(grad, items, self.last.out);
        dense::add_columns(grad, &mut grads[self.last.bias]);
        let Some(hidden) = &self.hidden else {
            return dense::par_gemm(flow.t(), x, &mut grads[self.last.weight]);
        };
        dense::par_gemm(flow.t(), Mat::new(&kept.hidden, items, hidden.out), &mut grads[self.last.weight]);
        kept.grad.resize(items * hidden.out, 0.0);
        dense::backward_input(grad, &params[self.last.weight], hidden.out, &mut kept.grad);
        kept.grad
            .iter_mut()
            .zip(&kept.hidden)
            .for_each(|(grad, h)| *grad = if *h > 0.0 { *grad } else { 0.0 });
        dense::par_gemm(Mat::new(&kept.grad, items, hidden.out).t(), x, &mut grads[hidden.weight]);
        dense::add_columns(&kept.grad, &mut grads[hidden.bias]);
    }
}
