//! `encoder.json` of a tree: which embeddings it reads.

use crate::{CachedEncoder, Error};
use retreever_encoder::Encoder;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Which embeddings a tree reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EncoderRecord {
    /// Those of a text encoder.
    Text {
        /// What it was called: `minilm`, a name on the hub, a directory.
        name: String,
        /// What decides its numbers.
        fingerprint: String,
        /// The width of an embedding.
        width: usize,
    },
    /// Those of a file.
    Embeddings {
        /// The width of an embedding.
        width: usize,
    },
}

impl EncoderRecord {
    /// The record of a text encoder.
    pub fn text(encoder: &CachedEncoder) -> Self {
        let (fingerprint, width) = (encoder.encoder().fingerprint().to_string(), encoder.encoder().width());
        Self::Text { name: encoder.name().to_owned(), fingerprint, width }
    }

    /// Reads the record of a tree in `directory`.
    pub(crate) fn parse(value: &serde_json::Value, directory: &Path) -> Result<Self, Error> {
        Self::deserialize(value).map_err(|error| Error::EncoderRecord {
            path: directory.join("encoder.json"),
            reason: error.to_string(),
        })
    }

    /// Opens the encoder, fetching it first if need be; nothing for embeddings made elsewhere.
    pub fn open(
        &self,
        progress: &mut dyn FnMut(retreever_fetch::Progress<'_>),
    ) -> Result<Option<CachedEncoder>, Error> {
        match self {
            Self::Embeddings { .. } => Ok(None),
            Self::Text { name, .. } => {
                let encoder = CachedEncoder::open(name, progress)?;
                self.check(encoder.encoder())?;
                Ok(Some(encoder))
            }
        }
    }

    /// Whether an encoder is the one meant.
    pub fn check(&self, encoder: &dyn Encoder) -> Result<(), Error> {
        match self {
            Self::Text { name, fingerprint, .. } if *fingerprint != encoder.fingerprint().to_string() => {
                let short = |hash: &str| hash.chars().take(12).collect::<String>();
                let given = short(&encoder.fingerprint().to_string());
                Err(Error::OtherEncoder { trained: format!("{name} ({})", short(fingerprint)), given })
            }
            _ => Ok(()),
        }
    }
}
