//! Token embeddings of many items: the trait that hides where they are kept, the batches drawn from them, and
//! readers and writers for embeddings made elsewhere (`.npy`, `.safetensors`).
//!
//! How an item becomes embeddings is left to the encoder.

mod array;
mod npy;
mod open;
mod ragged;
mod safetensors;
mod table;

pub use open::{is_named_so, open, save};
pub use ragged::Ragged;
pub use table::Table;

/// Embeddings of a set of items, wherever they are kept: in memory, in a file, in the cache.
///
/// Items are numbered from 0. Every item has at least one token; an item without token embeddings (only a
/// pooled one is known) has that as its one token. All numbers are finite: who implements this has checked.
pub trait Embeddings: Sync {
    /// How many items there are.
    fn len(&self) -> usize;

    /// Whether there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The width of an embedding.
    fn width(&self) -> usize;

    /// Appends item `item` to a batch of the same width.
    ///
    /// # Panics
    /// If there is no such item.
    fn append(&self, item: usize, batch: &mut Ragged);

    /// Appends item `item` with its pooled embedding as its one token, for who reads no others.
    ///
    /// # Panics
    /// If there is no such item.
    fn append_pooled(&self, item: usize, batch: &mut Ragged) {
        let mut one = Ragged::new(self.width());
        self.append(item, &mut one);
        batch.push(one.pooled(), one.pooled());
    }

    /// The items `items` as one batch, in that order.
    fn gather(&self, items: &[usize], batch: &mut Ragged) {
        batch.clear();
        for &item in items {
            self.append(item, batch);
        }
    }
}

/// Items of which only the pooled embeddings are read.
pub struct Pooled<'a>(pub &'a dyn Embeddings);

impl Embeddings for Pooled<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn width(&self) -> usize {
        self.0.width()
    }

    fn append(&self, item: usize, batch: &mut Ragged) {
        self.0.append_pooled(item, batch);
    }
}
