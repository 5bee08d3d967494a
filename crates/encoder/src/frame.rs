//! What surrounds a network: texts to tokens before it, pooled embeddings after it.

use crate::error::io;
use crate::sentence::{PoolPrompt, Sentence};
use crate::tokens::{Tokenised, Tokens};
use crate::{EncoderError, Options, Role};
use rayon::prelude::*;
use retreever_data::Ragged;
use std::fs;
use std::path::Path;

/// The longest input of a model that says nowhere how long it may be.
const USUAL: usize = 512;

/// A tokeniser and what the files of sentence-transformers say.
pub(crate) struct Frame {
    tokens: Tokens,
    sentence: Sentence,
    longest: usize,
}

impl Frame {
    /// Reads the files beside a network that has this many positions for tokens, if that is known; also the bytes of
    /// the tokeniser, for the fingerprint.
    pub(crate) fn open(
        dir: &Path,
        positions: Option<usize>,
        options: Options,
    ) -> Result<(Self, Vec<u8>), EncoderError> {
        let sentence = Sentence::read(dir)?;
        let longest = options.longest.or(sentence.longest).or(positions).unwrap_or(USUAL);
        let longest = longest.min(positions.unwrap_or(usize::MAX));
        let path = dir.join("tokenizer.json");
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => EncoderError::Missing {
                path: path.clone(),
                advice: "save the model's fast tokeniser (transformers: AutoTokenizer, save_pretrained)",
            },
            _ => io("read", &path)(error),
        })?;
        let tokens = Tokens::new(&bytes, &path, longest, sentence.lower_case)?;
        Ok((Self { tokens, sentence, longest }, bytes))
    }

    /// The longest input in tokens; texts are cut there.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Everything here that decides numbers, for the fingerprint.
    pub(crate) fn settings(&self) -> String {
        format!("{:?} {}", self.sentence, self.longest)
    }

    /// The tokens of each text.
    pub(crate) fn tokenise(&self, texts: &[&str], role: Role) -> Result<Vec<Tokenised>, EncoderError> {
        let prompt = self.sentence.prompt(role);
        let refused = |item| move |reason| EncoderError::Tokens { item, reason };
        let unpooled = match self.sentence.pool_prompt {
            PoolPrompt::Include => 0,
            PoolPrompt::Exclude => self.tokens.prompt_length(prompt).map_err(refused(0))?,
        };
        let one = |(item, text): (usize, &&str)| {
            Ok(Tokenised { ids: self.tokens.split(prompt, text).map_err(refused(item))?, unpooled })
        };
        texts.par_iter().enumerate().with_min_len(8).map(one).collect()
    }

    /// The pooled embedding of an item from its token embeddings.
    pub(crate) fn pool(&self, item: &Tokenised, tokens: &[f32], pooled: &mut [f32]) {
        let from = item.unpooled.min(item.ids.len()) * pooled.len();
        self.sentence.pooling.pool(&tokens[from..], pooled);
        self.sentence.normalise.apply(pooled);
    }
}

/// Appends an item to a batch, if it is a number throughout.
pub(crate) fn push(tokens: &[f32], pooled: &[f32], batch: &mut Ragged) -> Result<(), EncoderError> {
    if !tokens.iter().chain(pooled).all(|x| x.is_finite()) {
        return Err(EncoderError::NotFinite { item: batch.len() });
    }
    // A tokeniser without special tokens gives an empty text none: its one token is then zero.
    batch.push(if tokens.is_empty() { pooled } else { tokens }, pooled);
    Ok(())
}
