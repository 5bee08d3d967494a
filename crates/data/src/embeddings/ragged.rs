//! Items in memory without padding: the batches that training and assignment draw.

use super::Embeddings;

/// A batch of items without padding: the tokens of item `i` are rows `offsets[i]..offsets[i + 1]`.
///
/// The buffers are reused from batch to batch: clear, then push.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ragged {
    width: usize,
    tokens: Vec<f32>,    // [total tokens, width]
    offsets: Vec<usize>, // [items + 1]
    pooled: Vec<f32>,    // [items, width]
}

impl Ragged {
    /// An empty batch of embeddings of this width.
    pub fn new(width: usize) -> Self {
        Self { width, tokens: Vec::new(), offsets: vec![0], pooled: Vec::new() }
    }

    /// Forgets the items, keeps the memory.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.offsets.truncate(1);
        self.pooled.clear();
    }

    /// Appends an item: its tokens, row after row, and its pooled embedding.
    ///
    /// # Panics
    /// If the lengths do not fit the width, or there is no token.
    pub fn push(&mut self, tokens: &[f32], pooled: &[f32]) {
        assert!(!tokens.is_empty() && tokens.len().is_multiple_of(self.width), "tokens of another width");
        assert_eq!(pooled.len(), self.width, "a pooled embedding of another width");
        self.push_tokens(tokens.iter().copied());
        self.pooled.extend_from_slice(pooled);
        self.offsets.push(self.tokens.len() / self.width);
    }

    /// Appends an item whose tokens are stored in another number format; see [`Ragged::push`].
    ///
    /// # Panics
    /// If the lengths do not fit the width, or there is no token.
    pub fn push_with(&mut self, tokens: impl Iterator<Item = f32>, pooled: &[f32]) {
        let before = self.tokens.len();
        self.push_tokens(tokens);
        let pushed = self.tokens.len() - before;
        assert!(pushed > 0 && pushed.is_multiple_of(self.width), "tokens of another width");
        assert_eq!(pooled.len(), self.width, "a pooled embedding of another width");
        self.pooled.extend_from_slice(pooled);
        self.offsets.push(self.tokens.len() / self.width);
    }

    fn push_tokens(&mut self, tokens: impl Iterator<Item = f32>) {
        self.tokens.extend(tokens);
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The width of an embedding.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All tokens, row after row.
    pub fn tokens(&self) -> &[f32] {
        &self.tokens
    }

    /// Where each item's tokens start, and the end of the last.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The pooled embeddings, `[items, width]`.
    pub fn pooled(&self) -> &[f32] {
        &self.pooled
    }

    /// The tokens of one item.
    pub fn item(&self, item: usize) -> &[f32] {
        &self.tokens[self.offsets[item] * self.width..self.offsets[item + 1] * self.width]
    }
}

/// A batch is itself a set of items.
impl Embeddings for Ragged {
    fn len(&self) -> usize {
        self.len()
    }

    fn width(&self) -> usize {
        self.width
    }

    fn append(&self, item: usize, batch: &mut Ragged) {
        batch.push(self.item(item), &self.pooled[item * self.width..][..self.width]);
    }
}
