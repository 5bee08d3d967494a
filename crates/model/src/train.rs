//! The training loop, from the first batch to the best parameters.
//!
//! Everything a step depends on is a pure function of the options, the seed and the step's number, so a run that is
//! interrupted and taken up again ends with the same bits as one that is not (on the same number of threads).

use crate::batches::Batches;
use crate::error::ModelError;
use crate::learner::{Finished, Learner, Lesson, Reads};
use crate::optimizer::{AdamW, AdamWConfig};
use crate::parameters::Parameters;
use crate::random::Random;
use crate::schedule::{LearningRate, Progress};
use crate::validate::{Size, Validation};
use retreever_data::{Embeddings, Pair, Pooled, Ragged};
use serde::{Deserialize, Serialize};

/// The options of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// How many steps.
    pub steps: u64,
    /// Pairs in a batch.
    pub batch: usize,
    /// Size of the groups of nearest neighbours that batches are made of; 1 disables grouping.
    pub neighbours: usize,
    /// What everything random is drawn from.
    pub seed: u64,
    /// The learning rate.
    pub rate: LearningRate,
    /// The optimiser.
    pub optimiser: AdamWConfig,
    /// Steps from one validation to the next.
    pub validate_every: u64,
    /// Stop after so many validations without a new best, if at all.
    pub patience: Option<u32>,
}

/// What is trained on: two sets of items, and which belong together.
#[derive(Clone, Copy)]
pub struct TrainingSet<'a> {
    /// The queries.
    pub queries: &'a dyn Embeddings,
    /// The documents.
    pub documents: &'a dyn Embeddings,
    /// The pairs to learn from.
    pub train: &'a [Pair],
    /// Held-out pairs to validate on; if there are none, the last parameters are the result.
    pub dev: &'a [Pair],
}

/// What is reported while training goes on.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A step is done.
    Step {
        /// The step, from 0, of how many.
        progress: Progress,
        /// Its loss.
        loss: f64,
        /// The scale of the loss.
        scale: f64,
    },
    /// The held-out pairs were scored.
    Validated {
        /// After how many steps.
        step: u64,
        /// nDCG@10, between 0 and 1.
        score: f64,
        /// Whether this is the best so far.
        best: bool,
    },
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop after this step, leaving the state to be taken up again.
    Stop,
}

/// How training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps are done, or validation stopped getting better; the learner holds the best parameters.
    Finished,
    /// The observer said stop; the learner and the state can be taken up again.
    Interrupted,
}

/// Where training stands, but for the parameters themselves.
pub struct State {
    /// How many steps are done.
    pub step: u64,
    /// The optimiser.
    pub optimiser: AdamW,
    /// The best parameters so far.
    pub best: Option<Best>,
    /// How many validations since then.
    pub stale: u32,
}

/// The parameters that validated best; when training is over, the result.
pub struct Best {
    /// After how many steps.
    pub step: u64,
    /// How much of what they had learned is kept.
    pub share: f32,
    /// nDCG@10 of the validation queries.
    pub score: f64,
    /// The parameters.
    pub params: Parameters,
}

impl State {
    /// The state before the first step.
    pub fn new(learner: &dyn Learner, config: &TrainConfig) -> Self {
        Self { step: 0, optimiser: AdamW::new(config.optimiser, learner.params()), best: None, stale: 0 }
    }
}

/// How much is validated on while training goes on.
pub(crate) const VALIDATION: Size = Size { queries: 1500, documents: 4000 };

/// Trains `learner`, from `state` on.
pub fn train(
    learner: &mut dyn Learner,
    set: TrainingSet<'_>,
    config: &TrainConfig,
    state: &mut State,
    observe: &mut dyn FnMut(Event) -> Control,
) -> Result<End, ModelError> {
    set.check()?;
    let pooled = (Pooled(set.queries), Pooled(set.documents));
    let set = set.read_as(learner.reads(), &pooled);
    let mut batches = Batches::new(set, config);
    let validation = Validation::draw(set.dev, set.documents.len(), VALIDATION, config.seed);
    let mut batch = Ragged::new(set.queries.width());
    let mut grads = Parameters::zeros(learner.params().layout().clone());

    while state.step < config.steps {
        let progress = Progress { step: state.step, total: config.steps };
        learner.prepare(progress, set, config.seed);
        let pairs = batches.at(state.step);
        batch.clear();
        pairs.iter().for_each(|pair| set.queries.append(pair.query as usize, &mut batch));
        pairs.iter().for_each(|pair| set.documents.append(pair.document as usize, &mut batch));

        let lesson = Lesson { progress, seed: step_seed(config.seed, state.step), mask: batches.mask() };
        grads.as_mut_slice().fill(0.0);
        let loss = learner.learn(&batch, lesson, &mut grads);
        let rate = config.rate.at(progress);
        let norm = state.optimiser.step(learner.params_mut(), &grads, rate);
        learner.settle();
        if !loss.is_finite() || !norm.is_finite() {
            return Err(ModelError::Diverged { step: state.step, loss });
        }
        state.step += 1;
        let mut control = observe(Event::Step { progress, loss, scale: learner.scale() });

        let due = state.step.is_multiple_of(config.validate_every.max(1)) || state.step == config.steps;
        if due && !validation.is_empty() {
            let score = validation.score(learner, set.queries, set.documents);
            let best = state.best.as_ref().is_none_or(|best| score > best.score);
            if best {
                state.best =
                    Some(Best { step: state.step, share: 1.0, score, params: learner.params().clone() });
                state.stale = 0;
            } else {
                state.stale += 1;
            }
            if observe(Event::Validated { step: state.step, score, best }) == Control::Stop {
                control = Control::Stop;
            }
            if config.patience.is_some_and(|patience| state.stale >= patience) {
                break;
            }
        }
        if control == Control::Stop && state.step < config.steps {
            return Ok(End::Interrupted);
        }
    }
    match learner.finish(set, config.seed) {
        Some(Finished { share, score }) => {
            let params = learner.params().clone();
            state.best = score.map(|score| Best { step: state.step, share, score, params });
        }
        None => {
            if let Some(best) = &state.best {
                learner.params_mut().as_mut_slice().copy_from_slice(best.params.as_slice());
                learner.settle();
            }
        }
    }
    Ok(End::Finished)
}

/// The seed of what is drawn in one step.
fn step_seed(seed: u64, step: u64) -> u64 {
    Random::new(seed ^ 0x5eed, step).bits()
}

impl<'a> TrainingSet<'a> {
    /// The same set with no more of each item than is read; `pooled` are its queries and documents.
    pub(crate) fn read_as(self, reads: Reads, (queries, documents): &'a (Pooled<'a>, Pooled<'a>)) -> Self {
        match reads {
            Reads::Tokens => self,
            Reads::Pooled => Self { queries, documents, ..self },
        }
    }

    /// A digest of the pairs and of how many items there are: another for other data.
    pub fn digest(&self) -> u64 {
        let sizes = [self.queries.len(), self.documents.len(), self.queries.width()].map(|n| n as u64);
        let pairs =
            self.train.iter().chain(self.dev).flat_map(|pair| [pair.query, pair.document]).map(u64::from);
        sizes
            .into_iter()
            .chain(pairs)
            .fold(self.train.len() as u64, |digest, n| Random::new(digest, n).bits())
    }

    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let (expected, received) = (self.queries.width(), self.documents.width());
        if expected != received {
            return Err(ModelError::Width { what: "documents beside queries", expected, received });
        }
        if self.train.len() < 2 {
            return Err(ModelError::TooFewPairs { received: self.train.len() });
        }
        for (pair, Pair { query, document }) in self.train.iter().chain(self.dev).enumerate() {
            for (what, number, len) in
                [("query", *query, self.queries.len()), ("document", *document, self.documents.len())]
            {
                if number as usize >= len {
                    return Err(ModelError::OutOfRange { pair, what, number, len });
                }
            }
        }
        Ok(())
    }
}
