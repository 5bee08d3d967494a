//! The first step: word, position and token type added up and normalised.

use crate::EncoderError;
use crate::config::{Config, Family};
use crate::weights::{Table, Weights};
use retreever_kernels::layer_norm::{LayerNorm, layer_norm};

pub(super) struct Embedding {
    words: Table,
    positions: Vec<f32>, // [positions, width], the token type added
    norm: LayerNorm,
    width: usize,
    first_position: usize,
    /// The token that has the position before the first, in families that count from there.
    padding: Option<u32>,
}

impl Embedding {
    pub(super) fn new(config: &Config, weights: &Weights) -> Result<Self, EncoderError> {
        let width = config.width;
        let words = weights.table("embeddings.word_embeddings.weight", width)?;
        let mut positions =
            weights.tensor("embeddings.position_embeddings.weight", &[config.positions, width])?;
        if matches!(config.family, Family::Bert | Family::Roberta) {
            // A single text is of type 0 throughout.
            let name = "embeddings.token_type_embeddings.weight";
            let types = weights.tensor(name, &[weights.rows(name)?, width])?;
            for row in positions.chunks_exact_mut(width) {
                for (x, token_type) in row.iter_mut().zip(&types) {
                    *x += token_type;
                }
            }
        }
        let norm = LayerNorm {
            gain: weights.tensor("embeddings.LayerNorm.weight", &[width])?,
            shift: weights.tensor("embeddings.LayerNorm.bias", &[width])?,
            epsilon: config.epsilon,
        };
        let first_position = config.first_position();
        let padding = (first_position > 0).then_some(config.padding);
        Ok(Self { words, positions, norm, width, first_position, padding })
    }

    /// How many words the model knows.
    pub(super) fn words(&self) -> usize {
        self.words.rows()
    }

    /// The rows of one item, which is no longer than there are positions.
    pub(super) fn embed(&self, ids: &[u32], out: &mut [f32]) {
        let mut position = self.first_position;
        for (&id, row) in ids.iter().zip(out.chunks_exact_mut(self.width)) {
            // A tokeniser that knows more words than the model: the last row stands for all of those.
            self.words.read((id as usize).min(self.words.rows() - 1), row);
            let at = if Some(id) == self.padding {
                self.first_position - 1
            } else {
                position += 1;
                position - 1
            };
            for (x, position) in row.iter_mut().zip(&self.positions[at * self.width..]) {
                *x += position;
            }
        }
        layer_norm(out, &self.norm);
    }
}
