//! Recipes: what a tree is made of and how it is trained, unless one says otherwise.

use crate::optimizer::AdamWConfig;
use crate::propagation::PropagationConfig;
use crate::scale::ScaleConfig;
use crate::schedule::{LearningRate, Levels, Weighting};
use crate::split::{Coarse, CrossAttentionConfig, LinearConfig, LinearStart, SplitConfig};
use crate::train::TrainConfig;
use crate::tree::{Tree, TreeConfig};
use crate::tree_learner::{Finish, TreeLearner};
use crate::trunk::TrunkConfig;
use retreever_data::Embeddings;
use retreever_tree::Depth;
use serde::{Deserialize, Serialize};

/// How often the held-out pairs are scored in a training.
pub(crate) const VALIDATIONS: u64 = 10;

/// A recipe for a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The split function.
    pub split: SplitConfig,
    /// The propagation.
    pub propagation: PropagationConfig,
    /// The scale of the loss.
    pub scale: ScaleConfig,
    /// At which levels steps are trained.
    pub levels: Levels,
    /// Pairs in a batch.
    pub batch: usize,
    /// In groups of how many neighbours they come; 1 for none.
    pub neighbours: usize,
    /// The learning rate.
    pub rate: LearningRate,
    /// The optimiser.
    pub optimiser: AdamWConfig,
    /// What is done when training is over.
    pub finish: Finish,
}

impl Recipe {
    /// What works on a laptop in minutes: linear splits that start small and grow with depth, so that the tree starts with
    /// the encoder's own ranking instead of having to find it again. The upper ones learn at all their levels at once, each
    /// with a scale that fits its distances, behind a trunk and learned pooling of their own. The lower ones look through a
    /// trunk that learns as an adapter does, and are planted at the end, where the tree is refined.
    pub fn laptop() -> Self {
        Self {
            split: SplitConfig::Linear(LinearConfig {
                pooling_heads: 0,
                trunk: Some(TrunkConfig::Mlp { hidden: 3072, dropout: 0.5 }),
                coarse: Some(Coarse { levels: 6, pooling_heads: 8 }),
                start: LinearStart::Growing { deviation: 0.08, growth: std::f64::consts::SQRT_2 },
            }),
            scale: ScaleConfig::Fitted { times: 1.0, max: 1e6 },
            levels: Levels::All(Weighting::Linear),
            batch: 512,
            neighbours: 16,
            rate: LearningRate { peak: 1e-3, warm_up: 0.05 },
            finish: Finish::Refined,
            ..Self::paper()
        }
    }

    /// What the paper's authors do on a large accelerator in 200,000 steps.
    pub fn paper() -> Self {
        Self {
            split: SplitConfig::CrossAttention(CrossAttentionConfig::default()),
            propagation: PropagationConfig::Product,
            scale: ScaleConfig::Shared { start: 1.0, max: 30.0 },
            levels: Levels::Stochastic(Weighting::Square),
            batch: 64,
            neighbours: 1,
            rate: LearningRate { peak: 1e-4, warm_up: 0.05 },
            optimiser: AdamWConfig::default(),
            finish: Finish::AsTrained,
        }
    }

    /// A tree that is trained by this recipe, centred on the documents.
    pub fn learner(&self, config: TreeConfig, seed: u64, documents: &dyn Embeddings) -> TreeLearner {
        let mut learner = TreeLearner::new(Tree::new(config, seed), self.levels);
        learner.centre(documents);
        learner.finishing(self.finish)
    }

    /// The tree of this recipe for embeddings of this width.
    pub fn tree(&self, width: usize, depth: Depth) -> TreeConfig {
        TreeConfig {
            width,
            depth,
            split: self.split.clone(),
            propagation: self.propagation.clone(),
            scale: self.scale,
        }
    }

    /// The training of this recipe: so many steps, with about `VALIDATIONS` among them.
    pub fn training(&self, steps: u64, seed: u64) -> TrainConfig {
        TrainConfig {
            steps,
            batch: self.batch,
            neighbours: self.neighbours,
            seed,
            rate: self.rate,
            optimiser: self.optimiser,
            validate_every: (steps / VALIDATIONS).max(10),
            patience: None,
        }
    }
}
