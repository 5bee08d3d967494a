//! A folder of `.txt` and `.md` files, with all folders below it.
//!
//! A file of up to about 250 tokens is one document, and its path below the folder, with `/` on every system, is its
//! id. A longer one is cut into passages, which is as much as an encoder reads; the id of a passage is
//! the path, a colon and the line it starts in, and its title ends with the headings above it. The title of a file is
//! `title:` of its front matter, else the first heading if the file starts with one, else the file's name. Path, folder
//! and section are metadata (`file`, `folder`, `section`). Hidden files and links are left out.

use crate::collection::Document;
use crate::dataset::Dataset;
use crate::error::{Error, Place};
use crate::lines::{BadLines, Skipped};
use crate::passages::{LONGEST, passages};
use crate::walk;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// What joins the headings of a title.
pub(crate) const UNDER: &str = " > ";
/// The metadata field that names the section of a passage.
pub(crate) const SECTION: &str = "section";

/// Reads a folder as a corpus without queries. A file that is empty or not UTF-8 counts as one bad line.
pub fn read(folder: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    let (mut documents, mut skipped) = (Vec::new(), Skipped::default());
    for path in files(folder)? {
        let bytes = fs::read(&path).map_err(Error::io(&path))?;
        match read_file(folder, &path, bytes) {
            Ok(some) => documents.extend(some),
            Err(error) => skipped.refuse(bad_lines, error)?,
        }
    }
    if documents.is_empty() {
        return Err(Error::Empty { place: Place::file(folder), what: ".txt or .md file with words" });
    }
    // Paths are unique, and so are the ids made of them.
    Ok(Dataset { corpus: documents.into_iter().collect(), skipped, ..Dataset::default() })
}

/// Whether there is such a file somewhere below.
pub(crate) fn has_texts(folder: &Path) -> Result<bool, Error> {
    Ok(!files(folder)?.is_empty())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = walk::files(folder)?;
    found.retain(|path| path.extension().is_some_and(|extension| extension == "txt" || extension == "md"));
    Ok(found)
}

/// The documents of one file.
fn read_file(folder: &Path, path: &Path, bytes: Vec<u8>) -> Result<Vec<Document>, Error> {
    let malformed = |reason: &str| Error::malformed(Place::file(path), reason);
    let parts = path.strip_prefix(folder).unwrap_or(path).iter();
    let parts = parts.map(|part| part.to_str().ok_or_else(|| malformed("the name is not UTF-8; rename it")));
    let file = parts.collect::<Result<Vec<_>, _>>()?.join("/");
    let whole = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to() + 1;
        malformed(&format!(
            "invalid UTF-8 at byte {place}; convert it, or leave it out with --skip-bad-lines"
        ))
    })?;
    let (front, text) = front_matter(whole.trim_start_matches('\u{feff}'));
    if text.trim().is_empty() {
        return Err(malformed("the file is empty; remove it, or leave it out with --skip-bad-lines"));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let heading = match path.extension() {
        Some(extension) if extension == "md" => first_heading(text),
        _ => None,
    };
    let title = front.or(heading.map(|(words, _)| words)).unwrap_or(&name);
    let mut metadata = Map::from_iter([("file".to_owned(), Value::from(&*file))]);
    if let Some((folder, _)) = file.rsplit_once('/') {
        metadata.insert("folder".to_owned(), folder.into());
    }
    if text.len() <= LONGEST {
        let text = heading.map_or(text, |(_, rest)| rest).trim().to_owned();
        return Ok(vec![Document { id: file, title: title.to_owned(), text, metadata }]);
    }
    let lines_before = whole[..whole.len() - text.len()].matches('\n').count();
    let passages = passages(text).into_iter().map(|passage| {
        let mut metadata = metadata.clone();
        // A heading that is the title of the file says nothing twice.
        let own = passage.headings.first().is_none_or(|first| *first != title);
        let section = passage.headings[usize::from(!own)..].join(UNDER);
        let title = if section.is_empty() { title.to_owned() } else { [title, &section].join(UNDER) };
        if !section.is_empty() {
            metadata.insert(SECTION.to_owned(), section.into());
        }
        let id = format!("{file}:{}", lines_before + passage.line);
        Document { id, title, text: passage.text.to_owned(), metadata }
    });
    // Two passages of one very long line start in it; all but the first are told apart by a number.
    let mut seen = std::collections::HashMap::new();
    Ok(passages
        .map(|mut document| {
            let before = seen.entry(document.id.clone()).or_insert(0usize);
            *before += 1;
            if *before > 1 {
                document.id = format!("{}.{before}", document.id);
            }
            document
        })
        .collect())
}

/// The heading that a text starts with, and the text after it.
fn first_heading(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let words = first.trim_start_matches('#');
    let is_heading = words.len() < first.len() && words.starts_with(' ');
    is_heading.then(|| (words.trim().trim_end_matches('#').trim_end(), rest))
}

/// The title in the front matter, if there is one, and the text after the front matter.
fn front_matter(text: &str) -> (Option<&str>, &str) {
    let body = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    let Some((front, rest)) = body.and_then(|body| body.split_once("\n---")) else { return (None, text) };
    let title = front.lines().find_map(|line| line.strip_prefix("title:"));
    let title = title.map(|title| title.trim().trim_matches(['"', '\''])).filter(|title| !title.is_empty());
    (title, rest.split_once('\n').map_or("", |(_, rest)| rest))
}
