//! A folder of `.txt` and `.md` files, one document a file, with all folders below it.
//!
//! The id is the path below the folder, with `/` on every system. The title is the first Markdown heading if the
//! file is `.md` and starts with one, else the file's name. Hidden files and links are left out.

use crate::collection::Document;
use crate::dataset::Dataset;
use crate::error::{Error, Place};
use crate::lines::{BadLines, Skipped};
use crate::walk;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads a folder as a corpus without queries. A file that is empty or not UTF-8 counts as one bad line.
pub fn read(folder: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    let (mut documents, mut skipped) = (Vec::new(), Skipped::default());
    for path in files(folder)? {
        let bytes = fs::read(&path).map_err(Error::io(&path))?;
        match document(folder, &path, bytes) {
            Ok(document) => documents.push(document),
            Err(error) => skipped.refuse(bad_lines, error)?,
        }
    }
    if documents.is_empty() {
        return Err(Error::Empty { place: Place::file(folder), what: ".txt or .md file" });
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

fn document(folder: &Path, path: &Path, bytes: Vec<u8>) -> Result<Document, Error> {
    let malformed = |reason: String| Error::malformed(Place::file(path), reason);
    let parts = path.strip_prefix(folder).unwrap_or(path).iter();
    let parts = parts.map(|part| part.to_str().ok_or_else(|| malformed("the name is not UTF-8".into())));
    let id = parts.collect::<Result<Vec<_>, _>>()?.join("/");
    let text = String::from_utf8(bytes).map_err(|error| {
        malformed(format!("invalid UTF-8 at byte {}", error.utf8_error().valid_up_to() + 1))
    })?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(malformed("the file is empty".into()));
    }
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let heading = first.trim_start_matches('#');
    let is_heading =
        path.extension().is_some_and(|e| e == "md") && heading.starts_with(' ') && first != heading;
    let (title, text) = if is_heading {
        (heading.trim().trim_end_matches('#').trim_end().to_owned(), rest.trim().to_owned())
    } else {
        let name = path.file_stem().unwrap_or_default();
        (name.to_string_lossy().into_owned(), text.to_owned())
    };
    Ok(Document { id, title, text, ..Document::default() })
}
