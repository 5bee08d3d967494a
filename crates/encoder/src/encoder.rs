//! The seam between items and embeddings.

use crate::{EncoderError, Fingerprint};
use retreever_data::Ragged;

/// What a text is for. Some models ask for a prompt before the one or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// What someone asks.
    Query,
    /// What may answer.
    Document,
}

/// A frozen model that turns texts into token embeddings and one pooled embedding each.
///
/// The token embeddings are the rows of the model's last hidden state for every token it reads, special tokens
/// included (`[CLS]`, `[SEP]`, and the tokens of a prompt). The pooled embedding is pooled and normalised as the
/// model's own files say. All numbers are finite. The same text in the same role gives the same numbers alone
/// or among others, in any order.
pub trait Encoder: Sync {
    /// The width of an embedding.
    fn width(&self) -> usize;

    /// What decides the numbers: two encoders with the same fingerprint give the same embeddings.
    fn fingerprint(&self) -> Fingerprint;

    /// Replaces the items of `batch` by the embeddings of `texts`, in order.
    fn encode(&self, texts: &[&str], role: Role, batch: &mut Ragged) -> Result<(), EncoderError>;
}
