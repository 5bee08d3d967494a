//! What a tree is trained on: embeddings of queries and documents, and which belong together.

use crate::{CachedEncoder, EncoderRecord, Error};
use retreever_data::pairs::{self, Bounds};
use retreever_data::{Dataset, Embeddings, Pair, Split, embeddings};
use retreever_encoder::{EmbedProgress, Role};
use retreever_model::TrainingSet;
use retreever_tree::Depth;
use std::path::Path;

/// Embeddings and pairs, ready to train on.
pub struct Material {
    queries: Box<dyn Embeddings>,
    documents: Box<dyn Embeddings>,
    train: Vec<Pair>,
    dev: Vec<Pair>,
    /// Which embeddings they are.
    pub encoder: EncoderRecord,
}

/// How deep a tree of so many documents is, unless one says otherwise: about four leaves for each document, because the
/// leaves are also the numbers that documents are compared by; 6 levels at least, and 10 from a few hundred documents on.
pub fn depth_for(documents: usize) -> Depth {
    let depth = (documents.max(1).next_power_of_two().ilog2() + 2).clamp(6, 10);
    Depth::new(depth as u8).unwrap_or_else(|| unreachable!("6 to 10 are depths"))
}

/// Where embeddings made elsewhere, and their pairs, are.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// Embeddings of the documents.
    pub documents: &'a Path,
    /// Embeddings of the queries.
    pub queries: &'a Path,
    /// Pairs to learn from.
    pub train: &'a Path,
    /// Held-out pairs; without them every tenth query is held out.
    pub dev: Option<&'a Path>,
}

impl Material {
    /// Encodes the queries and documents of a data set, or takes them from the cache.
    pub fn encode(
        dataset: &Dataset,
        encoder: &CachedEncoder,
        observer: &mut dyn FnMut(EmbedProgress),
    ) -> Result<Self, Error> {
        let texts: Vec<_> = dataset.corpus.items().iter().map(|document| document.encoded()).collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let documents = encoder.embed(&texts, Role::Document, observer)?;
        let texts: Vec<&str> = dataset.queries.items().iter().map(|query| &query.text[..]).collect();
        let queries = encoder.embed(&texts, Role::Query, observer)?;
        Ok(Self {
            queries: Box::new(queries),
            documents: Box::new(documents),
            train: dataset.pairs(&Split::Train),
            dev: dataset.pairs(&Split::Dev),
            encoder: EncoderRecord::text(encoder),
        })
    }

    /// Reads embeddings made elsewhere.
    pub fn read(files: Files<'_>) -> Result<Self, Error> {
        let (documents, queries) = (embeddings::open(files.documents)?, embeddings::open(files.queries)?);
        let bounds = Bounds { queries: queries.len(), documents: documents.len() };
        let mut train = pairs::read(files.train, bounds)?;
        let dev = match files.dev {
            Some(path) => pairs::read(path, bounds)?,
            None => {
                let (dev, rest) = train.iter().partition(|pair| pair.query % 10 == 9);
                train = rest;
                dev
            }
        };
        let encoder = EncoderRecord::Embeddings { width: documents.width() };
        Ok(Self { queries: Box::new(queries), documents: Box::new(documents), train, dev, encoder })
    }

    /// As the training loop takes it.
    pub fn set(&self) -> TrainingSet<'_> {
        let Self { queries, documents, train, dev, .. } = self;
        TrainingSet { queries: &**queries, documents: &**documents, train, dev }
    }
}

#[cfg(test)]
mod tests {
    use super::depth_for;

    #[test]
    fn a_tree_is_as_deep_as_there_are_documents_for() {
        let depths = [0, 1, 50, 64, 65, 1000, 27_000, usize::MAX / 2].map(|n| depth_for(n).get());
        assert_eq!(depths, [6, 6, 8, 8, 9, 10, 10, 10]);
    }
}
