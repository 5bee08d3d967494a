//! VoxCeleb2: two pairs of recordings a speaker, across videos as far as there are several.
//!
//! `dev/aac/SPEAKER/VIDEO/NUMBER.m4a` to train on and `test/aac/...` to test on, wherever below the folder; `.wav`
//! copies in the same layout are read too, with any name in place of `aac`, or none.

use super::class_pairs::{Classes, Item, build};
use crate::dataset::{Dataset, Split};
use crate::error::{Error, Place};
use crate::walk;
use std::path::Path;

/// Pairs a speaker.
const M: usize = 2;

pub(super) fn convert(folder: &Path) -> Result<Dataset, Error> {
    let mut classes = Classes::new();
    for path in walk::files(folder)? {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if !matches!(extension, "m4a" | "wav" | "flac") {
            continue;
        }
        let parts = walk::upwards(folder, &path);
        let (split, speaker, video) = match parts[..] {
            [_, video, speaker, "dev", ..] | [_, video, speaker, _, "dev", ..] => {
                (Split::Train, speaker, video)
            }
            [_, video, speaker, "test", ..] | [_, video, speaker, _, "test", ..] => {
                (Split::Test, speaker, video)
            }
            _ => continue,
        };
        let (speaker, take) = (speaker.to_owned(), video.to_owned());
        classes.entry((split, speaker)).or_default().push(Item { path, take });
    }
    if classes.is_empty() {
        let reason = "expected VoxCeleb2's dev/aac/SPEAKER/VIDEO/*.m4a and test/aac/... below this folder";
        return Err(Error::malformed(Place::file(folder), reason));
    }
    build(folder, classes, M)
}
