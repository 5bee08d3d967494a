//! AdamW with decoupled weight decay, and clipping by the norm of the whole gradient.
//!
//! `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`,
//! `p = p - lr wd p - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`; biases and the scale do not decay.

use crate::parameters::{Decay, Parameters};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Numbers worked on at a time, so that sums do not depend on the number of threads.
const CHUNK: usize = 1 << 14;

/// The constants of AdamW.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamWConfig {
    /// How long the mean of gradients remembers.
    pub beta1: f64,
    /// How long the mean of squared gradients remembers.
    pub beta2: f64,
    /// Keeps the division finite.
    pub eps: f64,
    /// Weight decay.
    pub decay: f64,
    /// The norm that gradients are clipped to.
    pub clip: f64,
}

impl Default for AdamWConfig {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.95, eps: 1e-6, decay: 0.01, clip: 1.0 }
    }
}

/// The state of the optimiser: two running means for each parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    config: AdamWConfig,
    step: u64,
    mean: Parameters,
    square: Parameters,
}

impl AdamW {
    /// A fresh state for parameters of this layout.
    pub fn new(config: AdamWConfig, params: &Parameters) -> Self {
        let zeros = Parameters::zeros(params.layout().clone());
        Self { config, step: 0, mean: zeros.clone(), square: zeros }
    }

    /// A state that was saved after `step` steps.
    pub fn restore(config: AdamWConfig, step: u64, mean: Parameters, square: Parameters) -> Self {
        Self { config, step, mean, square }
    }

    /// The running means of gradients and of squared gradients.
    pub fn moments(&self) -> (&Parameters, &Parameters) {
        (&self.mean, &self.square)
    }

    /// Clips the gradient, then moves the parameters against it. Returns the norm before clipping.
    pub fn step(&mut self, params: &mut Parameters, grads: &Parameters, rate: f64) -> f64 {
        let AdamWConfig { beta1, beta2, eps, decay, clip } = self.config;
        self.step += 1;
        let norm = norm(grads.as_slice());
        let shrink = (clip / (norm + 1e-6)).min(1.0) as f32;
        let unbiased = 1.0 / (1.0 - beta1.powf(self.step as f64));
        let second = (1.0 / (1.0 - beta2.powf(self.step as f64)).sqrt()) as f32;
        let (beta1, beta2, eps) = (beta1 as f32, beta2 as f32, eps as f32);
        for entry in grads.layout().entries() {
            let first = (rate * unbiased) as f32;
            let keep = match entry.decay {
                Decay::Yes => (1.0 - rate * decay) as f32,
                Decay::No => 1.0,
            };
            let range = entry.range.clone();
            let means = self.mean.as_mut_slice()[range.clone()].par_chunks_mut(CHUNK);
            let squares = self.square.as_mut_slice()[range.clone()].par_chunks_mut(CHUNK);
            let grads = grads.as_slice()[range.clone()].par_chunks(CHUNK);
            let params = params.as_mut_slice()[range].par_chunks_mut(CHUNK);
            params.zip(grads).zip(means.zip(squares)).for_each(|((params, grads), (means, squares))| {
                for ((p, g), (m, v)) in params.iter_mut().zip(grads).zip(means.iter_mut().zip(squares)) {
                    let g = g * shrink;
                    *m = beta1 * *m + (1.0 - beta1) * g;
                    *v = beta2 * *v + (1.0 - beta2) * g * g;
                    *p = keep * *p - first * *m / (v.sqrt() * second + eps);
                }
            });
        }
        norm
    }
}

/// The Euclidean norm; infinite or not a number where a number is.
pub fn norm(values: &[f32]) -> f64 {
    let sums: Vec<f64> = values
        .par_chunks(CHUNK)
        .map(|chunk| chunk.iter().map(|x| f64::from(*x) * f64::from(*x)).sum())
        .collect();
    sums.iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Layout;

    /// ```python
    /// import torch
    /// w = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5])); b = torch.nn.Parameter(torch.tensor([0.25]))
    /// opt = torch.optim.AdamW([{"params": [w]}, {"params": [b], "weight_decay": 0.0}],
    ///                         lr=0.1, betas=(0.9, 0.95), eps=1e-6, weight_decay=0.01)
    /// for g in ([0.3, -0.1, 0.0], 0.2), ([2.0, 1.0, -3.0], 4.0), ([0.01, 0.02, -0.01], -0.02):
    ///     w.grad, b.grad = torch.tensor(g[0]), torch.tensor([g[1]])
    ///     print(torch.nn.utils.clip_grad_norm_([w, b], 1.0)); opt.step(); print(w.data, b.data)
    /// ```
    #[test]
    fn agrees_with_pytorch() {
        let mut layout = Layout::default();
        let w = layout.tensor("w", &[3], Decay::Yes);
        let b = layout.tensor("b", &[1], Decay::No);
        let mut params = Parameters::zeros(layout.clone());
        params[w].copy_from_slice(&[1.0, -2.0, 0.5]);
        params[b][0] = 0.25;
        let mut optimiser = AdamW::new(AdamWConfig::default(), &params);
        for (g, norm, expected) in PYTORCH {
            let mut grads = Parameters::zeros(layout.clone());
            grads.as_mut_slice().copy_from_slice(&g);
            let ours = optimiser.step(&mut params, &grads, 0.1);
            assert!((ours - norm).abs() < 1e-5, "{ours} for {norm}");
            for (ours, expected) in params.as_slice().iter().zip(expected) {
                assert!((ours - expected).abs() < 1e-5, "{ours} for {expected}");
            }
        }
    }

    const PYTORCH: [([f32; 4], f64, [f32; 4]); 3] = [
        ([0.3, -0.1, 0.0, 0.2], 0.3741657, [0.8990003, -1.898_001, 0.4995, 0.1500005]),
        ([2.0, 1.0, -3.0, 4.0], 5.4772258, [0.7983128, -1.9289776, 0.5724964, 0.0614887]),
        ([0.01, 0.02, -0.01, -0.02], 0.0316228, [0.7180326, -1.9588126, 0.630_628, -0.0060991]),
    ];
}
