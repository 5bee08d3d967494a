//! What is trained: the adapters, the trees, and the variants of the ablations, with the settings of each.

use crate::report::{Ablation, Method, Variant};
use retreever_data::Embeddings;
use retreever_model::schedule::{Levels, Weighting};
use retreever_model::split::{CrossAttentionConfig, LinearConfig, MlpConfig};
use retreever_model::{
    Adapter, AdapterConfig, Learner, PropagationConfig, SplitConfig, TreeConfig, TreeLearner,
};
use retreever_tree::Depth;
use std::fmt;

/// Something to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recipe {
    /// A linear adapter.
    Linear,
    /// An adapter with a hidden layer.
    Mlp,
    /// An adapter with nested sizes.
    Mrl,
    /// A tree trained at its leaves.
    Tree,
    /// A tree trained at one level in each step, drawn anew.
    Stochastic,
    /// A tree trained at all its levels in every step: the default recipe.
    AllLevels,
    /// A tree trained at its leaves with one choice changed.
    Ablated(Choice),
}

/// One changed choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A linear split.
    LinearSplit,
    /// A split with a hidden layer.
    MlpSplit,
    /// The default split.
    CrossAttentionSplit,
    /// So many attention heads, the width of all together unchanged.
    Heads(usize),
    /// Another depth.
    Depth(Depth),
    /// So many embeddings per level.
    LevelEmbeddings(usize),
    /// Multiply along the path.
    Product,
    /// Rescore each node from its path.
    PathConsistency,
}

/// The width of all attention heads together.
const HEADS_WIDTH: usize = 1024;

impl Choice {
    /// The choices of an ablation.
    pub fn of(ablation: Ablation) -> Vec<Self> {
        match ablation {
            Ablation::Split => vec![Self::LinearSplit, Self::MlpSplit, Self::CrossAttentionSplit],
            Ablation::Heads => [4, 8, 16, 32].map(Self::Heads).into(),
            Ablation::Depth => [4, 6, 8, 10].into_iter().filter_map(Depth::new).map(Self::Depth).collect(),
            Ablation::LevelEmbeddings => [1, 4, 8, 16].map(Self::LevelEmbeddings).into(),
            Ablation::Propagation => vec![Self::Product, Self::PathConsistency],
        }
    }

    fn variant(self) -> Variant {
        let (ablation, value) = match self {
            Self::LinearSplit => (Ablation::Split, "linear".into()),
            Self::MlpSplit => (Ablation::Split, "mlp".into()),
            Self::CrossAttentionSplit => (Ablation::Split, "cross-attention".into()),
            Self::Heads(heads) => (Ablation::Heads, heads.to_string()),
            Self::Depth(depth) => (Ablation::Depth, depth.to_string()),
            Self::LevelEmbeddings(count) => (Ablation::LevelEmbeddings, count.to_string()),
            Self::Product => (Ablation::Propagation, "product".into()),
            Self::PathConsistency => (Ablation::Propagation, "path-consistency".into()),
        };
        Variant { ablation, value }
    }

    fn apply(self, config: &mut TreeConfig) {
        let attention = CrossAttentionConfig::default();
        match self {
            Self::LinearSplit => config.split = SplitConfig::Linear(LinearConfig::default()),
            Self::MlpSplit => config.split = SplitConfig::Mlp(MlpConfig::default()),
            Self::CrossAttentionSplit => config.split = SplitConfig::CrossAttention(attention),
            Self::Product => {}
            Self::Heads(heads) => {
                let head_width = HEADS_WIDTH / heads;
                config.split =
                    SplitConfig::CrossAttention(CrossAttentionConfig { heads, head_width, ..attention });
            }
            Self::Depth(depth) => config.depth = depth,
            Self::LevelEmbeddings(level_embeddings) => {
                config.split =
                    SplitConfig::CrossAttention(CrossAttentionConfig { level_embeddings, ..attention });
            }
            Self::PathConsistency => {
                config.propagation = PropagationConfig::PathConsistency(Default::default());
            }
        }
    }
}

/// An adapter or a tree, ready to train.
pub(super) enum Untrained {
    Adapter(Box<Adapter>),
    Tree(Box<TreeLearner>),
}

impl Untrained {
    pub(super) fn learner(&mut self) -> &mut dyn Learner {
        match self {
            Self::Adapter(adapter) => &mut **adapter,
            Self::Tree(tree) => &mut **tree,
        }
    }
}

impl Recipe {
    /// Which rows of the report it makes.
    pub(super) fn method(self) -> Method {
        match self {
            Self::Linear => Method::Linear,
            Self::Mlp => Method::Mlp,
            Self::Mrl => Method::Mrl,
            Self::Stochastic => Method::Stochastic,
            Self::AllLevels => Method::AllLevels,
            Self::Tree | Self::Ablated(_) => Method::Tree,
        }
    }

    /// What an ablation changed.
    pub(super) fn variant(self) -> Option<Variant> {
        match self {
            Self::Ablated(choice) => Some(choice.variant()),
            _ => None,
        }
    }

    /// The highest learning rate.
    pub(super) fn rate(self) -> f64 {
        match self {
            Self::Linear | Self::Mlp | Self::Mrl => 1e-3,
            Self::Tree | Self::Stochastic | Self::AllLevels | Self::Ablated(_) => {
                retreever_model::Recipe::laptop().rate.peak
            }
        }
    }

    /// Starting values for these documents, beside a tree of this depth.
    pub(super) fn start(self, documents: &dyn Embeddings, depth: Depth, seed: u64) -> Untrained {
        let width = documents.width();
        let adapter = |config| Untrained::Adapter(Box::new(Adapter::new(config, width, seed)));
        let mut recipe = retreever_model::Recipe::laptop();
        let mut config = recipe.tree(width, depth);
        match self {
            Self::Linear => return adapter(AdapterConfig::Linear),
            Self::Mlp => return adapter(AdapterConfig::Mlp { hidden: 2 * width, dropout: 0.5 }),
            Self::Mrl => return adapter(AdapterConfig::Matryoshka { largest: depth.leaves() }),
            Self::Tree => recipe.levels = Levels::Constant,
            Self::Stochastic => recipe.levels = Levels::Stochastic(Weighting::Square),
            Self::AllLevels => {}
            Self::Ablated(choice) => {
                recipe.levels = Levels::Constant;
                choice.apply(&mut config);
            }
        }
        Untrained::Tree(Box::new(recipe.learner(config, seed, documents)))
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linear => f.write_str("linear"),
            Self::Mlp => f.write_str("mlp"),
            Self::Mrl => f.write_str("mrl"),
            Self::Tree => f.write_str("tree"),
            Self::Stochastic => f.write_str("stochastic"),
            Self::AllLevels => f.write_str("all-levels"),
            Self::Ablated(choice) => {
                let Variant { ablation, value } = choice.variant();
                write!(f, "{}={value}", ablation.key())
            }
        }
    }
}
