//! The scale that similarities are multiplied with in the loss, learned with everything else.
//!
//! Distances are smaller at coarser levels, by how much depends on the data: one scale for all would ask for larger logits at
//! the top, against the other levels. So each level starts with one that fits it.

use crate::parameters::{Decay, Layout, Parameters, Tensor};
use retreever_tree::{Depth, Level};
use serde::{Deserialize, Serialize};

/// Where the scale starts and what bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScaleConfig {
    /// One for all levels.
    Shared {
        /// Where it starts.
        start: f64,
        /// What it never exceeds.
        max: f64,
    },
    /// One for each level, that starts at a multiple of where the loss of the first batch is least.
    Fitted {
        /// Which multiple. With a larger one, the nearest of the wrong documents count for more.
        times: f64,
        /// What none of them exceeds.
        max: f64,
    },
}

impl ScaleConfig {
    /// Whether it can be used, or what is wrong.
    pub(crate) fn check(self) -> Result<(), String> {
        let (start, max) = match self {
            Self::Shared { start, max } => (start, max),
            Self::Fitted { times, max } => (times, max),
        };
        if start > 0.0 && start <= max && max.is_finite() {
            return Ok(());
        }
        Err(format!("the scale starts at {start} and is at most {max}: it must be above 0 and within"))
    }

    fn max(self) -> f64 {
        match self {
            Self::Shared { max, .. } | Self::Fitted { max, .. } => max,
        }
    }
}

/// The scales among a tree's parameters, as logarithms.
pub(crate) struct Scale {
    config: ScaleConfig,
    logs: Tensor, // [1], or [depth]
}

impl Scale {
    pub(crate) fn new(config: ScaleConfig, depth: Depth, layout: &mut Layout) -> Self {
        let scales = match config {
            ScaleConfig::Shared { .. } => 1,
            ScaleConfig::Fitted { .. } => depth.get(),
        };
        Self { config, logs: layout.tensor("log_scale", &[scales], Decay::No) }
    }

    pub(crate) fn init(&self, params: &mut Parameters) {
        if let ScaleConfig::Shared { start, .. } = self.config {
            params[self.logs].fill(start.ln() as f32);
        }
    }

    /// Starts the scale of each level by the logarithm of the best one, which `best` finds, where scales start that way.
    pub(crate) fn fit(&self, params: &mut Parameters, mut best: impl FnMut(Level) -> f64, depth: Depth) {
        if let ScaleConfig::Fitted { times, .. } = self.config {
            depth.levels().for_each(|level| *self.log_mut(params, level) = (best(level) + times.ln()) as f32);
            self.clamp(params);
        }
    }

    /// Copies the scales of one set of parameters to another.
    pub(crate) fn copy(&self, from: &Parameters, to: &mut Parameters) {
        to[self.logs].copy_from_slice(&from[self.logs]);
    }

    /// Keeps the scales within their bounds.
    pub(crate) fn clamp(&self, params: &mut Parameters) {
        let max = self.config.max().ln() as f32;
        params[self.logs].iter_mut().for_each(|log| *log = log.min(max));
    }

    /// The logarithm of the scale at a level.
    pub(crate) fn log(&self, params: &Parameters, level: Level) -> f64 {
        f64::from(params[self.logs][self.place(level)])
    }

    /// The same, or its gradient, to change.
    pub(crate) fn log_mut<'a>(&self, params: &'a mut Parameters, level: Level) -> &'a mut f32 {
        &mut params[self.logs][self.place(level)]
    }

    fn place(&self, level: Level) -> usize {
        match self.config {
            ScaleConfig::Shared { .. } => 0,
            ScaleConfig::Fitted { .. } => level.get() - 1,
        }
    }
}
