//! Items, queries, who answers whom, and how a ranking is scored.
#![forbid(unsafe_code)]

pub mod embeddings;
mod error;
mod evaluate;
mod lines;
pub mod metrics;
pub mod pairs;
mod qrels;
mod run;

pub use embeddings::{Embeddings, Ragged};
pub use error::{Duplicate, Error, Part, Place};
pub use evaluate::{AtRanks, Measures, Scores, evaluate};
pub use lines::{BadLines, Skipped};
pub use pairs::Pair;
pub use qrels::Qrels;
pub use run::Run;
