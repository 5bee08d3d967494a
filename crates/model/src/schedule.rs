//! Schedules: what each step trains and how fast, as pure functions of the step and the seed.

use crate::random::Random;
use retreever_tree::{Depth, Level};
use serde::{Deserialize, Serialize};

/// How levels share in something, by their number `l`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// In proportion to `l^2`.
    Square,
    /// In proportion to `l`.
    Linear,
    /// All alike.
    Uniform,
}

impl Weighting {
    /// The share of each level, coarse to fine; they sum to 1.
    pub fn shares(self, depth: Depth) -> Vec<(Level, f64)> {
        let weight = |level: Level| match self {
            Self::Square => (level.get() * level.get()) as f64,
            Self::Linear => level.get() as f64,
            Self::Uniform => 1.0,
        };
        let total: f64 = depth.levels().map(weight).sum();
        depth.levels().map(|level| (level, weight(level) / total)).collect()
    }
}

/// At which levels a step is trained, of those that learn by distances; the leaves are the finest of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Levels {
    /// At the leaves, always.
    Constant,
    /// At one level, drawn anew for each step with these probabilities.
    Stochastic(Weighting),
    /// At one level that goes down the tree, each level for as long as the next.
    LinearCurriculum,
    /// At one level that goes down the tree, each level for half as long as the next.
    ExponentialCurriculum,
    /// At all levels at once, with these weights.
    All(Weighting),
}

/// Where training stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The step, from 0.
    pub step: u64,
    /// How many steps there will be.
    pub total: u64,
}

impl Progress {
    /// The share of training that is over, 0..1.
    pub fn share(self) -> f64 {
        self.step as f64 / self.total.max(1) as f64
    }
}

impl Levels {
    /// The levels of one step with their weights in the loss, coarse to fine.
    pub fn at(self, depth: Depth, progress: Progress, seed: u64) -> Vec<(Level, f64)> {
        let level = match self {
            Self::Constant => depth.leaf_level(),
            Self::Stochastic(weighting) => {
                let mut left = Random::new(seed, progress.step).uniform();
                let shares = weighting.shares(depth);
                let drawn = shares.iter().find(|(_, share)| {
                    left -= share;
                    left < 0.0
                });
                drawn.map_or(depth.leaf_level(), |(level, _)| *level)
            }
            Self::LinearCurriculum => {
                let above = (progress.share() * depth.get() as f64) as usize;
                depth.levels().nth(above).unwrap_or(depth.leaf_level())
            }
            Self::ExponentialCurriculum => {
                let mut left = progress.share() * (depth.nodes() - 1) as f64;
                let mut levels = depth.levels();
                let found = levels.find(|level| {
                    left -= level.width() as f64;
                    left < 0.0
                });
                found.unwrap_or(depth.leaf_level())
            }
            Self::All(weighting) => return weighting.shares(depth),
        };
        vec![(level, 1.0)]
    }
}

/// The learning rate: up in a line, down in a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearningRate {
    /// The highest rate.
    pub peak: f64,
    /// The share of the steps that lead up to it.
    pub warm_up: f64,
}

impl LearningRate {
    /// The rate of one step.
    pub fn at(self, progress: Progress) -> f64 {
        let (step, total) = (progress.step as f64, progress.total as f64);
        let warm = (self.warm_up * total).max(1.0);
        let up = (step + 1.0) / warm;
        let down = (total - step) / (total - warm).max(1.0);
        self.peak * up.min(down).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth() -> Depth {
        Depth::new(10).unwrap()
    }

    #[test]
    fn stochastic_levels_follow_their_shares() {
        for weighting in [Weighting::Square, Weighting::Linear, Weighting::Uniform] {
            let total = 40_000;
            let mut counts = [0u32; 11];
            for step in 0..total {
                let levels = Levels::Stochastic(weighting).at(depth(), Progress { step, total }, 3);
                assert_eq!(levels, Levels::Stochastic(weighting).at(depth(), Progress { step, total }, 3));
                counts[levels[0].0.get()] += 1;
            }
            for (level, share) in weighting.shares(depth()) {
                let drawn = f64::from(counts[level.get()]) / total as f64;
                assert!((drawn - share).abs() < 0.01, "{weighting:?}, level {level}: {drawn} for {share}");
            }
        }
    }

    #[test]
    fn curricula_go_down_once() {
        for levels in [Levels::LinearCurriculum, Levels::ExponentialCurriculum] {
            let total = 2046;
            let path: Vec<usize> =
                (0..total).map(|step| levels.at(depth(), Progress { step, total }, 0)[0].0.get()).collect();
            assert!(path.is_sorted() && path[0] == 1 && path[2045] == 10);
            let last = path.iter().filter(|level| **level == 10).count();
            match levels {
                Levels::LinearCurriculum => assert!((204..=206).contains(&last)),
                _ => assert_eq!(last, 1024),
            }
        }
        assert_eq!(
            Levels::Constant.at(depth(), Progress { step: 0, total: 1 }, 0),
            [(depth().leaf_level(), 1.0)]
        );
        assert_eq!(Levels::All(Weighting::Uniform).at(depth(), Progress { step: 0, total: 1 }, 0).len(), 10);
    }

    #[test]
    fn the_rate_rises_and_falls() {
        let rate = LearningRate { peak: 2.0, warm_up: 0.05 };
        let at = |step| rate.at(Progress { step, total: 1000 });
        assert!((at(0) - 0.04).abs() < 1e-9 && (at(49) - 2.0).abs() < 1e-9);
        assert!(at(500) > at(501) && at(999) > 0.0 && at(999) < 0.01);
    }
}
