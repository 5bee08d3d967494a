//! A tree in training: which losses each step sums up, and what is done at the end.

use crate::finish::{self, Space};
use crate::learner::{Finished, Learner, Lesson, Reads, Similarity};
use crate::parameters::Parameters;
use crate::schedule::{Levels, Progress};
use crate::train::TrainingSet;
use crate::tree::{Step, Tree, Workspace};
use crate::validate::Represent;
use retreever_data::Ragged;

/// The losses that are summed in each step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// InfoNCE over negative total variation distance, at these levels.
    pub levels: Levels,
    /// The weight of that loss, beside 1 for the one over cosines.
    pub distances: f64,
    /// How much softer than for ranking items are compared in training: what comparing temperatures are multiplied with.
    pub softness: f32,
    /// InfoNCE over the cosines of the spaces that splits look at, multiplied with this scale; 0 for none.
    pub cosine: f64,
}

impl From<Levels> for Losses {
    fn from(levels: Levels) -> Self {
        Self { levels, distances: 1.0, softness: 1.0, cosine: 0.0 }
    }
}

/// The share of the steps after which a planted tree is planted again: the space that its splits look at has changed most by
/// then, and learns from there on in front of directions that stay.
const PLANT_AGAIN: f64 = 0.3;

/// Whether planted trees are planted before this step.
fn planted_before(progress: Progress) -> bool {
    progress.step == 0 || progress.step == (PLANT_AGAIN * progress.total as f64) as u64
}

/// A tree, its losses, and where it started.
pub struct TreeLearner {
    tree: Tree,
    losses: Losses,
    /// The initial parameters of a planted tree, until it is finished.
    start: Option<Parameters>,
    room: Workspace,
}

impl TreeLearner {
    /// Trains `tree` by these losses.
    pub fn new(tree: Tree, losses: impl Into<Losses>) -> Self {
        let start = tree.is_planted().then(|| tree.params().clone());
        Self { tree, losses: losses.into(), start, room: Workspace::default() }
    }

    /// The tree as it is.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The tree when training is over.
    pub fn into_tree(self) -> Tree {
        self.tree
    }
}

impl Learner for TreeLearner {
    fn params(&self) -> &Parameters {
        self.tree.params()
    }

    fn params_mut(&mut self) -> &mut Parameters {
        self.tree.params_mut()
    }

    fn reads(&self) -> Reads {
        self.tree.config().split.reads()
    }

    fn prepare(&mut self, progress: Progress, set: TrainingSet<'_>, seed: u64) {
        if planted_before(progress) {
            self.tree.plant(set.documents, seed);
        }
    }

    fn settle(&mut self) {
        self.tree.clamp_scale();
    }

    fn finish(&mut self, set: TrainingSet<'_>, seed: u64) -> Option<Finished> {
        let start = self.start.take()?;
        Some(finish::finish(&mut self.tree, &start, set, seed))
    }

    fn scale(&self) -> f64 {
        self.tree.scale()
    }

    fn learn(&mut self, batch: &Ragged, lesson: Lesson<'_>, grads: &mut Parameters) -> f64 {
        let mut levels = self.losses.levels.at(self.tree.config().learning(), lesson.progress, lesson.seed);
        levels.iter_mut().for_each(|(_, weight)| *weight *= self.losses.distances);
        if lesson.progress.step == 0 || self.start.is_some() && planted_before(lesson.progress) {
            self.tree.fit_scale(batch, lesson.mask, self.losses.softness, &mut self.room);
        }
        let step = Step {
            levels: &levels,
            softness: self.losses.softness,
            cosine: self.losses.cosine,
            dropout: Some(lesson.seed),
            mask: lesson.mask,
        };
        self.tree.step(batch, step, &mut self.room, grads)
    }

    /// The leaves; of a planted tree in training the space, because its lower splits are planted in the end.
    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>) {
        match self.start {
            Some(_) => Space(&self.tree).represent(batch, rows),
            None => self.tree.represent(batch, self.tree.config().depth.leaf_level(), &mut self.room, rows),
        }
    }

    fn width(&self) -> usize {
        match self.start {
            Some(_) => self.tree.config().width,
            None => self.tree.config().depth.leaves(),
        }
    }

    fn similarity(&self) -> Similarity {
        match self.start {
            Some(_) => Similarity::Cosine,
            None => Similarity::TotalVariation,
        }
    }
}
