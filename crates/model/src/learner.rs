//! What can be trained by the one loop: a tree, or an adapter of the encoder's embeddings.

use crate::loss::Mask;
use crate::parameters::Parameters;
use crate::schedule::Progress;
use retreever_data::{Embeddings, Ragged};
use retreever_tree::Level;

/// What one step of training sees besides the batch.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// Where training stands.
    pub progress: Progress,
    /// The seed of whatever is drawn in this step.
    pub seed: u64,
    /// Which pairs of the batch are not negatives of each other.
    pub mask: &'a Mask,
}

/// How representations are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Similarity {
    /// Negative total variation distance of probabilities.
    TotalVariation,
    /// Inner product of vectors, which are of length 1.
    Cosine,
}

/// What is read of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// All its tokens.
    Tokens,
    /// Its pooled embedding alone.
    Pooled,
}

/// A part of what is learned.
#[derive(Clone, Debug)]
pub struct Part {
    /// The names of its tensors.
    pub tensors: Vec<String>,
    /// The level that shows best what it is worth; the finest for nothing.
    pub level: Option<Level>,
}

/// Something with parameters and a loss.
pub trait Learner {
    /// What is learned.
    fn params(&self) -> &Parameters;

    /// What is learned, to change. [`Learner::settle`] must be called afterwards.
    fn params_mut(&mut self) -> &mut Parameters;

    /// What it reads of an item; batches need hold no more.
    fn reads(&self) -> Reads;

    /// Brings the parameters back within their bounds.
    fn settle(&mut self);

    /// Where the parameters started, if what was learned may be taken back in part at the end.
    fn start(&self) -> Option<&Parameters> {
        None
    }

    /// What may be taken back by itself, in this order.
    fn parts(&self) -> Vec<Part> {
        Vec::new()
    }

    /// From here on, items are represented at this level; at the finest for nothing.
    fn show(&mut self, level: Option<Level>) {
        let _ = level;
    }

    /// What is done once, when training is over, with a look at all documents.
    fn finish(&mut self, documents: &dyn Embeddings) {
        let _ = documents;
    }

    /// The scale of the loss.
    fn scale(&self) -> f64;

    /// The loss of a batch whose first half are queries and second half their documents; its gradient is added
    /// to `grads`.
    fn learn(&mut self, batch: &Ragged, lesson: Lesson<'_>, grads: &mut Parameters) -> f64;

    /// Appends the representation of each item of a batch to `rows`: the finest, or that of [`Learner::show`].
    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>);

    /// The width of that representation.
    fn width(&self) -> usize;

    /// How it is compared.
    fn similarity(&self) -> Similarity;
}
