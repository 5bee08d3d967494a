//! Product propagation: `p(left) = p(parent) sigmoid(s)`, `p(right) = p(parent) (1 - sigmoid(s))`.
//!
//! Backward in one bottom-up pass: with `T(t) = g_t p_t + T(left) + T(right)` the share of the loss that flows
//! through node `t`, the gradient of its logit is `(1 - z) T(left) - z T(right)`, where `z = sigmoid(s)`.

use super::{Backward, Propagation, Reached};
use crate::parameters::Parameters;
use crate::random::Random;
use rayon::prelude::*;
use retreever_kernels::sigmoid;
use retreever_tree::Level;

/// See the module.
pub struct Product;

impl Propagation for Product {
    fn init(&self, _: &mut Parameters, _: &mut Random) {}

    fn forward(&self, _: &Parameters, logits: &[f32], level: Level, reached: &mut Reached) {
        let (splits, nodes) = (level.start(), level.below().start());
        reached.items = logits.len() / splits;
        reached.level = Some(level);
        reached.reach.resize(reached.items * nodes, 0.0);
        reached.reach.par_chunks_exact_mut(nodes).zip(logits.par_chunks_exact(splits)).for_each(
            |(reach, logits)| {
                reach[0] = 1.0;
                for (node, logit) in logits.iter().enumerate() {
                    // Both are computed from the logit, so that a small probability keeps its precision.
                    let (left, right) = (sigmoid(*logit), sigmoid(-*logit));
                    reach[2 * node + 1] = reach[node] * left;
                    reach[2 * node + 2] = reach[node] * right;
                }
            },
        );
    }

    fn backward(&self, step: Backward<'_>, grad_logits: &mut [f32], _: &mut Parameters) {
        let nodes = step.reached.nodes();
        let splits = nodes / 2;
        let rows = step.logits.par_chunks_exact(splits).zip(step.grad.par_chunks_exact(nodes));
        let rows = rows.zip(step.reached.reach.par_chunks_exact(nodes));
        grad_logits.par_chunks_exact_mut(splits).zip(rows).for_each_init(
            || vec![0.0f32; nodes],
            |through, (out, ((logits, grad), reach))| {
                for node in (0..nodes).rev() {
                    through[node] = grad[node] * reach[node];
                    if node < splits {
                        let (left, right) = (through[2 * node + 1], through[2 * node + 2]);
                        let z = sigmoid(logits[node]);
                        out[node] = (1.0 - z) * left - z * right;
                        through[node] += left + right;
                    }
                }
            },
        );
    }
}
