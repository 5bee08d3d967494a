//! A set of texts whose embeddings are read from the cache as they are needed.

use super::map::Map;
use retreever_data::{Embeddings, Ragged};
use retreever_kernels::half_precision::widen;
use std::cell::RefCell;
use std::sync::Arc;

/// Embeddings of some texts in a mapped file, every record verified.
#[derive(Clone, Debug)]
pub struct CachedEmbeddings {
    map: Arc<Map>,
    width: usize,
    items: Vec<(usize, usize)>, // where a record starts, and its tokens
}

impl CachedEmbeddings {
    pub(super) fn new(map: Arc<Map>, width: usize, items: Vec<(usize, usize)>) -> Self {
        Self { map, width, items }
    }

    /// The pooled embedding of an item.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn pooled(&self, item: usize) -> Vec<f32> {
        let (start, _) = self.items[item];
        let (numbers, _) = self.map[start..][..4 * self.width].as_chunks::<4>();
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    /// How many tokens an item has.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn tokens(&self, item: usize) -> usize {
        self.items[item].1
    }
}

impl Embeddings for CachedEmbeddings {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn width(&self) -> usize {
        self.width
    }

    fn append_pooled(&self, item: usize, batch: &mut Ragged) {
        let pooled = self.pooled(item);
        batch.push(&pooled, &pooled);
    }

    fn append(&self, item: usize, batch: &mut Ragged) {
        thread_local!(static TOKENS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) });
        let (start, tokens) = self.items[item];
        let bytes = &self.map[start + 4 * self.width..][..2 * self.width * tokens];
        TOKENS.with_borrow_mut(|wide| {
            wide.resize(self.width * tokens, 0.0);
            widen(bytes, wide);
            batch.push(wide, &self.pooled(item));
        });
    }
}
