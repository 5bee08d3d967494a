//! A text encoder from a directory: tokeniser, transformer, pooling.

use crate::config::Config;
use crate::error::io;
use crate::sentence::{PoolPrompt, Sentence};
use crate::tokens::{Tokenised, Tokens};
use crate::transformer::{PREFIXES, Transformer, Workspace};
use crate::weights::Weights;
use crate::{Encoder, EncoderError, Fingerprint, Role};
use rayon::prelude::*;
use retreever_data::Ragged;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// How many tokens run through the layers together, unless a single text has more. Few enough that their
/// activations stay in the cache, enough that reading the weights is worth it.
const CHUNK: usize = 384;

/// What a caller may set beside what the model's files say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The longest input in tokens, special ones included; texts are cut there. Never more than the model has
    /// positions for. Without it, what the model's files say.
    pub longest: Option<usize>,
}

/// A transformer from a directory with `config.json`, `model.safetensors` and `tokenizer.json`.
pub struct TextEncoder {
    tokens: Tokens,
    transformer: Transformer,
    sentence: Sentence,
    fingerprint: Fingerprint,
    longest: usize,
    workspaces: Mutex<Vec<Workspace>>,
}

impl TextEncoder {
    /// Opens an encoder as its files say.
    pub fn open(dir: &Path) -> Result<Self, EncoderError> {
        Self::open_with(dir, Options::default())
    }

    /// Opens an encoder with settings of one's own.
    pub fn open_with(dir: &Path, options: Options) -> Result<Self, EncoderError> {
        let config_path = dir.join("config.json");
        let config = Config::read(&config_path)?;
        let sentence = Sentence::read(dir)?;
        let longest = options.longest.or(sentence.longest).unwrap_or(usize::MAX).min(config.longest());

        let tokenizer_path = dir.join("tokenizer.json");
        let tokenizer = fs::read(&tokenizer_path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => EncoderError::Missing {
                path: tokenizer_path.clone(),
                advice: "save the model's fast tokeniser (transformers: AutoTokenizer, save_pretrained)",
            },
            _ => io("read", &tokenizer_path)(error),
        })?;
        let tokens = Tokens::new(&tokenizer, &tokenizer_path, longest, sentence.lower_case)?;

        let weights = Weights::open(&dir.join("model.safetensors"), &PREFIXES)?;
        let settings = format!("{config:?} {sentence:?} {longest}");
        let (transformer, fingerprint) = rayon::join(
            || Transformer::new(&config, &weights, longest),
            || Fingerprint::of(&[weights.bytes(), &tokenizer, settings.as_bytes()]),
        );
        Ok(Self {
            tokens,
            transformer: transformer?,
            sentence,
            fingerprint,
            longest,
            workspaces: Mutex::default(),
        })
    }

    /// The longest input in tokens; texts are cut there.
    pub fn longest(&self) -> usize {
        self.longest
    }

    fn tokenise(&self, texts: &[&str], role: Role) -> Result<Vec<Tokenised>, EncoderError> {
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

    /// Embeds one chunk: tokens and pooled embeddings, item after item.
    fn forward(&self, items: &[Tokenised]) -> (Vec<f32>, Vec<f32>) {
        let spare = || self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = spare().pop().unwrap_or_default();
        let ids: Vec<&[u32]> = items.iter().map(|item| item.ids.as_slice()).collect();
        let tokens = self.transformer.forward(&ids, &mut workspace).to_vec();
        spare().push(workspace);

        let width = self.width();
        let mut pooled = vec![0.0; items.len() * width];
        let mut start = 0;
        for (item, pooled) in items.iter().zip(pooled.chunks_exact_mut(width)) {
            let end = start + item.ids.len() * width;
            let from = start + item.unpooled.min(item.ids.len()) * width;
            self.sentence.pooling.pool(&tokens[from..end], pooled);
            self.sentence.normalise.apply(pooled);
            start = end;
        }
        (tokens, pooled)
    }
}

impl Encoder for TextEncoder {
    fn width(&self) -> usize {
        self.transformer.width()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn encode(&self, texts: &[&str], role: Role, batch: &mut Ragged) -> Result<(), EncoderError> {
        let items = self.tokenise(texts, role)?;
        let chunks: Vec<&[Tokenised]> = chunks(&items).collect();
        let embedded: Vec<_> = chunks.par_iter().with_max_len(1).map(|chunk| self.forward(chunk)).collect();

        let width = self.width();
        batch.clear();
        for (chunk, (tokens, pooled)) in chunks.iter().zip(&embedded) {
            let mut start = 0;
            for (item, pooled) in chunk.iter().zip(pooled.chunks_exact(width)) {
                let end = start + item.ids.len() * width;
                let tokens = &tokens[start..end];
                if !tokens.iter().chain(pooled).all(|x| x.is_finite()) {
                    return Err(EncoderError::NotFinite { item: batch.len() });
                }
                // A tokeniser without special tokens gives an empty text none: its one token is then zero.
                batch.push(if tokens.is_empty() { pooled } else { tokens }, pooled);
                start = end;
            }
        }
        Ok(())
    }
}

/// Neighbouring items of up to [`CHUNK`] tokens together, a longer one alone.
fn chunks(items: &[Tokenised]) -> impl Iterator<Item = &[Tokenised]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let mut tokens = rest.first()?.ids.len();
        let mut count = 1;
        while let Some(next) = rest.get(count).filter(|next| tokens + next.ids.len() <= CHUNK) {
            tokens += next.ids.len();
            count += 1;
        }
        let (chunk, others) = rest.split_at(count);
        rest = others;
        Some(chunk)
    })
}
