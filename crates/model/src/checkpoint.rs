//! Where training stands, in one file, so that it can be interrupted and taken up again.

use crate::directory::beside;
use crate::error::ModelError;
use crate::learner::Learner;
use crate::optimizer::AdamW;
use crate::parameters::Parameters;
use crate::train::{Best, State, TrainConfig};
use crate::weights;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A checkpoint's place: beside the directory that training will write in the end.
pub struct Checkpoint {
    path: PathBuf,
}

/// What a checkpoint says about itself.
#[derive(Serialize, Deserialize)]
struct About {
    step: u64,
    stale: u32,
    best: Option<(u64, f64)>,
    config: TrainConfig,
    /// What else the run depends on; see [`Checkpoint::save`].
    run: String,
}

const ABOUT: &str = "checkpoint";

impl Checkpoint {
    /// The checkpoint of the run that will write `out`.
    pub fn of(out: &Path) -> Self {
        Self { path: beside(out, "checkpoint") }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is one.
    pub fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Writes where training stands. `run` is a text that is the same exactly for runs that may take it up: the
    /// model's configuration and a digest of the data.
    pub fn save(
        &self,
        learner: &dyn Learner,
        state: &State,
        config: &TrainConfig,
        run: &str,
    ) -> Result<(), ModelError> {
        let (mean, square) = state.optimiser.moments();
        let mut sets = vec![("params.", learner.params()), ("mean.", mean), ("square.", square)];
        if let Some(best) = &state.best {
            sets.push(("best.", &best.params));
        }
        let best = state.best.as_ref().map(|best| (best.step, best.score));
        let about =
            About { step: state.step, stale: state.stale, best, config: config.clone(), run: run.to_owned() };
        let about =
            serde_json::to_string(&about).map_err(|error| ModelError::malformed(&self.path, error))?;
        weights::write(&self.path, &sets, HashMap::from([(ABOUT.to_owned(), about)]))
    }

    /// The options of the run that was interrupted.
    pub fn config(&self) -> Result<TrainConfig, ModelError> {
        Ok(self.about(&self.read()?)?.config)
    }

    /// Reads where training stood, for the same run.
    pub fn load(&self, learner: &mut dyn Learner, run: &str) -> Result<State, ModelError> {
        let file = self.read()?;
        let about = self.about(&file)?;
        if about.run != run {
            return Err(ModelError::OtherRun {
                path: self.path.clone(),
                reason: difference(&about.run, run),
            });
        }
        file.fill("params.", learner.params_mut())?;
        let zeros = Parameters::zeros(learner.params().layout().clone());
        let (mut mean, mut square) = (zeros.clone(), zeros.clone());
        file.fill("mean.", &mut mean)?;
        file.fill("square.", &mut square)?;
        let best = match about.best {
            Some((step, score)) => {
                let mut params = zeros;
                file.fill("best.", &mut params)?;
                Some(Best { step, share: 1.0, score, params })
            }
            None => None,
        };
        let optimiser = AdamW::restore(about.config.optimiser, about.step, mean, square);
        Ok(State { step: about.step, optimiser, best, stale: about.stale })
    }

    /// Removes it, if it is there.
    pub fn remove(&self) -> Result<(), ModelError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(ModelError::io(&self.path)(error))
            }
            _ => Ok(()),
        }
    }

    fn read(&self) -> Result<weights::File, ModelError> {
        if !self.exists() {
            return Err(ModelError::NoCheckpoint(self.path.clone()));
        }
        weights::File::read(&self.path)
    }

    fn about(&self, file: &weights::File) -> Result<About, ModelError> {
        let about = file.about()?.remove(ABOUT).unwrap_or_default();
        serde_json::from_str(&about).map_err(|error| ModelError::malformed(&self.path, error))
    }
}

/// The first line in which two descriptions differ.
fn difference(then: &str, now: &str) -> String {
    let different = then.lines().zip(now.lines()).find(|(then, now)| then != now);
    different
        .map_or_else(|| "of another length".to_owned(), |(then, now)| format!("`{then}` then, `{now}` now"))
}
