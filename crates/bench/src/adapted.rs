//! Encoder+MLP: the residual adapter that the tree is measured against, and how it is trained.
//!
//! [`crate::compare`] trains it within the budget of its models, [`trained`] for a fixed number of steps.

use anyhow::Result;
use retreever_data::{Embeddings, Ragged};
use retreever_model::{Adapter, AdapterConfig, Control, Event, Learner, Recipe, State, TrainingSet, train};

/// The steps of [`trained`]: fifteen times through twenty thousand pairs.
pub const STEPS: u64 = 600;
/// Items that are represented at a time.
const BATCH: usize = 64;

/// The recipe of adapters, which share the tree's batches.
pub fn recipe() -> Recipe {
    let mut recipe = Recipe::laptop();
    recipe.rate.peak = 1e-3;
    recipe
}

/// The adapter before its first step.
pub fn mlp(width: usize, seed: u64) -> Adapter {
    Adapter::new(AdapterConfig::Mlp { hidden: 2 * width, dropout: 0.5 }, width, seed)
}

/// The adapter after [`STEPS`] steps.
pub fn trained(set: TrainingSet<'_>, seed: u64, observe: &mut dyn FnMut(Event)) -> Result<Adapter> {
    let mut adapter = mlp(set.documents.width(), seed);
    let config = recipe().training(STEPS, seed);
    let mut state = State::new(&adapter, &config);
    train(&mut adapter, set, &config, &mut state, &mut |event| {
        observe(event);
        Control::Continue
    })?;
    Ok(adapter)
}

/// The rows that a learner makes of these items.
pub fn represent(learner: &mut dyn Learner, items: &dyn Embeddings, numbers: &[usize]) -> Vec<f32> {
    let (mut rows, mut batch) = (Vec::new(), Ragged::new(items.width()));
    for some in numbers.chunks(BATCH) {
        items.gather(some, &mut batch);
        learner.represent(&batch, &mut rows);
    }
    rows
}
