//! The tree: a split function, a propagation, and the scale of its loss, over one set of parameters.

use crate::calibration;
use crate::cosine::Cosines;
use crate::finish::Renumbered;
use crate::learner::Reads;
use crate::loss::{At, Comparison, Mask};
use crate::parameters::{Layout, Parameters};
use crate::planting::{Documents, Frame, first_block};
use crate::propagation::{self, Propagation, PropagationConfig, Reached};
use crate::random::Random;
use crate::scale::{Scale, ScaleConfig};
use crate::split::{self, Kept, Pass, PlantedConfig, Scope, Spaces, Split, SplitConfig};
use crate::temperature::Temperatures;
use crate::trunk::TrunkConfig;
use retreever_data::{Embeddings, Pair, Pooled, Ragged};
use retreever_tree::{Assignments, Depth, Level, Nesting, Routing};
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
    /// The temperatures for comparing and for routing; `None` for one temperature, which divides by 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperatures: Option<Temperatures>,
}

impl TreeConfig {
    /// The depth down to which levels learn by distances: all of it, unless the lower ones are planted in the end.
    pub fn learning(&self) -> Depth {
        let upper = self.planted().and_then(|planted| u8::try_from(planted.upper).ok()).and_then(Depth::new);
        upper.map_or(self.depth, |upper| upper.min(self.depth))
    }

    fn planted(&self) -> Option<&PlantedConfig> {
        match &self.split {
            SplitConfig::Planted(config) => Some(config),
            _ => None,
        }
    }

    /// Whether a tree can be made of it, or what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let (sizes, dropout) = match &self.split {
            SplitConfig::Planted(config) => match config.trunk {
                TrunkConfig::Mlp { hidden, dropout } => {
                    (vec![("hidden", hidden), ("upper", config.upper)], dropout)
                }
                TrunkConfig::Linear | TrunkConfig::Identity => (vec![("upper", config.upper)], 0.0),
            },
            SplitConfig::Linear => (Vec::new(), 0.0),
            SplitConfig::Mlp(config) => (vec![("hidden", config.hidden)], config.dropout),
            SplitConfig::CrossAttention(config) => {
                let sizes = [
                    ("heads", config.heads),
                    ("head_width", config.head_width),
                    ("level_embeddings", config.level_embeddings),
                ];
                (sizes.to_vec(), config.dropout)
            }
        };
        if let Some((name, size)) =
            sizes.into_iter().chain([("width", self.width)]).find(|(_, size)| *size == 0)
        {
            return Err(format!("`{name}` is {size}, but must be at least 1"));
        }
        if !(0.0..1.0).contains(&dropout) {
            return Err(format!("`dropout` is {dropout}, but must be at least 0 and below 1"));
        }
        if let Some(planted) = self.planted() {
            for (name, number) in [("deviation", planted.deviation), ("growth", planted.growth)] {
                if !(number.is_finite() && number > 0.0) {
                    return Err(format!("`{name}` is {number}, but must be finite and above 0"));
                }
            }
            if self.propagation != PropagationConfig::Product {
                return Err(
                    "planted splits need product propagation: choose another split function".to_owned()
                );
            }
            if self.temperatures.is_none() {
                return Err("planted splits need `temperatures`".to_owned());
            }
        }
        if let Some(temperatures) = &self.temperatures {
            temperatures.check(self.depth)?;
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

/// Items computed at a time.
const BATCH: usize = 64;
/// Documents that splits are planted in, at most.
const SAMPLE: usize = 20_000;
/// Held-out pairs that calibrate, at most.
const CALIBRATED: usize = 4000;

/// Room for one training step. Reused from step to step.
#[derive(Default)]
pub struct Workspace {
    kept: Kept,
    reached: Reached,
    grad_reach: Vec<f32>,
    grad_logits: Vec<f32>,
    comparison: Comparison,
    cosines: Spaces<Cosines>,
}

/// What one step trains.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// At which levels, each with its weight in the loss; the last is the deepest.
    pub levels: &'a [(Level, f64)],
    /// What comparing temperatures are multiplied with.
    pub softness: f32,
    /// The scale of the losses over cosines of the spaces that splits look at; 0 for none.
    pub cosine: f64,
    /// The seed of dropout; `None` for no dropout.
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
    pub fn fit_scale(&mut self, batch: &Ragged, mask: &Mask, softness: f32, room: &mut Workspace) {
        let learning = self.config.learning();
        let finest = learning.leaf_level();
        let pass = Pass { end: self.config.propagation.scored(finest), dropout: None };
        self.route(batch, pass, (finest, softness), room);
        let Workspace { reached, comparison, .. } = room;
        let best = |level| comparison.best_log_scale(reached, level, mask);
        self.scale.fit(&mut self.params, best, learning);
    }

    /// Whether its directions are planted instead of learned.
    pub fn is_planted(&self) -> bool {
        self.config.planted().is_some()
    }

    /// How the routing reading follows from assignments.
    pub fn routing(&self) -> Routing {
        self.config.temperatures.as_ref().map_or_else(Routing::same, Temperatures::routing)
    }

    /// Plants all directions and cuts in the documents; see `planting.rs`. Trees whose directions are learned stay as they
    /// are.
    ///
    /// # Panics
    /// If the documents are of another width.
    pub fn plant(&mut self, documents: &dyn Embeddings, seed: u64) {
        let Some(PlantedConfig { upper, .. }) = self.config.planted().cloned() else { return };
        let rows = self.sample(documents);
        let documents = Documents::new(self.config.depth, upper, self.config.width, &rows);
        let frame = Frame::plant(&documents, seed);
        self.split.set_frame(&mut self.params, &frame.at_deviation_1(&documents).balance(&documents));
    }

    /// Turns the upper levels and plants the others anew, where the trunk has learned.
    pub(crate) fn turn(&mut self, documents: &dyn Embeddings, seed: u64) {
        let Some(PlantedConfig { upper, .. }) = self.config.planted().cloned() else { return };
        let Some(frame) = self.split.frame(&self.params) else { return };
        let (rows, mut frame) = (
            self.sample(documents),
            frame.at_length_1(first_block(self.config.depth.leaf_level(), upper, self.config.width)),
        );
        let documents = Documents::new(self.config.depth, upper, self.config.width, &rows);
        frame.turn(&documents, seed);
        self.split.set_frame(&mut self.params, &frame.at_deviation_1(&documents).balance(&documents));
    }

    /// Calibrates the routing temperatures on pairs that were not trained on.
    pub fn calibrate(&mut self, queries: &dyn Embeddings, documents: &dyn Embeddings, pairs: &[Pair]) {
        if self.config.temperatures.is_none() {
            return;
        }
        let some = Renumbered::new(&pairs[..pairs.len().min(CALIBRATED)]);
        let queries = self.assign(&Renumbered::gather(queries, &some.queries), |_| ());
        let documents = self.assign(&Renumbered::gather(documents, &some.documents), |_| ());
        let routing = calibration::calibrate(&self.routing(), &queries, &documents, &some.pairs);
        if let Some(temperatures) = &mut self.config.temperatures {
            temperatures.set_routing(routing);
        }
    }

    /// What the splits look at, `[items, width]` of length 1. `None` for trees without trunks.
    pub fn spaces(&self, items: &Ragged) -> Option<Spaces<Vec<f32>>> {
        let (mut room, pass) = (Workspace::default(), Pass { end: Level::ROOT, dropout: None });
        self.split.forward(&self.params, items, pass, &mut room.kept);
        let spaces = self.split.spaces(&room.kept)?;
        Some(Spaces { upper: spaces.upper.to_vec(), lower: spaces.lower.to_vec() })
    }

    /// A sample of documents in the spaces.
    fn sample(&self, documents: &dyn Embeddings) -> Spaces<Vec<f32>> {
        let step = documents.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<usize> = (0..documents.len()).step_by(step).collect();
        let mut rows = Spaces::<Vec<f32>>::default();
        for some in sample.chunks(BATCH).map(|some| Renumbered::gather(documents, some)) {
            let Spaces { upper, lower } = self.spaces(&some).unwrap_or_default();
            rows.upper.extend(upper);
            rows.lower.extend(lower);
        }
        rows
    }

    /// Sets what was learned to `share` of the way from `start` to `last`. The scales of the loss and planted splits stay those
    /// of `last`.
    pub(crate) fn interpolate(&mut self, start: &Parameters, last: &Parameters, share: f32) {
        let values =
            start.as_slice().iter().zip(last.as_slice()).map(|(start, last)| start + share * (last - start));
        self.params.as_mut_slice().iter_mut().zip(values).for_each(|(value, to)| *value = to);
        self.scale.copy(last, &mut self.params);
        if let Some(frame) = self.split.frame(last) {
            self.split.set_frame(&mut self.params, &frame);
        }
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
        self.route(batch, pass, (deepest, step.softness), room);
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
        let Workspace { kept, reached, grad_reach, grad_logits, cosines, .. } = room;
        let mut grad_spaces = Spaces::<&[f32]>::default();
        if let Some(spaces) = self.split.spaces(kept).filter(|_| step.cosine > 0.0) {
            let Spaces { upper, lower } = cosines;
            let (width, scale, mask) = (self.config.width, step.cosine, step.mask);
            loss += upper.info_nce(spaces.upper, width, scale, mask).loss;
            loss += lower.info_nce(spaces.lower, width, scale, mask).loss;
            grad_spaces = Spaces { upper: upper.grad(), lower: lower.grad() };
        }

        grad_logits.resize(kept.logits.len(), 0.0);
        let back =
            propagation::Backward { params: &self.params, logits: &kept.logits, reached, grad: grad_reach };
        self.propagation.backward(back, grad_logits, grads);
        self.compare(grad_logits, pass.end, step.softness);
        let back =
            split::Backward { params: &self.params, batch, pass, kept, grad: grad_logits, grad_spaces };
        self.split.backward(back, grads);
        loss
    }

    fn route(&self, batch: &Ragged, pass: Pass, (level, softness): (Level, f32), room: &mut Workspace) {
        self.split.forward(&self.params, batch, pass, &mut room.kept);
        self.compare(&mut room.kept.logits, pass.end, softness);
        self.propagation.forward(&self.params, &room.kept.logits, level, &mut room.reached);
    }

    /// Divides logits, or their gradients, by the comparing temperatures times `softness`.
    fn compare(&self, logits: &mut [f32], end: Level, softness: f32) {
        if let Some(temperatures) = &self.config.temperatures {
            temperatures.compare(logits, end.start(), softness);
        }
    }

    /// Routes a batch down to `level` and appends each item's probabilities of that level's nodes to `rows`; each row
    /// sums to 1.
    pub fn represent(&self, batch: &Ragged, level: Level, room: &mut Workspace, rows: &mut Vec<f32>) {
        let pass = Pass { end: self.config.propagation.scored(level), dropout: None };
        self.route(batch, pass, (level, 1.0), room);
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
            self.route(&batch, pass, (leaves, 1.0), &mut room);
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
