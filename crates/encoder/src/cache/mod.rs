//! Embeddings on disk.

pub(crate) mod map;
