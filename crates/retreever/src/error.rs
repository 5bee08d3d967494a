//! Whatever can go wrong on the way from texts to answers.

use std::path::PathBuf;

/// An error of one of the parts, or of their meeting.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data.
    #[error(transparent)]
    Data(#[from] retreever_data::Error),
    /// The encoder or its cache.
    #[error(transparent)]
    Encoder(#[from] retreever_encoder::EncoderError),
    /// The tree or its training.
    #[error(transparent)]
    Model(#[from] retreever_model::ModelError),
    /// The index.
    #[error(transparent)]
    Index(#[from] retreever_index::Error),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is something where an index should be written.
    #[error("{} exists already: name another --out, or remove it", .0.display())]
    Exists(PathBuf),
    /// A tree says something of its encoder that is not understood.
    #[error("{}: {reason}", path.display())]
    EncoderRecord {
        /// The tree.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The encoder at hand is not the one that the tree was trained on.
    #[error("the tree was trained on encoder {trained}, but {given} is at hand: use that one, or train anew")]
    OtherEncoder {
        /// What the tree was trained on.
        trained: String,
        /// What is at hand.
        given: String,
    },
    /// A text was asked of a tree that reads embeddings made elsewhere.
    #[error("this tree reads embeddings made elsewhere and cannot encode a text: ask with embeddings")]
    NoEncoder,
    /// The labels that were written into an index cannot be read.
    #[error(
        "the labels of the index cannot be used: {0}; `retreever verify` checks the index, `retreever compact` writes them anew"
    )]
    Notes(String),
    /// There are no documents.
    #[error("there are no documents to index")]
    NoDocuments,
    /// Ids and embeddings do not fit.
    #[error("{ids} ids for {embeddings} embeddings")]
    Count {
        /// How many ids there are.
        ids: usize,
        /// How many embeddings.
        embeddings: usize,
    },
}
