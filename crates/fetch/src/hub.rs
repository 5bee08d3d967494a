//! Files of a model on the Hugging Face hub, through `hf-hub`: into the cache that all of the hub's clients share
//! (`HF_HOME`), from the mirror that `HF_ENDPOINT` names if it is set.

use crate::error::{FetchError, io};
use crate::fetch::Progress;
use hf_hub::Cache;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use std::fs;
use std::path::{Path, PathBuf};

/// What to fetch of a model.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    /// `ORGANISATION/NAME`.
    pub id: &'a str,
    /// Files that must be there.
    pub required: &'a [&'a str],
    /// Files of which one must be there; the first that is there is fetched.
    pub one_of: &'a [&'a str],
    /// Files that are fetched if they are there.
    pub optional: &'a [&'a str],
}

impl Model<'_> {
    /// Whether this could be a model's name on the hub.
    pub fn is_id(name: &str) -> bool {
        let plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        name.split_once('/').is_some_and(|(organisation, name)| plain(organisation) && plain(name))
    }

    /// The directory that has all required files, if they were fetched before.
    pub fn here(&self) -> Option<PathBuf> {
        let cache = Cache::from_env().model(self.id.to_owned());
        let dir = |file: &&str| root(&cache.get(file)?, file);
        let first = dir(self.required.first()?)?;
        let there = |file: &&str| dir(file).as_ref() == Some(&first);
        (self.required.iter().all(there) && self.one_of.iter().any(there)).then_some(first)
    }

    /// Fetches the files; they then stand in one directory.
    pub fn fetch(&self, observer: &mut dyn FnMut(Progress<'_>)) -> Result<PathBuf, FetchError> {
        let api = ApiBuilder::from_env()
            .with_progress(false)
            .with_retries(3)
            .build()
            .map_err(|error| self.failed(error))?;
        let repo = api.model(self.id.to_owned());
        let info = repo.info().map_err(|error| self.failed(error))?;
        let has = |file: &str| info.siblings.iter().any(|sibling| sibling.rfilename == file);
        if let Some(file) = self.required.iter().find(|file| !has(file)) {
            return Err(FetchError::HubFile { id: self.id.to_owned(), file: (*file).to_owned() });
        }
        let Some(weights) = self.one_of.iter().find(|file| has(file)) else {
            let file = self.one_of.join(" or ");
            return Err(FetchError::HubFile { id: self.id.to_owned(), file });
        };
        // What is too large for one file lies beside it.
        let beside = format!("{weights}_data");
        let files = self.required.iter().chain([weights]).chain(self.optional).copied();
        let files: Vec<&str> = files.chain([beside.as_str()]).filter(|file| has(file)).collect();
        let sizes = files.iter().map(|file| size(&api, &repo, file)).collect::<Result<Vec<_>, _>>();
        let of = sizes.map_err(|error| self.failed(error))?.iter().sum::<u64>();
        let licence = if has("README.md") { self.licence(&repo)? } else { None };
        let (id, version, megabytes) = (self.id, info.sha.get(..8).unwrap_or(&info.sha), of as f64 / 1e6);
        let licence = licence.as_deref().unwrap_or("not stated");
        observer(Progress::Start(&format!(
            "hub model {id} {version} ({megabytes:.1} MB, licence {licence})"
        )));

        let mut bytes = 0;
        let mut dir = None;
        for file in files {
            let progress = Downloading { observer: &mut *observer, bytes: &mut bytes, of };
            let path = repo.download_with_progress(file, progress).map_err(|error| self.failed(error))?;
            dir = root(&path, file);
        }
        observer(Progress::Finished);
        dir.ok_or_else(|| FetchError::Hub { id: self.id.to_owned(), said: "it has no files".into() })
    }

    /// The licence in the first lines of the model's card.
    fn licence(&self, repo: &ApiRepo) -> Result<Option<String>, FetchError> {
        let path = repo.get("README.md").map_err(|error| self.failed(error))?;
        let card = fs::read(&path).map_err(io("read", &path))?;
        let card = String::from_utf8_lossy(&card);
        let licence = card.lines().take(200).find_map(|line| line.strip_prefix("license:"));
        Ok(licence.map(|licence| licence.trim().trim_matches(['"', '\'']).to_owned()))
    }

    fn failed(&self, error: ApiError) -> FetchError {
        match error {
            ApiError::IoError(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                FetchError::NoSpace { path: Cache::from_env().path().clone() }
            }
            other => FetchError::Hub { id: self.id.to_owned(), said: other.to_string() },
        }
    }
}

/// The directory below which `path` is called `file`.
fn root(path: &Path, file: &str) -> Option<PathBuf> {
    path.ancestors().nth(Path::new(file).components().count()).map(PathBuf::from)
}

fn size(api: &Api, repo: &ApiRepo, file: &str) -> Result<u64, ApiError> {
    Ok(api.metadata(&repo.url(file))?.size() as u64)
}

struct Downloading<'a> {
    observer: &'a mut dyn FnMut(Progress<'_>),
    bytes: &'a mut u64,
    of: u64,
}

impl hf_hub::api::Progress for Downloading<'_> {
    fn init(&mut self, _: usize, _: &str) {}

    fn update(&mut self, bytes: usize) {
        *self.bytes += bytes as u64;
        (self.observer)(Progress::Downloading { bytes: (*self.bytes).min(self.of), of: self.of });
    }

    fn finish(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::Model;

    #[test]
    fn ids_are_told_from_paths() {
        assert!(Model::is_id("BAAI/bge-small-en-v1.5"));
        for path in ["bge", "a/b/c", "/etc", "../x", "a/", "./a", "a/..", "a b/c"] {
            assert!(!Model::is_id(path), "{path}");
        }
    }
}
