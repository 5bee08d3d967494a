//! A tree in training: which levels each step is trained at, and what is done at the end.

use crate::learner::{Learner, Lesson, Part, Reads, Similarity};
use crate::parameters::Parameters;
use crate::schedule::Levels;
use crate::split::COARSE;
use crate::tree::{Step, Tree, Workspace};
use retreever_data::{Embeddings, Ragged};
use retreever_tree::Level;
use serde::{Deserialize, Serialize};

/// What is done with a tree when its training is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// Nothing.
    #[default]
    AsTrained,
    /// As little of what it learned last is kept as validates about as well, splits that do not learn are planted anew
    /// ([`Tree::plant`]), and leaves are balanced ([`Tree::balance`]).
    Refined,
}

/// A tree and its depth schedule.
pub struct TreeLearner {
    tree: Tree,
    levels: Levels,
    finish: Finish,
    start: Option<Parameters>,
    shown: Option<Level>,
    room: Workspace,
}

impl TreeLearner {
    /// Trains `tree` at these levels.
    pub fn new(tree: Tree, levels: Levels) -> Self {
        Self { tree, levels, finish: Finish::AsTrained, start: None, shown: None, room: Workspace::default() }
    }

    /// The same with another end. What it is now is its start.
    pub fn finishing(self, finish: Finish) -> Self {
        let start = match finish {
            Finish::AsTrained => None,
            Finish::Refined => Some(self.tree.params().clone()),
        };
        Self { finish, start, ..self }
    }

    /// Fits the starting values of an untrained tree to the documents, where its splits start that way.
    pub fn centre(&mut self, documents: &dyn Embeddings) {
        const SAMPLE: usize = 20_000;
        let mut batch = Ragged::new(documents.width());
        let step = documents.len().div_ceil(SAMPLE).max(1);
        (0..documents.len()).step_by(step).for_each(|item| documents.append_pooled(item, &mut batch));
        self.tree.centre(batch.pooled());
    }

    fn shown(&self) -> Level {
        self.shown.unwrap_or(self.tree.config().depth.leaf_level())
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

    fn settle(&mut self) {
        self.tree.clamp_scale();
    }

    fn start(&self) -> Option<&Parameters> {
        self.start.as_ref()
    }

    fn parts(&self) -> Vec<Part> {
        let names = self.tree.params().iter().map(|(entry, _)| entry.name.clone());
        let (coarse, rest): (Vec<_>, Vec<_>) = names.partition(|name| name.starts_with(COARSE));
        let level = Some(self.tree.config().learning().leaf_level());
        [Part { tensors: coarse, level }, Part { tensors: rest, level: None }]
            .into_iter()
            .filter(|part| !part.tensors.is_empty())
            .collect()
    }

    fn show(&mut self, level: Option<Level>) {
        self.shown = level;
    }

    fn finish(&mut self, documents: &dyn Embeddings) {
        match self.finish {
            Finish::AsTrained => {}
            Finish::Refined => {
                self.tree.plant(documents);
                self.tree.balance(documents);
            }
        }
    }

    fn scale(&self) -> f64 {
        self.tree.scale()
    }

    fn learn(&mut self, batch: &Ragged, lesson: Lesson<'_>, grads: &mut Parameters) -> f64 {
        let levels = self.levels.at(self.tree.config().learning(), lesson.progress, lesson.seed);
        if lesson.progress.step == 0 {
            self.tree.fit_scale(batch, lesson.mask, &mut self.room);
        }
        let step = Step { levels: &levels, dropout: Some(lesson.seed), mask: lesson.mask };
        self.tree.step(batch, step, &mut self.room, grads)
    }

    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>) {
        let level = self.shown();
        self.tree.represent(batch, level, &mut self.room, rows);
    }

    fn width(&self) -> usize {
        self.shown().width()
    }

    fn similarity(&self) -> Similarity {
        Similarity::TotalVariation
    }
}
