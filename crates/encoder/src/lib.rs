//! Frozen encoders: text to token embeddings, once.
//!
//! [`TextEncoder`] runs a transformer (BERT, RoBERTa, DistilBERT, MPNet) from a directory as the Hugging Face
//! hub lays it out. Batches are packed: no token is ever padded, and the same text gives the same numbers
//! alone and in any batch. What a model's own files say of pooling, normalisation, prompts and lengths is
//! followed. With the feature `onnx`, `OnnxEncoder` runs any other text model from an ONNX file. [`open()`] tells them
//! apart.
#![deny(unsafe_code)]

mod cache;
mod config;
mod encoder;
mod error;
mod fingerprint;
mod frame;
#[cfg(feature = "onnx")]
mod onnx;
mod open;
mod pooling;
mod sentence;
mod source;
mod text;
mod tokens;
mod transformer;
mod weights;

pub use cache::{CachedEmbeddings, EmbedProgress, EmbeddingCache};
pub use encoder::{Encoder, Role};
pub use error::EncoderError;
pub use fingerprint::Fingerprint;
#[cfg(feature = "onnx")]
pub use onnx::OnnxEncoder;
pub use open::{open, open_with};
pub use source::Source;
pub use text::{Options, TextEncoder};
