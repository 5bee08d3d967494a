//! Adapters: the encoder's pooled embedding, changed a little and normalised, compared by cosine.
//!
//! These are what a tree is measured against, trained by the same loop on the same pairs:
//! - [`AdapterConfig::Linear`]: `x + W x + b`, `W` and `b` starting at zero;
//! - [`AdapterConfig::Mlp`]: `x + W2 relu(W1 x + b1) + b2`, `W2` and `b2` starting at zero;
//! - [`AdapterConfig::Matryoshka`]: `W x + b`, trained so that every prefix of 2, 4, ... numbers compares well by itself.

mod projection;

use crate::cosine::{Cosines, SCALE};
use crate::learner::{Learner, Lesson, Reads, Similarity};
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use crate::trunk::{self, Trunk, TrunkConfig};
use projection::Projection;
use retreever_data::Ragged;
use serde::{Deserialize, Serialize};

/// Which adapter, and its sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AdapterConfig {
    /// A residual linear map.
    Linear,
    /// A residual map with one hidden layer.
    Mlp {
        /// The width of the hidden layer.
        hidden: usize,
        /// The share of hidden numbers dropped in training.
        dropout: f32,
    },
    /// A linear map to nested representations.
    Matryoshka {
        /// The largest size; the others are the smaller powers of two from 2 on.
        largest: usize,
    },
}

/// An adapter that can be trained.
pub struct Adapter {
    config: AdapterConfig,
    params: Parameters,
    map: Map,
    width: usize,
    log_scale: Tensor,
    room: Room,
}

/// What is made of the pooled embedding.
enum Map {
    Trunk(Trunk),
    Projection(Projection),
}

/// Room for one step, reused.
#[derive(Default)]
struct Room {
    trunk: trunk::Kept,
    adapted: Vec<f32>, // [items, width]
    unit: Vec<f32>,    // [items, size]: prefixes of length 1
    norms: Vec<f32>,
    cosines: Cosines,
    grad: Vec<f32>, // [items, width]
}

impl Adapter {
    /// An adapter of embeddings of this width, with starting values drawn from `seed`.
    pub fn new(config: AdapterConfig, width: usize, seed: u64) -> Self {
        let mut layout = Layout::default();
        let (map, out) = match config {
            AdapterConfig::Linear => {
                (Map::Trunk(Trunk::new("trunk", TrunkConfig::Linear, width, &mut layout)), width)
            }
            AdapterConfig::Mlp { hidden, dropout } => (
                Map::Trunk(Trunk::new("trunk", TrunkConfig::Mlp { hidden, dropout }, width, &mut layout)),
                width,
            ),
            AdapterConfig::Matryoshka { largest } => {
                (Map::Projection(Projection::new(width, largest, &mut layout)), largest)
            }
        };
        let log_scale = layout.tensor("log_scale", &[1], Decay::No);
        let mut params = Parameters::zeros(layout);
        let mut random = Random::new(seed, 0);
        match &map {
            Map::Trunk(trunk) => trunk.init(&mut params, &mut random),
            Map::Projection(projection) => projection.init(&mut params, &mut random),
        }
        params[log_scale][0] = SCALE.0.ln() as f32;
        Self { config, params, map, width: out, log_scale, room: Room::default() }
    }

    /// What it is made of.
    pub fn config(&self) -> &AdapterConfig {
        &self.config
    }

    /// The sizes that are trained, each with its weight in the loss.
    fn sizes(&self) -> Vec<(usize, f64)> {
        let width = self.width;
        match self.config {
            AdapterConfig::Linear | AdapterConfig::Mlp { .. } => vec![(width, 1.0)],
            AdapterConfig::Matryoshka { .. } => {
                let mut sizes: Vec<usize> = std::iter::successors(Some(2), |size| Some(size * 2))
                    .take_while(|size| *size < width)
                    .collect();
                sizes.push(width);
                let weight = 1.0 / sizes.len() as f64;
                sizes.into_iter().map(|size| (size, weight)).collect()
            }
        }
    }

    /// Appends the first `size` numbers of each item's adapted embedding to `rows`, at length 1.
    pub fn represent_at(&mut self, batch: &Ragged, size: usize, rows: &mut Vec<f32>) {
        self.adapt(batch, None);
        let Room { adapted, unit, norms, .. } = &mut self.room;
        normalise(adapted, self.width, size, unit, norms);
        rows.extend_from_slice(unit);
    }
}

impl Adapter {
    /// Fills `room.adapted`. `dropout` is its seed, or nothing for none.
    fn adapt(&mut self, batch: &Ragged, dropout: Option<u64>) {
        let Room { trunk: kept, adapted, .. } = &mut self.room;
        match &self.map {
            Map::Trunk(trunk) => {
                trunk.forward(&self.params, batch.pooled(), dropout, kept);
                adapted.clear();
                adapted.extend_from_slice(kept.unit());
            }
            Map::Projection(projection) => projection.forward(&self.params, batch, adapted),
        }
    }
}

impl Learner for Adapter {
    fn params(&self) -> &Parameters {
        &self.params
    }

    fn params_mut(&mut self) -> &mut Parameters {
        &mut self.params
    }

    fn reads(&self) -> Reads {
        Reads::Pooled
    }

    fn settle(&mut self) {
        let log_scale = &mut self.params[self.log_scale][0];
        *log_scale = log_scale.min(SCALE.1.ln() as f32);
    }

    fn scale(&self) -> f64 {
        f64::from(self.params[self.log_scale][0]).exp()
    }

    fn learn(&mut self, batch: &Ragged, lesson: Lesson<'_>, grads: &mut Parameters) -> f64 {
        let (width, scale) = (self.width, self.scale());
        let sizes = self.sizes();
        self.adapt(batch, Some(lesson.seed));
        let Room { trunk: kept, adapted, unit, norms, cosines, grad } = &mut self.room;
        grad.clear();
        grad.resize(adapted.len(), 0.0);
        let mut total = 0.0;
        for (size, weight) in sizes {
            normalise(adapted, width, size, unit, norms);
            let outcome = cosines.info_nce(unit, size, scale, lesson.mask);
            total += outcome.loss * weight;
            grads[self.log_scale][0] += (outcome.grad_log_scale * weight) as f32;
            // Of x / |x| the gradient is (g - (g . u) u) / |x|, where u = x / |x|.
            for (item, (g, u)) in cosines.grad().chunks_exact(size).zip(unit.chunks_exact(size)).enumerate() {
                let along: f32 = g.iter().zip(u).map(|(g, u)| g * u).sum();
                for ((out, g), u) in grad[item * width..][..size].iter_mut().zip(g).zip(u) {
                    *out += weight as f32 * (g - along * u) / norms[item];
                }
            }
        }
        match &self.map {
            Map::Trunk(trunk) => trunk.backward(&self.params, batch.pooled(), kept, grad, grads),
            Map::Projection(projection) => projection.backward(batch, grad, grads),
        }
        total
    }

    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>) {
        self.represent_at(batch, self.width, rows);
    }

    fn width(&self) -> usize {
        self.width
    }

    fn similarity(&self) -> Similarity {
        Similarity::Cosine
    }
}

/// The first `size` numbers of each row, brought to length 1, and what they were divided by.
fn normalise(rows: &[f32], width: usize, size: usize, unit: &mut Vec<f32>, norms: &mut Vec<f32>) {
    unit.clear();
    norms.clear();
    for row in rows.chunks_exact(width) {
        let norm = row[..size].iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
        norms.push(norm);
        unit.extend(row[..size].iter().map(|x| x / norm));
    }
}
