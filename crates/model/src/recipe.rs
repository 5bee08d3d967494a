//! Recipes: what a tree is made of and how it is trained, unless one says otherwise.

use crate::optimizer::AdamWConfig;
use crate::propagation::PropagationConfig;
use crate::scale::ScaleConfig;
use crate::schedule::{LearningRate, Levels, Weighting};
use crate::split::{CrossAttentionConfig, PlantedConfig, SplitConfig};
use crate::temperature::Temperatures;
use crate::train::TrainConfig;
use crate::tree::{Tree, TreeConfig};
use crate::tree_learner::{Losses, TreeLearner};
use crate::trunk::TrunkConfig;
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
    /// The weight of the loss over distances; a loss over cosines has the weight 1.
    pub distances: f64,
    /// How much softer than for ranking planted splits compare items in training.
    pub softness: f32,
    /// The scale of further losses over the cosines of the spaces that planted splits look at; 0 for none.
    pub cosine: f64,
    /// Pairs in a batch.
    pub batch: usize,
    /// Size of the groups of nearest neighbours that batches are made of; 1 disables grouping.
    pub neighbours: usize,
    /// The learning rate.
    pub rate: LearningRate,
    /// The optimiser.
    pub optimiser: AdamWConfig,
}

impl Recipe {
    /// What works on a laptop in minutes: directions planted in the documents, and a trunk in front of them that learns by the
    /// distances of the upper levels and by cosines at once.
    pub fn laptop() -> Self {
        Self {
            split: SplitConfig::Planted(PlantedConfig {
                trunk: TrunkConfig::Mlp { hidden: 3072, dropout: 0.5 },
                upper: 6,
                deviation: 1.0,
                growth: 1.5,
            }),
            scale: ScaleConfig::Fitted { times: 1.0, max: 1e6 },
            levels: Levels::All(Weighting::Linear),
            distances: 1.5,
            softness: 1.7,
            cosine: 50.0,
            batch: 512,
            neighbours: 16,
            rate: LearningRate { peak: 1e-3, warm_up: 0.05 },
            ..Self::paper()
        }
    }

    /// The laptop's tree without its training: planted in the encoder's own embeddings.
    pub fn untrained() -> Self {
        let mut recipe = Self::laptop();
        if let SplitConfig::Planted(planted) = &mut recipe.split {
            planted.trunk = TrunkConfig::Identity;
        }
        recipe
    }

    /// What the paper's authors do on a large accelerator in 200,000 steps.
    pub fn paper() -> Self {
        Self {
            split: SplitConfig::CrossAttention(CrossAttentionConfig::default()),
            propagation: PropagationConfig::Product,
            scale: ScaleConfig::Shared { start: 1.0, max: 30.0 },
            levels: Levels::Stochastic(Weighting::Square),
            distances: 1.0,
            softness: 1.0,
            cosine: 0.0,
            batch: 64,
            neighbours: 1,
            rate: LearningRate { peak: 1e-4, warm_up: 0.05 },
            optimiser: AdamWConfig::default(),
        }
    }

    /// A tree that is trained by this recipe.
    pub fn learner(&self, config: TreeConfig, seed: u64) -> TreeLearner {
        TreeLearner::new(Tree::new(config, seed), self.losses())
    }

    /// Whether it can be trained by, or what is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.batch < 2 {
            return Err(format!("`batch` is {}, but must be at least 2", self.batch));
        }
        let above = [("rate.peak", self.rate.peak), ("softness", f64::from(self.softness))];
        if let Some((name, number)) = above.into_iter().find(|(_, x)| !(x.is_finite() && *x > 0.0)) {
            return Err(format!("`{name}` is {number}, but must be finite and above 0"));
        }
        let weights = [("distances", self.distances), ("cosine", self.cosine)];
        if let Some((name, number)) = weights.into_iter().find(|(_, x)| !(x.is_finite() && *x >= 0.0)) {
            return Err(format!("`{name}` is {number}, but must be finite and not below 0"));
        }
        if self.distances == 0.0 && self.cosine == 0.0 {
            return Err("`distances` and `cosine` are both 0: nothing would be learned".to_owned());
        }
        Ok(())
    }

    fn losses(&self) -> Losses {
        let Self { levels, distances, softness, cosine, .. } = *self;
        Losses { levels, distances, softness, cosine }
    }

    /// The tree of this recipe for embeddings of this width.
    pub fn tree(&self, width: usize, depth: Depth) -> TreeConfig {
        let temperatures = match &self.split {
            SplitConfig::Planted(PlantedConfig { deviation, growth, .. }) => {
                Some(Temperatures::planted(depth, *deviation, *growth))
            }
            _ => None,
        };
        TreeConfig {
            width,
            depth,
            split: self.split.clone(),
            propagation: self.propagation.clone(),
            scale: self.scale,
            temperatures,
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
