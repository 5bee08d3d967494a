//! Embeddings on disk: what was encoded once is never encoded again.
//!
//! A cache is a directory per encoder, named by its [fingerprint](crate::Fingerprint), with two files that only
//! grow (see [`record`] for their bytes): `tokens.bin` holds token embeddings in half precision and pooled ones in
//! single; `texts.bin` says which text lies where. A record is written before its entry, so a process that is
//! killed at any point leaves at most bytes that no entry names, and a part of an entry, which the next writer drops.
//!
//! Every record carries a checksum, verified once per process before its numbers are used. A record that fails is
//! encoded again; a damaged entry is as if it had never been written. Either is told to the observer.
//!
//! Any number of processes may read. One at a time writes, holding a lock on the file `lock`; another that finds
//! something missing waits for it, looks again, and encodes only what is missing still.

mod embeddings;
pub(crate) mod map;
mod record;
mod store;

pub use embeddings::CachedEmbeddings;

use crate::{Encoder, EncoderError, Role};
use record::Key;
use retreever_data::Ragged;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::Store;

/// How much text is encoded between two writes: what a kill can cost.
const BATCH_BYTES: usize = 128 * 1024;

/// What an observer of [`EmbeddingCache::embed`] is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedProgress {
    /// Another process is writing to this cache; waiting for it.
    Waiting,
    /// What was kept of so many texts is damaged, and is computed again.
    Damaged {
        /// Records and entries whose checksums are wrong.
        texts: usize,
    },
    /// This many texts of those that were missing are encoded.
    Encoding {
        /// Texts encoded so far.
        texts: usize,
        /// Texts that were missing.
        of: usize,
        /// Tokens in the texts encoded so far.
        tokens: usize,
        /// The share of the missing bytes of text that is encoded, in thousandths: a better clock than texts,
        /// for they are sorted by length.
        permille: u16,
        /// Since the first began.
        elapsed: Duration,
    },
}

/// The embeddings of one encoder on disk.
pub struct EmbeddingCache<'a> {
    encoder: &'a dyn Encoder,
    store: Store,
}

impl<'a> EmbeddingCache<'a> {
    /// Opens the cache of an encoder under `root`, which is made if it is not there.
    pub fn open(root: &Path, encoder: &'a dyn Encoder) -> Result<Self, EncoderError> {
        let dir = root.join(encoder.fingerprint().to_string());
        Ok(Self { encoder, store: Store::open(dir, encoder.width())? })
    }

    /// Where caches are kept unless one says otherwise.
    pub fn default_root() -> PathBuf {
        retreever_fetch::cache_dir().join("embeddings")
    }

    /// How many texts are in the cache.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether nothing is in the cache.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The embeddings of some texts, in order; what is missing is encoded and kept.
    pub fn embed(
        &mut self,
        texts: &[&str],
        role: Role,
        observer: &mut dyn FnMut(EmbedProgress),
    ) -> Result<CachedEmbeddings, EncoderError> {
        let keys: Vec<Key> = texts.iter().map(|text| Key::of(text, role)).collect();
        let mut damaged = self.store.verify(&keys);
        if !self.missing(&keys, texts).is_empty() {
            let _lock = self.store.lock(&mut || observer(EmbedProgress::Waiting))?;
            self.store.refresh()?;
            damaged += self.store.verify(&keys) + self.store.drop_torn_tail()?;
            if damaged > 0 {
                observer(EmbedProgress::Damaged { texts: damaged });
            }
            let missing = self.missing(&keys, texts);
            self.encode(&missing, role, observer)?;
            self.store.refresh()?;
        }
        self.store.embeddings(&keys)
    }

    /// The texts that have no sound record, each once, the longest first.
    fn missing<'t>(&self, keys: &[Key], texts: &[&'t str]) -> Vec<(Key, &'t str)> {
        let mut seen = HashSet::new();
        let mut missing: Vec<(Key, &str)> = keys
            .iter()
            .zip(texts)
            .filter(|(key, _)| !self.store.contains(key) && seen.insert(**key))
            .map(|(&key, &text)| (key, text))
            .collect();
        missing.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
        missing
    }

    fn encode(
        &mut self,
        missing: &[(Key, &str)],
        role: Role,
        observer: &mut dyn FnMut(EmbedProgress),
    ) -> Result<(), EncoderError> {
        let start = std::time::Instant::now();
        // An empty text still costs its special tokens.
        let cost = |text: &str| text.len() + 8;
        let total: usize = missing.iter().map(|(_, text)| cost(text)).sum();
        let mut batch = Ragged::new(self.encoder.width());
        let (mut done, mut tokens, mut paid) = (0, 0, 0);
        while done < missing.len() {
            let mut bytes = 0;
            let fits = |(_, text): &&(Key, &str)| {
                bytes += cost(text);
                bytes <= BATCH_BYTES
            };
            let count = missing[done..].iter().take_while(fits).count().max(1);
            let next = &missing[done..done + count];
            let texts: Vec<&str> = next.iter().map(|(_, text)| *text).collect();
            self.encoder.encode(&texts, role, &mut batch)?;
            self.store.append(next.iter().map(|(key, _)| *key), &batch)?;
            done += count;
            tokens += batch.offsets()[batch.len()];
            paid += texts.iter().map(|text| cost(text)).sum::<usize>();
            observer(EmbedProgress::Encoding {
                texts: done,
                of: missing.len(),
                tokens,
                permille: (paid * 1000 / total) as u16,
                elapsed: start.elapsed(),
            });
        }
        Ok(())
    }
}
