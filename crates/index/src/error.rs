//! What can go wrong with an index, and what to do about it.

use crate::filter::FilterError;
use std::io;
use std::path::{Path, PathBuf};

/// The result of work on an index.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong with an index.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A file does not hold what was written to it.
    #[error("{} is damaged at byte {at}: {what}; restore it from a copy, or build the index again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the damage was noticed.
        at: u64,
        /// What does not fit.
        what: String,
    },
    /// A file of a later (or unknown) format.
    #[error("{} has format {found}, this version reads {known}: use a newer retreever", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The version it claims.
        found: u32,
        /// The version known here.
        known: u32,
    },
    /// An index or a segment of an earlier format.
    #[error(
        "{} was written by an earlier version, which placed documents by another rule: build the index again with `retreever index`",
        .0.display()
    )]
    Outdated(PathBuf),
    /// A routing that does not fit the tree of the index.
    #[error("the routing does not fit the tree: {0}")]
    Routing(String),
    /// There is no index in the directory.
    #[error("there is no index in {}: build one with `retreever index`", .0.display())]
    NotAnIndex(PathBuf),
    /// There is an index in the directory already.
    #[error("there is an index in {} already: choose another directory, or add to that one", .0.display())]
    Exists(PathBuf),
    /// Another writer is at work.
    #[error("another process is writing to {}: wait for it to end, then try again", .0.display())]
    Locked(PathBuf),
    /// Assignments or a query of another tree.
    #[error("the index is of a tree with {expected}, this is of one with {received}: was it trained again?")]
    Tree {
        /// What the index holds.
        expected: String,
        /// What was given.
        received: String,
    },
    /// Documents and assignments do not pair up.
    #[error("{documents} documents but {assignments} assignments")]
    Count {
        /// Documents given.
        documents: usize,
        /// Assignments given.
        assignments: usize,
    },
    /// A document without an id, or with one too long to look up.
    #[error("document {0:?}: an id is 1 to 1000 bytes")]
    Id(String),
    /// A filter that cannot be read.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A level below the leaves.
    #[error("level {level} of a tree whose leaves are level {leaves}")]
    Level {
        /// The level asked for.
        level: usize,
        /// The deepest there is.
        leaves: usize,
    },
    /// The document store failed.
    #[error("the document store in {} failed to {action}: {source}", path.display())]
    Store {
        /// What was tried.
        action: &'static str,
        /// The store.
        path: PathBuf,
        /// Why it failed.
        source: Box<tantivy::TantivyError>,
    },
    /// The writer failed before; what it held is unknown, the index is as it was.
    #[error("this writer failed before and was given up; the index is as it was: open a new writer")]
    GivenUp,
}

impl Error {
    pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, at: u64, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), at, what: what.into() }
    }

    pub(crate) fn store<'a>(
        action: &'static str,
        path: &'a Path,
    ) -> impl Fn(tantivy::TantivyError) -> Self + 'a {
        move |source| Self::Store { action, path: path.to_owned(), source: Box::new(source) }
    }
}
