//! A tree in training: which levels each step is trained at.

use crate::learner::{Learner, Lesson, Similarity};
use crate::parameters::Parameters;
use crate::schedule::Levels;
use crate::tree::{Step, Tree, Workspace};
use retreever_data::Ragged;

/// A tree and its depth schedule.
pub struct TreeLearner {
    tree: Tree,
    levels: Levels,
    room: Workspace,
}

impl TreeLearner {
    /// Trains `tree` at these levels.
    pub fn new(tree: Tree, levels: Levels) -> Self {
        Self { tree, levels, room: Workspace::default() }
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

    fn settle(&mut self) {
        self.tree.clamp_scale();
    }

    fn scale(&self) -> f64 {
        self.tree.scale()
    }

    fn learn(&mut self, batch: &Ragged, lesson: Lesson<'_>, grads: &mut Parameters) -> f64 {
        let levels = self.levels.at(self.tree.config().depth, lesson.progress, lesson.seed);
        let step = Step { levels: &levels, dropout: Some(lesson.seed), mask: lesson.mask };
        self.tree.step(batch, step, &mut self.room, grads)
    }

    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>) {
        let leaves = self.tree.config().depth.leaf_level();
        self.tree.represent(batch, leaves, &mut self.room, rows);
    }

    fn width(&self) -> usize {
        self.tree.config().depth.leaves()
    }

    fn similarity(&self) -> Similarity {
        Similarity::TotalVariation
    }
}
