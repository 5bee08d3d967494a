//! Items, queries, who answers whom, and how a ranking is scored.
//!
//! [`open()`] reads a [`Dataset`] from whatever it is kept in; [`embeddings::open`] reads embeddings made
//! elsewhere, and [`pairs::read`] which of them belong together; [`evaluate()`] scores a [`Run`] against
//! [`Qrels`]. [`MadePairs`] are pairs to train on when there are documents alone. How a text becomes embeddings is left to the encoder.
#![forbid(unsafe_code)]

mod collection;
pub mod convert;
mod dataset;
pub mod embeddings;
mod error;
mod evaluate;
pub mod formats;
pub mod get;
mod lines;
mod made_pairs;
pub mod metrics;
mod open;
pub mod pairs;
mod passages;
mod qrels;
mod run;
mod sentences;
mod walk;
mod whole_folder;

pub use collection::{Collection, Corpus, Document, Identified, Queries, Query, Taken};
pub use dataset::{Dataset, Split};
pub use embeddings::{Embeddings, Pooled, Ragged};
pub use error::{Duplicate, Error, Part, Place};
pub use evaluate::{AtRanks, Measures, Scores, evaluate};
pub use lines::{BadLines, Skipped};
pub use made_pairs::{MadePairs, MakeConfig, PairKind};
pub use open::{Kind, kind, open};
pub use pairs::Pair;
pub use qrels::Qrels;
pub use run::Run;
