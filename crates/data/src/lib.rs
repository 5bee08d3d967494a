//! Items, queries, who answers whom, and how a ranking is scored.
#![forbid(unsafe_code)]

mod embeddings;

pub use embeddings::{Embeddings, Ragged};
