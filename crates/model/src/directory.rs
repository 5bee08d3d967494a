//! A tree on disk: a directory that explains itself.
//!
//! | file | holds |
//! |---|---|
//! | `config.json` | what the tree is made of, [`TreeConfig`] |
//! | `model.safetensors` | what it has learned |
//! | `encoder.json` | which embeddings it reads |
//! | `training.json` | data, options, seed, steps and scores of its training |
//!
//! It is written beside its place and renamed into it: there is a whole tree or none.

use crate::error::ModelError;
use crate::tree::{Tree, TreeConfig};
use crate::weights;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

const CONFIG: &str = "config.json";
const MODEL: &str = "model.safetensors";
const ENCODER: &str = "encoder.json";
const TRAINING: &str = "training.json";

/// A tree with what is known about it.
pub struct SavedTree {
    /// The tree.
    pub tree: Tree,
    /// Which embeddings it reads.
    pub encoder: Value,
    /// How it was trained.
    pub training: Value,
}

impl SavedTree {
    /// Writes the directory, which must not be there yet.
    pub fn save(&self, directory: &Path) -> Result<(), ModelError> {
        if directory.exists() {
            return Err(ModelError::Exists(directory.to_owned()));
        }
        let partial = beside(directory, "writing");
        let write = || {
            if partial.exists() {
                fs::remove_dir_all(&partial).map_err(ModelError::io(&partial))?;
            }
            fs::create_dir_all(&partial).map_err(ModelError::io(&partial))?;
            write_json(&partial.join(CONFIG), self.tree.config())?;
            write_json(&partial.join(ENCODER), &self.encoder)?;
            write_json(&partial.join(TRAINING), &self.training)?;
            weights::write(&partial.join(MODEL), &[("", self.tree.params())], HashMap::new())?;
            fs::rename(&partial, directory).map_err(ModelError::io(directory))
        };
        write().inspect_err(|_| {
            let _ = fs::remove_dir_all(&partial);
        })
    }

    /// Opens a directory that [`SavedTree::save`] wrote.
    pub fn open(directory: &Path) -> Result<Self, ModelError> {
        let path = directory.join(CONFIG);
        let config: TreeConfig = read_json(&path)?;
        config.check().map_err(|reason| ModelError::malformed(&path, reason))?;
        let mut tree = Tree::zeros(config);
        weights::File::read(&directory.join(MODEL))?.fill("", tree.params_mut())?;
        let encoder = read_json(&directory.join(ENCODER))?;
        let training = read_json(&directory.join(TRAINING))?;
        Ok(Self { tree, encoder, training })
    }
}

/// `name.suffix` beside `name`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ModelError> {
    let mut text = serde_json::to_string_pretty(value).map_err(|error| ModelError::malformed(path, error))?;
    text.push('\n');
    weights::write_whole(path, text.as_bytes())
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, ModelError> {
    let text = fs::read_to_string(path).map_err(ModelError::io(path))?;
    serde_json::from_str(&text).map_err(|error| ModelError::malformed(path, error))
}
