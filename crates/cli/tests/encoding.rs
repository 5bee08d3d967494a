//! Encoding as it happens to users: killed at any moment and started again, over a cache in which a bit has flipped.

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const WIDTH: usize = 64;
const LAYERS: usize = 3;
const DOCUMENTS: usize = 3000;
/// No more texts of 1000 bytes than this are encoded between two writes.
const BATCH: usize = 140;

struct Home(tempfile::TempDir);

impl Home {
    /// An encoder made from a formula, and pairs of texts.
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        write_encoder(&home.path("encoder"));
        let words =
            ["the", "insurance", "pays", "a", "word", "covered", "shall", "no", "x", "insured", "?", "."];
        let line = |n: usize| {
            let text: String =
                (0..200).map(|i| [words[(n + i * i + n * i) % words.len()], " "].concat()).collect();
            let positive = format!("{} {n}", &text[..990]);
            json!({"query": format!("{} {n}", &text[..40]), "positive": positive}).to_string() + "\n"
        };
        fs::write(home.path("pairs.jsonl"), (0..DOCUMENTS).map(line).collect::<String>()).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn train(&self, cache: &str, out: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retreever"));
        command.arg("train").arg("--data").arg(self.path("pairs.jsonl"));
        command.arg("--encoder").arg(self.path("encoder")).arg("--out").arg(self.path(out));
        command.args(["--depth", "3", "--steps", "1", "--threads", "2", "--seed", "3"]);
        command.env("RETREEVER_CACHE", self.path(cache)).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Trains to the end, and gives what was said.
    fn trained(&self, cache: &str, out: &str) -> String {
        let output = self.train(cache, out).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    }

    fn file(&self, cache: &str, name: &str) -> Option<PathBuf> {
        let encoder = fs::read_dir(self.path(cache).join("embeddings")).ok()?.next()?.ok()?.path();
        Some(encoder.join(name)).filter(|path| path.exists())
    }

    /// How many texts have been finished.
    fn finished(&self, cache: &str) -> usize {
        let length = self.file(cache, "texts.bin").map_or(0, |path| fs::metadata(path).unwrap().len());
        (length as usize / 64).saturating_sub(1)
    }

    /// The record of every text by its key, each of which is there once; and how much else is in the file.
    fn records(&self, cache: &str) -> (BTreeMap<Vec<u8>, Vec<u8>>, usize) {
        let texts = fs::read(self.file(cache, "texts.bin").unwrap()).unwrap();
        let tokens = fs::read(self.file(cache, "tokens.bin").unwrap()).unwrap();
        let mut rest = tokens.len();
        let mut records = BTreeMap::new();
        for entry in texts[64..].chunks(64) {
            let start = u64::from_le_bytes(entry[32..40].try_into().unwrap()) as usize;
            let count = u32::from_le_bytes(entry[40..44].try_into().unwrap()) as usize;
            let record = tokens[start..][..(4 + 2 * count) * WIDTH].to_vec();
            rest -= record.len().next_multiple_of(64);
            let twice = records.insert(entry[..32].to_vec(), record);
            assert!(twice.is_none(), "a text was encoded twice");
        }
        (records, rest)
    }

    fn tree(&self, out: &str) -> Vec<u8> {
        fs::read(self.path(out).join("model.safetensors")).unwrap()
    }
}

fn write_encoder(dir: &Path) {
    let golden: Value = serde_json::from_str(include_str!("../../encoder/tests/parity/golden.json")).unwrap();
    let vocabulary = golden["vocabulary"].as_array().unwrap().len();
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![vocabulary, WIDTH]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![128, WIDTH]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, WIDTH]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![WIDTH]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![WIDTH]),
    ];
    for layer in 0..LAYERS {
        let mut part = |name: &str, shape: &[usize]| {
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), shape.to_vec()));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), shape[..1].to_vec()));
        };
        for name in ["self.query", "self.key", "self.value", "output.dense"] {
            part(&format!("attention.{name}"), &[WIDTH, WIDTH]);
        }
        part("intermediate.dense", &[2 * WIDTH, WIDTH]);
        part("output.dense", &[WIDTH, 2 * WIDTH]);
        part("attention.output.LayerNorm", &[WIDTH]);
        part("output.LayerNorm", &[WIDTH]);
    }
    let mut seed = 1u32;
    let mut bytes = |shape: &[usize]| -> Vec<u8> {
        let count = shape.iter().product::<usize>();
        let number = |_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / (1 << 24) as f32 - 0.4
        };
        (0..count).map(number).flat_map(f32::to_le_bytes).collect()
    };
    let tensors: Vec<_> = shapes.iter().map(|(name, shape)| (name, shape, bytes(shape))).collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.to_vec(), bytes).unwrap())
    });
    fs::create_dir(dir).unwrap();
    safetensors::serialize_to_file(views, None, &dir.join("model.safetensors")).unwrap();
    let config = json!({"model_type": "bert", "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
        "num_attention_heads": 4, "intermediate_size": 2 * WIDTH, "max_position_embeddings": 128});
    fs::write(dir.join("config.json"), config.to_string()).unwrap();
    fs::write(dir.join("tokenizer.json"), golden["tokenizer"].to_string()).unwrap();
}

#[test]
fn what_was_finished_survives_any_kill_and_any_flipped_bit() {
    let home = Home::new();
    home.trained("whole", "tree");
    let (whole, rest) = home.records("whole");
    assert_eq!((whole.len(), rest), (2 * DOCUMENTS, 64), "documents and queries, and a header");

    let mut kills = 0;
    for (share, pause) in [(1, 0), (300, 7), (900, 0), (1500, 3), (2400, 11), (4000, 1)] {
        let before = home.finished("killed");
        let mut child = home.train("killed", "never").spawn().unwrap();
        while home.finished("killed") < share.max(before + 1) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        kills += 1;
        let after = home.finished("killed");
        assert!(after > before, "{after} after {before}");
        if pause > 5 {
            // As if the kill had come in the middle of a write.
            for (name, torn) in [("tokens.bin", 777), ("texts.bin", 33)] {
                let path = home.file("killed", name).unwrap();
                let mut bytes = fs::read(&path).unwrap();
                bytes.resize(bytes.len() + torn, 0xa5);
                fs::write(&path, bytes).unwrap();
            }
        }
    }
    assert!(kills >= 3, "{kills} kills came in time");
    home.trained("killed", "tree-after-kills");
    let (records, rest) = home.records("killed");
    assert!(records == whole, "the same embeddings");
    let lost = kills * (BATCH * (4 + 2 * 128) * WIDTH + 1024);
    assert!(rest <= 64 + lost, "{rest} bytes are of no use after {kills} kills");
    assert_eq!(home.tree("tree-after-kills"), home.tree("tree"));

    let path = home.file("killed", "tokens.bin").unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let middle = home.records("killed").0.into_values().next().unwrap();
    let at = bytes.windows(middle.len()).position(|window| window == middle).unwrap();
    bytes[at + middle.len() / 2] ^= 1;
    fs::write(&path, bytes).unwrap();
    let said = home.trained("killed", "tree-after-damage");
    assert!(said.contains("damaged for 1 text") && said.contains("retreever cache --clear"), "{said}");
    assert_eq!(home.tree("tree-after-damage"), home.tree("tree"));
    let said = home.trained("killed", "tree-once-more");
    assert!(!said.contains("damaged"), "{said}");
}

#[test]
fn the_cache_is_shown_and_cleared_by_kind() {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str| home.path().join(name);
    for (name, length) in [
        ("embeddings/abc/texts.bin", 64 * 8),
        ("embeddings/abc/tokens.bin", 3_000_000),
        ("encoders/minilm/model.safetensors", 2_000),
        ("packages/pypi/some.whl", 10),
    ] {
        fs::create_dir_all(file(name).parent().unwrap()).unwrap();
        fs::write(file(name), vec![0; length]).unwrap();
    }
    let cache = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retreever"));
        let output = command.arg("cache").args(more).env("RETREEVER_CACHE", home.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text.into_owned())
    };
    let (code, text) = cache(&[]);
    assert_eq!(code, Some(0));
    assert!(text.contains("3.0 MB    abc (7 texts)") && text.contains("minilm"), "{text}");
    let (code, text) = cache(&["--clear"]);
    assert!(code == Some(0) && text.contains("freed 3.0 MB"), "{text}");
    assert!(!file("embeddings").exists() && file("encoders/minilm/model.safetensors").exists());
    assert_eq!(cache(&["--clear", "encoders"]).0, Some(0));
    assert!(!file("encoders").exists() && file("packages").exists());
    assert_eq!(cache(&["--clear", "everything"]).0, Some(2));
    assert_eq!(cache(&["--clear", "all"]).0, Some(0));
    assert!(!home.path().exists());
    let (code, text) = cache(&["--clear"]);
    assert!(code == Some(0) && text.contains("freed 0.0 kB"), "{text}");
}
