//! Symmetric InfoNCE over cosines: the loss of adapters, and of what a tree looks through.

use crate::loss::{self, Mask, Outcome};
use retreever_kernels::gemm::{Mat, MatMut, Write, par_gemm_single};

/// Where the scale of such a loss starts, and what it never exceeds.
pub(crate) const SCALE: (f64, f64) = (20.0, 100.0);

/// Room for one comparison of queries and contexts.
#[derive(Default)]
pub(crate) struct Cosines {
    similarity: Vec<f32>, // [pairs, pairs], scaled
    flow: Vec<f32>,       // the gradient of that
    grad: Vec<f32>,       // [items, size]
}

impl Cosines {
    /// The loss of rows of length 1, of which the first half are queries and the second half their contexts.
    pub(crate) fn info_nce(&mut self, unit: &[f32], size: usize, scale: f64, mask: &Mask) -> Outcome {
        let pairs = unit.len() / size / 2;
        let (queries, contexts) = unit.split_at(pairs * size);
        let (queries, contexts) = (Mat::new(queries, pairs, size), Mat::new(contexts, pairs, size));
        self.similarity.resize(pairs * pairs, 0.0);
        par_gemm_single(queries, contexts.t(), MatMut::new(&mut self.similarity, pairs, pairs), Write::Set);
        self.similarity.iter_mut().for_each(|s| *s *= scale as f32);
        let outcome = loss::cross_entropy(&self.similarity, mask, pairs, &mut self.flow);
        self.flow.iter_mut().for_each(|g| *g *= scale as f32);
        self.grad.resize(unit.len(), 0.0);
        let (to_queries, to_contexts) = self.grad.split_at_mut(pairs * size);
        let flow = Mat::new(&self.flow, pairs, pairs);
        par_gemm_single(flow, contexts, MatMut::new(to_queries, pairs, size), Write::Set);
        par_gemm_single(flow.t(), queries, MatMut::new(to_contexts, pairs, size), Write::Set);
        outcome
    }

    /// The gradient of the rows of the last comparison.
    pub(crate) fn grad(&self) -> &[f32] {
        &self.grad
    }
}
