//! Tensors of a safetensors file by name, in single precision whatever they are stored in.

use crate::EncoderError;
use crate::cache::map::Map;
use crate::error::io;
use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A safetensors file.
pub(crate) struct Weights {
    path: PathBuf,
    map: Arc<Map>,
    prefix: &'static str,
}

/// How a number is stored.
#[derive(Clone, Copy, Debug)]
enum Storage {
    F32,
    F16,
    Bf16,
}

impl Storage {
    fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    fn read(self, bytes: &[u8], out: &mut [f32]) {
        match self {
            Self::F32 => {
                for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
                    *out = f32::from_le_bytes(*bytes);
                }
            }
            Self::F16 => {
                for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<2>().0) {
                    *out = f16::from_le_bytes(*bytes).to_f32();
                }
            }
            Self::Bf16 => {
                for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<2>().0) {
                    *out = bf16::from_le_bytes(*bytes).to_f32();
                }
            }
        }
    }
}

impl Weights {
    /// Opens a file whose tensors stand under their own names or after one of these prefixes.
    pub(crate) fn open(path: &Path, prefixes: &[&'static str]) -> Result<Self, EncoderError> {
        let file = File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => EncoderError::Missing {
                path: path.to_owned(),
                advice: "weights are read from model.safetensors only (never from a pickle); save the model as \
                         safetensors, or fetch it again",
            },
            _ => io("open", path)(error),
        })?;
        let map = Arc::new(Map::new(&file).map_err(io("map", path))?);
        let mut weights = Self { path: path.to_owned(), map, prefix: "" };
        let tensors = weights.tensors()?;
        let starts = |prefix: &&&'static str| tensors.names().iter().any(|name| name.starts_with(**prefix));
        weights.prefix = prefixes.iter().find(starts).copied().unwrap_or("");
        Ok(weights)
    }

    /// All bytes, for the fingerprint.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn tensors(&self) -> Result<SafeTensors<'_>, EncoderError> {
        SafeTensors::deserialize(&self.map).map_err(|error| self.bad(error.to_string()))
    }

    fn bad(&self, reason: String) -> EncoderError {
        EncoderError::Malformed { path: self.path.clone(), reason }
    }

    /// Where a tensor of this shape lies.
    fn find(&self, name: &str, shape: &[usize]) -> Result<(Storage, Range<usize>), EncoderError> {
        let tensors = self.tensors()?;
        let full = format!("{}{name}", self.prefix);
        // Models converted from TensorFlow keep that library's names of a normalisation.
        let old =
            full.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
        let tensor = tensors.tensor(&full).or_else(|_| tensors.tensor(&old)).map_err(|_| {
            self.bad(format!("no tensor `{full}`; config.json and weights do not belong together"))
        })?;
        if tensor.shape() != shape {
            let found = tensor.shape();
            return Err(self.bad(format!("`{full}` is {found:?} where config.json says {shape:?}")));
        }
        let storage = match tensor.dtype() {
            Dtype::F32 => Storage::F32,
            Dtype::F16 => Storage::F16,
            Dtype::BF16 => Storage::Bf16,
            other => {
                return Err(self.bad(format!("`{full}` is stored as {other:?}; F32, F16 and BF16 are known")));
            }
        };
        let start = tensor.data().as_ptr() as usize - self.map.as_ptr() as usize;
        Ok((storage, start..start + tensor.data().len()))
    }

    /// The first size of a two-dimensional tensor.
    pub(crate) fn rows(&self, name: &str) -> Result<usize, EncoderError> {
        let full = format!("{}{name}", self.prefix);
        let tensors = self.tensors()?;
        let tensor = tensors.tensor(&full).map_err(|_| self.bad(format!("no tensor `{full}`")))?;
        tensor.shape().first().copied().ok_or_else(|| self.bad(format!("`{full}` is a single number")))
    }

    /// A whole tensor.
    pub(crate) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EncoderError> {
        let (storage, range) = self.find(name, shape)?;
        let mut out = vec![0.0; shape.iter().product()];
        storage.read(&self.map[range], &mut out);
        Ok(out)
    }

    /// A table whose rows are read from the file when they are needed.
    pub(crate) fn table(&self, name: &str, width: usize) -> Result<Table, EncoderError> {
        let rows = self.rows(name)?;
        let (storage, range) = self.find(name, &[rows, width])?;
        Ok(Table { map: Arc::clone(&self.map), storage, start: range.start, rows, width })
    }
}

/// A matrix in a mapped file.
pub(crate) struct Table {
    map: Arc<Map>,
    storage: Storage,
    start: usize,
    rows: usize,
    width: usize,
}

impl Table {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Copies one row.
    ///
    /// # Panics
    /// If there is no such row.
    pub(crate) fn read(&self, row: usize, out: &mut [f32]) {
        assert!(row < self.rows && out.len() == self.width, "row {row} of {}", self.rows);
        let bytes = self.storage.bytes() * self.width;
        self.storage.read(&self.map[self.start + row * bytes..][..bytes], out);
    }
}
