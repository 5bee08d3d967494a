//! What is trained: the adapters, the trees, and the variants of the ablations, with the settings of each.

use crate::adapted;
use crate::report::{Ablation, Method, Variant};
use retreever_data::Embeddings;
use retreever_model::schedule::{Levels, Weighting};
use retreever_model::split::{CrossAttentionConfig, MlpConfig};
use retreever_model::{
    self as model, Adapter, AdapterConfig, Learner, PropagationConfig, SplitConfig, TreeLearner, TrunkConfig,
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
    /// A tree trained at its leaves, or where upper levels look for themselves at the finest of these.
    Tree,
    /// A tree trained at one of these levels in each step, drawn anew.
    Stochastic,
    /// A tree trained at all of them in every step: the default recipe.
    AllLevels,
    /// A tree with one choice changed.
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
    /// The default recipe without one of its ingredients.
    Without(Ingredient),
}

/// An ingredient of the default recipe. (Without all levels in every step it is [`Recipe::Tree`].)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ingredient {
    /// All training: the tree is planted in the encoder's embeddings.
    Training,
    /// The loss over cosines of the space.
    Cosine,
    /// The loss over distances of the upper levels.
    Distances,
    /// The hidden layer of the trunk.
    Hidden,
    /// Dropout.
    Dropout,
    /// Nearest neighbours in batches.
    Neighbours,
    /// Fitting the scale of the loss at each level to a first batch.
    Scale,
    /// Comparing logits that grow from level to level.
    Growth,
    /// Keeping less than all of what was learned.
    Keeping,
    /// The second temperature: documents are placed and leaves opened by the comparing one.
    Routing,
}

impl Ingredient {
    const ALL: [Self; 10] = [
        Self::Training,
        Self::Cosine,
        Self::Distances,
        Self::Hidden,
        Self::Dropout,
        Self::Neighbours,
        Self::Scale,
        Self::Growth,
        Self::Keeping,
        Self::Routing,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Cosine => "cosine",
            Self::Distances => "distances",
            Self::Hidden => "hidden-layer",
            Self::Dropout => "dropout",
            Self::Neighbours => "neighbours",
            Self::Scale => "fitted-scale",
            Self::Growth => "growth",
            Self::Keeping => "keeping-less",
            Self::Routing => "routing-temperature",
        }
    }

    /// Leaves it out of the default recipe, whose splits are planted.
    fn leave_out(self, recipe: &mut model::Recipe) {
        let SplitConfig::Planted(planted) = &mut recipe.split else { return };
        match self {
            Self::Training => *recipe = model::Recipe::untrained(),
            Self::Cosine => recipe.cosine = 0.0,
            Self::Distances => recipe.distances = 0.0,
            Self::Hidden => planted.trunk = TrunkConfig::Linear,
            Self::Dropout => {
                if let TrunkConfig::Mlp { dropout, .. } = &mut planted.trunk {
                    *dropout = 0.0;
                }
            }
            Self::Neighbours => recipe.neighbours = 1,
            Self::Scale => recipe.scale = model::Recipe::paper().scale,
            Self::Growth => planted.growth = 1.0,
            // Not of the recipe, but of what is done with it; see `Recipe::is_validated` and `Recipe::has_one_temperature`.
            Self::Keeping | Self::Routing => {}
        }
    }
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
            Ablation::Recipe => Ingredient::ALL.map(Self::Without).into(),
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
            Self::Without(ingredient) => (Ablation::Recipe, format!("no-{}", ingredient.name())),
        };
        Variant { ablation, value }
    }

    /// Changes the default recipe. The paper's choices are compared in trees of the paper's split, trained at their leaves.
    fn apply(self, recipe: &mut model::Recipe) {
        let attention = CrossAttentionConfig::default();
        if !matches!(self, Self::Without(_) | Self::Depth(_)) {
            recipe.levels = Levels::Constant;
            recipe.split = SplitConfig::CrossAttention(attention.clone());
        }
        match self {
            Self::LinearSplit => recipe.split = SplitConfig::Linear,
            Self::MlpSplit => recipe.split = SplitConfig::Mlp(MlpConfig::default()),
            Self::CrossAttentionSplit | Self::Product | Self::Depth(_) => {}
            Self::Heads(heads) => {
                let head_width = HEADS_WIDTH / heads;
                recipe.split =
                    SplitConfig::CrossAttention(CrossAttentionConfig { heads, head_width, ..attention });
            }
            Self::LevelEmbeddings(level_embeddings) => {
                recipe.split =
                    SplitConfig::CrossAttention(CrossAttentionConfig { level_embeddings, ..attention });
            }
            Self::PathConsistency => {
                recipe.propagation = PropagationConfig::PathConsistency(Default::default());
            }
            Self::Without(ingredient) => ingredient.leave_out(recipe),
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
            Self::AllLevels | Self::Ablated(Choice::Without(_)) => Method::AllLevels,
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

    /// By what it is trained; an adapter shares the tree's batches.
    pub(super) fn of_model(self) -> model::Recipe {
        let mut recipe = model::Recipe::laptop();
        match self {
            Self::Linear | Self::Mlp | Self::Mrl => recipe = adapted::recipe(),
            Self::Tree => recipe.levels = Levels::Constant,
            Self::Stochastic => recipe.levels = Levels::Stochastic(Weighting::Square),
            Self::AllLevels => {}
            Self::Ablated(choice) => choice.apply(&mut recipe),
        }
        recipe
    }

    /// How many steps it is trained, if the budget does not decide.
    pub(super) fn steps(self) -> Option<u64> {
        (self == Self::Ablated(Choice::Without(Ingredient::Training))).then_some(0)
    }

    /// Whether held-out pairs decide how much of what was learned is kept. Otherwise a tree keeps all of it, and is to be
    /// calibrated afterwards.
    pub(super) fn is_validated(self) -> bool {
        self != Self::Ablated(Choice::Without(Ingredient::Keeping))
    }

    /// Whether assignments are read as they are compared.
    pub(super) fn has_one_temperature(self) -> bool {
        self == Self::Ablated(Choice::Without(Ingredient::Routing))
    }

    /// Starting values for these documents, beside a tree of this depth.
    pub(super) fn start(self, documents: &dyn Embeddings, depth: Depth, seed: u64) -> Untrained {
        let width = documents.width();
        let adapter = |config| Untrained::Adapter(Box::new(Adapter::new(config, width, seed)));
        let depth = match self {
            Self::Linear => return adapter(AdapterConfig::Linear),
            Self::Mlp => return Untrained::Adapter(Box::new(adapted::mlp(width, seed))),
            Self::Mrl => return adapter(AdapterConfig::Matryoshka { largest: depth.leaves() }),
            Self::Ablated(Choice::Depth(depth)) => depth,
            _ => depth,
        };
        let recipe = self.of_model();
        Untrained::Tree(Box::new(recipe.learner(recipe.tree(width, depth), seed)))
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
