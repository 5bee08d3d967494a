//! Symmetric InfoNCE over negative total variation distance, at one level.
//!
//! `sim(q, c) = -1/2 sum |q - c|`, times the scale `exp(t)`; the loss is the mean over the batch of the cross entropy
//! of each query's own context among all contexts, and of each context's own query among all queries, halved.
//! Pairs known to belong together are never negatives of each other.

use crate::propagation::Reached;
use rayon::prelude::*;
use retreever_kernels::exp;
use retreever_kernels::pairwise_l1::{Rows, par_distances, par_distances_backward};
use retreever_tree::Level;

/// Room for one comparison of queries and contexts.
#[derive(Default)]
pub struct Comparison {
    queries: Vec<f32>,    // [pairs, width]: rows divided by their totals, where there are any
    contexts: Vec<f32>,   // [pairs, width]
    similarity: Vec<f32>, // [pairs, pairs], scaled
    grad: Vec<f32>,
    transposed: Vec<f32>,
    rows: Vec<f32>,
}

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The loss.
    pub loss: f64,
    /// Its gradient with respect to the logarithm of the scale.
    pub grad_log_scale: f64,
}

/// Which pairs of a batch are known to belong together although they are not the same pair: `[pairs, pairs]`.
pub type Mask = [bool];

impl Comparison {
    /// The loss of a batch whose first half are queries and second half their contexts, at `level`; `weight` times
    /// its gradient is added to `grad`, `[items, nodes]`.
    pub fn info_nce(&mut self, reached: &Reached, at: At<'_>, grad: &mut [f32]) -> Outcome {
        let (pairs, width, scale) = (reached.items / 2, at.level.width(), at.log_scale.exp());
        self.compare(reached, at.level, scale);
        let queries = Rows::new(&self.queries, pairs, width, width);
        let contexts = Rows::new(&self.contexts, pairs, width, width);
        let outcome = cross_entropy(&self.similarity, at.mask, pairs, &mut self.grad);

        // From here on `grad` is that of the distances.
        let factor = (-0.5 * scale * at.weight) as f32;
        self.grad.iter_mut().for_each(|g| *g *= factor);
        transpose(&self.grad, pairs, &mut self.transposed);
        self.rows.resize(pairs * width, 0.0);
        par_distances_backward(queries, contexts, &self.grad, &mut self.rows);
        scatter(reached, 0..pairs, at.level, (&self.queries, &self.rows), grad);
        par_distances_backward(contexts, queries, &self.transposed, &mut self.rows);
        scatter(reached, pairs..2 * pairs, at.level, (&self.contexts, &self.rows), grad);
        Outcome { loss: outcome.loss * at.weight, grad_log_scale: outcome.grad_log_scale * at.weight }
    }

    /// Fills `queries`, `contexts` and `similarity`.
    fn compare(&mut self, reached: &Reached, level: Level, scale: f64) {
        let (pairs, width) = (reached.items / 2, level.width());
        gather(reached, 0..pairs, level, &mut self.queries);
        gather(reached, pairs..2 * pairs, level, &mut self.contexts);
        let queries = Rows::new(&self.queries, pairs, width, width);
        let contexts = Rows::new(&self.contexts, pairs, width, width);
        self.similarity.resize(pairs * pairs, 0.0);
        par_distances(queries, contexts, &mut self.similarity);
        self.similarity.iter_mut().for_each(|s| *s *= (-0.5 * scale) as f32);
    }

    /// The logarithm of the scale with which the loss of a batch is least at `level`, within reason. The loss is convex in
    /// the scale, so its slope says on which side of the best one is.
    pub fn best_log_scale(&mut self, reached: &Reached, level: Level, mask: &Mask) -> f64 {
        const HALVINGS: usize = 12;
        self.compare(reached, level, 1.0);
        let (mut low, mut high) = (0.0, 14.0);
        let mut scaled = Vec::new();
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            scaled.clear();
            scaled.extend(self.similarity.iter().map(|s| s * middle.exp() as f32));
            let slope = cross_entropy(&scaled, mask, reached.items / 2, &mut self.grad).grad_log_scale;
            if slope < 0.0 { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }

    /// The scaled similarities of the last comparison, `[pairs, pairs]`.
    pub fn similarity(&self) -> &[f32] {
        &self.similarity
    }
}

/// How a batch is compared.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// At which level.
    pub level: Level,
    /// The logarithm of the scale.
    pub log_scale: f64,
    /// What the loss is multiplied with.
    pub weight: f64,
    /// Which pairs are not negatives; empty for none.
    pub mask: &'a Mask,
}

/// Shares of the cross entropy below this are left out of its gradient, so that the way back can pass them over: most
/// pairs of a large batch are far apart.
const NEGLIGIBLE: f64 = 1e-6;

/// Symmetric cross entropy of scaled similarities with the diagonal, and its gradient with respect to them. The
/// second number of the outcome is the gradient with respect to the logarithm of the scale.
pub(crate) fn cross_entropy(similarity: &[f32], mask: &Mask, pairs: usize, grad: &mut Vec<f32>) -> Outcome {
    let (mut transposed, mut back) = (Vec::new(), Vec::new());
    transpose(similarity, pairs, &mut transposed);
    let masked = |i: usize, j: usize| i != j && mask.get(i * pairs + j).is_some_and(|known| *known);
    let there = one_way(similarity, masked, pairs, grad);
    let back_again = one_way(&transposed, |i, j| masked(j, i), pairs, &mut back);
    transpose(&back, pairs, &mut transposed);
    grad.iter_mut().zip(&transposed).for_each(|(grad, back)| *grad += back);
    Outcome {
        loss: there.loss + back_again.loss,
        grad_log_scale: there.grad_log_scale + back_again.grad_log_scale,
    }
}

/// Half the cross entropy of each row's own pair among all of its row, but the masked.
fn one_way(
    similarity: &[f32],
    masked: impl Fn(usize, usize) -> bool + Sync,
    pairs: usize,
    grad: &mut Vec<f32>,
) -> Outcome {
    let half = 0.5 / pairs as f64;
    grad.resize(pairs * pairs, 0.0);
    let row = |i: usize, similarity: &[f32], grad: &mut [f32]| {
        for j in 0..pairs {
            grad[j] = if masked(i, j) { f32::NEG_INFINITY } else { similarity[j] };
        }
        let max = grad.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut total = 0.0f64;
        for value in grad.iter_mut() {
            *value = exp(*value - max);
            total += f64::from(*value);
        }
        let loss = half * (total.ln() - f64::from(similarity[i] - max));
        // Shares of similarities less the pair's own: that difference is small, and the sum keeps its digits.
        let mut grad_log_scale = 0.0;
        for (value, other) in grad.iter_mut().zip(similarity) {
            let share = f64::from(*value) / total;
            let share = if share < NEGLIGIBLE { 0.0 } else { half * share };
            grad_log_scale += share * f64::from(other - similarity[i]);
            *value = share as f32;
        }
        grad[i] -= half as f32;
        Outcome { loss, grad_log_scale }
    };
    let rows = grad.par_chunks_mut(pairs.max(1)).zip(similarity.par_chunks(pairs.max(1))).enumerate();
    let rows: Vec<Outcome> = rows.map(|(i, (grad, similarity))| row(i, similarity, grad)).collect();
    Outcome {
        loss: rows.iter().map(|row| row.loss).sum(),
        grad_log_scale: rows.iter().map(|row| row.grad_log_scale).sum(),
    }
}

/// Writes the transpose of `[side, side]` numbers, block by block.
fn transpose(from: &[f32], side: usize, to: &mut Vec<f32>) {
    const BLOCK: usize = 16;
    to.resize(side * side, 0.0);
    for (row, col) in (0..side).step_by(BLOCK).flat_map(|r| (0..side).step_by(BLOCK).map(move |c| (r, c))) {
        for i in row..side.min(row + BLOCK) {
            for j in col..side.min(col + BLOCK) {
                to[j * side + i] = from[i * side + j];
            }
        }
    }
}

/// The rows of some items at a level, divided by their totals where there are any.
fn gather(reached: &Reached, items: std::ops::Range<usize>, level: Level, rows: &mut Vec<f32>) {
    let nodes = reached.nodes();
    rows.clear();
    for item in items {
        let row = &reached.reach[item * nodes + level.start()..][..level.width()];
        match total(reached, item, level) {
            Some(total) => rows.extend(row.iter().map(|p| p / total)),
            None => rows.extend_from_slice(row),
        }
    }
}

fn total(reached: &Reached, item: usize, level: Level) -> Option<f32> {
    let levels = reached.totals.len() / reached.items.max(1);
    (levels > 0).then(|| reached.totals[item * levels + level.get()].max(f32::MIN_POSITIVE))
}

/// Adds the gradient of gathered rows to that of `reached.reach`: of `p / sum p` it is `(g - g . p / sum p) / sum p`.
fn scatter(
    reached: &Reached,
    items: std::ops::Range<usize>,
    level: Level,
    (rows, grads): (&[f32], &[f32]),
    out: &mut [f32],
) {
    let (nodes, width) = (reached.nodes(), level.width());
    for ((item, row), grad) in items.zip(rows.chunks_exact(width)).zip(grads.chunks_exact(width)) {
        let out = &mut out[item * nodes + level.start()..][..width];
        let (shift, factor) = match total(reached, item, level) {
            Some(total) => (row.iter().zip(grad).map(|(p, g)| p * g).sum::<f32>(), 1.0 / total),
            None => (0.0, 1.0),
        };
        out.iter_mut().zip(grad).for_each(|(out, g)| *out += (g - shift) * factor);
    }
}
