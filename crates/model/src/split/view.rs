//! What linear splits look at: the pooled embedding, what learned pooling adds to it, and what a trunk makes of both.

use crate::attention_pooling::{self, AttentionPooling};
use crate::parameters::{Layout, Parameters};
use crate::random::Random;
use crate::trunk::{self, Trunk, TrunkConfig};
use retreever_data::Ragged;

/// What is between the embeddings of an item and its splits.
pub(super) struct View {
    pooling: Option<AttentionPooling>,
    trunk: Option<Trunk>,
}

/// What the way back needs.
#[derive(Default)]
pub(super) struct Kept {
    pooling: attention_pooling::Kept,
    trunk: trunk::Kept,
}

impl View {
    /// A view with so many heads of learned pooling and this trunk; names of its tensors start with `prefix`.
    pub(super) fn new(
        (heads, trunk): (usize, Option<TrunkConfig>),
        width: usize,
        prefix: &str,
        layout: &mut Layout,
    ) -> Self {
        Self {
            pooling: (heads > 0).then(|| AttentionPooling::new(heads, width, prefix, layout)),
            trunk: trunk.map(|trunk| Trunk::new(trunk, width, prefix, layout)),
        }
    }

    pub(super) fn init(&self, params: &mut Parameters, random: &mut Random) {
        if let Some(pooling) = &self.pooling {
            pooling.init(params, random);
        }
        if let Some(trunk) = &self.trunk {
            trunk.init(params, random);
        }
    }

    /// Whether items are seen at length 1.
    pub(super) fn normalises(&self) -> bool {
        self.trunk.is_some()
    }

    /// Looks at a batch; [`View::seen`] is what it sees. `seed` is that of dropout, or nothing for none.
    pub(super) fn forward(&self, params: &Parameters, batch: &Ragged, seed: Option<u64>, kept: &mut Kept) {
        if let Some(map) = &self.pooling {
            map.forward(params, batch, seed, &mut kept.pooling);
        }
        if let Some(map) = &self.trunk {
            map.forward(params, self.pooled(batch, &kept.pooling), seed, &mut kept.trunk);
        }
    }

    /// What is split, `[items, width]`.
    pub(super) fn seen<'a>(&self, batch: &'a Ragged, kept: &'a Kept) -> &'a [f32] {
        if self.trunk.is_some() { kept.trunk.unit() } else { self.pooled(batch, &kept.pooling) }
    }

    /// Whether anything is learned here.
    pub(super) fn learns(&self) -> bool {
        self.pooling.is_some() || self.trunk.is_some()
    }

    /// The gradient of what is seen back to the tensors.
    pub(super) fn backward<'a>(
        &self,
        params: &Parameters,
        batch: &Ragged,
        kept: &'a mut Kept,
        mut grad: &'a [f32],
        grads: &mut Parameters,
    ) {
        if let Some(map) = &self.trunk {
            map.backward(params, self.pooled(batch, &kept.pooling), &mut kept.trunk, grad, grads);
            if self.pooling.is_some() {
                grad = map.input_grad(params, &mut kept.trunk);
            }
        }
        if let Some(map) = &self.pooling {
            map.backward(params, batch, &mut kept.pooling, grad, grads);
        }
    }

    /// What the trunk maps: the batch's pooled embeddings, or those of the learned pooling.
    fn pooled<'a>(&self, batch: &'a Ragged, kept: &'a attention_pooling::Kept) -> &'a [f32] {
        if self.pooling.is_some() { kept.pooled() } else { batch.pooled() }
    }
}
