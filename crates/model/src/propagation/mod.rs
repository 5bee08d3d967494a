//! Propagation: logits of nodes to the probability of reaching each node, at every level down to the trained one.

mod path_consistency;
mod product;

pub use path_consistency::PathConsistency;
pub use product::Product;

use crate::parameters::{Layout, Parameters};
use crate::random::Random;
use retreever_tree::{Level, Nesting};
use serde::{Deserialize, Serialize};

/// Which propagation, and its choices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PropagationConfig {
    /// Multiply along the path: each level sums to 1, a parent is the sum of its children.
    #[default]
    Product,
    /// A small shared MLP rescores each node from the raw logits on its path.
    PathConsistency(path_consistency::Config),
}

pub use path_consistency::Config as PathConsistencyConfig;
pub use path_consistency::Rows as PathConsistencyRows;

impl PropagationConfig {
    /// The nodes that must be scored to represent items at `level` are those above this level.
    pub fn scored(&self, level: Level) -> Level {
        match self {
            Self::Product => level,
            Self::PathConsistency(_) => level.below(),
        }
    }

    /// Whether coarse levels follow from the leaves.
    pub fn nesting(&self) -> Nesting {
        match self {
            Self::Product => Nesting::Nested,
            Self::PathConsistency(_) => Nesting::PerLevel,
        }
    }

    /// The propagation with its tensors laid out, for a tree with leaves at `leaves`.
    pub fn build(&self, leaves: Level, layout: &mut Layout) -> Box<dyn Propagation> {
        match self {
            Self::Product => Box::new(Product),
            Self::PathConsistency(config) => Box::new(PathConsistency::new(config, leaves, layout)),
        }
    }
}

/// The probabilities of a batch. `reach` holds the nodes of every level down to `level`, breadth first.
#[derive(Default)]
pub struct Reached {
    /// How many items there are.
    pub items: usize,
    /// The deepest level reached.
    pub level: Option<Level>,
    /// `[items, nodes]`, the root included.
    pub reach: Vec<f32>,
    /// What rows of `reach` are divided by before they are compared, `[items, levels + 1]`; empty for 1.
    pub(crate) totals: Vec<f32>,
    hidden: Vec<f32>,
}

impl Reached {
    /// How many nodes a row holds.
    pub fn nodes(&self) -> usize {
        self.reach.len() / self.items.max(1)
    }
}

/// A propagation.
///
/// `forward` takes logits of the nodes above `PropagationConfig::scored(level)` and fills `reached`. `backward` takes
/// the gradient of `reached.reach` and writes that of the logits, adding those of its own tensors to `grads`.
pub trait Propagation: Send + Sync {
    /// Starting values.
    fn init(&self, params: &mut Parameters, random: &mut Random);

    /// Logits, `[items, scored nodes]`, to probabilities at every level down to `level`.
    fn forward(&self, params: &Parameters, logits: &[f32], level: Level, reached: &mut Reached);

    /// The gradient of the probabilities, `[items, nodes]`, to that of the logits.
    fn backward(&self, step: Backward<'_>, grad_logits: &mut [f32], grads: &mut Parameters);

    /// A term that is added to the loss for each side, with its gradient added to `grad`, if there is one.
    fn regularise(&self, reached: &Reached, grad: &mut [f32]) -> f64 {
        let _ = (reached, grad);
        0.0
    }
}

/// What `backward` looks at.
pub struct Backward<'a> {
    /// The parameters that `forward` saw.
    pub params: &'a Parameters,
    /// The logits that `forward` saw.
    pub logits: &'a [f32],
    /// What `forward` made.
    pub reached: &'a Reached,
    /// The gradient of `reached.reach`.
    pub grad: &'a [f32],
}
