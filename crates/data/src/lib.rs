//! Items, queries, who answers whom, and how a ranking is scored.
#![forbid(unsafe_code)]

mod embeddings;
mod evaluate;
pub mod metrics;
mod qrels;
mod run;

pub use embeddings::{Embeddings, Ragged};
pub use evaluate::{AtRanks, Measures, Scores, evaluate};
pub use qrels::Qrels;
pub use run::Run;
