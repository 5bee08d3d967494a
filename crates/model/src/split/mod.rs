//! Split functions: an item to one logit for each node.
//!
//! Every split scores the nodes above some [`Level`], breadth first, so that training at a coarse level costs
//! only that level's ancestors. With product propagation the scored nodes are the split nodes; with
//! path-consistency all nodes are, the leaves too.

mod cross_attention;
mod linear;
mod mlp;
mod planted;

pub use cross_attention::CrossAttention;
pub use linear::Linear;
pub use mlp::Mlp;
pub use planted::Planted;

use crate::learner::Reads;
use crate::parameters::{Layout, Parameters};
use crate::planting::Frame;
use crate::random::Random;
use retreever_data::Ragged;
use retreever_tree::Level;
use serde::{Deserialize, Serialize};

/// Which split function, and its sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SplitConfig {
    /// Fixed directions in a space that a trunk learns.
    Planted(planted::Config),
    /// `theta_t . x + b_t` on the pooled embedding.
    Linear,
    /// One hidden layer from the pooled embedding to all logits.
    Mlp(mlp::Config),
    /// Learnable embeddings of each level attend to the item's tokens.
    CrossAttention(cross_attention::Config),
}

pub use cross_attention::Config as CrossAttentionConfig;
pub use mlp::Config as MlpConfig;
pub use planted::Config as PlantedConfig;

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
            Self::Planted(_) | Self::Linear | Self::Mlp(_) => Reads::Pooled,
            Self::CrossAttention(_) => Reads::Tokens,
        }
    }

    /// The split function with its tensors laid out.
    pub fn build(&self, scope: Scope, layout: &mut Layout) -> Box<dyn Split> {
        match self {
            Self::Planted(config) => Box::new(Planted::new(config, scope, layout)),
            Self::Linear => Box::new(Linear::new(scope, layout)),
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
    /// The seed of dropout; `None` at inference.
    pub dropout: Option<u64>,
}

/// What a forward pass leaves for the way back. The buffers are reused from step to step.
#[derive(Default)]
pub struct Kept {
    /// One logit for each item and scored node, `[items, nodes]`.
    pub logits: Vec<f32>,
    planted: planted::Kept,
    hidden: mlp::Kept,
    attention: cross_attention::Kept,
}

/// What upper and lower splits look at: `[items, width]`, of length 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spaces<T> {
    /// What the splits of the upper levels look at.
    pub upper: T,
    /// What the other splits look at.
    pub lower: T,
}

/// A split function.
///
/// `forward` fills `kept.logits`; `backward` must see the same parameters, batch and pass, and adds to
/// `grads` the gradient of every tensor it owns, given that of the logits. Both are deterministic for a given
/// number of threads.
pub trait Split: Send + Sync {
    /// Starting values.
    fn init(&self, params: &mut Parameters, random: &mut Random);

    /// Items to logits.
    fn forward(&self, params: &Parameters, batch: &Ragged, pass: Pass, kept: &mut Kept);

    /// What is split of each item of the last pass, where trunks make it.
    fn spaces<'a>(&self, kept: &'a Kept) -> Option<Spaces<&'a [f32]>> {
        let _ = kept;
        None
    }

    /// The directions and biases, where they are planted instead of learned.
    fn frame(&self, params: &Parameters) -> Option<Frame> {
        let _ = params;
        None
    }

    /// Replaces the directions and biases, where they are planted.
    fn set_frame(&self, params: &mut Parameters, frame: &Frame) {
        let _ = (params, frame);
    }

    /// The gradients of the logits and of the space back to the tensors.
    fn backward(&self, step: Backward<'_>, grads: &mut Parameters);
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
    /// The gradient of the logits, `[items, nodes]`.
    pub grad: &'a [f32],
    /// The gradients of the spaces, `[items, width]`; empty for none.
    pub grad_spaces: Spaces<&'a [f32]>,
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
