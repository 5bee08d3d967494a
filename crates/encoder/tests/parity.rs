//! Token and pooled embeddings against transformers, on the texts of `parity/golden.json` (made by
//! `parity/golden.py`): tiny models of every family, and the real encoders.

use retreever_data::Ragged;
use retreever_encoder::{Encoder, EncoderError, Options, Role, Source, TextEncoder};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const TOLERANCE: f64 = 1e-4;

#[derive(Deserialize)]
struct Golden {
    tokenizer: serde_json::Value,
    tiny: Vec<Tiny>,
    real: Vec<Real>,
}

#[derive(Deserialize)]
struct Tiny {
    name: String,
    config: serde_json::Value,
    shapes: BTreeMap<String, Vec<usize>>,
    texts: Vec<TinyText>,
}

#[derive(Deserialize)]
struct TinyText {
    text: String,
    ids: Vec<u32>,
    tokens: Vec<f64>,
}

#[derive(Deserialize)]
struct Real {
    name: String,
    longest: usize,
    texts: Vec<RealText>,
}

#[derive(Deserialize)]
struct RealText {
    text: String,
    ids: [usize; 2],
    rows: Vec<Vec<f64>>,
    tokens: Vec<f64>,
    pooled: Vec<f64>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("parity/golden.json")).unwrap()
}

/// As `weights` in `golden.py`.
fn weights(name: &str, shape: &[usize]) -> Vec<f32> {
    let seed =
        name.bytes().fold(2_166_136_261u32, |seed, byte| (seed ^ u32::from(byte)).wrapping_mul(16_777_619));
    let norm = name.to_lowercase().replace('_', "").ends_with("layernorm.weight");
    let number = |index: u32| {
        let hashed = seed.wrapping_add(index).wrapping_mul(2_654_435_761);
        let hashed = (hashed ^ (hashed >> 15)).wrapping_mul(2_246_822_519);
        let value = (f64::from(hashed) / 4_294_967_296.0 - 0.5) / 2.0;
        (value + if norm { 1.0 } else { 0.0 }) as f32
    };
    (0..shape.iter().product::<usize>() as u32).map(number).collect()
}

fn write_tiny(dir: &Path, tiny: &Tiny, tokenizer: &serde_json::Value, prefix: &str) {
    let bytes: Vec<(String, &[usize], Vec<u8>)> = tiny
        .shapes
        .iter()
        .map(|(name, shape)| {
            let bytes = weights(name, shape).iter().flat_map(|x| x.to_le_bytes()).collect();
            (format!("{prefix}{name}"), shape.as_slice(), bytes)
        })
        .collect();
    let views = bytes.iter().map(|(name, shape, bytes)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.to_vec(), bytes).unwrap())
    });
    safetensors::serialize_to_file(views, None, &dir.join("model.safetensors")).unwrap();
    fs::write(dir.join("config.json"), tiny.config.to_string()).unwrap();
    fs::write(dir.join("tokenizer.json"), tokenizer.to_string()).unwrap();
}

fn worst(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).map(|(&x, y)| (f64::from(x) - y).abs()).fold(0.0, f64::max)
}

#[test]
fn tiny_models_of_every_family_agree() {
    let golden = golden();
    for (tiny, prefix) in golden.tiny.iter().zip(["", "bert.", "roberta.", "distilbert.", ""]) {
        let dir = tempfile::tempdir().unwrap();
        write_tiny(dir.path(), tiny, &golden.tokenizer, prefix);
        let encoder = TextEncoder::open(dir.path()).unwrap();
        let texts: Vec<&str> = tiny.texts.iter().map(|text| text.text.as_str()).collect();
        let mut batch = Ragged::new(encoder.width());
        encoder.encode(&texts, Role::Document, &mut batch).unwrap();
        for (i, text) in tiny.texts.iter().enumerate() {
            assert_eq!(
                batch.item(i).len(),
                text.ids.len() * encoder.width(),
                "{}: {:?}",
                tiny.name,
                text.text
            );
            let error = worst(batch.item(i), &text.tokens);
            assert!(error < TOLERANCE, "{}: {:?} is off by {error}", tiny.name, text.text);
        }
    }
}

#[test]
fn the_same_text_gives_the_same_numbers_in_any_company() {
    let golden = golden();
    for tiny in &golden.tiny {
        let dir = tempfile::tempdir().unwrap();
        write_tiny(dir.path(), tiny, &golden.tokenizer, "");
        company(&TextEncoder::open(dir.path()).unwrap(), tiny.texts.iter().map(|text| text.text.as_str()));
    }
}

/// The texts forwards, backwards, among copies and alone.
fn company<'a>(encoder: &TextEncoder, texts: impl Iterator<Item = &'a str>) {
    let forwards: Vec<&str> = texts.collect();
    let backwards: Vec<&str> = forwards.iter().rev().copied().collect();
    let crowd: Vec<&str> = forwards.iter().flat_map(|&text| [text, "word", text]).collect();
    let mut batches = [0; 4].map(|_| Ragged::new(encoder.width()));
    encoder.encode(&forwards, Role::Document, &mut batches[0]).unwrap();
    encoder.encode(&backwards, Role::Document, &mut batches[1]).unwrap();
    encoder.encode(&crowd, Role::Document, &mut batches[2]).unwrap();
    let [forward, backward, crowd, alone] = &mut batches;
    let same =
        |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6);
    for (i, text) in forwards.iter().enumerate() {
        encoder.encode(&[text], Role::Document, alone).unwrap();
        assert!(same(forward.item(i), backward.item(forwards.len() - 1 - i)), "{text:?} backwards");
        assert!(same(forward.item(i), crowd.item(3 * i)) && same(forward.item(i), crowd.item(3 * i + 2)));
        assert!(same(forward.item(i), alone.item(0)), "{text:?} alone");
        assert!(same(&forward.pooled()[i * encoder.width()..][..encoder.width()], alone.pooled()));
    }
}

fn check_real(source: &Source, name: &str) {
    for real in golden().real.iter().filter(|real| real.name == name) {
        let dir = source.here().expect("pulled before");
        let options = Options { longest: Some(real.longest) };
        let encoder = TextEncoder::open_with(&dir, options).unwrap();
        let width = encoder.width();
        let texts: Vec<&str> = real.texts.iter().map(|text| text.text.as_str()).collect();
        let mut batch = Ragged::new(width);
        encoder.encode(&texts, Role::Query, &mut batch).unwrap();
        let mut largest: f64 = 0.0;
        for (i, text) in real.texts.iter().enumerate() {
            let (tokens, pooled) = (batch.item(i), &batch.pooled()[i * width..][..width]);
            let count = tokens.len() / width;
            assert_eq!(count, text.ids[0], "tokens of {:?}", text.text);
            let mut errors = Vec::new();
            for (row, expected) in [0, count / 2, count - 1].into_iter().zip(&text.rows) {
                errors.push(worst(&tokens[row * width..][..8], expected));
            }
            let mut against = [0.0; 4];
            let mut pooled_against = [0.0; 4];
            for k in 0..4 {
                let direction = |i: usize| ((k + 1) as f64 * i as f64 * 0.37).cos() / (width as f64).sqrt();
                for (t, row) in tokens.chunks_exact(width).enumerate() {
                    let dot: f64 = row.iter().enumerate().map(|(i, &x)| f64::from(x) * direction(i)).sum();
                    against[k] += dot * (t as f64 * 0.21).cos() / (count as f64).sqrt();
                }
                pooled_against[k] =
                    pooled.iter().enumerate().map(|(i, &x)| f64::from(x) * direction(i)).sum();
            }
            errors.push(worst(&against.map(|x| x as f32), &text.tokens));
            errors.push(worst(&pooled[..8], &text.pooled[..8]));
            errors.push(worst(&pooled_against.map(|x| x as f32), &text.pooled[8..]));
            let error = errors.iter().copied().fold(0.0, f64::max);
            assert!(error < TOLERANCE, "{name}: {:?} is off by {errors:?}", text.text);
            largest = largest.max(error);
        }
        println!("{name} up to {} tokens: largest difference {largest:.1e}", real.longest);
        if real.longest < 512 {
            company(&encoder, texts.into_iter());
        }
    }
}

#[test]
fn minilm_agrees_with_transformers() {
    match Source::MiniLm.pull(&mut |_| {}) {
        Ok(_) => check_real(&Source::MiniLm, "minilm"),
        Err(EncoderError::Fetch(error)) => println!("skipped, for it cannot be fetched: {error}"),
        Err(error) => panic!("{error}"),
    }
}

/// Models of many shapes, or any other model: see `parity/others.py`.
#[test]
fn others_agree_with_transformers() {
    #[derive(Deserialize)]
    struct Other {
        longest: usize,
        texts: Vec<TinyText>,
    }
    let Some(folder) = std::env::var_os("RETREEVER_PARITY") else {
        return println!("skipped: RETREEVER_PARITY names a folder that parity/others.py made");
    };
    let mut dirs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    dirs.sort();
    let mut failed = Vec::new();
    for dir in dirs {
        let other: Other = serde_json::from_slice(&fs::read(dir.join("parity.json")).unwrap()).unwrap();
        let encoder = TextEncoder::open_with(&dir, Options { longest: Some(other.longest) }).unwrap();
        let texts: Vec<&str> = other.texts.iter().map(|text| text.text.as_str()).collect();
        let mut batch = Ragged::new(encoder.width());
        encoder.encode(&texts, Role::Query, &mut batch).unwrap();
        let errors = other.texts.iter().enumerate().map(|(i, text)| worst(batch.item(i), &text.tokens));
        let error = errors.fold(0.0, f64::max);
        println!("{}: largest difference {error:.1e}", dir.display());
        company(&encoder, texts.into_iter());
        failed.extend((error >= TOLERANCE).then_some(dir));
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// 440 MB: only where it has been pulled already.
#[test]
fn mpnet_agrees_with_transformers() {
    match Source::Mpnet.here() {
        Some(_) => check_real(&Source::Mpnet, "mpnet"),
        None => println!("skipped: `retreever pull mpnet` fetches it"),
    }
}
