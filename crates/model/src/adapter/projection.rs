//! A linear map to another width: `W x + b`.

use crate::dense;
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use retreever_data::Ragged;
use retreever_kernels::gemm::Mat;

/// See the module.
pub(super) struct Projection {
    width: usize,
    out: usize,
    weight: Tensor, // [out, width]
    bias: Tensor,   // [out]
}

impl Projection {
    pub(super) fn new(width: usize, out: usize, layout: &mut Layout) -> Self {
        let weight = layout.tensor("projection.weight", &[out, width], Decay::Yes);
        Self { width, out, weight, bias: layout.tensor("projection.bias", &[out], Decay::No) }
    }

    /// Starts with the encoder's own numbers first, then random directions.
    pub(super) fn init(&self, params: &mut Parameters, random: &mut Random) {
        let deviation = 1.0 / (self.width as f64).sqrt();
        for (row, weights) in params[self.weight].chunks_exact_mut(self.width).enumerate() {
            for (col, weight) in weights.iter_mut().enumerate() {
                let same = f32::from(u8::from(row == col));
                *weight = if row < self.width { same } else { (random.normal() * deviation) as f32 };
            }
        }
    }

    pub(super) fn forward(&self, params: &Parameters, batch: &Ragged, out: &mut Vec<f32>) {
        out.resize(batch.len() * self.out, 0.0);
        let x = Mat::new(batch.pooled(), batch.len(), self.width);
        dense::forward(x, &params[self.weight], &params[self.bias], out);
    }

    pub(super) fn backward(&self, batch: &Ragged, grad: &[f32], grads: &mut Parameters) {
        let x = Mat::new(batch.pooled(), batch.len(), self.width);
        dense::par_gemm(Mat::new(grad, batch.len(), self.out).t(), x, &mut grads[self.weight]);
        dense::add_columns(grad, &mut grads[self.bias]);
    }
}
