//! Gradients against finite differences on random shapes, and folded attention against attention as it is defined.

use proptest::prelude::*;
use retreever_data::Ragged;
use retreever_model::parameters::Parameters;
use retreever_model::propagation::{PathConsistencyConfig, PathConsistencyRows};
use retreever_model::schedule::Progress;
use retreever_model::split::{CrossAttentionConfig, MlpConfig, PlantedConfig};
use retreever_model::{
    Adapter, AdapterConfig, Learner, Lesson, PropagationConfig, Random, ScaleConfig, SplitConfig, Step, Tree,
    TreeConfig, TrunkConfig, Workspace,
};
use retreever_tree::Depth;

fn batch(random: &mut Random, width: usize, pairs: usize, tokens: usize) -> Ragged {
    let mut batch = Ragged::new(width);
    for _ in 0..2 * pairs {
        let length = 1 + random.below(tokens);
        let numbers: Vec<f32> = (0..length * width).map(|_| random.normal() as f32).collect();
        batch.push(&numbers, &numbers[..width]);
    }
    batch
}

fn config(split: SplitConfig, propagation: PropagationConfig, width: usize, depth: u8) -> TreeConfig {
    TreeConfig {
        width,
        depth: Depth::new(depth).unwrap(),
        split,
        propagation,
        scale: ScaleConfig::Shared { start: 3.0, max: 100.0 },
        temperatures: None,
    }
}

/// Moves every parameter a little, so that nothing stays at a special starting value.
fn stir(params: &mut Parameters, random: &mut Random) {
    params.as_mut_slice().iter_mut().for_each(|x| *x += 0.3 * random.normal() as f32);
}

/// Compares the slope of the loss along the gradient of each tensor with the gradient's length. Across a kink (ReLU, an
/// absolute value) a slope is wrong, so shorter steps and both sides are tried until one does not reach it.
fn check(
    params: &Parameters,
    grads: &Parameters,
    loss: impl Fn(&Parameters) -> f64,
) -> Result<(), TestCaseError> {
    for (entry, grad) in grads.iter() {
        // Fixed directions have no gradient.
        let length = grad.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
        if length < 1e-3 {
            continue;
        }
        let slopes = |step: f64| {
            let moved = |by: f64| {
                let mut moved = params.clone();
                for (at, g) in entry.range.clone().zip(grad) {
                    moved.as_mut_slice()[at] += (by * f64::from(*g) / length) as f32;
                }
                loss(&moved)
            };
            let here = loss(params);
            [(moved(step) - here) / step, (here - moved(-step)) / step]
        };
        let close = |slope: f64| (slope - length).abs() <= 0.02 * length + 2e-3;
        let found = [1e-3, 3e-4, 1e-4].into_iter().flat_map(slopes).any(close);
        prop_assert!(found, "{}: {:?} for {length}", entry.name, slopes(3e-4));
    }
    Ok(())
}

fn check_tree(
    config: TreeConfig,
    pairs: usize,
    seed: u64,
    dropout: Option<u64>,
) -> Result<(), TestCaseError> {
    let mut random = Random::new(seed, 9);
    let batch = batch(&mut random, config.width, pairs, 7);
    let mut tree = Tree::new(config.clone(), seed);
    tree.plant(&batch, seed);
    stir(tree.params_mut(), &mut random);
    let level = config.depth.levels().nth(random.below(config.depth.get())).unwrap();
    let levels = [(level, 0.7), (config.depth.leaf_level(), 0.3)];
    let mask: Vec<bool> = (0..pairs * pairs).map(|_| random.below(4) == 0).collect();
    let step = Step { levels: &levels, softness: 1.0, cosine: 3.0, dropout, mask: &mask };
    let planted = tree.config().clone();
    let loss = |params: &Parameters| {
        let mut tree = Tree::new(planted.clone(), seed);
        tree.params_mut().as_mut_slice().copy_from_slice(params.as_slice());
        let mut unused = Parameters::zeros(params.layout().clone());
        tree.step(&batch, step, &mut Workspace::default(), &mut unused)
    };
    let mut grads = Parameters::zeros(tree.params().layout().clone());
    tree.step(&batch, step, &mut Workspace::default(), &mut grads);
    check(tree.params(), &grads, loss)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cross_attention(heads in 1usize..4, head_width in 1usize..6, level_embeddings in 1usize..4, width in 2usize..9,
                       depth in 1u8..5, pairs in 2usize..5, seed in 0u64..1000, drop in any::<bool>()) {
        let split = SplitConfig::CrossAttention(CrossAttentionConfig { heads, head_width, level_embeddings, dropout: 0.2 });
        check_tree(config(split, PropagationConfig::Product, width, depth), pairs, seed, drop.then_some(seed))?;
    }

    #[test]
    fn mlp_and_linear(hidden in 1usize..9, width in 2usize..9, depth in 1u8..5, pairs in 2usize..5, seed in 0u64..1000,
                      drop in any::<bool>()) {
        let mlp = SplitConfig::Mlp(MlpConfig { hidden, dropout: 0.3 });
        check_tree(config(mlp, PropagationConfig::Product, width, depth), pairs, seed, drop.then_some(seed))?;
        check_tree(config(SplitConfig::Linear, PropagationConfig::Product, width, depth), pairs, seed, None)?;
        let trunks = [TrunkConfig::Linear, TrunkConfig::Mlp { hidden, dropout: 0.3 }];
        let planted = PlantedConfig { trunk: trunks[seed as usize % 2], upper: 2, deviation: 0.5, growth: 1.3 };
        let planted = SplitConfig::Planted(planted);
        check_tree(config(planted, PropagationConfig::Product, width, depth), pairs, seed, drop.then_some(seed))?;
    }

    #[test]
    fn path_consistency(hidden in 1usize..6, width in 2usize..6, depth in 1u8..4, pairs in 2usize..5, seed in 0u64..1000,
                        raw in any::<bool>()) {
        let rows = if raw { PathConsistencyRows::Raw } else { PathConsistencyRows::Normalised };
        let propagation =
            PropagationConfig::PathConsistency(PathConsistencyConfig { hidden, lambda: 0.1, tau: 0.2, rows });
        check_tree(config(SplitConfig::Linear, propagation, width, depth), pairs, seed, None)?;
    }

    #[test]
    fn adapters(kind in 0usize..3, width in 2usize..9, pairs in 2usize..6, seed in 0u64..1000) {
        let kinds = [AdapterConfig::Linear, AdapterConfig::Mlp { hidden: 5, dropout: 0.0 }, AdapterConfig::Matryoshka { largest: 12 }];
        let mut random = Random::new(seed, 3);
        let batch = batch(&mut random, width, pairs, 1);
        let mut adapter = Adapter::new(kinds[kind].clone(), width, seed);
        stir(adapter.params_mut(), &mut random);
        let lesson = Lesson { progress: Progress { step: 0, total: 1 }, seed, mask: &[] };
        let mut grads = Parameters::zeros(adapter.params().layout().clone());
        adapter.learn(&batch, lesson, &mut grads);
        check(adapter.params(), &grads, |params| {
            let mut other = Adapter::new(kinds[kind].clone(), width, seed);
            other.params_mut().as_mut_slice().copy_from_slice(params.as_slice());
            other.learn(&batch, lesson, &mut Parameters::zeros(params.layout().clone()))
        })?;
    }

    #[test]
    fn folded_attention_is_attention(heads in 1usize..5, head_width in 1usize..20, level_embeddings in 1usize..4,
                                     width in 1usize..40, depth in 1u8..5, seed in 0u64..1000) {
        let attention = CrossAttentionConfig { heads, head_width, level_embeddings, dropout: 0.1 };
        let mut random = Random::new(seed, 1);
        let batch = batch(&mut random, width, 3, 20);
        let config = config(SplitConfig::CrossAttention(attention), PropagationConfig::Product, width, depth);
        let mut tree = Tree::new(config, seed);
        stir(tree.params_mut(), &mut random);
        let (mut room, mut rows) = (Workspace::default(), Vec::new());
        tree.represent(&batch, tree.config().depth.leaf_level(), &mut room, &mut rows);
        let expected = unfolded(tree.params(), &batch, heads, head_width, level_embeddings);
        for (ours, theirs) in room.logits().iter().zip(expected) {
            prop_assert!((f64::from(*ours) - theirs).abs() < 1e-4 * (1.0 + theirs.abs()), "{ours} for {theirs}");
        }
    }
}

/// The logits as they are defined: keys and values for every token, node maps for every embedding, then the mean.
fn unfolded(
    params: &Parameters,
    batch: &Ragged,
    heads: usize,
    head_width: usize,
    embeddings: usize,
) -> Vec<f64> {
    let get = |name: &str| -> Vec<f64> {
        params.by_name(&format!("split.{name}")).unwrap().iter().map(|x| f64::from(*x)).collect()
    };
    let (all, width) = (heads * head_width, batch.width());
    let dense = |x: &[f64], weight: &[f64], bias: Option<&[f64]>| -> Vec<f64> {
        let rows = weight.chunks_exact(x.len());
        rows.enumerate().map(|(o, row)| dot(row, x) + bias.map_or(0.0, |bias| bias[o])).collect()
    };
    let (wq, bq, wk, wv, bv) = (get("wq"), get("bq"), get("wk"), get("wv"), get("bv"));
    let (node_weight, node_bias, asking) = (get("node_weight"), get("node_bias"), get("level_embeddings"));
    let mut logits = Vec::new();
    for item in 0..batch.len() {
        let tokens: Vec<Vec<f64>> = batch
            .item(item)
            .chunks_exact(width)
            .map(|token| token.iter().map(|x| f64::from(*x)).collect())
            .collect();
        let keys: Vec<_> = tokens.iter().map(|token| dense(token, &wk, None)).collect();
        let values: Vec<_> = tokens.iter().map(|token| dense(token, &wv, Some(&bv))).collect();
        for node in 0..node_bias.len() {
            let level = (node + 1).ilog2() as usize;
            let mut mean = 0.0;
            for embedding in 0..embeddings {
                let q = dense(&asking[(level * embeddings + embedding) * all..][..all], &wq, Some(&bq));
                for head in 0..heads {
                    let at = head * head_width..(head + 1) * head_width;
                    let scores = keys
                        .iter()
                        .map(|key| dot(&q[at.clone()], &key[at.clone()]) / (head_width as f64).sqrt());
                    let weights: Vec<f64> = scores.map(f64::exp).collect();
                    let total: f64 = weights.iter().sum();
                    for (weight, value) in weights.iter().zip(&values) {
                        let map = &node_weight[node * all..][at.clone()];
                        mean += weight / total * dot(map, &value[at.clone()]) / embeddings as f64;
                    }
                }
            }
            logits.push(mean + node_bias[node]);
        }
    }
    logits
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
