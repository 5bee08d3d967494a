//! `retreever data`, as it is typed: what goes to stdout, what to stderr, and the exit code.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn data(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_retreever")).arg("data").args(args).output().unwrap()
}

fn put(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn json_line(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn check_counts_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = put(folder.path(), "corpus.jsonl", "{\"_id\": \"a\", \"text\": \"x\"}\nnonsense\n");
    put(folder.path(), "queries.jsonl", "{\"_id\": \"q\", \"text\": \"y\"}\n");
    put(folder.path(), "qrels/train.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n");
    let path = folder.path().to_str().unwrap();

    let refused = data(&["check", path]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stdout.is_empty());
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.starts_with(&format!("error: {corpus}, line 2: not JSON")), "{said}");

    let counted = data(&["check", path, "--skip-bad-lines", "--json"]);
    let splits = json!({"train": {"queries": 1, "judgements": 1}});
    let expected = json!({"path": path, "documents": 1, "queries": 1, "splits": splits, "skipped": 1});
    assert_eq!(json_line(&counted), expected);
    assert!(String::from_utf8(counted.stderr).unwrap().starts_with("left out 1 bad line"));
}

#[test]
fn score_prints_the_measures_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let qrels = put(folder.path(), "qrels", "1 0 a 1\n2 0 a 1\n");
    let run = put(folder.path(), "run", "1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n");
    let scores = json_line(&data(&["score", "--qrels", &qrels, "--run", &run, "--json"]));
    assert_eq!((&scores["mean"]["mrr_at_10"], &scores["unanswered"]), (&json!(0.25), &json!(1)));
    assert!(data(&["score", "--qrels", &qrels, "--run", &run]).status.success());
}

#[test]
fn convert_writes_a_folder_that_check_reads() {
    let folder = tempfile::tempdir().unwrap();
    for part in [0, 4] {
        let record = json!({"document_id": "d", "document_topic": "t", "document_path": "p", "answer": "a",
            "document_extracted": format!("text {part}"), "question_id": format!("q{part}"), "question": "why?",
            "long_answer": ""});
        put(folder.path(), &format!("from/repliqa_{part}.jsonl"), &record.to_string());
    }
    let (from, out) = (folder.path().join("from"), folder.path().join("out"));
    let (from, out) = (from.to_str().unwrap(), out.to_str().unwrap());
    let written = json_line(&data(&["convert", "repliqa", "--from", from, "--out", out, "--json"]));
    assert_eq!((&written["documents"], &written["queries"]), (&json!(2), &json!(2)));
    assert_eq!(json_line(&data(&["check", out, "--json"])), written);
    assert_eq!(
        data(&["convert", "repliqa", "--from", from, "--out", out]).status.code(),
        Some(1),
        "out is there"
    );
    assert_eq!(data(&["convert", "other", "--from", from, "--out", out]).status.code(), Some(2), "bad usage");
}
