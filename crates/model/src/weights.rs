//! Parameters in a safetensors file: written whole or not at all, checked tensor by tensor when read.

use crate::error::ModelError;
use crate::parameters::Parameters;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes sets of parameters, each under its prefix, and some text about them.
pub(crate) fn write(
    path: &Path,
    sets: &[(&str, &Parameters)],
    about: HashMap<String, String>,
) -> Result<(), ModelError> {
    let mut tensors = Vec::new();
    for (prefix, set) in sets {
        for (entry, values) in set.iter() {
            let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            tensors.push((format!("{prefix}{}", entry.name), entry.shape.clone(), bytes));
        }
    }
    let views: Result<Vec<_>, _> = tensors
        .iter()
        .map(|(name, shape, bytes)| Ok((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?)))
        .collect();
    let views = views.map_err(|error: safetensors::SafeTensorError| ModelError::malformed(path, error))?;
    let bytes =
        safetensors::serialize(views, Some(about)).map_err(|error| ModelError::malformed(path, error))?;
    write_whole(path, &bytes)
}

/// Writes a file so that either the old one or the whole new one is there, whatever happens.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    let partial = path.with_extension("partial");
    let write = || {
        let mut file = fs::File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&partial);
        ModelError::io(path)(error)
    })
}

/// A safetensors file in memory.
pub(crate) struct File {
    path: std::path::PathBuf,
    bytes: Vec<u8>,
}

impl File {
    pub(crate) fn read(path: &Path) -> Result<Self, ModelError> {
        Ok(Self { path: path.to_owned(), bytes: fs::read(path).map_err(ModelError::io(path))? })
    }

    /// The text about the tensors.
    pub(crate) fn about(&self) -> Result<HashMap<String, String>, ModelError> {
        let (_, header) = SafeTensors::read_metadata(&self.bytes)
            .map_err(|error| ModelError::malformed(&self.path, error))?;
        Ok(header.metadata().clone().unwrap_or_default())
    }

    /// Reads the tensors with this prefix into `params`: all of them, of these shapes, and finite.
    pub(crate) fn fill(&self, prefix: &str, params: &mut Parameters) -> Result<(), ModelError> {
        let tensors = SafeTensors::deserialize(&self.bytes)
            .map_err(|error| ModelError::malformed(&self.path, error))?;
        for entry in params.layout().entries().to_vec() {
            let name = format!("{prefix}{}", entry.name);
            let wrong = |received: String| ModelError::Tensor {
                path: self.path.clone(),
                name: name.clone(),
                expected: format!("F32 {:?}", entry.shape),
                received,
            };
            let tensor = tensors.tensor(&name).map_err(|_| wrong("nothing".into()))?;
            if tensor.dtype() != Dtype::F32 || tensor.shape() != entry.shape {
                return Err(wrong(format!("{:?} {:?}", tensor.dtype(), tensor.shape())));
            }
            let out = &mut params.as_mut_slice()[entry.range.clone()];
            for (at, (out, bytes)) in out.iter_mut().zip(tensor.data().as_chunks::<4>().0).enumerate() {
                *out = f32::from_le_bytes(*bytes);
                if !out.is_finite() {
                    return Err(wrong(format!("{out} at {at}")));
                }
            }
        }
        Ok(())
    }
}
