//! Text files line by line: numbers for the error messages, and what to do about a bad line.

use crate::error::{Error, Place};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// What to do about a line that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadLines {
    /// Stop with an error that names it.
    #[default]
    Stop,
    /// Leave it out and count it.
    Skip,
}

/// Lines that were left out under [`BadLines::Skip`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub lines: usize,
    /// What was wrong with the first few, as messages that name file and line.
    pub first: Vec<String>,
}

impl Skipped {
    const SHOWN: usize = 5;

    /// Counts a bad line, or refuses it.
    pub(crate) fn refuse(&mut self, bad_lines: BadLines, error: Error) -> Result<(), Error> {
        match bad_lines {
            BadLines::Stop => Err(error),
            BadLines::Skip => {
                self.lines += 1;
                if self.first.len() < Self::SHOWN {
                    self.first.push(error.to_string());
                }
                Ok(())
            }
        }
    }

    /// Adds those of another file.
    pub fn add(&mut self, other: Skipped) {
        self.lines += other.lines;
        self.first.extend(other.first);
        self.first.truncate(Self::SHOWN);
    }
}

/// A line without its end, and its number from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    pub(crate) number: usize,
}

/// The text of a file; one whose name ends in `.gz` is unpacked on the way.
pub(crate) fn reader(path: &Path) -> Result<Box<dyn BufRead>, Error> {
    let file = BufReader::new(File::open(path).map_err(Error::io(path))?);
    Ok(match path.extension() {
        Some(extension) if extension == "gz" => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        _ => Box::new(file),
    })
}

/// Gives every line that is not blank to `take`, which returns what is wrong with it.
///
/// An `Error` from `take` itself (an id seen before) is not a bad line: it always stops.
pub(crate) fn each(
    path: &Path,
    bad_lines: BadLines,
    mut take: impl FnMut(Line<'_>) -> Result<(), Bad>,
) -> Result<Skipped, Error> {
    let mut file = reader(path)?;
    let mut skipped = Skipped::default();
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if file.read_until(b'\n', &mut bytes).map_err(Error::io(path))? == 0 {
            break;
        }
        let place = || Place::line(path, number);
        let result = match std::str::from_utf8(&bytes) {
            Err(error) => {
                Err(Bad::line(format!("invalid UTF-8 at byte {} of the line", error.valid_up_to() + 1)))
            }
            Ok(text) => {
                let text = if number == 1 { text.trim_start_matches('\u{feff}') } else { text };
                let text = text.trim_end_matches(['\n', '\r']);
                if text.trim().is_empty() { Ok(()) } else { take(Line { text, number }) }
            }
        };
        match result {
            Ok(()) => {}
            Err(Bad::Line(reason)) => skipped.refuse(bad_lines, Error::malformed(place(), reason))?,
            Err(Bad::Fatal(error)) => return Err(*error),
        }
    }
    Ok(skipped)
}

/// Why a line was not taken.
pub(crate) enum Bad {
    /// This line cannot be read; the next one may be.
    Line(String),
    /// The file as a whole is not what it should be.
    Fatal(Box<Error>),
}

impl Bad {
    pub(crate) fn line(reason: impl Into<String>) -> Self {
        Self::Line(reason.into())
    }
}

impl From<Error> for Bad {
    fn from(error: Error) -> Self {
        Self::Fatal(Box::new(error))
    }
}
