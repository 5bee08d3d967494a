//! What can go wrong in making, training, saving and opening a model.

use std::path::{Path, PathBuf};

/// What went wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A tensor of a file does not fit the model.
    #[error("{}: tensor `{name}`: expected {expected}, received {received}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// What the configuration asks for.
        expected: String,
        /// What the file holds.
        received: String,
    },
    /// There is something where a tree should be written.
    #[error("{} exists already: name another --out, or remove it", .0.display())]
    Exists(PathBuf),
    /// There is nothing to resume.
    #[error("{} holds no checkpoint: train without --resume", .0.display())]
    NoCheckpoint(PathBuf),
    /// A checkpoint is of another run.
    #[error("{}: this checkpoint is of another run ({reason}): repeat the same data and options, or train without --resume", path.display())]
    OtherRun {
        /// The checkpoint.
        path: PathBuf,
        /// How it differs.
        reason: String,
    },
    /// The embeddings do not fit the model or each other.
    #[error("embeddings are {received} wide where {expected} are expected ({what})")]
    Width {
        /// Which embeddings.
        what: &'static str,
        /// The width that fits.
        expected: usize,
        /// Their width.
        received: usize,
    },
    /// There are too few pairs to learn from.
    #[error("{received} training pairs are too few: at least 2 are needed")]
    TooFewPairs {
        /// How many there are.
        received: usize,
    },
    /// A pair names an item that is not there.
    #[error("pair {pair} names {what} {number}, but there are only {len}")]
    OutOfRange {
        /// The place of the pair.
        pair: usize,
        /// A query or a document.
        what: &'static str,
        /// Its number.
        number: u32,
        /// How many there are.
        len: usize,
    },
    /// The loss left the numbers.
    #[error("the loss is {loss} at step {step}: lower the learning rate")]
    Diverged {
        /// The step.
        step: u64,
        /// The loss.
        loss: f64,
    },
}

impl ModelError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn malformed(path: &Path, reason: impl ToString) -> Self {
        Self::Malformed { path: path.to_owned(), reason: reason.to_string() }
    }
}
