//! The records of the files below a folder: JSON lines, or one JSON list a file; packed (`.gz`) or not.

use super::grow::Grow;
use crate::dataset::{Dataset, Split};
use crate::error::{Error, Place};
use crate::lines::{self, Bad, BadLines, Skipped};
use crate::walk;
use serde::de::DeserializeOwned;
use std::io::BufRead;
use std::path::Path;

/// Where the records come from, and what to do about one that cannot be read.
pub(super) struct Source<'a> {
    pub(super) folder: &'a Path,
    pub(super) bad_lines: BadLines,
    /// The split of a file by its path below the folder, or that it is none of the data set's.
    pub(super) split: fn(&str) -> Option<Split>,
    /// What files there should be, for the error when there is none.
    pub(super) expected: &'static str,
}

/// Gives every record of every file to `take`, which adds it to the data set.
pub(super) fn convert<T: DeserializeOwned>(
    source: &Source<'_>,
    take: impl Fn(&mut Grow, &Split, T) -> Result<(), Bad>,
) -> Result<Dataset, Error> {
    let mut grow = Grow::default();
    let mut found = false;
    for path in walk::files(source.folder)? {
        let name = path.strip_prefix(source.folder).unwrap_or(&path).to_string_lossy();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        let is_json = plain.ends_with(".json") || plain.ends_with(".jsonl");
        let Some(split) = (source.split)(plain).filter(|_| is_json) else { continue };
        found = true;
        let skipped = each(&path, source.bad_lines, |record| take(&mut grow, &split, record))?;
        grow.skipped(skipped);
    }
    if !found {
        let reason = format!("expected {} below this folder", source.expected);
        return Err(Error::malformed(Place::file(source.folder), reason));
    }
    Ok(grow.finish())
}

fn each<T: DeserializeOwned>(
    path: &Path,
    bad_lines: BadLines,
    mut take: impl FnMut(T) -> Result<(), Bad>,
) -> Result<Skipped, Error> {
    let mut file = lines::reader(path)?;
    let first = file.fill_buf().map_err(Error::io(path))?.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'[') {
        return lines::each(path, bad_lines, |line| {
            take(serde_json::from_str(line.text).map_err(|error| Bad::line(error.to_string()))?)
        });
    }
    let records: Vec<T> = serde_json::from_reader(file)
        .map_err(|error| Error::malformed(Place::file(path), error.to_string()))?;
    let mut skipped = Skipped::default();
    for (number, record) in records.into_iter().enumerate() {
        match take(record) {
            Ok(()) => {}
            Err(Bad::Fatal(error)) => return Err(*error),
            Err(Bad::Line(reason)) => {
                let error = Error::malformed(Place::file(path), format!("record {}: {reason}", number + 1));
                skipped.refuse(bad_lines, error)?;
            }
        }
    }
    Ok(skipped)
}
