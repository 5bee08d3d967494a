//! Linear splits: `theta_t . x + b_t` on the pooled embedding, or on what a trunk makes of it.
//!
//! A trunk is a residual map that starts as the identity, `u = normalise(x + f(x))`. Where splits start small and grow
//! with depth (a deviation in proportion to `growth^level`), an untrained tree ranks almost as the encoder does: for
//! small logits the total variation distance is close to an L1 distance of random projections, in which every leaf adds
//! up its ancestors, each with its sign. These sums are a Haar transform of the splits. With a growth of the square root
//! of 2 it is an orthogonal one: no split outweighs another, and the leaves see what the splits see. The few upper splits
//! among a thousand matter little for that ranking, so they are free to say what the documents are about: each starts
//! along the principal direction of the documents that reach it.

use super::{Backward, Kept as AllKept, Pass, Scope, Split, uniform};
use crate::attention_pooling::{self, AttentionPooling};
use crate::dense;
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use crate::trunk::{self, Trunk, TrunkConfig};
use retreever_data::Ragged;
use retreever_kernels::gemm::Mat;
use serde::{Deserialize, Serialize};

/// So many levels start along the principal directions of the documents.
const PRINCIPAL: usize = 3;
/// Fewer documents than this tell no direction.
const FEW: usize = 16;

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
    /// In random directions, at right angles as far as there is room, with a deviation of logits that grows with the
    /// level; biases so that the mean item is split evenly. The upper levels start along the principal directions of the
    /// documents.
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

    /// What the trunk maps: the batch's pooled embeddings, or those of the learned pooling.
    fn pooled<'a>(&self, batch: &'a Ragged, kept: &'a attention_pooling::Kept) -> &'a [f32] {
        if self.pooling.is_some() { kept.pooled() } else { batch.pooled() }
    }

    /// What is split: pooled embeddings, or what the trunk has made of them.
    fn split_of<'a>(&self, batch: &'a Ragged, kept: &'a Kept) -> Mat<'a> {
        let rows = if self.trunk.is_some() { kept.trunk.unit() } else { self.pooled(batch, &kept.pooling) };
        Mat::new(rows, batch.len(), self.scope.width)
    }

    /// Starts a node along the principal direction of the documents that reach it, cut at their median, and divides them.
    /// Where they are few, or no document differs along it, the node stays as it is.
    fn divide<'a>(
        &self,
        params: &mut Parameters,
        (all, group): (&[&'a [f32]], Vec<&'a [f32]>),
        node: usize,
        deviation: f64,
    ) -> [Vec<&'a [f32]>; 2] {
        let weights = node * self.scope.width..(node + 1) * self.scope.width;
        let direction = principal(&group, &params[self.weight][weights.clone()]);
        let centre = dot(&mean(all, self.scope.width), &direction);
        let square =
            all.iter().map(|x| (dot(x, &direction) - centre).powi(2)).sum::<f32>() / all.len() as f32;
        if group.len() < FEW || square <= f32::MIN_POSITIVE {
            return [group, Vec::new()];
        }
        let mut projected: Vec<f32> = group.iter().map(|x| dot(x, &direction)).collect();
        let middle = projected.len() / 2;
        let cut = *projected.select_nth_unstable_by(middle, f32::total_cmp).1;
        let factor = deviation as f32 / square.sqrt();
        params[self.weight][weights].iter_mut().zip(&direction).for_each(|(w, x)| *w = x * factor);
        params[self.bias][node] = -cut * factor;
        let (left, right) = group.into_iter().partition(|x| dot(x, &direction) > cut);
        [left, right]
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn mean(rows: &[&[f32]], width: usize) -> Vec<f32> {
    let mut mean = vec![0.0f32; width];
    for row in rows {
        mean.iter_mut().zip(*row).for_each(|(mean, x)| *mean += x / rows.len() as f32);
    }
    mean
}

/// The unit direction in which rows vary most, by power iteration from `start`.
fn principal(rows: &[&[f32]], start: &[f32]) -> Vec<f32> {
    const ROUNDS: usize = 30;
    let mean = mean(rows, start.len());
    let mut direction = start.to_vec();
    for _ in 0..ROUNDS {
        let centre = dot(&mean, &direction);
        let mut next = vec![0.0f32; direction.len()];
        for row in rows {
            let along = dot(row, &direction) - centre;
            next.iter_mut().zip(*row).zip(&mean).for_each(|((next, x), mean)| *next += along * (x - mean));
        }
        let norm = dot(&next, &next).sqrt();
        if norm <= f32::MIN_POSITIVE {
            break;
        }
        direction = next.into_iter().map(|x| x / norm).collect();
    }
    direction
}

/// Fills rows of this width with random unit vectors, every `width` of them at right angles to each other, counted from
/// the last: they see all of an embedding equally well, where independent ones would see parts of it twice.
fn orthogonal(rows: &mut [f32], width: usize, random: &mut Random) {
    for block in rows.rchunks_mut(width * width) {
        for row in 0..block.len() / width {
            let (before, rest) = block.split_at_mut(row * width);
            let mut direction: Vec<f64> = (0..width).map(|_| random.normal()).collect();
            for other in before.chunks_exact(width) {
                let along: f64 = direction.iter().zip(other).map(|(x, y)| x * f64::from(*y)).sum();
                direction.iter_mut().zip(other).for_each(|(x, y)| *x -= along * f64::from(*y));
            }
            let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
            rest.iter_mut().zip(&direction).for_each(|(out, x)| *out = (x / norm) as f32);
        }
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
                let (width, mut rest) = (self.scope.width, &mut params[self.weight]);
                orthogonal(rest, width, random);
                for (level, deviation) in self.deviations(deviation, growth).into_iter().enumerate() {
                    let (weights, below) = rest.split_at_mut((1 << level) * width);
                    rest = below;
                    let length = (deviation * (width as f64).sqrt()) as f32;
                    weights.iter_mut().for_each(|w| *w *= length);
                }
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
            x.iter().map(|number| number / length).collect()
        };
        let sample: Vec<Vec<f32>> = sample.chunks_exact(self.scope.width).map(seen).collect();
        let sample: Vec<&[f32]> = sample.iter().map(Vec::as_slice).collect();
        let mean = mean(&sample, self.scope.width);
        for node in 0..self.scope.end.start() {
            let weights = &params[self.weight][node * self.scope.width..][..self.scope.width];
            params[self.bias][node] = -dot(weights, &mean);
        }
        let mut groups = vec![sample.clone()];
        for (level, deviation) in self.deviations(deviation, growth).into_iter().enumerate().take(PRINCIPAL) {
            let nodes = groups.into_iter().zip((1 << level) - 1..);
            groups = nodes
                .flat_map(|(group, node)| self.divide(params, (&sample, group), node, deviation))
                .collect();
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
        let dot = |a: usize, b: usize| -> f32 {
            let row = |node: usize| &params[split.weight][node * 64..][..64];
            row(a).iter().zip(row(b)).map(|(x, y)| x * y).sum()
        };
        assert!(dot(1, 2).abs() < 1e-3 && dot(3, 6).abs() < 1e-3, "{} {}", dot(1, 2), dot(3, 6));
        let mean: Vec<f32> = (0..64).map(|x| x as f32 * 0.01).collect();
        split.centre(&mut params, &mean);
        let mut batch = Ragged::new(64);
        batch.push(&mean, &mean);
        let mut kept = AllKept::default();
        split.forward(&params, &batch, Pass { end: scope.end, dropout: None }, &mut kept);
        assert!(kept.logits.iter().all(|logit| logit.abs() < 1e-4));
    }

    #[test]
    fn upper_splits_start_where_documents_differ_most() {
        let mut layout = Layout::default();
        let scope = Scope { width: 8, end: Level::ROOT.below().below() };
        let start = Start::Growing { deviation: 0.5, growth: 1.0 };
        let split = Linear::new(&Config { pooling_heads: 0, trunk: None, start }, scope, &mut layout);
        let mut params = Parameters::zeros(layout);
        let mut random = Random::new(1, 1);
        split.init(&mut params, &mut random);
        // They differ most in the first number; where that is large, in the second, elsewhere in the third.
        let rows: Vec<f32> = (0..200)
            .flat_map(|row| {
                let side = if row % 2 == 0 { 3.0 } else { -3.0 };
                let mut x: Vec<f32> = (0..8).map(|_| 0.1 * random.normal() as f32).collect();
                x[0] += 1.0 + side;
                x[if side > 0.0 { 1 } else { 2 }] += random.normal() as f32;
                x
            })
            .collect();
        split.centre(&mut params, &rows);
        let weights = &params[split.weight];
        let along = |node: usize, number: usize| {
            weights[node * 8 + number].abs()
                / dot(&weights[node * 8..][..8], &weights[node * 8..][..8]).sqrt()
        };
        let below = if weights[0] > 0.0 { [1, 2] } else { [2, 1] };
        assert!(along(0, 0) > 0.99 && along(1, below[0]) > 0.95 && along(2, below[1]) > 0.95, "{weights:?}");
        let logits: Vec<f32> =
            rows.chunks(8).map(|x| dot(x, &weights[..8]) + params[split.bias][0]).collect();
        let deviation = (logits.iter().map(|z| z * z).sum::<f32>() / 200.0).sqrt();
        assert!(
            logits.iter().filter(|z| **z > 0.0).count().abs_diff(100) <= 1 && deviation < 1.0,
            "{deviation}"
        );
    }
}
