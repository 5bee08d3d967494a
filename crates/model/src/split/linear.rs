//! Linear splits: `theta_t . x + b_t` on the pooled embedding, or on what a trunk makes of it.
//!
//! A trunk is a residual map that starts as the identity, `u = normalise(x + f(x))`. Where splits start small and grow
//! with depth (a deviation in proportion to `growth^level`), an untrained tree ranks almost as the encoder does: for
//! small logits the total variation distance is close to an L1 distance of random projections, in which every leaf adds
//! up its ancestors, each with its sign. These sums are a Haar transform of the splits. With a growth of the square root
//! of 2 it is an orthogonal one: no split outweighs another, and the leaves see what the splits see.
//!
//! So the splits next to the leaves need not learn: the trunk before them can, as the adapter that it would be by itself,
//! and the tree ranks as that adapter does. The few splits of the upper levels cannot stand for all of an embedding. They
//! learn what matters most, by the distances of the tree, and look through a trunk of their own ([`Coarse`]). When both have
//! learned, the lower splits are planted anew ([`super::planting`]).

use super::directions::{self, dot, mean};
use super::view::{self, View};
use super::{Backward, Kept as AllKept, Pass, Scope, Split, uniform};
use crate::cosine::Cosines;
use crate::dense;
use crate::parameters::{Decay, Layout, Parameters, Tensor};
use crate::random::Random;
use crate::trunk::TrunkConfig;
use retreever_data::{Embeddings, Ragged};
use retreever_kernels::gemm::Mat;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Where splits start, and what they look at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How many heads look at the tokens and add to the pooled embedding; 0 for none.
    pub pooling_heads: usize,
    /// What is made of the pooled embedding before it is split.
    pub trunk: Option<TrunkConfig>,
    /// Whether the upper levels look for themselves.
    pub coarse: Option<Coarse>,
    /// How splits start.
    pub start: Start,
}

/// The upper levels look for themselves: through heads and a trunk of their own, which learn with these splits by the
/// distances of the tree at these levels. What all other splits look through learns by cosines; they themselves are planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coarse {
    /// How many levels, from the root on.
    pub levels: usize,
    /// How many heads; the trunk is made like the other.
    pub pooling_heads: usize,
}

impl Config {
    /// How many heads look at tokens at all.
    pub(super) fn heads(&self) -> usize {
        self.pooling_heads + self.coarse.map_or(0, |coarse| coarse.pooling_heads)
    }
}

/// What cosines are multiplied with where a view learns by them: more than an adapter starts with, so that the nearest of the
/// wrong documents count for more.
const COSINES: f64 = 50.0;

/// How fast the view of the upper levels and their splits learn, beside the lower view: there are few splits, and what they
/// look along matters most.
const UPPER_RATES: (f64, f64) = (0.5, 2.5);

/// What the names of tensors of the upper levels start with, where these look for themselves.
pub(crate) const COARSE: &str = "coarse.";

/// How splits start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Start {
    /// Uniform within one over the root of the width, without bias.
    #[default]
    Uniform,
    /// At right angles as far as there is room, with a deviation of logits that grows with the level; fitted to documents,
    /// also where these can be halved, and with biases so that the mean item is split evenly. (Trees whose files say
    /// `growing` have no gains beside their directions.)
    #[serde(rename = "growing-gains")]
    Growing {
        /// The deviation of logits, on the mean of the levels.
        deviation: f64,
        /// How much larger it is on the next level.
        growth: f64,
    },
}

/// What the views leave for the way back, and room for one part at a time.
#[derive(Default)]
pub(super) struct Kept {
    views: Vec<view::Kept>,
    logits: Vec<f32>, // [items, nodes of a part]
    grad: Vec<f32>,   // [items, width]
    cosines: Cosines,
}

/// See the module.
pub struct Linear {
    pub(super) scope: Scope,
    start: Start,
    /// The lower levels, then the upper ones, where these look for themselves.
    pub(super) parts: Vec<Part>,
}

/// Splits that look through one view. Logits are `gain (w . x + b)`.
pub(super) struct Part {
    pub(super) nodes: Range<usize>,
    view: View,
    pub(super) learns: Learns,
    pub(super) gains: Vec<f32>, // [nodes]
    pub(super) weight: Tensor,  // [nodes, width]
    pub(super) bias: Tensor,    // [nodes]
}

/// What a part learns, and by what.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Learns {
    /// Splits and view, by the distances of the tree.
    All,
    /// The view alone, by the cosines of what it makes.
    View,
}

impl Linear {
    pub(super) fn new(config: &Config, scope: Scope, layout: &mut Layout) -> Self {
        let nodes = scope.end.start();
        let gains = gains(config.start, scope);
        let mut part = |prefix: &str, heads, nodes: Range<usize>, learns| {
            let upper = config.coarse.is_some() && learns == Learns::All;
            let (view_rate, split_rate) = if upper { UPPER_RATES } else { (1.0, 1.0) };
            layout.learn_at(view_rate);
            let view = View::new((heads, config.trunk), scope.width, prefix, layout);
            layout.learn_at(split_rate);
            let decay = if learns == Learns::All { Decay::Yes } else { Decay::No };
            let shape = [nodes.len(), scope.width];
            let weight = layout.tensor(format!("{prefix}split.weight"), &shape, decay);
            let bias = layout.tensor(format!("{prefix}split.bias"), &shape[..1], Decay::No);
            layout.learn_at(1.0);
            Part { gains: gains[nodes.clone()].to_vec(), nodes, view, learns, weight, bias }
        };
        let parts = match config.coarse {
            Some(coarse) if coarse.levels < scope.end.get() => {
                let upper = (1 << coarse.levels) - 1;
                vec![
                    part("", config.pooling_heads, upper..nodes, Learns::View),
                    part(COARSE, coarse.pooling_heads, 0..upper, Learns::All),
                ]
            }
            Some(coarse) => vec![part("", coarse.pooling_heads, 0..nodes, Learns::All)],
            None => vec![part("", config.pooling_heads, 0..nodes, Learns::All)],
        };
        Self { scope, start: config.start, parts }
    }

    /// What the lower splits saw in the last pass.
    pub(super) fn seen_below<'a>(&self, batch: &'a Ragged, kept: &'a AllKept) -> &'a [f32] {
        self.parts[0].view.seen(batch, &kept.linear.views[0])
    }

    /// The parts from the root on.
    fn downwards(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().rev()
    }
}

impl Part {
    /// Splits along these directions, whose logits are 0 for `centre`.
    pub(super) fn point(&self, params: &mut Parameters, directions: &[f32], centre: &[f32]) {
        params[self.weight].copy_from_slice(directions);
        let biases = directions.chunks_exact(centre.len()).map(|direction| -dot(direction, centre));
        params[self.bias].iter_mut().zip(biases).for_each(|(bias, to)| *bias = to);
    }
}

/// What the logit of each node is multiplied with: where splits start growing with depth, an item's projection on a
/// direction deviates by about one over the root of the width.
fn gains(start: Start, scope: Scope) -> Vec<f32> {
    let levels = scope.end.get();
    let gain = |level: usize| match start {
        Start::Uniform => 1.0,
        Start::Growing { deviation, growth } => {
            let total: f64 = (0..levels).map(|level| growth.powi(level as i32)).sum();
            growth.powi(level as i32) / total * levels as f64 * deviation * (scope.width as f64).sqrt()
        }
    };
    (0..levels).flat_map(|level| vec![gain(level) as f32; 1 << level]).collect()
}

impl Split for Linear {
    fn init(&self, params: &mut Parameters, random: &mut Random) {
        self.parts.iter().for_each(|part| part.view.init(params, random));
        let width = self.scope.width;
        for part in self.downwards() {
            let mut directions = vec![0.0; part.nodes.len() * width];
            match self.start {
                Start::Uniform => uniform(&mut directions, 1.0 / (width as f64).sqrt(), random),
                Start::Growing { .. } => directions::random(&mut directions, width, random),
            }
            part.point(params, &directions, &vec![0.0; width]);
        }
    }

    fn centre(&self, params: &mut Parameters, sample: &[f32]) {
        let Start::Growing { .. } = self.start else { return };
        let (width, normalises) = (self.scope.width, self.parts.iter().any(|part| part.view.normalises()));
        let length = |x: &[f32]| if normalises { dot(x, x).sqrt().max(1e-12) } else { 1.0 };
        let seen = |x: &[f32]| {
            let length = length(x);
            x.iter().map(|number| number / length).collect::<Vec<f32>>()
        };
        let sample: Vec<f32> = sample.chunks_exact(width).flat_map(seen).collect();
        let centre = mean(sample.chunks_exact(width), width);
        let (mut groups, mut above) = (vec![sample.chunks_exact(width).collect()], Vec::new());
        for part in self.downwards() {
            let mut directions = params[part.weight].to_vec();
            groups = directions::halving(&mut directions, groups, &above, width);
            part.point(params, &directions, &centre);
            above = directions;
        }
    }

    fn plant(&self, params: &mut Parameters, documents: &dyn Embeddings) {
        if let Start::Growing { .. } = self.start {
            self.plant_lower(params, documents);
        }
    }

    fn shift(&self, params: &mut Parameters, shift: &[f32]) {
        for part in &self.parts {
            let shifts = shift[part.nodes.clone()].iter().zip(&part.gains);
            params[part.bias].iter_mut().zip(shifts).for_each(|(bias, (shift, gain))| *bias += shift / gain);
        }
    }

    fn forward(&self, params: &Parameters, batch: &Ragged, pass: Pass, kept: &mut AllKept) {
        let (end, width) = (pass.end.start(), self.scope.width);
        let Kept { views, logits: scored, .. } = &mut kept.linear;
        views.resize_with(self.parts.len(), Default::default);
        kept.logits.resize(batch.len() * end, 0.0);
        for (part, kept_view) in self.parts.iter().zip(views) {
            let nodes = part.nodes.start..part.nodes.end.min(end);
            let seed = pass.dropout.map(|seed| seed ^ (nodes.start as u64) << 20);
            // Also where no node below it is scored: it learns all the same.
            part.view.forward(params, batch, seed, kept_view);
            if nodes.is_empty() {
                continue;
            }
            let seen = Mat::new(part.view.seen(batch, kept_view), batch.len(), width);
            let (weight, bias) =
                (&params[part.weight][..nodes.len() * width], &params[part.bias][..nodes.len()]);
            scored.resize(batch.len() * nodes.len(), 0.0);
            dense::forward(seen, weight, bias, scored);
            for (logits, scored) in kept.logits.chunks_exact_mut(end).zip(scored.chunks_exact(nodes.len())) {
                let scored = scored.iter().zip(&part.gains).map(|(logit, gain)| logit * gain);
                logits[nodes.clone()].iter_mut().zip(scored).for_each(|(logit, scored)| *logit = scored);
            }
        }
    }

    fn backward(&self, step: Backward<'_>, grads: &mut Parameters) -> f64 {
        let (end, width) = (step.pass.end.start(), self.scope.width);
        let Kept { views, logits, grad, cosines } = &mut step.kept.linear;
        let mut loss = 0.0;
        for (part, kept) in self.parts.iter().zip(views) {
            let seen = part.view.seen(step.batch, kept);
            if part.learns == Learns::View {
                loss += cosines.info_nce(seen, width, COSINES, step.mask).loss;
                part.view.backward(step.params, step.batch, kept, cosines.grad(), grads);
                continue;
            }
            let nodes = part.nodes.start..part.nodes.end.min(end);
            logits.clear();
            for row in step.grad.chunks_exact(end) {
                logits.extend(row[nodes.clone()].iter().zip(&part.gains).map(|(grad, gain)| grad * gain));
            }
            let (seen, flow) =
                (Mat::new(seen, step.batch.len(), width), Mat::new(logits, step.batch.len(), nodes.len()));
            dense::par_gemm(flow.t(), seen, &mut grads[part.weight][..nodes.len() * width]);
            dense::add_columns(logits, &mut grads[part.bias][..nodes.len()]);
            if part.view.learns() {
                grad.resize(step.batch.len() * width, 0.0);
                dense::backward_input(logits, &step.params[part.weight][..nodes.len() * width], width, grad);
                part.view.backward(step.params, step.batch, kept, grad, grads);
            }
        }
        loss
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use retreever_tree::Level;

    #[test]
    fn splits_start_larger_further_down_and_centred() {
        let start = Start::Growing { deviation: 0.5, growth: 2.0 };
        let mut layout = Layout::default();
        let scope = Scope { width: 64, end: Level::ROOT.below().below().below() };
        let split = Linear::new(&Config { start, ..Config::default() }, scope, &mut layout);
        let deviations: Vec<f32> = split.parts[0].gains.iter().map(|gain| gain / 8.0).collect();
        let expected = [1.5, 3.0, 3.0, 6.0, 6.0, 6.0, 6.0].map(|deviation| deviation / 7.0);
        assert!(
            deviations.iter().zip(expected).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6),
            "{deviations:?}"
        );
        let mut params = Parameters::zeros(layout);
        split.init(&mut params, &mut Random::new(1, 1));
        let mean: Vec<f32> = (0..64).map(|x| x as f32 * 0.01).collect();
        split.centre(&mut params, &mean);
        let dot = |a: usize, b: usize| -> f32 {
            let row = |node: usize| &params[split.parts[0].weight][node * 64..][..64];
            row(a).iter().zip(row(b)).map(|(x, y)| x * y).sum()
        };
        assert!(dot(1, 2).abs() < 1e-3 && dot(3, 6).abs() < 1e-3, "{} {}", dot(1, 2), dot(3, 6));
        let mut batch = Ragged::new(64);
        batch.push(&mean, &mean);
        let mut kept = AllKept::default();
        split.forward(&params, &batch, Pass { end: scope.end, dropout: None }, &mut kept);
        assert!(kept.logits.iter().all(|logit| logit.abs() < 1e-4));
    }

    /// Two upper levels of four look for themselves.
    pub(in super::super) fn two_parts(layout: &mut Layout) -> Linear {
        let config = Config {
            trunk: Some(TrunkConfig::Mlp { hidden: 6, dropout: 0.0 }),
            coarse: Some(Coarse { levels: 2, pooling_heads: 2 }),
            start: Start::Growing { deviation: 0.3, growth: 1.4 },
            ..Config::default()
        };
        let end = Level::ROOT.below().below().below().below();
        Linear::new(&config, Scope { width: 8, end }, layout)
    }

    /// Some queries and their contexts.
    pub(in super::super) fn pairs(count: usize, random: &mut Random) -> Ragged {
        let mut batch = Ragged::new(8);
        for _ in 0..2 * count {
            let tokens: Vec<f32> = (0..16).map(|_| random.normal() as f32).collect();
            batch.push(&tokens, &tokens[..8]);
        }
        batch
    }

    #[test]
    fn a_coarse_pass_sees_what_a_full_one_sees() {
        let mut layout = Layout::default();
        let split = two_parts(&mut layout);
        let (mut params, mut random) = (Parameters::zeros(layout), Random::new(4, 1));
        split.init(&mut params, &mut random);
        let batch = pairs(2, &mut random);
        let logits = |levels: usize| {
            let end = (0..levels).fold(Level::ROOT, |level, _| level.below());
            let mut kept = AllKept::default();
            split.forward(&params, &batch, Pass { end, dropout: None }, &mut kept);
            kept.logits
        };
        let (coarse, middle, full) = (logits(2), logits(3), logits(4));
        for item in 0..4 {
            assert_eq!(coarse[item * 3..][..3], full[item * 15..][..3]);
            assert_eq!(middle[item * 7..][..7], full[item * 15..][..7]);
        }
    }

    #[test]
    fn lower_splits_stay_and_their_trunk_learns_by_cosines() {
        let mut layout = Layout::default();
        let split = two_parts(&mut layout);
        let (mut params, mut random) = (Parameters::zeros(layout.clone()), Random::new(5, 1));
        split.init(&mut params, &mut random);
        for value in params.as_mut_slice() {
            *value += 0.1 * random.normal() as f32;
        }
        let batch = pairs(3, &mut random);
        let pass = Pass { end: split.scope.end, dropout: None };
        let mut kept = AllKept::default();
        split.forward(&params, &batch, pass, &mut kept);
        let grad: Vec<f32> = (0..6 * 15).map(|_| random.normal() as f32).collect();
        let mut grads = Parameters::zeros(layout);
        let step = Backward { params: &params, batch: &batch, pass, kept: &mut kept, grad: &grad, mask: &[] };
        split.backward(step, &mut grads);
        assert!(grads.by_name("split.weight").unwrap().iter().all(|g| *g == 0.0));
        assert!(grads.by_name("coarse.split.weight").unwrap().iter().all(|g| *g != 0.0));

        // The loss of the trunk's own cosines, a little further along one of its weights.
        let mut loss = |by: f32| {
            let mut params = params.clone();
            params.by_name_mut("trunk.last.weight").unwrap()[5] += by;
            split.forward(&params, &batch, pass, &mut kept);
            let seen = split.parts[0].view.seen(&batch, &kept.linear.views[0]);
            Cosines::default().info_nce(seen, 8, COSINES, &[]).loss
        };
        let slope = (loss(1e-2) - loss(-1e-2)) / 2e-2;
        let learned = f64::from(grads.by_name("trunk.last.weight").unwrap()[5]);
        assert!(
            (slope - learned).abs() < 2e-2 * slope.abs().max(0.1),
            "{slope} by steps, {learned} by the way back"
        );
    }
}
