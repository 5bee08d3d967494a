//! A text encoder from a directory: tokeniser, transformer, pooling.

use crate::config::Config;
use crate::frame::{Frame, push};
use crate::tokens::Tokenised;
use crate::transformer::{PREFIXES, Threads, Transformer, Workspace};
use crate::weights::Weights;
use crate::{Encoder, EncoderError, Fingerprint, Role};
use rayon::prelude::*;
use retreever_data::Ragged;
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
    frame: Frame,
    transformer: Transformer,
    fingerprint: Fingerprint,
    workspaces: Mutex<Vec<Workspace>>,
}

impl TextEncoder {
    /// Opens an encoder as its files say.
    pub fn open(dir: &Path) -> Result<Self, EncoderError> {
        Self::open_with(dir, Options::default())
    }

    /// Opens an encoder with settings of one's own.
    pub fn open_with(dir: &Path, options: Options) -> Result<Self, EncoderError> {
        let config = Config::read(&dir.join("config.json"))?;
        let (frame, tokenizer) = Frame::open(dir, Some(config.longest()), options)?;
        let weights = Weights::open(&dir.join("model.safetensors"), &PREFIXES)?;
        let settings = format!("{config:?} {}", frame.settings());
        let (transformer, fingerprint) = rayon::join(
            || Transformer::new(&config, &weights, frame.longest()),
            || Fingerprint::of(&[weights.bytes(), &tokenizer, settings.as_bytes()]),
        );
        Ok(Self { frame, transformer: transformer?, fingerprint, workspaces: Mutex::default() })
    }

    /// The longest input in tokens; texts are cut there.
    pub fn longest(&self) -> usize {
        self.frame.longest()
    }

    /// Embeds one chunk: tokens and pooled embeddings, item after item.
    fn forward(&self, items: &[Tokenised], threads: Threads) -> (Vec<f32>, Vec<f32>) {
        let spare = || self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = spare().pop().unwrap_or_default();
        let ids: Vec<&[u32]> = items.iter().map(|item| item.ids.as_slice()).collect();
        let tokens = self.transformer.forward(&ids, threads, &mut workspace).to_vec();
        spare().push(workspace);

        let width = self.width();
        let mut pooled = vec![0.0; items.len() * width];
        let mut start = 0;
        for (item, pooled) in items.iter().zip(pooled.chunks_exact_mut(width)) {
            let end = start + item.ids.len() * width;
            self.frame.pool(item, &tokens[start..end], pooled);
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
        let items = self.frame.tokenise(texts, role)?;
        let chunks: Vec<&[Tokenised]> = chunks(&items).collect();
        let threads = if chunks.len() == 1 { Threads::All } else { Threads::This };
        let embedded: Vec<_> =
            chunks.par_iter().with_max_len(1).map(|chunk| self.forward(chunk, threads)).collect();

        let width = self.width();
        batch.clear();
        for (chunk, (tokens, pooled)) in chunks.iter().zip(&embedded) {
            let mut start = 0;
            for (item, pooled) in chunk.iter().zip(pooled.chunks_exact(width)) {
                let end = start + item.ids.len() * width;
                push(&tokens[start..end], pooled, batch)?;
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
