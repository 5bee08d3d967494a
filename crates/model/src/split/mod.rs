//! Split functions: an item to one logit for each node.
//!
//! Every split scores the nodes above some [`Level`], breadth first, so that training at a coarse level costs
//! only that level's ancestors. With product propagation the scored nodes are the split nodes; with
//! path-consistency all nodes are, the leaves too.

mod cross_attention;
mod directions;
mod least_squares;
mod linear;
mod mlp;
mod planting;
mod view;

pub use cross_attention::CrossAttention;
pub use linear::Linear;
pub use mlp::Mlp;

use crate::learner::Reads;
use crate::loss::Mask;
use crate::parameters::{Layout, Parameters};
use crate::random::Random;
use retreever_data::{Embeddings, Ragged};
use retreever_tree::Level;
use serde::{Deserialize, Serialize};

/// Which split function, and its sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SplitConfig {
    /// `theta_t . x + b_t` on the pooled embedding.
    Linear(linear::Config),
    /// One hidden layer from the pooled embedding to all logits.
    Mlp(mlp::Config),
    /// Learnable embeddings of each level attend to the item's tokens.
    CrossAttention(cross_attention::Config),
}

pub use cross_attention::Config as CrossAttentionConfig;
pub(crate) use linear::COARSE;
pub use linear::{Coarse, Config as LinearConfig, Start as LinearStart};
pub use mlp::Config as MlpConfig;

/// What a split scores: items of some width, the nodes above some level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The width of an embedding.
    pub width: usize,
    /// The scored nodes are those above this level.
    pub end: Level,
}

impl SplitConfig {
    /// What is read of an item.
    pub fn reads(&self) -> Reads {
        match self {
            Self::Linear(config) if config.heads() > 0 => Reads::Tokens,
            Self::Linear(_) | Self::Mlp(_) => Reads::Pooled,
            Self::CrossAttention(_) => Reads::Tokens,
        }
    }

    /// How many levels look for themselves.
    pub(crate) fn coarse_levels(&self) -> usize {
        match self {
            Self::Linear(config) => config.coarse.map_or(0, |coarse| coarse.levels),
            Self::Mlp(_) | Self::CrossAttention(_) => 0,
        }
    }

    /// The split function with its tensors laid out.
    pub fn build(&self, scope: Scope, layout: &mut Layout) -> Box<dyn Split> {
        match self {
            Self::Linear(config) => Box::new(Linear::new(config, scope, layout)),
            Self::Mlp(config) => Box::new(Mlp::new(config, scope, layout)),
            Self::CrossAttention(config) => Box::new(CrossAttention::new(config, scope, layout)),
        }
    }
}

/// One pass over a batch.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Score the nodes above this level only.
    pub end: Level,
    /// The seed of what is dropped; nothing is where nothing is learned.
    pub dropout: Option<u64>,
}

/// What a forward pass leaves for the way back. The buffers are reused from step to step.
#[derive(Default)]
pub struct Kept {
    /// One logit for each item and scored node, `[items, nodes]`.
    pub logits: Vec<f32>,
    linear: linear::Kept,
    hidden: mlp::Kept,
    attention: cross_attention::Kept,
}

/// A split function.
///
/// `forward` fills `kept.logits`; `backward` must see the same parameters, batch and pass, and adds to
/// `grads` the gradient of every tensor it owns, given that of the logits. Both are deterministic for a given
/// number of threads.
pub trait Split: Send + Sync {
    /// Starting values.
    fn init(&self, params: &mut Parameters, random: &mut Random);

    /// Fits the starting values to some pooled embeddings, `[items, width]`, where the split starts that way.
    fn centre(&self, params: &mut Parameters, sample: &[f32]) {
        let _ = (params, sample);
    }

    /// Fits what does not learn to these documents, as they are seen once all else has learned.
    fn plant(&self, params: &mut Parameters, documents: &dyn Embeddings) {
        let _ = (params, documents);
    }

    /// Adds to the logits of every item: one number for each scored node.
    fn shift(&self, params: &mut Parameters, shift: &[f32]);

    /// Items to logits.
    fn forward(&self, params: &Parameters, batch: &Ragged, pass: Pass, kept: &mut Kept);

    /// The gradient of the logits, `[items, nodes]`, back to the tensors. Returns the loss of what is learned otherwise, whose
    /// gradient is added, too.
    fn backward(&self, step: Backward<'_>, grads: &mut Parameters) -> f64;
}

/// What `backward` looks at.
pub struct Backward<'a> {
    /// The parameters that `forward` saw.
    pub params: &'a Parameters,
    /// The batch that `forward` saw.
    pub batch: &'a Ragged,
    /// The pass that `forward` made.
    pub pass: Pass,
    /// What `forward` left; used up.
    pub kept: &'a mut Kept,
    /// The gradient of the logits.
    pub grad: &'a [f32],
    /// Which pairs of the batch are not negatives of each other; empty for none.
    pub mask: &'a Mask,
}

/// Adds to biases.
fn add(biases: &mut [f32], shift: &[f32]) {
    biases.iter_mut().zip(shift).for_each(|(bias, shift)| *bias += shift);
}

/// Uniform in `-bound..bound`.
pub(crate) fn uniform(values: &mut [f32], bound: f64, random: &mut Random) {
    for value in values {
        *value = ((2.0 * random.uniform() - 1.0) * bound) as f32;
    }
}

/// The bound of Xavier's uniform start for a matrix `[rows, cols]`.
pub(crate) fn xavier(rows: usize, cols: usize) -> f64 {
    (6.0 / (rows + cols) as f64).sqrt()
}
