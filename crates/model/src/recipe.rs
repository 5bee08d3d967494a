//! Recipes: what a tree is made of and how it is trained, unless one says otherwise.

use crate::optimizer::AdamWConfig;
use crate::propagation::PropagationConfig;
use crate::schedule::{LearningRate, Levels, Weighting};
use crate::split::{CrossAttentionConfig, LinearConfig, LinearStart, SplitConfig};
use crate::train::TrainConfig;
use crate::tree::{ScaleConfig, TreeConfig};
use crate::trunk::TrunkConfig;
use retreever_tree::Depth;
use serde::{Deserialize, Serialize};

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
    /// The learning rate.
    pub rate: LearningRate,
    /// The optimiser.
    pub optimiser: AdamWConfig,
}

impl Recipe {
    /// What works on a laptop in minutes: linear splits that start small and grow with depth, behind a residual trunk,
    /// trained at all levels at once. It starts from the encoder's own ranking instead of having to find it again.
    pub fn laptop() -> Self {
        Self {
            split: SplitConfig::Linear(LinearConfig {
                trunk: Some(TrunkConfig::Mlp { hidden: 1024 }),
                start: LinearStart::Growing { deviation: 0.5, growth: 1.4 },
            }),
            scale: ScaleConfig { start: 60.0, max: 200.0 },
            levels: Levels::All(Weighting::Square),
            batch: 256,
            rate: LearningRate { peak: 1e-3, warm_up: 0.05 },
            ..Self::paper()
        }
    }

    /// What the paper's authors do on a large accelerator in 200,000 steps.
    pub fn paper() -> Self {
        Self {
            split: SplitConfig::CrossAttention(CrossAttentionConfig::default()),
            propagation: PropagationConfig::Product,
            scale: ScaleConfig { start: 1.0, max: 30.0 },
            levels: Levels::Stochastic(Weighting::Square),
            batch: 64,
            rate: LearningRate { peak: 1e-4, warm_up: 0.05 },
            optimiser: AdamWConfig::default(),
        }
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

    /// The training of this recipe: so many steps, validated about twenty times.
    pub fn training(&self, steps: u64, seed: u64) -> TrainConfig {
        TrainConfig {
            steps,
            batch: self.batch,
            seed,
            rate: self.rate,
            optimiser: self.optimiser,
            validate_every: (steps / 20).max(10),
            patience: None,
        }
    }
}
