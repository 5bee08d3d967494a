//! Planted splits: fixed directions in spaces that trunks learn, `w_t . z + b_t` with `z = unit(x + f(x))`.
//!
//! Directions and cuts are found in the documents (`planting.rs`) and are not trained: training changes the space in front
//! of them. They are scaled so that logits have a standard deviation of 1 on the mean of all splits. With `f = 0` this is a tree
//! without any training.
//!
//! The upper levels and the lower ones look at spaces of their own. The upper ones must say in few numbers what matters most, and
//! learn it by the tree's distances and by cosines; the lower ones see everything, and learn by cosines alone. In one space the
//! distances cost the cosines up to two points of nDCG@10.

use super::{Backward, Kept as AllKept, Pass, Scope, Spaces, Split};
use crate::dense;
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::planting::{Frame, first_block};
use crate::random::Random;
use crate::trunk::{self, Trunk, TrunkConfig};
use retreever_data::Ragged;
use retreever_kernels::gemm::Mat;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What is in front of the splits, and how they are planted and compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What is made of the pooled embedding before it is split: once for the upper levels, once for the lower ones.
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
    upper: Part,
    lower: Part,
}

/// What one trunk and its splits leave.
#[derive(Default)]
struct Part {
    trunk: trunk::Kept,
    logits: Vec<f32>,      // [items, splits of this part]
    grad_logits: Vec<f32>, // [items, splits of this part]
    grad: Vec<f32>,        // [items, width]
}

/// See the module.
pub struct Planted {
    scope: Scope,
    upper: Trunk,
    lower: Trunk,
    /// How many splits look at the upper space.
    first: usize,
    weight: Tensor, // [nodes, width], fixed
    bias: Tensor,   // [nodes], fixed
}

impl Planted {
    pub(super) fn new(config: &Config, scope: Scope, layout: &mut Layout) -> Self {
        let nodes = scope.end.start();
        Self {
            scope,
            upper: Trunk::new("upper_trunk", config.trunk, scope.width, layout),
            lower: Trunk::new("trunk", config.trunk, scope.width, layout),
            first: first_block(scope.end, config.upper, scope.width),
            weight: layout.tensor("split.weight", &[nodes, scope.width], Decay::No),
            bias: layout.tensor("split.bias", &[nodes], Decay::No),
        }
    }

    /// Logits of the splits `nodes` from the space of one trunk.
    fn logits(&self, params: &Parameters, items: usize, nodes: Range<usize>, part: &mut Part) {
        let width = self.scope.width;
        let weight = &params[self.weight][nodes.start * width..nodes.end * width];
        part.logits.resize(items * nodes.len(), 0.0);
        if !nodes.is_empty() {
            let space = Mat::new(part.trunk.unit(), items, width);
            dense::forward(space, weight, &params[self.bias][nodes], &mut part.logits);
        }
    }

    /// The gradient of one trunk's space, from that of its logits.
    fn pull_back(&self, params: &Parameters, items: usize, nodes: Range<usize>, part: &mut Part) {
        let width = self.scope.width;
        part.grad.clear();
        part.grad.resize(items * width, 0.0);
        if !nodes.is_empty() {
            let weight = &params[self.weight][nodes.start * width..nodes.end * width];
            dense::backward_input(&part.grad_logits, weight, width, &mut part.grad);
        }
    }
}

impl Split for Planted {
    fn init(&self, params: &mut Parameters, random: &mut Random) {
        self.upper.init(params, random);
        self.lower.init(params, random);
    }

    fn forward(&self, params: &Parameters, batch: &Ragged, pass: Pass, kept: &mut AllKept) {
        let (nodes, items) = (pass.end.start(), batch.len());
        let cut = self.first.min(nodes);
        let Kept { upper, lower } = &mut kept.planted;
        self.upper.forward(params, batch.pooled(), pass.dropout, &mut upper.trunk);
        // Another mask than the upper trunk's.
        self.lower.forward(params, batch.pooled(), pass.dropout.map(|seed| !seed), &mut lower.trunk);
        self.logits(params, items, 0..cut, upper);
        self.logits(params, items, cut..nodes, lower);
        kept.logits.clear();
        for item in 0..items {
            kept.logits.extend_from_slice(&upper.logits[item * cut..][..cut]);
            kept.logits.extend_from_slice(&lower.logits[item * (nodes - cut)..][..nodes - cut]);
        }
    }

    fn spaces<'a>(&self, kept: &'a AllKept) -> Option<Spaces<&'a [f32]>> {
        let Kept { upper, lower } = &kept.planted;
        Some(Spaces { upper: upper.trunk.unit(), lower: lower.trunk.unit() })
    }

    fn frame(&self, params: &Parameters) -> Option<Frame> {
        Some(Frame::new(self.scope.width, params[self.weight].to_vec(), params[self.bias].to_vec()))
    }

    fn set_frame(&self, params: &mut Parameters, frame: &Frame) {
        params[self.weight].copy_from_slice(&frame.directions);
        params[self.bias].copy_from_slice(&frame.biases);
    }

    fn backward(&self, step: Backward<'_>, grads: &mut Parameters) {
        let (nodes, items) = (step.pass.end.start(), step.batch.len());
        let cut = self.first.min(nodes);
        let Kept { upper, lower } = &mut step.kept.planted;
        for (part, columns) in [(&mut *upper, 0..cut), (&mut *lower, cut..nodes)] {
            part.grad_logits.clear();
            step.grad.chunks_exact(nodes).for_each(|row| part.grad_logits.extend(&row[columns.clone()]));
            self.pull_back(step.params, items, columns, part);
        }
        for (part, grad) in [(&mut *upper, step.grad_spaces.upper), (&mut *lower, step.grad_spaces.lower)] {
            part.grad.iter_mut().zip(grad).for_each(|(sum, g)| *sum += g);
        }
        for (trunk, Part { trunk: kept, grad, .. }) in [(&self.upper, upper), (&self.lower, lower)] {
            trunk.backward(step.params, step.batch.pooled(), kept, grad, grads);
        }
    }
}
