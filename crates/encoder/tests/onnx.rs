//! ONNX files through the same door as every other encoder: `parity/tiny.onnx` is the tiny BERT of `parity/golden.json`
//! (both files made by `parity/export.py`).
#![cfg(feature = "onnx")]

use retreever_data::Ragged;
use retreever_encoder::{Encoder, OnnxEncoder, Role, open};
use serde::Deserialize;
use std::fs;
use std::path::Path;

const TINY: &[u8] = include_bytes!("parity/tiny.onnx");
const COMPANY: &[u8] = include_bytes!("parity/company.onnx");

#[derive(Deserialize)]
struct Golden {
    tokenizer: serde_json::Value,
    tiny: Vec<Tiny>,
}

#[derive(Deserialize)]
struct Tiny {
    name: String,
    config: serde_json::Value,
    texts: Vec<Text>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
    tokens: Vec<f64>,
}

/// The tokeniser, and the model that `tiny.onnx` is.
fn golden() -> (serde_json::Value, Tiny) {
    let golden: Golden = serde_json::from_str(include_str!("parity/golden.json")).unwrap();
    let bert = golden.tiny.into_iter().find(|tiny| tiny.name == "bert").unwrap();
    (golden.tokenizer, bert)
}

fn write(dir: &Path, name: &str, model: &[u8]) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, model).unwrap();
    fs::write(dir.join("tokenizer.json"), golden().0.to_string()).unwrap();
}

fn encode(encoder: &dyn Encoder, texts: &[&str]) -> Ragged {
    let mut batch = Ragged::new(encoder.width());
    encoder.encode(texts, Role::Document, &mut batch).unwrap();
    batch
}

#[test]
fn a_graph_agrees_with_transformers() {
    let (_, bert) = golden();
    let texts: Vec<&str> = bert.texts.iter().map(|text| text.text.as_str()).collect();
    let mut fingerprints = Vec::new();
    for name in ["model.onnx", "onnx/model.onnx"] {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), name, TINY);
        // Without it nothing says that there are 40 positions.
        fs::write(dir.path().join("config.json"), bert.config.to_string()).unwrap();
        let encoder = open(dir.path()).unwrap();
        let batch = encode(&*encoder, &texts);
        for (i, text) in bert.texts.iter().enumerate() {
            let found = batch.item(i);
            assert_eq!(found.len(), text.tokens.len(), "{:?}", text.text);
            let error =
                found.iter().zip(&text.tokens).map(|(&x, y)| (f64::from(x) - y).abs()).fold(0.0, f64::max);
            assert!(error < 1e-5, "{:?} is off by {error}", text.text);
            let alone = encode(&*encoder, &[&text.text]);
            let same = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6;
            assert!(alone.item(0).iter().zip(found).all(same), "{:?} alone", text.text);
        }
        fingerprints.push(encoder.fingerprint());
    }
    assert_eq!(fingerprints[0], fingerprints[1]);
}

#[test]
fn pooling_is_read_from_the_files_of_sentence_transformers() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "model.onnx", TINY);
    let plain = open(dir.path()).unwrap();
    fs::create_dir(dir.path().join("1_Pooling")).unwrap();
    fs::write(
        dir.path().join("modules.json"),
        r#"[{"path":"","type":"sentence_transformers.models.Transformer"},
            {"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
            {"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}]"#,
    )
    .unwrap();
    fs::write(dir.path().join("1_Pooling/config.json"), r#"{"pooling_mode_cls_token":true}"#).unwrap();
    fs::write(dir.path().join("sentence_bert_config.json"), r#"{"max_seq_length":7}"#).unwrap();
    let pooled = open(dir.path()).unwrap();
    assert_ne!(plain.fingerprint(), pooled.fingerprint());
    let text = "the insurance pays a word, no?";
    let (plain, pooled) = (encode(&*plain, &[text]), encode(&*pooled, &[text]));
    let width = plain.width();
    assert_eq!(pooled.item(0).len(), 7 * width);
    assert!(plain.item(0).len() > 7 * width);
    let mean = |column: usize| {
        let rows = plain.item(0).chunks_exact(width);
        rows.len() as f32 * plain.pooled()[column] - rows.map(|row| row[column]).sum::<f32>()
    };
    assert!((0..width).all(|column| mean(column).abs() < 1e-4));
    let norm = pooled.item(0)[..width].iter().map(|x| x * x).sum::<f32>().sqrt();
    let first = pooled.item(0)[..width].iter().map(|x| x / norm);
    assert!(first.zip(pooled.pooled()).all(|(a, b)| (a - b).abs() < 1e-6));
}

/// Its numbers depend on what else is in a batch, as those of a quantised model do, and it takes six tokens only.
#[test]
fn a_graph_that_minds_its_company_runs_alone_and_filled_up() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "model.onnx", COMPANY);
    let encoder = OnnxEncoder::open(dir.path()).unwrap();
    assert_eq!((encoder.longest(), encoder.width()), (6, 4));
    let texts = ["the", "a", "pays", "word word word word word", ""];
    let together = encode(&encoder, &texts);
    for (i, text) in texts.iter().enumerate() {
        assert_eq!(encode(&encoder, &[text]).item(0), together.item(i), "{text}");
    }
    assert_eq!(together.item(0).len(), 3 * 4, "[CLS] the [SEP]");
    assert_eq!(together.item(3).len(), 6 * 4);
}

#[test]
fn what_is_no_such_graph_is_refused_with_reasons() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |model: &[u8], words: &str| {
        write(dir.path(), "model.onnx", model);
        let error = open(dir.path()).err().unwrap().to_string();
        assert!(error.contains("model.onnx") && error.contains(words), "{error}");
    };
    refused(b"", "");
    refused(b"not a graph", "");
    refused(&TINY[..TINY.len() / 2], "");
    let renamed = |from: &[u8], to: &[u8]| {
        let mut bytes = TINY.to_vec();
        for at in 0..bytes.len() - from.len() {
            if bytes[at..].starts_with(from) {
                bytes[at..at + from.len()].copy_from_slice(to);
            }
        }
        bytes
    };
    refused(&renamed(b"last_hidden_state", b"last_hidden_stone"), "last_hidden_stone");
    refused(&renamed(b"token_type_ids", b"pixel_values__"), "pixel_values__");
    fs::remove_file(dir.path().join("model.onnx")).unwrap();
    let error = open(dir.path()).err().unwrap().to_string();
    assert!(error.contains("model.onnx") && error.contains("model.safetensors"), "{error}");
}
