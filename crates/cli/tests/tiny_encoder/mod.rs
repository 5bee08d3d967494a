//! An encoder made up on the spot: a BERT of two layers with drawn weights that knows a few words. It needs no download,
//! and the same word always has about the same embedding.

use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The shapes of its tensors, and its tokeniser, are those of the encoder crate's smallest test model.
const MODEL: &str = include_str!("../../../encoder/tests/parity/golden.json");

/// Writes an encoder that knows `words`.
pub(crate) fn write(dir: &Path, words: &[&str]) {
    let golden: Value = serde_json::from_str(MODEL).unwrap();
    let mut tokenizer = golden["tokenizer"].clone();
    let special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]"];
    let vocabulary = special.iter().chain(words).enumerate().map(|(id, word)| (word.to_string(), json!(id)));
    tokenizer["model"]["vocab"] = Value::Object(vocabulary.collect());
    let mut config = golden["tiny"][0]["config"].clone();
    let (known, longest) = (special.len() + words.len(), 256);
    (config["vocab_size"], config["max_position_embeddings"]) = (json!(known), json!(longest));

    let shapes = golden["tiny"][0]["shapes"].clone();
    let shapes: BTreeMap<String, Vec<usize>> = serde_json::from_value(shapes).unwrap();
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = shapes
        .into_iter()
        .map(|(name, mut shape)| {
            match &name[..] {
                "embeddings.word_embeddings.weight" => shape[0] = known,
                "embeddings.position_embeddings.weight" => shape[0] = longest,
                _ => {}
            }
            let bytes = drawn(&name, shape.iter().product()).iter().flat_map(|x| x.to_le_bytes()).collect();
            (name, shape, bytes)
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
    });
    fs::create_dir_all(dir).unwrap();
    safetensors::serialize_to_file(views, None, &dir.join("model.safetensors")).unwrap();
    fs::write(dir.join("config.json"), config.to_string()).unwrap();
    fs::write(dir.join("tokenizer.json"), tokenizer.to_string()).unwrap();
}

/// Words far apart, everything else small, so that a text is about the mean of its words.
fn drawn(name: &str, count: usize) -> Vec<f32> {
    if name.to_lowercase().ends_with("layernorm.weight") {
        return vec![1.0; count];
    }
    let size = if name.contains("word_embeddings") { 2.0 } else { 0.02 };
    let seed = name.bytes().fold(1u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let number = |index: usize| {
        let mut x =
            (seed ^ (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 31;
        ((x as u32 as f32) / u32::MAX as f32 - 0.5) * size
    };
    (0..count).map(number).collect()
}
