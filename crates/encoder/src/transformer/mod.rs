//! The forward pass: token numbers to last hidden states, packed.
//!
//! A chunk of some hundred tokens, of one item or many, runs through all layers at once, so that activations
//! stay in the second-level cache while the weights pass by. Every step treats rows, or items, one by one:
//! what else is in the chunk changes no bit of an item's embedding.

mod distance;
mod embedding;
mod layer;
mod precision;

use crate::EncoderError;
use crate::config::{Config, Family};
use crate::weights::Weights;
use embedding::Embedding;
use layer::Layer;
use precision::Parts;
use retreever_kernels::self_attention::{DistanceBias, Scratch};

/// A transformer with its weights laid out for products.
pub(crate) struct Transformer {
    width: usize,
    embedding: Embedding,
    layers: Vec<Layer>,
    distance_bias: Option<DistanceBias>,
}

/// Memory of one forward pass, kept from chunk to chunk.
#[derive(Default)]
pub(crate) struct Workspace {
    hidden: Vec<f32>,   // [tokens, width]
    qkv: Vec<f32>,      // [tokens, 3 * width]
    attended: Vec<f32>, // [tokens, width]
    branch: Vec<f32>,   // [tokens, width]
    inner: Vec<f32>,    // [tokens, inner]
    scratch: Scratch,
    threads: Threads,
}

/// Who works on a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Threads {
    /// One thread; the others have chunks of their own.
    #[default]
    This,
    /// All of them, for there is but one chunk.
    All,
}

impl Transformer {
    pub(crate) fn new(config: &Config, weights: &Weights, longest: usize) -> Result<Self, EncoderError> {
        let distance_bias = match config.family {
            Family::Mpnet { buckets } => Some(distance::read(weights, buckets, config.heads, longest)?),
            Family::Bert | Family::Roberta | Family::DistilBert => None,
        };
        let embedding = Embedding::new(config, weights)?;
        let parts =
            Parts { config, weights, embedding: &embedding, distance_bias: distance_bias.as_ref(), longest };
        let layers = parts.layers()?;
        Ok(Self { width: config.width, embedding, layers, distance_bias })
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The last hidden states of some items, `[tokens, width]`, item after item: the same bits whoever works on them.
    pub(crate) fn forward<'a>(
        &self,
        items: &[&[u32]],
        threads: Threads,
        workspace: &'a mut Workspace,
    ) -> &'a [f32] {
        workspace.threads = threads;
        let tokens = items.iter().map(|item| item.len()).sum::<usize>();
        workspace.hidden.resize(tokens * self.width, 0.0);
        let mut rows = workspace.hidden.as_mut_slice();
        for item in items {
            let (mine, rest) = rows.split_at_mut(item.len() * self.width);
            self.embedding.embed(item, mine);
            rows = rest;
        }
        for layer in &self.layers {
            layer.forward(items, self.distance_bias.as_ref(), workspace);
        }
        &workspace.hidden
    }
}

/// The prefixes that tensors have in models saved with a head.
pub(crate) const PREFIXES: [&str; 4] = ["bert.", "roberta.", "distilbert.", "mpnet."];
