//! What can be trained by the one loop: a tree, or an adapter of the encoder's embeddings.

use crate::loss::Mask;
use crate::parameters::Parameters;
use crate::schedule::Progress;
use crate::train::TrainingSet;
use retreever_data::Ragged;

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

/// What [`Learner::finish`] made of the last parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished {
    /// How much of what was learned is kept, between 0 and 1.
    pub share: f32,
    /// nDCG@10 of the validation queries by what is saved; `None` without held-out pairs.
    pub score: Option<f64>,
}

/// Something with parameters and a loss.
pub trait Learner {
    /// What is learned.
    fn params(&self) -> &Parameters;

    /// What is learned, to change. [`Learner::settle`] must be called afterwards.
    fn params_mut(&mut self) -> &mut Parameters;

    /// What it reads of an item; batches need hold no more.
    fn reads(&self) -> Reads;

    /// What is done before a step, with a look at the whole training set. Depends on these arguments and the parameters alone,
    /// so that an interrupted run can be taken up.
    fn prepare(&mut self, progress: Progress, set: TrainingSet<'_>, seed: u64) {
        let _ = (progress, set, seed);
    }

    /// Brings the parameters back within their bounds.
    fn settle(&mut self);

    /// What is done once, when all steps are done, with a look at the whole training set. `None` where nothing is done and the
    /// best checkpoint is the result.
    fn finish(&mut self, set: TrainingSet<'_>, seed: u64) -> Option<Finished> {
        let _ = (set, seed);
        None
    }

    /// The scale of the loss.
    fn scale(&self) -> f64;

    /// The loss of a batch whose first half are queries and second half their documents; its gradient is added
    /// to `grads`.
    fn learn(&mut self, batch: &Ragged, lesson: Lesson<'_>, grads: &mut Parameters) -> f64;

    /// Appends the representation of each item of a batch to `rows`, as it is validated while training goes on.
    fn represent(&mut self, batch: &Ragged, rows: &mut Vec<f32>);

    /// The width of that representation.
    fn width(&self) -> usize;

    /// How it is compared.
    fn similarity(&self) -> Similarity;
}
