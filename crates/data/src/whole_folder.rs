//! A folder that appears whole or not at all.

use crate::error::{Error, Place};
use std::fs;
use std::path::{Path, PathBuf};

/// Lets `fill` write into a folder beside `folder`, then renames it. Nothing is left behind when it fails, and a
/// folder that is there already is not touched.
pub(crate) fn write_whole(folder: &Path, fill: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    if folder.exists() {
        let reason = "is there already; remove it or choose another folder";
        return Err(Error::malformed(Place::file(folder), reason));
    }
    let mut part = folder.as_os_str().to_owned();
    part.push(format!(".part-{}", std::process::id()));
    let part = PathBuf::from(part);
    if part.exists() {
        fs::remove_dir_all(&part).map_err(Error::io(&part))?;
    }
    fs::create_dir_all(&part).map_err(Error::io(&part))?;
    let written = fill(&part).and_then(|()| fs::rename(&part, folder).map_err(Error::io(folder)));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_dir_all(&part);
    }
    written
}
