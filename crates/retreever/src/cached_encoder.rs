//! An encoder and the place where its embeddings are kept.

use crate::Error;
use retreever_encoder::{CachedEmbeddings, EmbedProgress, EmbeddingCache, Encoder, Role, Source, open};
use std::path::PathBuf;

/// An encoder whose embeddings are kept on disk.
pub struct CachedEncoder {
    name: String,
    encoder: Box<dyn Encoder + Send>,
    root: PathBuf,
}

impl CachedEncoder {
    /// The encoder called `name` (`minilm`, `mpnet`, a name on the hub, a directory), fetched first if need be, with
    /// embeddings kept in the user's cache.
    pub fn open(name: &str, progress: &mut dyn FnMut(retreever_fetch::Progress<'_>)) -> Result<Self, Error> {
        let encoder = open(&Source::parse(name)?.pull(progress)?)?;
        Ok(Self::new(name, encoder, EmbeddingCache::default_root()))
    }

    /// An encoder of one's own, with embeddings kept in `root`.
    pub fn new(name: &str, encoder: Box<dyn Encoder + Send>, root: PathBuf) -> Self {
        Self { name: name.to_owned(), encoder, root }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The encoder itself, for texts that need not be kept.
    pub fn encoder(&self) -> &dyn Encoder {
        &*self.encoder
    }

    /// The embeddings of some texts; what is not in the cache is encoded and kept.
    pub fn embed(
        &self,
        texts: &[&str],
        role: Role,
        observer: &mut dyn FnMut(EmbedProgress),
    ) -> Result<CachedEmbeddings, Error> {
        Ok(EmbeddingCache::open(&self.root, &*self.encoder)?.embed(texts, role, observer)?)
    }
}
