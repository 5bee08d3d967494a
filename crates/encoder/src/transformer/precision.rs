//! Which products may be quick: tried out when a model is opened.
//!
//! The quickest products of a machine may keep but 16 bits of a number, and what they lose adds up from layer to layer:
//! 3e-5 after six layers of all-MiniLM-L6-v2, 1.3e-4 after twelve of all-mpnet-base-v2, where embeddings are to be right
//! to 1e-4. So only the last layers use them, and only if made-up tokens come out as they do in single precision: a model
//! with large scores in its attention can lose more in two layers than others in twelve.

use super::Workspace;
use super::embedding::Embedding;
use super::layer::Layer;
use crate::EncoderError;
use crate::config::Config;
use crate::weights::Weights;
use retreever_kernels::gemm::Path;
use retreever_kernels::self_attention::DistanceBias;

/// In how many layers, counted from the last, quick products are tried.
const QUICK: usize = 6;
/// How many tokens are made up.
const TOKENS: usize = 128;
/// How far they may be off. There are more and longer texts than this one, so it is less than texts may be off.
const TOLERANCE: f32 = 7e-5;

/// How a layer multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// As the machine does it quickest.
    Quick,
    /// In single precision.
    Single,
}

/// What the layers are made from.
pub(super) struct Parts<'a> {
    pub(super) config: &'a Config,
    pub(super) weights: &'a Weights,
    pub(super) embedding: &'a Embedding,
    pub(super) distance_bias: Option<&'a DistanceBias>,
    /// The longest input in tokens.
    pub(super) longest: usize,
}

impl Parts<'_> {
    /// The layers, as many of them quick as embeddings can bear.
    pub(super) fn layers(&self) -> Result<Vec<Layer>, EncoderError> {
        let count = self.config.layers;
        let first_quick = count.saturating_sub(QUICK);
        let mut layers =
            (0..first_quick).map(|i| self.layer(i, Precision::Single)).collect::<Result<Vec<_>, _>>()?;
        if self.quick_is_single() {
            layers.extend(
                (first_quick..count)
                    .map(|i| self.layer(i, Precision::Single))
                    .collect::<Result<Vec<_>, _>>()?,
            );
            return Ok(layers);
        }
        let ids = self.made_up();
        let items = [ids.as_slice()];
        let mut exact = Workspace::default();
        exact.hidden.resize(ids.len() * self.config.width, 0.0);
        self.embedding.embed(&ids, &mut exact.hidden);
        for layer in &layers {
            layer.forward(&items, self.distance_bias, &mut exact);
        }
        let mut quick = Workspace::default();
        quick.hidden.clone_from(&exact.hidden);
        for index in first_quick..count {
            self.layer(index, Precision::Single)?.forward(&items, self.distance_bias, &mut exact);
            let layer = self.layer(index, Precision::Quick)?;
            layer.forward(&items, self.distance_bias, &mut quick);
            layers.push(layer);
        }
        let off = exact.hidden.iter().zip(&quick.hidden).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
        if off > TOLERANCE || off.is_nan() {
            for index in first_quick..count {
                layers[index] = self.layer(index, Precision::Single)?;
            }
        }
        Ok(layers)
    }

    fn layer(&self, index: usize, precision: Precision) -> Result<Layer, EncoderError> {
        Layer::new(self.config, self.weights, index, precision)
    }

    /// Whether this machine has no quicker way for products of these sizes.
    fn quick_is_single(&self) -> bool {
        let &Config { width, inner, .. } = self.config;
        [(width, 3 * width), (width, width), (width, inner), (inner, width)]
            .iter()
            .all(|&(rows, cols)| Path::best(rows, cols) == Path::Portable)
    }

    /// Words from all over the vocabulary.
    fn made_up(&self) -> Vec<u32> {
        let words = self.embedding.words();
        (0..TOKENS.min(self.longest)).map(|at| (at * 7919 % words) as u32).collect()
    }
}
