//! A folder of documents and nothing else, as a newcomer types it: train, index, search, inspect.

mod tiny_encoder;

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

const WORDS: [&str; 24] = [
    "rain", "snow", "wind", "hail", "frost", "cloud", "river", "lake", "sea", "shore", "bread", "milk",
    "cheese", "apple", "plum", "engine", "wheel", "road", "bridge", "train", "the", "of", "and", ".",
];

struct Home(tempfile::TempDir);

impl Home {
    /// Sixty short notes of three subjects in two folders, one long guide with sections, and an encoder.
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        tiny_encoder::write(&home.path("encoder"), &WORDS);
        for n in 0..60 {
            let subject = &WORDS[(n % 3) * 7..][..7];
            let word = |k: usize| subject[(n * (k + 2) + k + (n / 21) * (k % 3 + 1)) % 7];
            let sentence = |k| format!("The {} of the {} and the {}.", word(k), word(k + 1), word(k + 2));
            let text: Vec<String> = (0..5).map(sentence).collect();
            home.put(&format!("notes/{}/{n}.txt", ["a", "b"][n % 2]), &text.join(" "));
        }
        let section = |word: &str| {
            format!("## The {word} road\n\n{}\n\n", format!("The {word} and the sea. ").repeat(30))
        };
        home.put("notes/guide.md", &format!("# Guide of roads\n\n{}{}", section("wheel"), section("bridge")));
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retreever"));
        command.current_dir(self.0.path()).env("XDG_CACHE_HOME", self.path("cache"));
        command.args(words).output().unwrap()
    }

    fn done(&self, words: &[&str]) -> (String, String) {
        let output = self.run(words);
        let [out, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{words:?}: {said}");
        (out, said)
    }

    fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn documents_alone_become_a_tree_and_an_index() {
    let home = Home::new();
    let train = ["train", "--data", "notes", "--encoder", "encoder", "--steps", "60", "--json"];
    let (out, said) = home.done(&[&train[..], &["--out", "tree"]].concat());
    for words in ["no training pairs", "sentence -> rest", "keywords -> passage", "depth 8", "kept apart"] {
        assert!(said.contains(words), "`{words}` is not in: {said}");
    }
    let result: Value = serde_json::from_str(&out).unwrap();
    let rows = result["training"]["held_out"].as_array().unwrap();
    assert!(
        rows.iter().all(|row| row["tree"].as_f64().is_some() && row["pairs"].as_u64() > Some(0)),
        "{rows:?}"
    );
    let (again, silence) = home.done(&[&train[..], &["--out", "again", "--quiet"]].concat());
    assert_eq!((silence.as_str(), again.contains("held_out")), ("", true));
    let weights = |tree: &str| fs::read(home.path(tree).join("model.safetensors")).unwrap();
    assert!(weights("tree") == weights("again"), "the same seed, another tree");

    home.done(&["index", "--data", "notes", "--tree", "tree"]);
    let (out, _) = home.done(&[
        "search",
        "the bridge of the road",
        "--filter",
        "section = \"The bridge road\"",
        "--json",
    ]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    let first = &answer["hits"][0];
    assert!(first["id"].as_str().unwrap().starts_with("guide.md:"), "{first}");
    assert_eq!(first["title"], "Guide of roads > The bridge road");
    let (out, _) = home.done(&["inspect", "--index", "index", "--json"]);
    assert!(serde_json::from_str::<Value>(&out).is_ok());
}

#[test]
fn a_folder_is_searched_without_training() {
    let home = Home::new();
    let (_, said) = home.done(&["index", "--data", "notes", "--encoder", "encoder"]);
    assert!(said.contains("without training"), "{said}");
    let (out, _) = home.done(&["search", "the bridge road", "--explain", "-k", "2"]);
    for part in ["where the answer is", "place:", "in common at level", "of the average document"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (out, _) = home.done(&["search", "the bridge road", "--explain", "--json", "--cover", "90%"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert!(answer["way"]["steps"].is_array() && answer["share_read"].as_f64() > Some(0.0), "{out}");
    let why = &answer["hits"][0]["explanation"];
    let account = &why["account"];
    let subjects = account["subjects"].as_array().unwrap().iter().map(|s| s["adds"].as_f64().unwrap());
    let sum =
        account["average"].as_f64().unwrap() + account["others"].as_f64().unwrap() + subjects.sum::<f64>();
    assert!((sum - answer["hits"][0]["score"].as_f64().unwrap()).abs() < 1e-4, "{out}");
    assert!(why["common"]["share"].as_f64() > Some(0.0), "{out}");
}

#[test]
fn pairs_can_be_written_and_trained_on() {
    let home = Home::new();
    let (out, _) = home.done(&["data", "pairs", "--data", "notes", "--out", "pairs", "--json"]);
    let counts: Value = serde_json::from_str(&out).unwrap();
    assert!(counts["splits"]["train"]["queries"].as_u64() > counts["splits"]["test"]["queries"].as_u64());
    let (_, said) = home.done(&["train", "--data", "pairs", "--encoder", "encoder", "--steps", "5"]);
    assert!(!said.contains("no training pairs"), "{said}");
}

#[test]
fn what_cannot_be_trained_on_is_named_with_the_next_step() {
    let home = Home::new();
    home.put("one/only.txt", "Just a line.");
    let said = home.refused(&["train", "--data", "one", "--encoder", "encoder"]);
    assert!(said.contains("1 different documents are too few") && said.contains("add documents"), "{said}");
    home.put("notes/empty.md", " \n");
    let said = home.refused(&["train", "--data", "notes", "--encoder", "encoder"]);
    assert!(said.contains("empty.md") && said.contains("--skip-bad-lines"), "{said}");
    fs::write(home.path("notes/empty.md"), b"caf\xe9").unwrap();
    let said = home.refused(&["index", "--data", "notes"]);
    assert!(said.contains("empty.md") && said.contains("invalid UTF-8"), "{said}");
    let said = home.refused(&["index", "--data", "notes", "--tree", "none"]);
    assert!(said.contains("no tree in none") && said.contains("leave --tree out"), "{said}");
    let (_, said) = home.done(&["data", "check", "notes", "--skip-bad-lines"]);
    assert!(said.contains("left out 1 bad lines") && said.contains("invalid UTF-8"), "{said}");
    let said = home.refused(&["train", "--data", "nowhere"]);
    assert!(said.contains("nowhere"), "{said}");
    fs::create_dir(home.path("bare")).unwrap();
    let said = home.refused(&["train", "--data", "bare"]);
    assert!(said.contains(".txt or .md"), "{said}");
}
