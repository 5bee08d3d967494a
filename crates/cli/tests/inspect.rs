//! `retreever inspect` as it is typed: outline, JSON, report and figures, a hostile corpus, and names from a chat
//! endpoint that the test plays.

use retreever_data::Ragged;
use retreever_data::embeddings::save;
use retreever_index::{Document, Index, Shape};
use retreever_tree::{Assignments, Depth, Nesting, Routing};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>";
const SUBJECTS: [&str; 4] =
    ["whole life policy", "term life policy", "auto collision claim", "auto liability claim"];

struct Home(tempfile::TempDir);

impl Home {
    /// An index of 48 documents in a tree 2 deep, whose tree reads embeddings made elsewhere.
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let mut items = Ragged::new(16);
        for item in 0..200 {
            let row: Vec<f32> = (0..16).map(|x| ((item * 16 + x) as f32 * 12.9898).sin()).collect();
            items.push(&row, &row);
        }
        save(&home.path("items.safetensors"), &items).unwrap();
        let pairs: String = (0..200).map(|n| format!("{n}\t{n}\n")).collect();
        fs::write(home.path("pairs.tsv"), pairs).unwrap();
        let embeddings = home.path("items.safetensors");
        let mut train = Command::new(env!("CARGO_BIN_EXE_retreever"));
        train.args(["train", "--depth", "2", "--steps", "2", "--embeddings"]).arg(&embeddings);
        train.arg("--query-embeddings").arg(&embeddings).arg("--pairs").arg(home.path("pairs.tsv"));
        assert!(train.arg("--out").arg(home.path("tree")).output().unwrap().status.success());
        home.index();
        home
    }

    fn index(&self) {
        let depth = Depth::new(2).unwrap();
        let index = {
            let shape = Shape { depth, nesting: Nesting::Nested };
            Index::create(&self.path("index"), shape, Routing::same()).unwrap()
        };
        let (mut documents, mut rows) = (Vec::new(), Vec::new());
        for number in 0..48 {
            let leaf = number % 4;
            let text = format!("{} example {number} {HOSTILE}", SUBJECTS[leaf]);
            // A name of a field and its values may be as hostile as a text.
            let metadata = json!({ HOSTILE: format!("{HOSTILE}{}", leaf / 2) });
            rows.extend((0..4).map(|l| if l == leaf { 0.7 } else { 0.1 }));
            documents.push(Document {
                title: HOSTILE.to_owned(),
                metadata: metadata.as_object().unwrap().clone(),
                ..Document::new(format!("d{number}{HOSTILE}"), text)
            });
        }
        let mut writer = index.writer().unwrap();
        writer.add(&documents, &Assignments::nested(depth, rows).unwrap()).unwrap();
        writer.commit().unwrap();
        fs::create_dir_all(self.path("index/tree")).unwrap();
        for file in fs::read_dir(self.path("tree")).unwrap().flatten().filter(|file| file.path().is_file()) {
            fs::copy(file.path(), self.path("index/tree").join(file.file_name())).unwrap();
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn inspect(&self, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retreever"));
        command.arg("inspect").arg("--index").arg(self.path("index")).args(more);
        command.current_dir(self.0.path()).env("RETREEVER_CACHE", self.path("cache")).output().unwrap()
    }

    fn told(&self, more: &[&str]) -> String {
        let output = self.inspect(more);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn words_numbers_and_paper() {
    let home = Home::new();
    let outline = home.told(&[]);
    assert!(outline.contains("All documents (48)") && outline.to_lowercase().contains("life"), "{outline}");
    let tree: Value = serde_json::from_str(&home.told(&["--json"])).unwrap();
    assert_eq!(tree["nodes"].as_array().unwrap().len(), 7);
    let node: Value = serde_json::from_str(&home.told(&["--node", "1", "--json"])).unwrap();
    assert_eq!((node["documents"].as_u64(), node["path"].as_array().unwrap().len()), (Some(24), 2));

    home.told(&["--report", "report.html", "--figures", "figures", "--html", "tree.html"]);
    let report = fs::read_to_string(home.path("report.html")).unwrap();
    assert!(report.contains("<svg") && report.contains("Balance and sharpness") && report.contains("NMI"));
    for (name, page, scripts) in
        [("report", &report, 0), ("explorer", &fs::read_to_string(home.path("tree.html")).unwrap(), 2)]
    {
        assert!(!page.contains("<img") && !page.contains("<script>alert"), "{name}");
        assert_eq!(page.matches("<script").count(), scripts, "{name}");
    }
    for name in ["levels.svg", "agreement-1.svg"] {
        let svg = fs::read_to_string(home.path("figures").join(name)).unwrap();
        assert!(
            svg.starts_with("<svg xmlns=") && !svg.contains("<script") && !svg.contains("<img"),
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_found_is_said() {
    let home = Home::new();
    for (more, words) in [
        (["--gaps", "--level", "2"], "give some with --queries"),
        (["--gaps", "--level", "9"], "--level can be 1 to 2"),
        (["--congruence", "--level", "1"], "cannot encode a text"),
    ] {
        let output = home.inspect(&more);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(words), "`{words}` is not in: {message}");
    }
}

/// Answers every chat with a name of its own; the first try of all fails.
fn endpoint(calls: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut line, mut length, mut key) = (String::new(), 0, false);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                let lower = line.to_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                key |= lower.trim() == "authorization: bearer a-key";
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let asked: Value = serde_json::from_slice(&body).unwrap();
            assert!(key && asked["model"] == "a-model");
            let number = calls.fetch_add(1, Ordering::SeqCst);
            let name =
                json!({ "label": format!("Subject {number}"), "summary": format!("{HOSTILE}.") }).to_string();
            let answer =
                json!({ "choices": [{ "message": { "content": name } }], "usage": { "total_tokens": 100 } });
            let (status, answer) =
                if number == 0 { ("503 Busy", String::new()) } else { ("200 OK", answer.to_string()) };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            let _ = reader.into_inner().write_all((head + &answer).as_bytes());
        }
    });
    format!("http://{address}/v1")
}

#[test]
fn a_chat_endpoint_names_the_nodes_within_a_budget_and_is_taken_up_again() {
    let home = Home::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let address = endpoint(Arc::clone(&calls));
    let told = |most: &str| {
        let output = home.inspect(&[
            "--llm",
            &address,
            "--llm-model",
            "a-model",
            "--llm-key",
            "a-key",
            "--llm-calls",
            most,
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (_, first) = told("0");
    assert!(first.contains("takes 7 calls") && first.contains("no calls are allowed"), "{first}");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    // One call fails and is tried again; then the budget is spent.
    let (outline, second) = told("5");
    assert!(
        second.contains("5 nodes named by 5 calls and 0 kept replies; 2 keep their keywords (500 tokens)"),
        "{second}"
    );
    assert!(outline.contains("Subject 1") && outline.contains("All documents"), "{outline}");
    assert_eq!(calls.load(Ordering::SeqCst), 6);
    let (outline, third) = told("5");
    assert!(third.contains("7 nodes named by 2 calls and 5 kept replies; 0 keep"), "{third}");
    assert!(outline.contains("0 Subject 7"), "{outline}");
    let (_, fourth) = told("5");
    assert!(fourth.contains("7 nodes named by 0 calls and 7 kept replies"), "{fourth}");
    assert_eq!(calls.load(Ordering::SeqCst), 8);
}
