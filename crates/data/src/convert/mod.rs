//! Public data sets that a user has on disk, as they are distributed, into the paper's form. One data set a file.
//!
//! Each converter reads the files below a folder and gives a [`Dataset`]: what to train on, a tenth of it held
//! out as dev by a hash of the query's id, and what to test on.

mod class_pairs;
mod grow;
mod hotpotqa;
mod imagenet;
mod nq;
mod records;
mod repliqa;
mod topiocqa;
mod voxceleb2;

use crate::dataset::Dataset;
use crate::error::{Error, Place};
use crate::lines::BadLines;
use std::path::Path;

/// The share of the training queries that is held out as dev.
const DEV: f64 = 0.1;

/// A data set in its public layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Natural Questions: `*train*.jsonl[.gz]` and `*dev*.jsonl[.gz]`, original or simplified.
    Nq,
    /// HotpotQA: `hotpot_train*.json` and `hotpot_dev*.json`.
    HotpotQa,
    /// TopiOCQA: `*train*.json[l]` and `*dev*` or `*valid*`.
    TopiOcqa,
    /// RepLiQA: `repliqa_0` to `repliqa_4`, each `.jsonl`.
    RepliQa,
    /// ImageNet-1k: `train/CLASS/*.JPEG` and `val/CLASS/*.JPEG`.
    ImageNet,
    /// VoxCeleb2: `dev/aac/SPEAKER/VIDEO/*.m4a` and `test/aac/...`.
    VoxCeleb2,
}

/// Reads the files below `from`.
pub fn convert(layout: Layout, from: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    let from = &std::path::absolute(from).map_err(Error::io(from))?;
    let mut dataset = match layout {
        Layout::Nq => nq::convert(from, bad_lines)?,
        Layout::HotpotQa => hotpotqa::convert(from, bad_lines)?,
        Layout::TopiOcqa => topiocqa::convert(from, bad_lines)?,
        Layout::RepliQa => repliqa::convert(from, bad_lines)?,
        Layout::ImageNet => imagenet::convert(from)?,
        Layout::VoxCeleb2 => voxceleb2::convert(from)?,
    };
    if dataset.corpus.is_empty() {
        return Err(Error::Empty { place: Place::file(from), what: "pair of a query and a document" });
    }
    dataset.hold_out_dev(DEV);
    Ok(dataset)
}
