//! Linear splits: `theta_t . x + b_t` on the pooled embedding.

use super::{Backward, Kept, Pass, Scope, Split, uniform};
use crate::dense;
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use retreever_data::Ragged;
use retreever_kernels::gemm::Mat;

/// See the module.
pub struct Linear {
    scope: Scope,
    weight: Tensor, // [nodes, width]
    bias: Tensor,   // [nodes]
}

impl Linear {
    pub(super) fn new(scope: Scope, layout: &mut Layout) -> Self {
        let nodes = scope.end.start();
        Self {
            scope,
            weight: layout.tensor("split.weight", &[nodes, scope.width], Decay::Yes),
            bias: layout.tensor("split.bias", &[nodes], Decay::No),
        }
    }
}

impl Split for Linear {
    fn init(&self, params: &mut Parameters, random: &mut Random) {
        uniform(&mut params[self.weight], 1.0 / (self.scope.width as f64).sqrt(), random);
    }

    fn forward(&self, params: &Parameters, batch: &Ragged, pass: Pass, kept: &mut Kept) {
        let (nodes, width) = (pass.end.start(), self.scope.width);
        kept.logits.resize(batch.len() * nodes, 0.0);
        let (weight, bias) = (&params[self.weight][..nodes * width], &params[self.bias][..nodes]);
        dense::forward(Mat::new(batch.pooled(), batch.len(), width), weight, bias, &mut kept.logits);
    }

    fn backward(&self, step: Backward<'_>, grads: &mut Parameters) {
        let (nodes, width, items) = (step.pass.end.start(), self.scope.width, step.batch.len());
        let x = Mat::new(step.batch.pooled(), items, width);
        dense::par_gemm(Mat::new(step.grad, items, nodes).t(), x, &mut grads[self.weight][..nodes * width]);
        dense::add_columns(step.grad, &mut grads[self.bias][..nodes]);
    }
}
