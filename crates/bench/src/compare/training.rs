//! Training within a budget of time: how many steps it is worth, and a checkpoint now and then, so that a comparison
//! that is stopped takes training up where it was.

use super::Event;
use super::piece::Piece;
use super::recipe::Untrained;
use anyhow::{Context, Result};
use retreever_model::{self as model, Checkpoint, Control, End, Recipe, State, TrainingSet, steps_within};
use std::path::Path;
use std::time::{Duration, Instant};

/// One training.
pub(super) struct Training<'a> {
    pub(super) piece: Piece,
    pub(super) set: TrainingSet<'a>,
    /// Whether its held-out pairs validate. The budget is worth as many steps without.
    pub(super) validated: bool,
    pub(super) budget: Duration,
    pub(super) seed: u64,
    pub(super) recipe: Recipe,
    /// Its steps, if the budget does not decide.
    pub(super) steps: Option<u64>,
    /// Where its checkpoint is kept while it lasts.
    pub(super) place: &'a Path,
    /// A text that is the same exactly for trainings that may take it up.
    pub(super) run: String,
}

const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

impl Training<'_> {
    /// Trains what `start` gives, for as many steps as the budget is worth.
    pub(super) fn run(
        &self,
        start: &dyn Fn() -> Untrained,
        observe: &mut dyn FnMut(Event<'_>),
    ) -> Result<Untrained> {
        let checkpoint = Checkpoint::of(self.place);
        let mut model = start();
        let resumed = checkpoint.exists().then(|| {
            let config = checkpoint.config()?;
            Ok::<_, model::ModelError>((checkpoint.load(model.learner(), &self.run)?, config))
        });
        let (mut state, config) = match resumed {
            Some(Ok(resumed)) => resumed,
            // None yet, or one of another run: from the beginning.
            None | Some(Err(_)) => {
                let one = self.recipe.training(1, self.seed);
                let steps = match self.steps {
                    Some(steps) => steps,
                    None => steps_within(self.budget, model.learner(), self.set, &one)?,
                };
                let config = self.recipe.training(steps, self.seed);
                model = start();
                (State::new(model.learner(), &config), config)
            }
        };
        let set = if self.validated { self.set } else { TrainingSet { dev: &[], ..self.set } };
        loop {
            let since = Instant::now();
            let end = model::train(model.learner(), set, &config, &mut state, &mut |event| {
                observe(Event::Training(self.piece, event));
                if since.elapsed() > CHECKPOINT_EVERY { Control::Stop } else { Control::Continue }
            })?;
            match end {
                End::Finished => break,
                End::Interrupted => checkpoint.save(model.learner(), &state, &config, &self.run)?,
            }
        }
        checkpoint.remove().context("cannot remove the checkpoint of a training that is over")?;
        Ok(model)
    }
}
