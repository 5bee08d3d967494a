//! Path-consistency propagation: every node has a logit, leaves too; one small shared MLP rescores it from the
//! raw logits on its path (root first, zero padded), and the sigmoid of that is the probability of reaching it.
//!
//! The hidden layer is linear in the path, so a node's is its parent's plus one column times its own logit: the
//! whole tree costs one hidden layer a node, forward and back.
//!
//! The regulariser pulls the likely leaves' paths up: with `w = softmax(p(leaves) / tau)`,
//! `L_pc = -mean over items of sum over leaves of w sum over the path of log(p + eps)`.

use super::{Backward, Propagation, Reached};
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use crate::split::{uniform, xavier};
use rayon::prelude::*;
use retreever_kernels::sigmoid;
use retreever_tree::{Level, NodeId};
use serde::{Deserialize, Serialize};

/// Keeps the logarithm of a probability finite.
const EPS: f64 = 1e-8;

/// Whether rows are compared as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// Divided by their sum first, as the index compares them.
    #[default]
    Normalised,
    /// As they are.
    Raw,
}

/// The rescoring MLP and the regulariser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The width of the hidden layer.
    pub hidden: usize,
    /// The weight of the regulariser.
    pub lambda: f64,
    /// Its temperature.
    pub tau: f64,
    /// How rows are compared in the loss.
    pub rows: Rows,
}

impl Default for Config {
    fn default() -> Self {
        Self { hidden: 32, lambda: 0.01, tau: 0.1, rows: Rows::Normalised }
    }
}

/// See the module.
pub struct PathConsistency {
    config: Config,
    levels: usize,
    w1: Tensor, // [hidden, levels]
    b1: Tensor, // [hidden]
    w2: Tensor, // [1, hidden]
    b2: Tensor, // [1]
}

impl PathConsistency {
    pub(super) fn new(config: &Config, leaves: Level, layout: &mut Layout) -> Self {
        let (hidden, levels) = (config.hidden, leaves.get() + 1);
        Self {
            config: config.clone(),
            levels,
            w1: layout.tensor("propagation.w1", &[hidden, levels], Decay::Yes),
            b1: layout.tensor("propagation.b1", &[hidden], Decay::No),
            w2: layout.tensor("propagation.w2", &[1, hidden], Decay::Yes),
            b2: layout.tensor("propagation.b2", &[1], Decay::No),
        }
    }
}

/// The parent of `node`, and the level it stands on.
fn place(node: usize) -> (Option<usize>, usize) {
    let node = NodeId::new(node as u32);
    (node.parent().map(NodeId::index), node.level().get())
}

impl Propagation for PathConsistency {
    fn init(&self, params: &mut Parameters, random: &mut Random) {
        uniform(&mut params[self.w1], xavier(self.config.hidden, self.levels), random);
        uniform(&mut params[self.w2], xavier(1, self.config.hidden), random);
        params[self.b1].fill(0.0);
        params[self.b2].fill(0.0);
    }

    fn forward(&self, params: &Parameters, logits: &[f32], level: Level, reached: &mut Reached) {
        let (nodes, hidden, levels) = (level.below().start(), self.config.hidden, self.levels);
        let (w1, b1, w2, b2) = (&params[self.w1], &params[self.b1], &params[self.w2], params[self.b2][0]);
        let items = logits.len() / nodes;
        reached.items = items;
        reached.level = Some(level);
        reached.reach.resize(items * nodes, 0.0);
        reached.hidden.resize(items * nodes * hidden, 0.0);
        let rows = logits.par_chunks_exact(nodes).zip(reached.hidden.par_chunks_exact_mut(nodes * hidden));
        reached.reach.par_chunks_exact_mut(nodes).zip(rows).for_each(|(reach, (logits, hiddens))| {
            for node in 0..nodes {
                let (parent, level) = place(node);
                let mut score = b2;
                for unit in 0..hidden {
                    let above = parent.map_or(b1[unit], |parent| hiddens[parent * hidden + unit]);
                    let value = above + w1[unit * levels + level] * logits[node];
                    hiddens[node * hidden + unit] = value;
                    score += w2[unit] * value.max(0.0);
                }
                reach[node] = sigmoid(score);
            }
        });
        reached.totals.clear();
        if self.config.rows == Rows::Normalised {
            for reach in reached.reach.chunks_exact(nodes) {
                let above = std::iter::successors(Some(Level::ROOT), |level| Some(level.below()));
                let sums = above
                    .take(level.get() + 1)
                    .map(|level| reach[level.start()..][..level.width()].iter().sum());
                reached.totals.extend(sums.map(|sum: f32| sum));
            }
        }
    }

    fn backward(&self, step: Backward<'_>, grad_logits: &mut [f32], grads: &mut Parameters) {
        let (nodes, hidden, levels) = (step.reached.nodes(), self.config.hidden, self.levels);
        let (w1, w2) = (&step.params[self.w1], &step.params[self.w2]);
        let mut own = Own::new(hidden, levels);
        let mut through = vec![0.0f32; nodes * hidden];
        for (item, out) in grad_logits.chunks_exact_mut(nodes).enumerate() {
            let reach = &step.reached.reach[item * nodes..][..nodes];
            let hiddens = &step.reached.hidden[item * nodes * hidden..][..nodes * hidden];
            let logits = &step.logits[item * nodes..][..nodes];
            through.fill(0.0);
            for node in (0..nodes).rev() {
                let (parent, level) = place(node);
                let score = step.grad[item * nodes + node] * reach[node] * (1.0 - reach[node]);
                own.b2 += score;
                let mut logit = 0.0;
                for unit in 0..hidden {
                    let value = hiddens[node * hidden + unit];
                    own.w2[unit] += score * value.max(0.0);
                    let at = node * hidden + unit;
                    through[at] += if value > 0.0 { score * w2[unit] } else { 0.0 };
                    own.w1[unit * levels + level] += through[at] * logits[node];
                    logit += through[at] * w1[unit * levels + level];
                    match parent {
                        Some(parent) => through[parent * hidden + unit] += through[at],
                        None => own.b1[unit] += through[at],
                    }
                }
                out[node] = logit;
            }
        }
        for (tensor, values) in
            [(self.w1, &own.w1), (self.b1, &own.b1), (self.w2, &own.w2), (self.b2, &vec![own.b2])]
        {
            grads[tensor].iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
        }
    }

    fn regularise(&self, reached: &Reached, grad: &mut [f32]) -> f64 {
        let (nodes, Some(leaf_level)) = (reached.nodes(), reached.level) else { return 0.0 };
        let first_leaf = leaf_level.start();
        // A mean over queries plus a mean over contexts, each half of the items.
        let (weight, tau) = (2.0 * self.config.lambda / reached.items as f64, self.config.tau);
        let mut loss = 0.0;
        let (mut w, mut log_path) = (vec![0.0f64; nodes], vec![0.0f64; nodes]);
        for (reach, grad) in reached.reach.chunks_exact(nodes).zip(grad.chunks_exact_mut(nodes)) {
            let leaves = &reach[first_leaf..];
            let max = leaves.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for (w, p) in w[first_leaf..].iter_mut().zip(leaves) {
                *w = (f64::from(p - max) / tau).exp();
            }
            let total: f64 = w[first_leaf..].iter().sum();
            w[first_leaf..].iter_mut().for_each(|w| *w /= total);
            for node in 0..nodes {
                let above = place(node).0.map_or(0.0, |parent| log_path[parent]);
                log_path[node] = above + (f64::from(reach[node]) + EPS).ln();
            }
            let mean: f64 = (first_leaf..nodes).map(|leaf| w[leaf] * log_path[leaf]).sum();
            loss -= mean * weight;
            for leaf in first_leaf..nodes {
                grad[leaf] -= (weight / tau * w[leaf] * (log_path[leaf] - mean)) as f32;
            }
            // Below, w becomes the sum over the leaves under each node.
            for node in (0..nodes).rev() {
                if node < first_leaf {
                    w[node] = w[2 * node + 1] + w[2 * node + 2];
                }
                grad[node] -= (weight * w[node] / (f64::from(reach[node]) + EPS)) as f32;
            }
        }
        loss
    }
}

/// Gradients of the MLP, added up over nodes and items.
struct Own {
    w1: Vec<f32>,
    b1: Vec<f32>,
    w2: Vec<f32>,
    b2: f32,
}

impl Own {
    fn new(hidden: usize, levels: usize) -> Self {
        Self { w1: vec![0.0; hidden * levels], b1: vec![0.0; hidden], w2: vec![0.0; hidden], b2: 0.0 }
    }
}
