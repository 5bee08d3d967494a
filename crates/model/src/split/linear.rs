//! Linear splits: `theta_t . x + b_t` on the pooled embedding, or on what a trunk makes of it.
//!
//! A trunk is a residual map that starts as the identity, `u = normalise(x + f(x))`. Where splits start small and grow
//! with depth (a deviation in proportion to `growth^level`), an untrained tree ranks almost as the encoder does: for
//! small logits the total variation distance is close to an L1 distance of random projections, in which every leaf adds
//! up its ancestors, each with its sign. These sums are a Haar transform of the splits. With a growth of the square root
//! of 2 it is an orthogonal one: no split outweighs another, and the leaves see what the splits see.

use super::directions::{self, dot, mean};
use super::{Backward, Kept as AllKept, Pass, Scope, Split, uniform};
use crate::attention_pooling::{self, AttentionPooling};
use crate::dense;
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use crate::trunk::{self, Trunk, TrunkConfig};
use retreever_data::Ragged;
use retreever_kernels::gemm::Mat;
use serde::{Deserialize, Serialize};

/// Where splits start, and what they look at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How many heads look at the tokens and add to the pooled embedding; 0 for none.
    pub pooling_heads: usize,
    /// What is made of the pooled embedding before it is split.
    pub trunk: Option<TrunkConfig>,
    /// How splits start.
    pub start: Start,
}

/// How splits start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Start {
    /// Uniform within one over the root of the width, without bias.
    #[default]
    Uniform,
    /// At right angles as far as there is room, with a deviation of logits that grows with the level; fitted to documents,
    /// also where these can be halved, and with biases so that the mean item is split evenly.
    Growing {
        /// The deviation of logits, on the mean of the levels.
        deviation: f64,
        /// How much larger it is on the next level.
        growth: f64,
    },
}

/// What the trunk leaves for the way back, and room for the gradient of its result.
#[derive(Default)]
pub(super) struct Kept {
    pooling: attention_pooling::Kept,
    trunk: trunk::Kept,
    grad: Vec<f32>, // [items, width]
}

/// See the module.
pub struct Linear {
    scope: Scope,
    start: Start,
    pooling: Option<AttentionPooling>,
    trunk: Option<Trunk>,
    weight: Tensor, // [nodes, width]
    bias: Tensor,   // [nodes]
}

impl Linear {
    pub(super) fn new(config: &Config, scope: Scope, layout: &mut Layout) -> Self {
        let nodes = scope.end.start();
        Self {
            scope,
            start: config.start,
            pooling: (config.pooling_heads > 0)
                .then(|| AttentionPooling::new(config.pooling_heads, scope.width, layout)),
            trunk: config.trunk.map(|trunk| Trunk::new(trunk, scope.width, layout)),
            weight: layout.tensor("split.weight", &[nodes, scope.width], Decay::Yes),
            bias: layout.tensor("split.bias", &[nodes], Decay::No),
        }
    }

    /// The deviation of the logits of each level at the start.
    fn deviations(&self, deviation: f64, growth: f64) -> Vec<f64> {
        let levels = self.scope.end.get();
        let raw: Vec<f64> = (0..levels).map(|level| growth.powi(level as i32)).collect();
        let mean = raw.iter().sum::<f64>() / levels as f64;
        raw.into_iter().map(|raw| raw * deviation / mean).collect()
    }

    /// Multiplies the directions of each level with `factor` of the length that gives its logits their deviation.
    fn stretch(&self, mut weights: &mut [f32], (deviation, growth): (f64, f64), factor: impl Fn(f32) -> f32) {
        let width = self.scope.width;
        for (level, deviation) in self.deviations(deviation, growth).into_iter().enumerate() {
            let (level, below) = weights.split_at_mut((1 << level) * width);
            let factor = factor((deviation * (width as f64).sqrt()) as f32);
            level.iter_mut().for_each(|w| *w *= factor);
            weights = below;
        }
    }

    /// What the trunk maps: the batch's pooled embeddings, or those of the learned pooling.
    fn pooled<'a>(&self, batch: &'a Ragged, kept: &'a attention_pooling::Kept) -> &'a [f32] {
        if self.pooling.is_some() { kept.pooled() } else { batch.pooled() }
    }

    /// What is split: pooled embeddings, or what the trunk has made of them.
    fn split_of<'a>(&self, batch: &'a Ragged, kept: &'a Kept) -> Mat<'a> {
        let rows = if self.trunk.is_some() { kept.trunk.unit() } else { self.pooled(batch, &kept.pooling) };
        Mat::new(rows, batch.len(), self.scope.width)
    }
}

impl Split for Linear {
    fn init(&self, params: &mut Parameters, random: &mut Random) {
        if let Some(pooling) = &self.pooling {
            pooling.init(params, random);
        }
        if let Some(trunk) = &self.trunk {
            trunk.init(params, random);
        }
        match self.start {
            Start::Uniform => {
                uniform(&mut params[self.weight], 1.0 / (self.scope.width as f64).sqrt(), random)
            }
            Start::Growing { deviation, growth } => {
                directions::random(&mut params[self.weight], self.scope.width, random);
                self.stretch(&mut params[self.weight], (deviation, growth), |length| length);
            }
        }
        params[self.bias].fill(0.0);
    }

    fn centre(&self, params: &mut Parameters, sample: &[f32]) {
        let Start::Growing { deviation, growth } = self.start else { return };
        // A trunk starts by bringing embeddings to length 1.
        let length = |x: &[f32]| if self.trunk.is_some() { dot(x, x).sqrt().max(1e-12) } else { 1.0 };
        let seen = |x: &[f32]| {
            let length = length(x);
            x.iter().map(|number| number / length).collect::<Vec<f32>>()
        };
        let sample: Vec<f32> = sample.chunks_exact(self.scope.width).flat_map(seen).collect();
        let weights = &mut params[self.weight];
        self.stretch(weights, (deviation, growth), |length| 1.0 / length);
        directions::halving(weights, self.scope.width, &sample);
        self.stretch(weights, (deviation, growth), |length| length);
        let mean = mean(sample.chunks_exact(self.scope.width), self.scope.width);
        for node in 0..self.scope.end.start() {
            let weights = &params[self.weight][node * self.scope.width..][..self.scope.width];
            params[self.bias][node] = -dot(weights, &mean);
        }
    }

    fn biases(&self) -> Tensor {
        self.bias
    }

    fn forward(&self, params: &Parameters, batch: &Ragged, pass: Pass, kept: &mut AllKept) {
        let (nodes, width) = (pass.end.start(), self.scope.width);
        let Kept { pooling, trunk, .. } = &mut kept.linear;
        if let Some(map) = &self.pooling {
            map.forward(params, batch, pass.dropout, pooling);
        }
        if let Some(map) = &self.trunk {
            map.forward(params, self.pooled(batch, pooling), pass.dropout, trunk);
        }
        kept.logits.resize(batch.len() * nodes, 0.0);
        let x = self.split_of(batch, &kept.linear);
        dense::forward(
            x,
            &params[self.weight][..nodes * width],
            &params[self.bias][..nodes],
            &mut kept.logits,
        );
    }

    fn backward(&self, step: Backward<'_>, grads: &mut Parameters) {
        let (nodes, width) = (step.pass.end.start(), self.scope.width);
        let kept = &mut step.kept.linear;
        let x = self.split_of(step.batch, kept);
        dense::par_gemm(
            Mat::new(step.grad, x.rows(), nodes).t(),
            x,
            &mut grads[self.weight][..nodes * width],
        );
        dense::add_columns(step.grad, &mut grads[self.bias][..nodes]);
        if self.pooling.is_none() && self.trunk.is_none() {
            return;
        }
        kept.grad.resize(step.batch.len() * width, 0.0);
        let weight = &step.params[self.weight][..nodes * width];
        dense::backward_input(step.grad, weight, width, &mut kept.grad);
        let mut grad = &kept.grad[..];
        if let Some(map) = &self.trunk {
            let pooled = self.pooled(step.batch, &kept.pooling);
            map.backward(step.params, pooled, &mut kept.trunk, grad, grads);
            if self.pooling.is_some() {
                grad = map.input_grad(step.params, &mut kept.trunk);
            }
        }
        if let Some(map) = &self.pooling {
            map.backward(step.params, step.batch, &mut kept.pooling, grad, grads);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::Level;

    #[test]
    fn splits_start_larger_further_down_and_centred() {
        let start = Start::Growing { deviation: 0.5, growth: 2.0 };
        let mut layout = Layout::default();
        let scope = Scope { width: 64, end: Level::ROOT.below().below().below() };
        let split = Linear::new(&Config { pooling_heads: 0, trunk: None, start }, scope, &mut layout);
        assert_eq!(split.deviations(0.5, 2.0), [1.5 / 7.0, 3.0 / 7.0, 6.0 / 7.0]);
        let mut params = Parameters::zeros(layout);
        split.init(&mut params, &mut Random::new(1, 1));
        let norm =
            |node: usize| params[split.weight][node * 64..][..64].iter().map(|w| w * w).sum::<f32>().sqrt();
        assert!(norm(0) < norm(1) && norm(2) < norm(3), "{} {} {} {}", norm(0), norm(1), norm(2), norm(3));
        let mean: Vec<f32> = (0..64).map(|x| x as f32 * 0.01).collect();
        split.centre(&mut params, &mean);
        let dot = |a: usize, b: usize| -> f32 {
            let row = |node: usize| &params[split.weight][node * 64..][..64];
            row(a).iter().zip(row(b)).map(|(x, y)| x * y).sum()
        };
        assert!(dot(1, 2).abs() < 1e-3 && dot(3, 6).abs() < 1e-3, "{} {}", dot(1, 2), dot(3, 6));
        let mut batch = Ragged::new(64);
        batch.push(&mean, &mean);
        let mut kept = AllKept::default();
        split.forward(&params, &batch, Pass { end: scope.end, dropout: None }, &mut kept);
        assert!(kept.logits.iter().all(|logit| logit.abs() < 1e-4));
    }
}
