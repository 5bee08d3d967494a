//! Planted splits: fixed directions in a space that a trunk learns, `w_t . z + b_t` with `z = unit(x + f(x))`.
//!
//! Directions and cuts are found in the documents ([`crate::planting`]) and are not trained: training changes the space in front
//! of them. They are scaled so that logits have a standard deviation of 1 on the mean of all splits. With `f = 0` this is a tree
//! without any training.

use super::{Backward, Kept as AllKept, Pass, Scope, Split};
use crate::dense;
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::planting::Frame;
use crate::random::Random;
use crate::trunk::{self, Trunk, TrunkConfig};
use retreever_data::Ragged;
use retreever_kernels::gemm::Mat;
use serde::{Deserialize, Serialize};

/// What is in front of the splits, and how they are planted and compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What is made of the pooled embedding before it is split.
    pub trunk: TrunkConfig,
    /// How many levels, from the root on, are trained by the tree's distances and planted within the principal directions.
    /// The levels below are planted when training is over.
    pub upper: usize,
    /// The standard deviation of comparing logits at the last level of splits.
    pub deviation: f64,
    /// How much larger it is on each level than on the one above.
    pub growth: f64,
}

/// What `forward` leaves for `backward`.
#[derive(Default)]
pub(super) struct Kept {
    trunk: trunk::Kept,
    grad: Vec<f32>, // [items, width]
}

/// See the module.
pub struct Planted {
    scope: Scope,
    trunk: Trunk,
    weight: Tensor, // [nodes, width], fixed
    bias: Tensor,   // [nodes], fixed
}

impl Planted {
    pub(super) fn new(config: &Config, scope: Scope, layout: &mut Layout) -> Self {
        let nodes = scope.end.start();
        Self {
            scope,
            trunk: Trunk::new(config.trunk, scope.width, layout),
            weight: layout.tensor("split.weight", &[nodes, scope.width], Decay::No),
            bias: layout.tensor("split.bias", &[nodes], Decay::No),
        }
    }
}

impl Split for Planted {
    fn init(&self, params: &mut Parameters, random: &mut Random) {
        self.trunk.init(params, random);
    }

    fn forward(&self, params: &Parameters, batch: &Ragged, pass: Pass, kept: &mut AllKept) {
        let (nodes, width) = (pass.end.start(), self.scope.width);
        self.trunk.forward(params, batch.pooled(), pass.dropout, &mut kept.planted.trunk);
        let space = Mat::new(kept.planted.trunk.unit(), batch.len(), width);
        kept.logits.resize(batch.len() * nodes, 0.0);
        let (weight, bias) = (&params[self.weight][..nodes * width], &params[self.bias][..nodes]);
        dense::forward(space, weight, bias, &mut kept.logits);
    }

    fn space<'a>(&self, kept: &'a AllKept) -> Option<&'a [f32]> {
        Some(kept.planted.trunk.unit())
    }

    fn frame(&self, params: &Parameters) -> Option<Frame> {
        Some(Frame::new(self.scope.width, params[self.weight].to_vec(), params[self.bias].to_vec()))
    }

    fn set_frame(&self, params: &mut Parameters, frame: &Frame) {
        params[self.weight].copy_from_slice(&frame.directions);
        params[self.bias].copy_from_slice(&frame.biases);
    }

    fn backward(&self, step: Backward<'_>, grads: &mut Parameters) {
        let (nodes, width) = (step.pass.end.start(), self.scope.width);
        let Kept { trunk: kept, grad } = &mut step.kept.planted;
        grad.resize(step.batch.len() * width, 0.0);
        dense::backward_input(step.grad, &step.params[self.weight][..nodes * width], width, grad);
        grad.iter_mut().zip(step.grad_space).for_each(|(sum, g)| *sum += g);
        self.trunk.backward(step.params, step.batch.pooled(), kept, grad, grads);
    }
}
