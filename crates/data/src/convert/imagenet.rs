//! ImageNet-1k: 100 pairs of images a class to train on, and those of the validation images to test on.
//!
//! `train/CLASS/*.JPEG` and `val/CLASS/*.JPEG`, wherever below the folder. Validation images that all lie in one
//! folder, as they are distributed, get their classes from `LOC_val_solution.csv` (`ImageId,PredictionString`).

use super::class_pairs::{Classes, Item, build};
use crate::dataset::{Dataset, Split};
use crate::error::{Error, Place};
use crate::lines::{self, Bad, BadLines};
use crate::walk;
use std::collections::HashMap;
use std::path::Path;

/// Pairs a class.
const M: usize = 100;

pub(super) fn convert(folder: &Path) -> Result<Dataset, Error> {
    let files = walk::files(folder)?;
    let solution = files.iter().find(|path| path.ends_with("LOC_val_solution.csv"));
    let classes_of = solution.map(|path| read_solution(path)).transpose()?.unwrap_or_default();
    let mut classes = Classes::new();
    for path in files {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if !matches!(extension.to_ascii_lowercase().as_str(), "jpeg" | "jpg" | "png") {
            continue;
        }
        let parts = walk::upwards(folder, &path);
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let (split, class) = match parts[..] {
            [_, class, "train", ..] => (Split::Train, class.to_owned()),
            [_, class, "val", ..] => (Split::Test, class.to_owned()),
            [_, "val", ..] => match classes_of.get(stem) {
                Some(class) => (Split::Test, class.clone()),
                None => {
                    let reason =
                        "its class is unknown: put val/CLASS/*.JPEG or LOC_val_solution.csv below the folder";
                    return Err(Error::malformed(Place::file(&path), reason));
                }
            },
            _ => continue,
        };
        let take = path.to_string_lossy().into_owned();
        classes.entry((split, class)).or_default().push(Item { path, take });
    }
    if classes.is_empty() {
        let reason = "expected ImageNet's train/CLASS/*.JPEG and val/CLASS/*.JPEG below this folder";
        return Err(Error::malformed(Place::file(folder), reason));
    }
    build(folder, classes, M)
}

/// `ILSVRC2012_val_00048981,n03995372 85 1 499 272 n03995372 ...`: the first word of the second field is the class.
fn read_solution(path: &Path) -> Result<HashMap<String, String>, Error> {
    let mut classes = HashMap::new();
    lines::each(path, BadLines::Stop, |line| {
        let fields = line
            .text
            .split_once(',')
            .and_then(|(image, rest)| Some((image, rest.split_whitespace().next()?)));
        let (image, class) = fields.ok_or_else(|| Bad::line("expected `image,class x y x y ...`"))?;
        classes.insert(image.to_owned(), class.to_owned());
        Ok(())
    })?;
    Ok(classes)
}
