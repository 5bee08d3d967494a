//! Parity with a plain statement of the method in double-precision PyTorch.
//!
//! `golden.json` holds, for random inputs and parameters: logits, probabilities, similarities, losses and the
//! gradients of all parameters. For the cross-attention tree, in the words of that program:
//!
//! ```python
//! q = (level_embeddings @ wq.T + bq).view(D, m, heads, hd)
//! k = (tokens @ wk.T + bk).view(B, n, heads, hd); v = (tokens @ wv.T + bv).view(B, n, heads, hd)
//! att = (einsum("lmhe,bnhe->bhlmn", q, k) / sqrt(hd)).masked_fill(padding, -inf).softmax(-1)
//! out = einsum("bhlmn,bnhe->blmhe", att, v).flatten(-2)
//! logits[level] = (einsum("bme,te->btm", out[:, level], node_weight) + node_bias[:, None]).mean(-1)
//! levels[l + 1] = stack([levels[l] * sigmoid(logits[l]), levels[l] * (1 - sigmoid(logits[l]))], -1).flatten(1)
//! s = exp(log_scale) * -0.5 * (q[:, None] - c[None]).abs().sum(-1)
//! loss = 0.5 * (cross_entropy(s, diagonal) + cross_entropy(s.T, diagonal)); grads = torch.autograd.grad(loss, params)
//! ```
//!
//! `RETREEVER_GOLDEN=FILE` runs the same tests on another file of that form.

use retreever_data::Ragged;
use retreever_model::parameters::Parameters;
use retreever_model::propagation::{PathConsistencyConfig, PathConsistencyRows};
use retreever_model::split::{CrossAttentionConfig, MlpConfig};
use retreever_model::{PropagationConfig, ScaleConfig, SplitConfig, Step, Tree, TreeConfig, Workspace};
use retreever_tree::{Depth, Level};
use serde_json::Value;

const TOLERANCE: f64 = 1e-4;

struct Golden(Value);

impl Golden {
    fn read() -> Self {
        let text = match std::env::var_os("RETREEVER_GOLDEN") {
            Some(path) => std::fs::read_to_string(path).expect("the file named by RETREEVER_GOLDEN"),
            None => include_str!("golden.json").to_owned(),
        };
        Self(serde_json::from_str(&text).expect("golden numbers are JSON"))
    }

    fn size(&self, name: &str) -> usize {
        self.0["shape"][name].as_u64().expect(name) as usize
    }

    fn config(&self, split: SplitConfig, propagation: PropagationConfig) -> TreeConfig {
        TreeConfig {
            width: self.size("d"),
            depth: Depth::new(self.size("depth") as u8).unwrap(),
            split,
            propagation,
            scale: ScaleConfig::Shared { start: self.0["log_scale"].as_f64().unwrap().exp(), max: f64::MAX },
            temperatures: None,
        }
    }

    /// A tree with the parameters of a case; `names` pairs ours with the file's.
    fn tree(&self, config: TreeConfig, params: &[(&str, &Value)]) -> Tree {
        let mut tree = Tree::new(config, 0);
        for (name, values) in params {
            let ours = tree.params_mut().by_name_mut(name).unwrap_or_else(|| panic!("no tensor {name}"));
            let theirs = flat(values);
            assert_eq!(ours.len(), theirs.len(), "{name}");
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours = theirs as f32);
        }
        tree
    }

    /// Queries, then contexts, without padding.
    fn token_batch(&self) -> Ragged {
        let mut batch = Ragged::new(self.size("d"));
        for (tokens, lengths) in [("query_tokens", "query_lengths"), ("context_tokens", "context_lengths")] {
            for (item, length) in self.0[tokens].as_array().unwrap().iter().zip(flat(&self.0[lengths])) {
                let tokens: Vec<f32> =
                    item.as_array().unwrap()[..length as usize].iter().flat_map(numbers).collect();
                batch.push(&tokens, &tokens[..self.size("d")]);
            }
        }
        batch
    }

    fn pooled_batch(&self) -> Ragged {
        let mut batch = Ragged::new(self.size("d"));
        for side in ["pooled_query", "pooled_context"] {
            for item in self.0["linear_product"][side].as_array().unwrap() {
                batch.push(&numbers(item), &numbers(item));
            }
        }
        batch
    }
}

fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(flat).collect(),
        value => vec![value.as_f64().expect("a number")],
    }
}

fn numbers(value: &Value) -> Vec<f32> {
    flat(value).into_iter().map(|x| x as f32).collect()
}

/// The numbers agree, relative to the largest of them, or to 0.001 where all are smaller: single precision keeps no
/// more of a number that is a difference of numbers about 1.
fn agree(what: &str, ours: &[f32], theirs: &[f64]) {
    agree_from(1e-3, what, ours, theirs);
}

fn agree_from(floor: f64, what: &str, ours: &[f32], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let largest = theirs.iter().fold(floor, |max, x| max.max(x.abs()));
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let error = (f64::from(*ours) - theirs).abs();
        assert!(error <= TOLERANCE * largest, "{what}[{at}]: {ours} for {theirs} (of at most {largest})");
    }
}

/// One step at `level` without dropout: the loss and all gradients.
fn step(tree: &Tree, batch: &Ragged, level: Level) -> (f64, Parameters, Workspace) {
    let mut room = Workspace::default();
    let mut grads = Parameters::zeros(tree.params().layout().clone());
    let step = Step { levels: &[(level, 1.0)], softness: 1.0, cosine: 0.0, dropout: None, mask: &[] };
    let loss = tree.step(batch, step, &mut room, &mut grads);
    (loss, grads, room)
}

/// The probabilities of `level`, those of all items one after another.
fn reached(room: &Workspace, level: Level) -> Vec<f32> {
    let rows = room.reached().reach.chunks_exact(room.reached().nodes());
    rows.flat_map(|row| row[level.start()..][..level.width()].to_vec()).collect()
}

fn check_grads(case: &str, grads: &Parameters, theirs: &Value, names: &[(&str, &str)]) {
    for (ours, name) in names {
        // The gradient of the scale is one sum of similarities, each about 1, that nearly cancel.
        let floor = if *name == "log_scale" { 1e-2 } else { 1e-3 };
        agree_from(
            floor,
            &format!("{case}, gradient of {name}"),
            grads.by_name(ours).expect(ours),
            &flat(&theirs[*name]),
        );
    }
}

#[test]
fn golden_cross_attention_product() {
    let golden = Golden::read();
    let case = &golden.0["cross_attention_product"];
    let split = SplitConfig::CrossAttention(CrossAttentionConfig {
        heads: golden.size("heads"),
        head_width: golden.size("head_dim"),
        level_embeddings: golden.size("level_embeddings"),
        dropout: 0.1,
    });
    let names = ["level_embeddings", "wq", "bq", "wk", "wv", "bv", "node_weight", "node_bias"];
    let ours: Vec<String> = names.iter().map(|name| format!("split.{name}")).collect();
    let params: Vec<_> =
        ours.iter().zip(names).map(|(ours, name)| (&ours[..], &case["params"][name])).collect();
    let tree = golden.tree(golden.config(split, PropagationConfig::Product), &params);
    let batch = golden.token_batch();
    let depth = tree.config().depth;
    for level in depth.levels() {
        let (loss, grads, room) = step(&tree, &batch, level);
        let expected = &case["loss_at_level"][level.to_string()];
        agree(&format!("loss at level {level}"), &[loss as f32], &flat(&expected["loss"]));
        let mut pairs: Vec<_> = ours.iter().zip(names).map(|(ours, name)| (&ours[..], name)).collect();
        pairs.push(("log_scale", "log_scale"));
        check_grads(&format!("level {level}"), &grads, &expected["grad"], &pairs);
        assert!(flat(&expected["grad"]["bk"]).iter().all(|g| g.abs() < 1e-12), "a key bias has no gradient");
        let probabilities = [&case["query_levels"][level.get()], &case["context_levels"][level.get()]];
        agree(
            &format!("probabilities at level {level}"),
            &reached(&room, level),
            &probabilities.iter().flat_map(|side| flat(side)).collect::<Vec<_>>(),
        );
        if level == depth.leaf_level() {
            let logits = [&case["query_logits"], &case["context_logits"]];
            agree("logits", room.logits(), &logits.iter().flat_map(|side| flat(side)).collect::<Vec<_>>());
            let scale = tree.scale();
            let similarity: Vec<f64> = flat(&case["ntvd"]).iter().map(|s| s * scale).collect();
            agree("similarity", room.similarity(), &similarity);
        }
    }
}

/// The cases that look at pooled embeddings and are trained at the leaves.
fn pooled(case: &str, config: TreeConfig, params: &[(&str, &Value)], names: &[(&str, &str)]) -> Workspace {
    let golden = Golden::read();
    let expected = &golden.0[case];
    let tree = golden.tree(config, params);
    let (loss, grads, room) = step(&tree, &golden.pooled_batch(), tree.config().depth.leaf_level());
    agree(&format!("{case}, loss"), &[loss as f32], &flat(&expected["loss"]));
    check_grads(case, &grads, &expected["grad"], names);
    room
}

#[test]
fn golden_linear_product() {
    let golden = Golden::read();
    let case = &golden.0["linear_product"];
    let params = [("split.weight", &case["params"]["weight"]), ("split.bias", &case["params"]["bias"])];
    let names = [("split.weight", "weight"), ("split.bias", "bias"), ("log_scale", "log_scale")];
    let config = golden.config(SplitConfig::Linear, PropagationConfig::Product);
    let leaves = config.depth.leaf_level();
    let room = pooled("linear_product", config, &params, &names);
    let expected = [&case["query_leaves"], &case["context_leaves"]];
    agree(
        "leaves",
        &reached(&room, leaves),
        &expected.iter().flat_map(|side| flat(side)).collect::<Vec<_>>(),
    );
}

#[test]
fn golden_mlp_product() {
    let golden = Golden::read();
    let case = &golden.0["mlp_product"]["params"];
    let split = SplitConfig::Mlp(MlpConfig { hidden: golden.size("mlp_hidden"), dropout: 0.1 });
    let names = [("split.w1", "w1"), ("split.b1", "b1"), ("split.w2", "w2"), ("split.b2", "b2")];
    let params = names.map(|(ours, name)| (ours, &case[name]));
    let names = [&names[..], &[("log_scale", "log_scale")]].concat();
    pooled("mlp_product", golden.config(split, PropagationConfig::Product), &params, &names);
}

#[test]
fn golden_linear_path_consistency() {
    let golden = Golden::read();
    let case = &golden.0["linear_path_consistency"];
    let propagation = PropagationConfig::PathConsistency(PathConsistencyConfig {
        hidden: golden.size("mlp_hidden"),
        lambda: case["lambda"].as_f64().unwrap(),
        tau: case["tau"].as_f64().unwrap(),
        rows: PathConsistencyRows::Raw,
    });
    let names = [
        ("split.weight", "weight"),
        ("split.bias", "bias"),
        ("propagation.w1", "mlp_w1"),
        ("propagation.b1", "mlp_b1"),
        ("propagation.w2", "mlp_w2"),
        ("propagation.b2", "mlp_b2"),
        ("log_scale", "log_scale"),
    ];
    let params = [
        ("split.weight", &case["params"]["weight"]),
        ("split.bias", &case["params"]["bias"]),
        ("propagation.w1", &case["mlp"]["w1"]),
        ("propagation.b1", &case["mlp"]["b1"]),
        ("propagation.w2", &case["mlp"]["w2"]),
        ("propagation.b2", &case["mlp"]["b2"]),
    ];
    let config = golden.config(SplitConfig::Linear, propagation);
    let depth = config.depth;
    let room = pooled("linear_path_consistency", config, &params, &names);
    for level in depth.levels() {
        let expected = [&case["query_levels"][level.get()], &case["context_levels"][level.get()]];
        agree(
            "levels",
            &reached(&room, level),
            &expected.iter().flat_map(|side| flat(side)).collect::<Vec<_>>(),
        );
    }
}
