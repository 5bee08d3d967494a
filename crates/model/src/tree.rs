//! The tree: a split function, a propagation, and the scale of its loss, over one set of parameters.

use crate::learner::Reads;
use crate::loss::{At, Comparison, Mask};
use crate::parameters::{Layout, Parameters};
use crate::propagation::{self, Propagation, PropagationConfig, Reached};
use crate::random::Random;
use crate::scale::{Scale, ScaleConfig};
use crate::split::{self, Kept, LinearConfig, Pass, Scope, Split, SplitConfig};
use crate::trunk::TrunkConfig;
use retreever_data::{Embeddings, Pooled, Ragged};
use retreever_tree::{Assignments, Depth, Level, Nesting};
use serde::{Deserialize, Serialize};

/// What a tree is made of. Saved beside its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeConfig {
    /// The width of the encoder's embeddings.
    pub width: usize,
    /// The depth.
    pub depth: Depth,
    /// The split function.
    pub split: SplitConfig,
    /// The propagation.
    pub propagation: PropagationConfig,
    /// The scale of the loss.
    pub scale: ScaleConfig,
}

impl TreeConfig {
    /// The depth down to which levels learn by distances: all of it, unless the upper ones look for themselves.
    pub fn learning(&self) -> Depth {
        let upper = self.split.coarse_levels().try_into().ok().and_then(Depth::new);
        upper.map_or(self.depth, |upper| upper.min(self.depth))
    }

    /// Whether a tree can be made of it, or what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let sizes = match &self.split {
            SplitConfig::Linear(LinearConfig { trunk, coarse, .. }) => {
                let hidden = match trunk {
                    Some(TrunkConfig::Mlp { hidden, .. }) => Some(("hidden", *hidden)),
                    _ => None,
                };
                hidden.into_iter().chain(coarse.map(|coarse| ("levels", coarse.levels))).collect()
            }
            SplitConfig::Mlp(config) => vec![("hidden", config.hidden)],
            SplitConfig::CrossAttention(config) => vec![
                ("heads", config.heads),
                ("head_width", config.head_width),
                ("level_embeddings", config.level_embeddings),
            ],
        };
        let dropout = match &self.split {
            SplitConfig::Linear(LinearConfig { trunk: Some(TrunkConfig::Mlp { dropout, .. }), .. }) => {
                *dropout
            }
            SplitConfig::Linear(_) => 0.0,
            SplitConfig::Mlp(config) => config.dropout,
            SplitConfig::CrossAttention(config) => config.dropout,
        };
        if let Some((name, size)) =
            sizes.into_iter().chain([("width", self.width)]).find(|(_, size)| *size == 0)
        {
            return Err(format!("`{name}` is {size}, but must be at least 1"));
        }
        if !(0.0..1.0).contains(&dropout) {
            return Err(format!("`dropout` is {dropout}, but must be at least 0 and below 1"));
        }
        self.scale.check()
    }
}

/// A tree that items can be routed through, and that can be trained.
pub struct Tree {
    config: TreeConfig,
    params: Parameters,
    split: Box<dyn Split>,
    propagation: Box<dyn Propagation>,
    scale: Scale,
}

/// Room for one training step. Reused from step to step.
#[derive(Default)]
pub struct Workspace {
    kept: Kept,
    reached: Reached,
    grad_reach: Vec<f32>,
    grad_logits: Vec<f32>,
    comparison: Comparison,
}

/// What one step trains.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// At which levels, each with its weight in the loss; the last is the deepest.
    pub levels: &'a [(Level, f64)],
    /// The seed of dropout, or nothing for none.
    pub dropout: Option<u64>,
    /// Which pairs are not negatives of each other; empty for none.
    pub mask: &'a Mask,
}

impl Tree {
    /// A tree with starting values drawn from `seed`.
    pub fn new(config: TreeConfig, seed: u64) -> Self {
        let mut tree = Self::zeros(config);
        let Self { params, split, propagation, scale, .. } = &mut tree;
        let mut random = Random::new(seed, 0);
        split.init(params, &mut random);
        propagation.init(params, &mut random);
        scale.init(params);
        tree
    }

    /// A tree whose parameters are still to be filled in.
    pub(crate) fn zeros(config: TreeConfig) -> Self {
        let mut layout = Layout::default();
        let leaves = config.depth.leaf_level();
        let scope = Scope { width: config.width, end: config.propagation.scored(leaves) };
        let split = config.split.build(scope, &mut layout);
        let propagation = config.propagation.build(leaves, &mut layout);
        let scale = Scale::new(config.scale, config.depth, &mut layout);
        Self { config, params: Parameters::zeros(layout), split, propagation, scale }
    }

    /// What it is made of.
    pub fn config(&self) -> &TreeConfig {
        &self.config
    }

    /// What it has learned.
    pub fn params(&self) -> &Parameters {
        &self.params
    }

    /// What it has learned, to change.
    pub fn params_mut(&mut self) -> &mut Parameters {
        &mut self.params
    }

    /// The scale of the loss at the finest level that learns by distances.
    pub fn scale(&self) -> f64 {
        self.scale.log(&self.params, self.config.learning().leaf_level()).exp()
    }

    /// Keeps the scale within its bounds, as it must be after each change of the parameters.
    pub fn clamp_scale(&mut self) {
        self.scale.clamp(&mut self.params);
    }

    /// Starts the scale of each level where the loss of a batch is least, where scales start that way.
    pub fn fit_scale(&mut self, batch: &Ragged, mask: &Mask, room: &mut Workspace) {
        let learning = self.config.learning();
        let finest = learning.leaf_level();
        let pass = Pass { end: self.config.propagation.scored(finest), dropout: None };
        self.route(batch, pass, finest, room);
        let Workspace { reached, comparison, .. } = room;
        let best = |level| comparison.best_log_scale(reached, level, mask);
        self.scale.fit(&mut self.params, best, learning);
    }

    /// Fits the starting values to some pooled embeddings, `[items, width]`, where the split starts that way: the mean item
    /// is split evenly, and splits start where items can be halved. For a tree that is not trained yet.
    ///
    /// # Panics
    /// If the items are of another width.
    pub fn centre(&mut self, sample: &[f32]) {
        assert!(sample.len().is_multiple_of(self.config.width), "items of another width");
        self.split.centre(&mut self.params, sample);
    }

    /// The loss of a batch whose first half are queries and second half their contexts; its gradient is added to
    /// `grads`.
    ///
    /// # Panics
    /// If the batch is of another width, has an odd number of items, or `step` names no level of this tree.
    pub fn step(&self, batch: &Ragged, step: Step<'_>, room: &mut Workspace, grads: &mut Parameters) -> f64 {
        assert!(
            batch.width() == self.config.width && batch.len().is_multiple_of(2),
            "a batch of other items"
        );
        let deepest = step.levels.iter().map(|(level, _)| *level).max().expect("a level to train");
        let pass = Pass { end: self.config.propagation.scored(deepest), dropout: step.dropout };
        self.route(batch, pass, deepest, room);
        room.grad_reach.clear();
        room.grad_reach.resize(room.reached.reach.len(), 0.0);
        let mut loss = 0.0;
        for &(level, weight) in step.levels {
            let log_scale = self.scale.log(&self.params, level);
            let at = At { level, log_scale, weight, mask: step.mask };
            let outcome = room.comparison.info_nce(&room.reached, at, &mut room.grad_reach);
            loss += outcome.loss;
            *self.scale.log_mut(grads, level) += outcome.grad_log_scale as f32;
        }
        loss += self.propagation.regularise(&room.reached, &mut room.grad_reach);
        room.grad_logits.resize(room.kept.logits.len(), 0.0);
        let Workspace { kept, reached, grad_reach, grad_logits, .. } = room;
        let back =
            propagation::Backward { params: &self.params, logits: &kept.logits, reached, grad: grad_reach };
        self.propagation.backward(back, grad_logits, grads);
        let back =
            split::Backward { params: &self.params, batch, pass, kept, grad: grad_logits, mask: step.mask };
        loss + self.split.backward(back, grads)
    }

    /// Fills the logits of a batch alone.
    pub(crate) fn score(&self, batch: &Ragged, pass: Pass, room: &mut Workspace) {
        self.split.forward(&self.params, batch, pass, &mut room.kept);
    }

    /// Fits what does not learn to these documents, as they are seen once all else has learned. For a tree that is trained;
    /// one whose levels are not nested is left as it is.
    ///
    /// # Panics
    /// If the documents are of another width.
    pub fn plant(&mut self, documents: &dyn Embeddings) {
        if self.config.propagation.nesting() == Nesting::Nested {
            self.split.plant(&mut self.params, documents);
        }
    }

    /// Adds to the logits of every item: one number for each split node.
    pub(crate) fn shift(&mut self, shift: &[f32]) {
        self.split.shift(&mut self.params, shift);
    }

    fn route(&self, batch: &Ragged, pass: Pass, level: Level, room: &mut Workspace) {
        self.score(batch, pass, room);
        self.propagation.forward(&self.params, &room.kept.logits, level, &mut room.reached);
    }

    /// Routes a batch down to `level` and appends each item's probabilities of that level's nodes to `rows`; each row
    /// sums to 1.
    pub fn represent(&self, batch: &Ragged, level: Level, room: &mut Workspace, rows: &mut Vec<f32>) {
        let pass = Pass { end: self.config.propagation.scored(level), dropout: None };
        self.route(batch, pass, level, room);
        for reach in room.reached.reach.chunks_exact(room.reached.nodes()) {
            self.append_level(reach, level, rows);
        }
    }

    /// Appends the probabilities of one level of an item that has been routed.
    fn append_level(&self, reach: &[f32], level: Level, rows: &mut Vec<f32>) {
        let row = &reach[level.start()..][..level.width()];
        match self.config.propagation.nesting() {
            Nesting::Nested => rows.extend_from_slice(row),
            Nesting::PerLevel => {
                let total: f32 = row.iter().sum();
                rows.extend(row.iter().map(|p| p / total));
            }
        }
    }

    /// The assignments of all items. `done` is told after each batch how many items are assigned.
    ///
    /// # Panics
    /// If the items are of another width, or a parameter is not finite.
    pub fn assign(&self, items: &dyn Embeddings, mut done: impl FnMut(usize)) -> Assignments {
        const BATCH: usize = 64;
        let (mut room, mut batch) = (Workspace::default(), Ragged::new(self.config.width));
        let nesting = self.config.propagation.nesting();
        let mut rows = Vec::with_capacity(items.len() * nesting.row_width(self.config.depth));
        let pooled = Pooled(items);
        let items = match self.config.split.reads() {
            Reads::Tokens => items,
            Reads::Pooled => &pooled,
        };
        let all: Vec<usize> = (0..items.len()).collect();
        for some in all.chunks(BATCH) {
            items.gather(some, &mut batch);
            let leaves = self.config.depth.leaf_level();
            let pass = Pass { end: self.config.propagation.scored(leaves), dropout: None };
            self.route(&batch, pass, leaves, &mut room);
            for reach in room.reached.reach.chunks_exact(room.reached.nodes()) {
                match nesting {
                    Nesting::Nested => self.append_level(reach, leaves, &mut rows),
                    Nesting::PerLevel => {
                        self.config
                            .depth
                            .levels()
                            .for_each(|level| self.append_level(reach, level, &mut rows));
                    }
                }
            }
            done(some[some.len() - 1] + 1);
        }
        Assignments::new(self.config.depth, nesting, rows).expect("a tree makes probabilities")
    }
}

impl Workspace {
    /// The logits of the last batch, `[items, scored nodes]`.
    pub fn logits(&self) -> &[f32] {
        &self.kept.logits
    }

    /// The probabilities of the last batch.
    pub fn reached(&self) -> &Reached {
        &self.reached
    }

    /// The scaled similarities of the last compared level.
    pub fn similarity(&self) -> &[f32] {
        self.comparison.similarity()
    }
}
