//! Frozen encoders: text to token embeddings, once.
//!
//! [`TextEncoder`] runs a transformer (BERT, RoBERTa, DistilBERT, MPNet) from a directory as the Hugging Face
//! hub lays it out. Batches are packed: no token is ever padded, and the same text gives the same numbers
//! alone and in any batch. What a model's own files say of pooling, normalisation, prompts and lengths is
//! followed.
#![deny(unsafe_code)]

mod cache;
mod config;
mod encoder;
mod error;
mod fingerprint;
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
pub use source::Source;
pub use text::{Options, TextEncoder};
