//! One line a case: what was measured, beside whom, and whether both computed the same thing.

use serde::Serialize;
use std::time::{Duration, Instant};

/// A case of a bench. The ratio is above 1 where ours is better.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The bench, as typed after `retreever-bench`.
    pub bench: &'static str,
    /// The case within it.
    pub case: String,
    /// Who runs beside us.
    pub peer: String,
    /// What is counted; see [`Unit`].
    pub unit: Unit,
    /// Our figure.
    pub ours: f64,
    /// The peer's figure.
    pub theirs: f64,
    /// How many times better ours is.
    pub ratio: f64,
    /// Whether the results were compared in this run and agreed.
    pub checked: bool,
    /// Further figures of the case.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Milliseconds: fewer are better.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Thousand million floating-point operations a second: more are better.
    #[serde(rename = "GFLOP/s")]
    Gflops,
    /// Tokens a second: more are better.
    #[serde(rename = "tokens/s")]
    TokensPerSecond,
    /// Bytes: fewer are better.
    #[serde(rename = "bytes")]
    Bytes,
}

impl Measurement {
    /// A case with its ratio worked out.
    pub fn new(bench: &'static str, case: impl Into<String>, peer: impl Into<String>, unit: Unit) -> Self {
        let (case, peer) = (case.into(), peer.into());
        Self {
            bench,
            case,
            peer,
            unit,
            ours: 0.0,
            theirs: 0.0,
            ratio: 0.0,
            checked: false,
            more: Default::default(),
        }
    }

    /// The two figures.
    pub fn figures(mut self, ours: f64, theirs: f64) -> Self {
        let ratio = match self.unit {
            Unit::Milliseconds | Unit::Bytes => theirs / ours,
            Unit::Gflops | Unit::TokensPerSecond => ours / theirs,
        };
        (self.ours, self.theirs, self.ratio) = (round(ours), round(theirs), round(ratio));
        self
    }

    /// Whether the results agreed in this run.
    pub fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }

    /// A further figure.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.more.insert(name.to_owned(), round(value).into());
        self
    }

    /// Prints the case as one JSON line on standard output.
    pub fn print(&self) {
        println!("{}", serde_json::to_string(self).expect("a measurement is plain data"));
    }
}

fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * digits).round() / digits
}

/// The time of each of `runs` calls.
pub fn times(runs: usize, mut call: impl FnMut()) -> Vec<Duration> {
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed()
        })
        .collect()
}

/// The shortest time, in seconds.
pub fn shortest(times: &[Duration]) -> f64 {
    times.iter().min().map_or(f64::NAN, Duration::as_secs_f64)
}

/// The median time, in seconds.
pub fn median(times: &[Duration]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
}
