//! All files below a folder, in an order that does not depend on the file system.

use crate::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// The regular files below a folder in the order of their paths. Hidden ones and links are left out.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let entry = entry.map_err(Error::io(&folder))?;
            let kind = entry.file_type().map_err(Error::io(&folder))?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The names on the way from a file below `folder` up to it, the file's own first.
pub(crate) fn upwards<'p>(folder: &Path, path: &'p Path) -> Vec<&'p str> {
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.iter().rev().filter_map(|name| name.to_str()).collect()
}
