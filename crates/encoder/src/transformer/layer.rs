//! One layer: attention and feed-forward, each added to its input and normalised.
//!
//! Of the biases in attention, that of the keys has no effect (it adds the same to all scores of a row), and that
//! of the values passes through unchanged (weights sum to 1): the second is folded into the output's.

use super::precision::Precision;
use super::{Threads, Workspace};
use crate::EncoderError;
use crate::config::{Config, Family};
use crate::weights::Weights;
use retreever_kernels::gelu::{Activation, bias_activation};
use retreever_kernels::gemm::{Mat, MatMut, Packed, Path, Write, gemm_packed, par_gemm_packed_columns};
use retreever_kernels::layer_norm::{LayerNorm, add_layer_norm};
use retreever_kernels::self_attention::{DistanceBias, SelfAttention, self_attention};

pub(super) struct Layer {
    heads: usize,
    width: usize,
    qkv: Packed, // [width, 3 * width]
    query_bias: Vec<f32>,
    output: Packed, // [width, width]
    output_bias: Vec<f32>,
    attention_norm: LayerNorm,
    up: Packed, // [width, inner]
    up_bias: Vec<f32>,
    activation: Activation,
    down: Packed, // [inner, width]
    down_bias: Vec<f32>,
    output_norm: LayerNorm,
}

/// What a family calls the parts of a layer.
struct Names {
    layer: &'static str,
    query: &'static str,
    key: &'static str,
    value: &'static str,
    output: &'static str,
    attention_norm: &'static str,
    up: &'static str,
    down: &'static str,
    output_norm: &'static str,
}

const BERT: Names = Names {
    layer: "encoder.layer",
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    output_norm: "output.LayerNorm",
};
const MPNET: Names = Names {
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    output: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
    ..BERT
};
const DISTILBERT: Names = Names {
    layer: "transformer.layer",
    query: "attention.q_lin",
    key: "attention.k_lin",
    value: "attention.v_lin",
    output: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    up: "ffn.lin1",
    down: "ffn.lin2",
    output_norm: "output_layer_norm",
};

impl Layer {
    pub(super) fn new(
        config: &Config,
        weights: &Weights,
        index: usize,
        precision: Precision,
    ) -> Result<Self, EncoderError> {
        let names = match config.family {
            Family::Bert | Family::Roberta => BERT,
            Family::Mpnet { .. } => MPNET,
            Family::DistilBert => DISTILBERT,
        };
        let (width, inner) = (config.width, config.inner);
        let name = |part: &str, kind: &str| format!("{}.{index}.{part}.{kind}", names.layer);
        // PyTorch keeps the transpose: [out, in].
        let matrix = |part, out: usize, into: usize| weights.tensor(&name(part, "weight"), &[out, into]);
        let bias = |part, out: usize| weights.tensor(&name(part, "bias"), &[out]);
        let norm = |part| {
            let gain = weights.tensor(&name(part, "weight"), &[width])?;
            Ok::<_, EncoderError>(LayerNorm { gain, shift: bias(part, width)?, epsilon: config.epsilon })
        };

        let mut qkv = matrix(names.query, width, width)?;
        qkv.extend(matrix(names.key, width, width)?);
        qkv.extend(matrix(names.value, width, width)?);
        let output = matrix(names.output, width, width)?;
        let value_bias = bias(names.value, width)?;
        let output_bias = bias(names.output, width)?
            .iter()
            .zip(output.chunks_exact(width))
            .map(|(&bias, row)| {
                let passed: f64 =
                    row.iter().zip(&value_bias).map(|(&w, &b)| f64::from(w) * f64::from(b)).sum();
                (f64::from(bias) + passed) as f32
            })
            .collect();
        let packed = |weights: &[f32], out, into| {
            let b = Mat::new(weights, out, into).t();
            match precision {
                Precision::Quick => Packed::new(b),
                Precision::Single => Packed::for_path(Path::Portable, b),
            }
        };
        let up = matrix(names.up, inner, width)?;
        let down = matrix(names.down, width, inner)?;
        Ok(Self {
            heads: config.heads,
            width,
            qkv: packed(&qkv, 3 * width, width),
            query_bias: bias(names.query, width)?,
            output: packed(&output, width, width),
            output_bias,
            attention_norm: norm(names.attention_norm)?,
            up: packed(&up, inner, width),
            up_bias: bias(names.up, inner)?,
            activation: config.activation,
            down: packed(&down, width, inner),
            down_bias: bias(names.down, width)?,
            output_norm: norm(names.output_norm)?,
        })
    }

    /// Replaces the hidden states by the next layer's.
    pub(super) fn forward(&self, items: &[&[u32]], bias: Option<&DistanceBias>, workspace: &mut Workspace) {
        let Workspace { hidden, qkv, attended, branch, inner, scratch, threads } = workspace;
        let threads = *threads;
        let width = self.width;
        let rows = hidden.len() / width;

        multiply(hidden, &self.qkv, threads, qkv);
        attended.resize(rows * width, 0.0);
        let (mut qkv, mut out) = (qkv.as_slice(), attended.as_mut_slice());
        for item in items {
            let (item_qkv, rest) = qkv.split_at(item.len() * 3 * width);
            let (item_out, rest_out) = out.split_at_mut(item.len() * width);
            (qkv, out) = (rest, rest_out);
            let head_width = width / self.heads;
            let input = SelfAttention {
                qkv: item_qkv,
                query_bias: &self.query_bias,
                heads: self.heads,
                width: head_width,
                scale: 1.0 / (head_width as f32).sqrt(),
                distance_bias: bias,
            };
            self_attention(input, scratch, item_out);
        }
        multiply(attended, &self.output, threads, branch);
        add_layer_norm(hidden, branch, &self.output_bias, &self.attention_norm);

        multiply(hidden, &self.up, threads, inner);
        bias_activation(inner, &self.up_bias, self.activation);
        multiply(inner, &self.down, threads, branch);
        add_layer_norm(hidden, branch, &self.down_bias, &self.output_norm);
    }
}

/// `out = a b`
fn multiply(a: &[f32], b: &Packed, threads: Threads, out: &mut Vec<f32>) {
    let rows = a.len() / b.rows();
    out.resize(rows * b.cols(), 0.0);
    let (a, out) = (Mat::new(a, rows, b.rows()), MatMut::new(out, rows, b.cols()));
    match threads {
        Threads::This => gemm_packed(a, b, out, Write::Set),
        Threads::All => par_gemm_packed_columns(a, b, out, Write::Set),
    }
}
