//! What can be wrong with data, and where: every message names the file and the place in it.

use retreever_fetch::FetchError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// Where in it.
    pub part: Part,
}

/// What part of a file is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The file as a whole.
    Whole,
    /// A line, from 1.
    Line(usize),
    /// A named tensor.
    Tensor(String),
}

impl Place {
    /// The file as a whole.
    pub fn file(path: &Path) -> Self {
        Self { path: path.to_owned(), part: Part::Whole }
    }

    /// A line of it, from 1.
    pub fn line(path: &Path, line: usize) -> Self {
        Self { path: path.to_owned(), part: Part::Line(line) }
    }

    /// A tensor of it.
    pub fn tensor(path: &Path, name: &str) -> Self {
        Self { path: path.to_owned(), part: Part::Tensor(name.to_owned()) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match &self.part {
            Part::Whole => Ok(()),
            Part::Line(line) => write!(f, ", line {line}"),
            Part::Tensor(name) => write!(f, ", tensor `{name}`"),
        }
    }
}

/// Why data could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// The content is not what this kind of file holds.
    #[error("{place}: {reason}")]
    Malformed {
        /// Where.
        place: Place,
        /// What is wrong, and what to do about it.
        reason: String,
    },
    /// An array of another shape.
    #[error("{place}: the shape is {found:?}, expected {expected}")]
    Shape {
        /// The array.
        place: Place,
        /// What it should be.
        expected: String,
        /// What it is.
        found: Vec<usize>,
    },
    /// An array of numbers that cannot be used here.
    #[error("{place}: the numbers are {found}, expected {expected}")]
    Dtype {
        /// The array.
        place: Place,
        /// What they should be.
        expected: &'static str,
        /// What they are.
        found: String,
    },
    /// A file that ends too early, or goes on after its end.
    #[error("{place}: {found} bytes where the header promises {expected}: {}", length_advice(*expected, *found))]
    Length {
        /// The file.
        place: Place,
        /// Bytes that there should be.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// NaN or infinity, in single precision.
    #[error("{place}: row {row}, column {column} is {value}, not a finite f32")]
    NotFinite {
        /// The array.
        place: Place,
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// What is there.
        value: f32,
    },
    /// Offsets that do not cut the tokens into items.
    #[error("{place}: item {item}: {reason}")]
    Offsets {
        /// The offsets.
        place: Place,
        /// The item, from 0.
        item: usize,
        /// What is wrong with its offsets.
        reason: String,
    },
    /// Nothing in it.
    #[error("{place}: there is no {what} in it")]
    Empty {
        /// Where.
        place: Place,
        /// What there should have been.
        what: &'static str,
    },
    /// Too few documents to make pairs from.
    #[error(
        "{found} different documents are too few to make training pairs from, at least {needed} are needed: add \
         documents, or give pairs (queries.jsonl and qrels/train.tsv, or a JSONL file with `query` and `positive`)"
    )]
    TooFewDocuments {
        /// How many there are.
        found: usize,
        /// How many it takes.
        needed: usize,
    },
    /// A package did not arrive.
    #[error("{0}")]
    Fetch(#[source] Box<FetchError>),
    /// The same id twice.
    #[error("{0}")]
    Duplicate(Box<Duplicate>),
}

/// An id that came twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{second}: the id of the {what} `{id}` is taken in {first}; ids must be unique")]
pub struct Duplicate {
    /// What has the id.
    pub what: &'static str,
    /// The id.
    pub id: String,
    /// Where it was first.
    pub first: Place,
    /// Where it came again.
    pub second: Place,
}

fn length_advice(expected: u64, found: u64) -> &'static str {
    if found < expected { "the file is truncated, copy it again" } else { "there is something after its end" }
}

impl From<FetchError> for Error {
    fn from(error: FetchError) -> Self {
        Self::Fetch(Box::new(error))
    }
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn malformed(place: Place, reason: impl Into<String>) -> Self {
        Self::Malformed { place, reason: reason.into() }
    }
}
