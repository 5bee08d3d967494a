//! `config.json`: the family of a model, and its sizes.

use crate::EncoderError;
use crate::error::io;
use retreever_kernels::gelu::Activation;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::Path;

/// What tells the transformers apart that are built here. All of them normalise after each sub-layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Token types; positions from 0.
    Bert,
    /// As BERT, with positions after the padding token's; also XLM-R and CamemBERT.
    Roberta,
    /// BERT without token types, under other names.
    DistilBert,
    /// Positions as RoBERTa, and a bias by distance in this many buckets.
    Mpnet { buckets: usize },
}

/// The sizes of a transformer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) family: Family,
    pub(crate) width: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) inner: usize,
    pub(crate) positions: usize,
    pub(crate) epsilon: f32,
    pub(crate) activation: Activation,
    pub(crate) padding: u32,
}

#[derive(Deserialize)]
struct Raw {
    model_type: String,
    #[serde(alias = "dim")]
    hidden_size: usize,
    #[serde(alias = "n_layers")]
    num_hidden_layers: usize,
    #[serde(alias = "n_heads")]
    num_attention_heads: usize,
    #[serde(alias = "hidden_dim")]
    intermediate_size: usize,
    max_position_embeddings: usize,
    layer_norm_eps: Option<f32>,
    #[serde(alias = "activation")]
    hidden_act: Option<String>,
    pad_token_id: Option<u32>,
    position_embedding_type: Option<String>,
    relative_attention_num_buckets: Option<usize>,
}

impl Config {
    pub(crate) fn read(path: &Path) -> Result<Self, EncoderError> {
        let raw: Raw = read_json(path)?.ok_or_else(|| EncoderError::Missing {
            path: path.to_owned(),
            advice: "an encoder is a directory with config.json, model.safetensors and tokenizer.json, or with \
                     model.onnx and tokenizer.json",
        })?;
        let unsupported =
            |what: String, known| EncoderError::Unsupported { path: path.to_owned(), what, known };
        let malformed =
            |reason: &str| EncoderError::Malformed { path: path.to_owned(), reason: reason.into() };

        let family = match raw.model_type.as_str() {
            "bert" => Family::Bert,
            "roberta" | "xlm-roberta" | "camembert" => Family::Roberta,
            "distilbert" => Family::DistilBert,
            "mpnet" => Family::Mpnet { buckets: raw.relative_attention_num_buckets.unwrap_or(32) },
            other => {
                let known = "bert, roberta, xlm-roberta, camembert, distilbert and mpnet are";
                return Err(unsupported(format!("model_type `{other}`"), known));
            }
        };
        if let Some(kind) = raw.position_embedding_type.filter(|kind| kind != "absolute") {
            return Err(unsupported(format!("position_embedding_type `{kind}`"), "absolute is"));
        }
        let activation = match raw.hidden_act.as_deref().unwrap_or("gelu") {
            "gelu" => Activation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
            "relu" => Activation::Relu,
            other => {
                let known = "gelu, gelu_new, gelu_pytorch_tanh and relu are";
                return Err(unsupported(format!("activation `{other}`"), known));
            }
        };
        let config = Self {
            family,
            width: raw.hidden_size,
            layers: raw.num_hidden_layers,
            heads: raw.num_attention_heads,
            inner: raw.intermediate_size,
            positions: raw.max_position_embeddings,
            epsilon: raw.layer_norm_eps.unwrap_or(1e-12),
            activation,
            padding: raw.pad_token_id.unwrap_or(0),
        };
        if config.width == 0 || config.heads == 0 || config.inner == 0 {
            return Err(malformed("a size is 0"));
        }
        if !config.width.is_multiple_of(config.heads) {
            return Err(malformed("hidden_size is not a multiple of num_attention_heads"));
        }
        if config.longest() == 0 {
            return Err(malformed("max_position_embeddings leaves no position for a token"));
        }
        if matches!(family, Family::Mpnet { buckets } if buckets < 4) {
            return Err(malformed("relative_attention_num_buckets is below 4"));
        }
        Ok(config)
    }

    /// The position of the first token.
    pub(crate) fn first_position(&self) -> usize {
        match self.family {
            Family::Bert | Family::DistilBert => 0,
            Family::Roberta | Family::Mpnet { .. } => self.padding as usize + 1,
        }
    }

    /// The largest number of tokens that have a position.
    pub(crate) fn longest(&self) -> usize {
        self.positions.saturating_sub(self.first_position())
    }
}

/// How many tokens have a position in any model, known here or not, if its `config.json` says.
#[cfg(feature = "onnx")]
pub(crate) fn positions(path: &Path) -> Result<Option<usize>, EncoderError> {
    #[derive(Deserialize)]
    struct Positions {
        model_type: Option<String>,
        max_position_embeddings: Option<usize>,
        pad_token_id: Option<usize>,
    }
    let Some(Positions { model_type, max_position_embeddings, pad_token_id }) = read_json(path)? else {
        return Ok(None);
    };
    let first = match model_type.as_deref() {
        Some("roberta" | "xlm-roberta" | "camembert" | "mpnet") => pad_token_id.unwrap_or(1) + 1,
        _ => 0,
    };
    Ok(max_position_embeddings.map(|positions| positions.saturating_sub(first)))
}

/// A JSON file, or `None` where there is none.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EncoderError> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| EncoderError::Malformed { path: path.to_owned(), reason: error.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io("read", path)(error)),
    }
}
