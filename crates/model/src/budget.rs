//! How many steps fit into a time.

use crate::learner::{Learner, Lesson};
use crate::parameters::Parameters;
use crate::recipe::VALIDATIONS;
use crate::schedule::Progress;
use crate::train::{TrainConfig, TrainingSet, VALIDATION};
use crate::validate::Validation;
use crate::{ModelError, Random};
use retreever_data::{Pooled, Ragged};
use std::time::{Duration, Instant};

/// Steps that are timed.
const TIMED: u64 = 6;
/// The share of the time that is left to the optimiser.
const RESERVE: f64 = 0.1;

/// Pairs are gone through so many times at most, in at least so many steps: more is learning them by heart, and the rate
/// must come down before that.
const EPOCHS: usize = 15;
const FEW: usize = 600;

/// How many steps, with `VALIDATIONS` among them, take about `budget` on this machine: at least `TIMED`, and validation
/// is counted with at most half of the time. No more than are worth doing: `EPOCHS`. What is timed changes nothing.
pub fn steps_within(
    budget: Duration,
    learner: &mut dyn Learner,
    set: TrainingSet<'_>,
    config: &TrainConfig,
) -> Result<u64, ModelError> {
    set.check()?;
    let pooled = (Pooled(set.queries), Pooled(set.documents));
    let set = set.read_as(learner.reads(), &pooled);
    let mut batch = Ragged::new(set.queries.width());
    let mut grads = Parameters::zeros(learner.params().layout().clone());
    let size = config.batch.clamp(2, set.train.len());
    let mut random = Random::new(config.seed, 0);
    let mut times = Vec::new();
    learner.prepare(Progress { step: 0, total: TIMED }, set, config.seed);
    for step in 0..TIMED {
        let start = Instant::now();
        let pairs: Vec<_> = (0..size).map(|_| set.train[random.below(set.train.len())]).collect();
        batch.clear();
        pairs.iter().for_each(|pair| set.queries.append(pair.query as usize, &mut batch));
        pairs.iter().for_each(|pair| set.documents.append(pair.document as usize, &mut batch));
        let lesson = Lesson { progress: Progress { step, total: TIMED }, seed: step, mask: &[] };
        learner.learn(&batch, lesson, &mut grads);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let step = times[times.len() / 2].as_secs_f64().max(1e-6);
    let start = Instant::now();
    let validation = Validation::draw(set.dev, set.documents.len(), VALIDATION, config.seed);
    if !validation.is_empty() {
        validation.score(learner, set.queries, set.documents);
    }
    let budget = budget.as_secs_f64();
    let stepping = (budget - VALIDATIONS as f64 * start.elapsed().as_secs_f64()).max(0.5 * budget);
    let worth = (EPOCHS * set.train.len() / size).max(FEW) as u64;
    Ok(((stepping * (1.0 - RESERVE) / step) as u64).clamp(TIMED, worth))
}
