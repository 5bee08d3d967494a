//! `retreever train` as it is typed: on embeddings made elsewhere, interrupted, resumed, and fed broken files.

use retreever_data::Ragged;
use retreever_data::embeddings::save;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

struct Home(tempfile::TempDir);

impl Home {
    /// 200 documents and their queries, around the same made-up centres.
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for (name, shift) in [("documents", 0.0), ("queries", 0.3)] {
            let mut items = Ragged::new(16);
            for item in 0..200 {
                let row: Vec<f32> =
                    (0..16).map(|x| ((item * 16 + x) as f32 * 12.9898 + shift).sin()).collect();
                items.push(&row, &row);
            }
            save(&home.path(&format!("{name}.safetensors")), &items).unwrap();
        }
        let pairs: String = (0..200).map(|n| format!("{n}\t{n}\n")).collect();
        fs::write(home.path("pairs.tsv"), pairs).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, out: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retreever"));
        command.arg("train").arg("--embeddings").arg(self.path("documents.safetensors"));
        command.arg("--query-embeddings").arg(self.path("queries.safetensors"));
        command.arg("--pairs").arg(self.path("pairs.tsv")).arg("--out").arg(self.path(out));
        command.args(["--depth", "6", "--threads", "2", "--seed", "3"]).args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn train(&self, out: &str, more: &[&str]) -> Output {
        self.command(out, more).output().unwrap()
    }

    /// Trains, which must fail with these words, and leave nothing behind.
    fn refused(&self, words: &str) {
        let output = self.train("refused", &["--steps", "5"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(words), "`{words}` is not in: {message}");
        let left: Vec<_> =
            fs::read_dir(self.0.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("refused")), "{left:?}");
    }
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn weights(tree: &Path) -> Vec<u8> {
    fs::read(tree.join("model.safetensors")).unwrap()
}

#[test]
fn an_interrupted_run_resumes_to_the_same_bytes() {
    let home = Home::new();
    let steps = ["--steps", "400", "--batch", "64"];
    let whole = home.train("whole", &steps);
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    for file in ["config.json", "encoder.json", "training.json"] {
        assert!(home.path("whole").join(file).exists(), "{file}");
    }

    let mut interruptions = 0;
    let mut more = steps.to_vec();
    loop {
        let child = home.command("parts", &more).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(60 + 40 * interruptions));
        interrupt(&child);
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            break;
        }
        // A process that had not begun to listen yet is ended by the signal itself, and has written nothing.
        if output.status.code() == Some(1) {
            assert!(message.contains("--resume") && !home.path("parts").exists(), "{message}");
            more = [&steps[..], &["--resume"]].concat();
            interruptions += 1;
        }
        if interruptions > 3 {
            assert!(home.train("parts", &more).status.success());
            break;
        }
    }
    assert_eq!(
        weights(&home.path("parts")),
        weights(&home.path("whole")),
        "after {interruptions} interruptions"
    );
    assert!(!home.path("parts.checkpoint").exists());
    let again = home.train("whole", &steps);
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"));
}

#[test]
fn a_checkpoint_of_other_data_is_refused() {
    let home = Home::new();
    let nothing = home.train("tree", &["--steps", "5", "--resume"]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("holds no checkpoint"));
    fs::write(home.path("tree.checkpoint"), b"not a checkpoint").unwrap();
    let broken = home.train("tree", &["--steps", "5", "--resume"]);
    assert!(String::from_utf8_lossy(&broken.stderr).contains("tree.checkpoint"));
    let unasked = home.train("tree", &["--steps", "5"]);
    assert!(String::from_utf8_lossy(&unasked.stderr).contains("add --resume"));
}

#[test]
fn broken_inputs_are_named_and_nothing_is_written() {
    let home = Home::new();
    fs::write(home.path("pairs.tsv"), "0\t0\n1\t777\n").unwrap();
    home.refused("777");
    fs::write(home.path("pairs.tsv"), "").unwrap();
    home.refused("pairs");
    fs::write(home.path("pairs.tsv"), "0\t0\none\ttwo\n").unwrap();
    home.refused("pairs.tsv");
    let home = Home::new();
    let file = home.path("documents.safetensors");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 9]).unwrap();
    home.refused("documents.safetensors");
    let mut poisoned = bytes;
    let end = poisoned.len();
    poisoned[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&file, poisoned).unwrap();
    home.refused("199");
}
