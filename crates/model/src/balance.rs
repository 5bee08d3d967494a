//! Leaves that hold about as many documents each: after training, the biases of the splits are moved.
//!
//! Two items that are moved alike keep their distance, nearly, as long as logits are small; but the leaf of each of them
//! changes at once. So balance is had at the end, for little, instead of in the loss. Each round counts the documents
//! below both children of every node, by their leaves, and moves the node's bias against the fuller child.

use crate::learner::Reads;
use crate::split::Pass;
use crate::tree::{Tree, Workspace};
use rayon::prelude::*;
use retreever_data::{Embeddings, Pooled, Ragged};
use retreever_kernels::sigmoid;
use retreever_tree::{Assignment, Depth, Nesting};

/// Documents looked at.
const SAMPLE: usize = 20_000;
/// Rounds, and how far a bias moves in one for each factor of e between the children, in deviations of the node's logit.
const ROUNDS: usize = 10;
const STEP: f32 = 0.15;

impl Tree {
    /// Moves the biases until the leaves of `documents` are about evenly used. For a tree that is trained; one
    /// whose levels are not nested is left as it is.
    ///
    /// # Panics
    /// If the documents are of another width.
    pub fn balance(&mut self, documents: &dyn Embeddings) {
        if self.config().propagation.nesting() != Nesting::Nested {
            return;
        }
        let depth = self.config().depth;
        let logits = self.sampled_logits(documents);
        if logits.is_empty() {
            return;
        }
        self.shift(&balanced(depth, &logits).shift);
    }

    /// The logits of some of the documents, `[documents, nodes]`.
    fn sampled_logits(&self, documents: &dyn Embeddings) -> Vec<f32> {
        let pooled = Pooled(documents);
        let documents = match self.config().split.reads() {
            Reads::Tokens => documents,
            Reads::Pooled => &pooled,
        };
        let every = documents.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<usize> = (0..documents.len()).step_by(every).collect();
        let (mut room, mut batch) = (Workspace::default(), Ragged::new(self.config().width));
        let mut logits = Vec::new();
        let pass = Pass { end: self.config().depth.leaf_level(), dropout: None };
        for some in sample.chunks(64) {
            documents.gather(some, &mut batch);
            self.score(&batch, pass, &mut room);
            logits.extend_from_slice(room.logits());
        }
        logits
    }
}

/// Items spread about evenly.
pub(crate) struct Balanced {
    /// What is added to each node's logit.
    pub(crate) shift: Vec<f32>,
    /// The leaf of each item then.
    pub(crate) leaves: Vec<usize>,
}

/// How logits, `[items, nodes]`, are to be moved so that leaves are about evenly used.
pub(crate) fn balanced(depth: Depth, logits: &[f32]) -> Balanced {
    let nodes = depth.leaves() - 1;
    let steps: Vec<f32> = deviations(logits, nodes).into_iter().map(|deviation| STEP * deviation).collect();
    let mut shift = vec![0.0f32; nodes];
    let leaves = |shift: &[f32]| -> Vec<usize> {
        let items = logits.par_chunks_exact(nodes);
        items.map_init(Vec::new, |reach, logits| leaf(depth, logits, shift, reach)).collect()
    };
    for _ in 0..ROUNDS {
        // Documents below each node, breadth first, the leaves last.
        let mut below = vec![0.0f32; 2 * nodes + 1];
        leaves(&shift).iter().for_each(|leaf| below[nodes + leaf] += 1.0);
        for node in (0..nodes).rev() {
            let (left, right) = (below[2 * node + 1], below[2 * node + 2]);
            below[node] = left + right;
            shift[node] -= steps[node] * ((left + 1.0) / (right + 1.0)).ln();
        }
    }
    let leaves = leaves(&shift);
    Balanced { shift, leaves }
}

/// The deviation of each node's logits.
fn deviations(logits: &[f32], nodes: usize) -> Vec<f32> {
    let items = (logits.len() / nodes) as f64;
    let (mut sums, mut squares) = (vec![0.0f64; nodes], vec![0.0f64; nodes]);
    for row in logits.chunks_exact(nodes) {
        for ((sum, square), logit) in sums.iter_mut().zip(&mut squares).zip(row) {
            *sum += f64::from(*logit);
            *square += f64::from(logit * logit);
        }
    }
    let deviation =
        |(sum, square): (f64, f64)| (square / items - (sum / items).powi(2)).max(0.0).sqrt() as f32;
    sums.into_iter().zip(squares).map(deviation).collect()
}

/// The leaf of an item with these logits, each moved by `shift`.
fn leaf(depth: Depth, logits: &[f32], shift: &[f32], reach: &mut Vec<f32>) -> usize {
    let nodes = logits.len();
    reach.clear();
    reach.resize(2 * nodes + 1, 1.0);
    for node in 0..nodes {
        let left = sigmoid(logits[node] + shift[node]);
        reach[2 * node + 1] = reach[node] * left;
        reach[2 * node + 2] = reach[node] * (1.0 - left);
    }
    Assignment::new(depth, Nesting::Nested, &reach[nodes..]).leaf().index()
}

#[cfg(test)]
mod tests {
    use crate::{Random, Recipe, Tree};
    use retreever_data::Ragged;
    use retreever_tree::Depth;

    #[test]
    fn leaves_hold_about_as_many_documents_each() {
        let mut random = Random::new(3, 1);
        let mut documents = Ragged::new(8);
        for _ in 0..800 {
            // None of them around the origin, where the splits of an untrained tree are.
            let tokens: Vec<f32> = (0..16).map(|_| 1.0 + random.normal() as f32).collect();
            documents.push(&tokens, &tokens[..8]);
        }
        let mut tree = Tree::new(Recipe::laptop().tree(8, Depth::new(4).unwrap()), 1);
        let fullest = |tree: &Tree| {
            let assignments = tree.assign(&documents, |_| ());
            let mut held = [0; 16];
            for item in 0..800 {
                held[assignments.row(item).leaf().index()] += 1;
            }
            held.into_iter().max().unwrap()
        };
        let before = fullest(&tree);
        tree.balance(&documents);
        let after = fullest(&tree);
        assert!(
            before > 150 && after < 75,
            "{before} documents in the fullest leaf, then {after}, 50 on the mean"
        );
    }
}
