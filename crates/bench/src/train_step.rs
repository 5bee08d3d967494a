//! `retreever-bench train-step`: one training step of the cross-attention tree beside two PyTorch versions.
//!
//! Batch 64, depth 10, 16 heads of 64, 8 level embeddings, queries of 16 tokens and contexts of 128; and a ragged case
//! whose lengths add up to 60 % of that. A step is forward, backward, clipping and AdamW. Loss and all gradients, ours and
//! the peer's, are compared with PyTorch in double precision in the same run, before anything is timed.
//!
//! The gradient of `|q - c|` jumps where two probabilities are equal, and of four million such pairs some are equal but for
//! rounding. So the double-precision gradients that ours are held against take the sides of these ties from our
//! probabilities, and a side may differ only at a tie: where the two are closer than `TOLERANCE` of the larger.

use crate::measurement::{Measurement, Unit, median, shortest, times};
use crate::peer::python;
use anyhow::{Context, Result, ensure};
use retreever_data::Ragged;
use retreever_model::optimizer::{AdamW, AdamWConfig};
use retreever_model::parameters::Parameters;
use retreever_model::propagation::Reached;
use retreever_model::split::CrossAttentionConfig;
use retreever_model::{
    PropagationConfig, Random, ScaleConfig, SplitConfig, Step, Tree, TreeConfig, Workspace,
};
use retreever_tree::Depth;
use safetensors::tensor::{Dtype, TensorView};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How the bench is run.
#[derive(clap::Args)]
pub struct Options {
    /// Threads of both sides.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Timed steps of each version.
    #[arg(long, default_value_t = 12)]
    runs: usize,
}

/// How far results may differ, relative to the largest number of each tensor; and the larger of two probabilities.
const TOLERANCE: f64 = 1e-4;
const BATCH: usize = 64;
const DEPTH: u8 = 10;
const QUERY_TOKENS: usize = 16;
const CONTEXT_TOKENS: usize = 128;

struct Case {
    name: &'static str,
    width: usize,
    lengths: Lengths,
}

enum Lengths {
    /// Every item has all its tokens.
    Full,
    /// Lengths like those of real texts: 60 % of the tokens.
    Ragged,
}

const CASES: [Case; 3] = [
    Case { name: "dense-384", width: 384, lengths: Lengths::Full },
    Case { name: "dense-768", width: 768, lengths: Lengths::Full },
    Case { name: "ragged-384", width: 384, lengths: Lengths::Ragged },
];

/// What a version of the peer prints.
#[derive(serde::Deserialize)]
struct Peer {
    style: String,
    error: std::collections::BTreeMap<String, f64>,
    other_sides: usize,
    widest_tie: f64,
    peer_error: f64,
    seconds: Vec<f64>,
}

/// Measures every case.
pub fn run(options: &Options) -> Result<()> {
    let python = python(&[("torch", "torch"), ("numpy", "numpy")])?;
    rayon::ThreadPoolBuilder::new().num_threads(options.threads).build_global().context("threads")?;
    for case in CASES {
        measure(&case, options, &python).with_context(|| format!("case {}", case.name))?;
    }
    Ok(())
}

fn measure(case: &Case, options: &Options, python: &Path) -> Result<()> {
    let attention = CrossAttentionConfig { dropout: 0.0, ..CrossAttentionConfig::default() };
    let heads = attention.heads;
    let config = TreeConfig {
        width: case.width,
        depth: Depth::new(DEPTH).context("depth")?,
        split: SplitConfig::CrossAttention(attention),
        propagation: PropagationConfig::Product,
        scale: ScaleConfig::Shared { start: 20.0, max: 100.0 },
        temperatures: None,
    };
    let flops = flops(case.width, &config);
    let mut tree = Tree::new(config, 1);
    let batch = batch(case);
    let levels = [(tree.config().depth.leaf_level(), 1.0)];
    let step = Step { levels: &levels, softness: 1.0, cosine: 0.0, dropout: None, mask: &[] };
    let (mut room, mut grads) = (Workspace::default(), Parameters::zeros(tree.params().layout().clone()));
    let loss = tree.step(&batch, step, &mut room, &mut grads);

    let file = tempfile::NamedTempFile::new()?;
    write(file.path(), case, &batch, &tree, &Outcome { loss, reached: room.reached(), grads: &grads })?;

    let mut optimiser = AdamW::new(AdamWConfig::default(), tree.params());
    let ours = times(options.runs + 2, || {
        grads.as_mut_slice().fill(0.0);
        tree.step(&batch, step, &mut room, &mut grads);
        optimiser.step(tree.params_mut(), &grads, 1e-4);
    });
    let (ours, memory) = (&ours[2..], peak_memory_mb());

    let output = Command::new(python)
        .args(["-c", include_str!("../python/train_step.py")])
        .arg(file.path())
        .args([options.runs, options.threads, heads, DEPTH.into()].map(|n| n.to_string()))
        .output()?;
    ensure!(output.status.success(), "the peer failed: {}", String::from_utf8_lossy(&output.stderr));
    let tokens = batch.tokens().len() / case.width;
    for line in String::from_utf8(output.stdout)?.lines() {
        let peer: Peer = serde_json::from_str(line)?;
        let theirs: Vec<Duration> = peer.seconds.iter().map(|s| Duration::from_secs_f64(*s)).collect();
        let (worst, error) =
            peer.error.iter().max_by(|a, b| a.1.total_cmp(b.1)).context("nothing compared")?;
        if *error > TOLERANCE {
            eprintln!("{}: {worst} differs by {error:e}", case.name);
        }
        Measurement::new("train-step", case.name, format!("torch-{}", peer.style), Unit::Milliseconds)
            .figures(1e3 * shortest(ours), 1e3 * shortest(&theirs))
            .checked(*error <= TOLERANCE && peer.widest_tie <= TOLERANCE)
            .with("median_ours", 1e3 * median(ours))
            .with("median_theirs", 1e3 * median(&theirs))
            .with("max_error", *error)
            .with("max_error_theirs", peer.peer_error)
            .with("other_sides", peer.other_sides as f64)
            .with("widest_tie", peer.widest_tie)
            .with("gflops", flops * tokens as f64 / shortest(ours) / 1e9)
            .with("memory_mb_ours", memory)
            .print();
    }
    Ok(())
}

/// Floating-point operations a token of the three large products: scores, contexts, and both on the way back.
fn flops(width: usize, config: &TreeConfig) -> f64 {
    let SplitConfig::CrossAttention(attention) = &config.split else { return 0.0 };
    let means = config.depth.get() * attention.heads;
    (4 * width * means * attention.level_embeddings + 4 * width * means) as f64
}

fn batch(case: &Case) -> Ragged {
    let mut random = Random::new(7, case.width as u64);
    let mut batch = Ragged::new(case.width);
    for most in [QUERY_TOKENS, CONTEXT_TOKENS] {
        for item in 0..BATCH {
            let length = match case.lengths {
                Lengths::Full => most,
                // 20 % to 100 %, evenly: 60 % on average.
                Lengths::Ragged => most * (BATCH + 4 * item) / (5 * BATCH) + 1,
            };
            let tokens: Vec<f32> = (0..length * case.width).map(|_| random.normal() as f32).collect();
            batch.push(&tokens, &tokens[..case.width]);
        }
    }
    batch
}

/// What our step came to.
struct Outcome<'a> {
    loss: f64,
    reached: &'a Reached,
    grads: &'a Parameters,
}

/// Everything the peer needs, in one safetensors file.
fn write(path: &Path, case: &Case, batch: &Ragged, tree: &Tree, outcome: &Outcome<'_>) -> Result<()> {
    let leaves = tree.config().depth.leaf_level();
    let reach = outcome.reached.reach.chunks_exact(outcome.reached.nodes());
    let reach = reach.flat_map(|nodes| &nodes[leaves.start()..]).copied().collect();
    let mut tensors: Vec<(String, Vec<usize>, Vec<f32>)> = vec![
        ("loss".into(), vec![1], vec![outcome.loss as f32]),
        ("reach".into(), vec![2 * BATCH, leaves.width()], reach),
    ];
    for (side, first, most) in [("query", 0, QUERY_TOKENS), ("context", BATCH, CONTEXT_TOKENS)] {
        let (mut tokens, mut lengths) = (Vec::new(), Vec::new());
        for item in first..first + BATCH {
            tokens.extend_from_slice(batch.item(item));
            tokens.resize((item + 1 - first) * most * case.width, 0.0);
            lengths.push((batch.item(item).len() / case.width) as f32);
        }
        tensors.push((format!("{side}_tokens"), vec![BATCH, most, case.width], tokens));
        tensors.push((format!("{side}_lengths"), vec![BATCH], lengths));
    }
    for (kind, values) in [("param", tree.params()), ("grad", outcome.grads)] {
        for (entry, values) in values.iter() {
            let name = entry.name.strip_prefix("split.").unwrap_or(&entry.name);
            tensors.push((format!("{kind}_{name}"), entry.shape.clone(), values.to_vec()));
        }
    }
    let bytes: Vec<Vec<u8>> =
        tensors.iter().map(|(_, _, values)| values.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
        TensorView::new(Dtype::F32, shape.clone(), bytes).map(|view| (name.clone(), view))
    });
    let views: Vec<_> = views.collect::<Result<_, _>>()?;
    Ok(safetensors::serialize_to_file(views, None, path)?)
}

/// The most memory this process has had, in MB.
fn peak_memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
}
