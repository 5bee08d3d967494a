//! What can go wrong with an encoder, and what to do about it.

use retreever_fetch::FetchError;
use std::io;
use std::path::{Path, PathBuf};

/// Why an encoder cannot be had or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncoderError {
    /// A file that every encoder has is not there.
    #[error("{} is missing: {advice}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What to do.
        advice: &'static str,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file does not say what it should.
    #[error("{} cannot be understood: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The model is of a kind that is not known here.
    #[error("{}: {what} is not supported; {known}", path.display())]
    Unsupported {
        /// The file that says so.
        path: PathBuf,
        /// What it asks for.
        what: String,
        /// What there is.
        known: &'static str,
    },
    /// A text that the tokeniser refuses.
    #[error("text {item} cannot be split into tokens: {reason}")]
    Tokens {
        /// The number of the text in its batch.
        item: usize,
        /// What the tokeniser says.
        reason: String,
    },
    /// A model that computes something that is no number.
    #[error("the embedding of text {item} is not finite: the weights are damaged; fetch the encoder again")]
    NotFinite {
        /// The number of the text in its batch.
        item: usize,
    },
    /// No encoder of this name.
    #[error(
        "no encoder `{name}`: give minilm, mpnet, a directory with config.json, model.safetensors or \
         model.onnx, and tokenizer.json, or a hub id such as ORGANISATION/NAME"
    )]
    NoSuchEncoder {
        /// What was asked for.
        name: String,
    },
    /// It did not arrive.
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

pub(crate) fn io<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> EncoderError + 'a {
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            FetchError::NoSpace { path: path.to_owned() }.into()
        }
        _ => EncoderError::Io { doing, path: path.to_owned(), source },
    }
}
