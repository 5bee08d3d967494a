//! A directory to an encoder, whatever kind of model is in it.

use crate::{Encoder, EncoderError, Options, TextEncoder};
use std::path::{Path, PathBuf};

/// Where an ONNX file may be.
pub(crate) const ONNX: [&str; 2] = ["model.onnx", "onnx/model.onnx"];

/// Opens the encoder in a directory as its files say.
///
/// Safetensors of a family that is known are run by [`TextEncoder`]. Without them, or if the family is another, an ONNX
/// file (`model.onnx` or `onnx/model.onnx`) is run by `OnnxEncoder`.
pub fn open(dir: &Path) -> Result<Box<dyn Encoder + Send>, EncoderError> {
    open_with(dir, Options::default())
}

/// As [`open`], with settings of one's own.
pub fn open_with(dir: &Path, options: Options) -> Result<Box<dyn Encoder + Send>, EncoderError> {
    let onnx = onnx_file(dir);
    match onnx {
        Some(file) if !dir.join("model.safetensors").exists() => open_onnx(dir, file, options),
        Some(file) => match TextEncoder::open_with(dir, options) {
            Err(EncoderError::Unsupported { .. }) => open_onnx(dir, file, options),
            opened => Ok(Box::new(opened?)),
        },
        None => Ok(Box::new(TextEncoder::open_with(dir, options)?)),
    }
}

/// The ONNX file of a directory, if it has one.
pub(crate) fn onnx_file(dir: &Path) -> Option<PathBuf> {
    ONNX.iter().map(|name| dir.join(name)).find(|path| path.is_file())
}

#[cfg(feature = "onnx")]
fn open_onnx(dir: &Path, _file: PathBuf, options: Options) -> Result<Box<dyn Encoder + Send>, EncoderError> {
    Ok(Box::new(crate::OnnxEncoder::open_with(dir, options)?))
}

#[cfg(not(feature = "onnx"))]
fn open_onnx(_: &Path, file: PathBuf, _: Options) -> Result<Box<dyn Encoder + Send>, EncoderError> {
    Err(EncoderError::Unsupported {
        path: file,
        what: "an ONNX file in a build without the feature `onnx`".into(),
        known: "build with it, or give a directory with model.safetensors",
    })
}
