//! The peer: a Python process with FAISS that answers requests line by line.

use super::K;
use super::corpus::Corpus;
use crate::peer;
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const SCRIPT: &str = include_str!("faiss.py");

/// What building took.
#[derive(Deserialize)]
pub(super) struct Built {
    pub(super) seconds: f64,
    pub(super) bytes: f64,
}

/// What a search found, and the median time of a query.
#[derive(Deserialize)]
pub(super) struct Found {
    pub(super) seconds: f64,
    pub(super) ids: Vec<Vec<u64>>,
    pub(super) distances: Vec<Vec<f64>>,
}

pub(super) struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub(super) fn start(corpus: &Corpus) -> Result<Self> {
        let mut command = Command::new(peer::python(&[("faiss-cpu", "faiss"), ("numpy", "numpy")])?);
        command
            .arg("-c")
            .arg(SCRIPT)
            .arg(&corpus.documents)
            .arg(&corpus.queries)
            .arg(corpus.depth.leaves().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the Python peer")?;
        let requests = child.stdin.take().context("the peer has no input")?;
        let answers = BufReader::new(child.stdout.take().context("the peer has no output")?);
        Ok(Self { child, requests, answers })
    }

    /// Builds an index of this kind with two threads.
    pub(super) fn build(&mut self, kind: &str) -> Result<Built> {
        self.ask(&json!({"build": {"kind": kind, "threads": 2}}))
    }

    /// Asks the first `count` queries, `batch` at a time.
    pub(super) fn search(
        &mut self,
        kind: &str,
        (threads, batch): (usize, usize),
        count: usize,
        effort: usize,
    ) -> Result<Found> {
        self.ask(&json!({"search": {
            "kind": kind, "threads": threads, "batch": batch, "count": count, "effort": effort, "k": K,
        }}))
    }

    /// Writes an index to a file, and reads it back.
    pub(super) fn reopen(&mut self, kind: &str, path: &Path) -> Result<Built> {
        self.ask(&json!({"reopen": {"kind": kind, "path": path}}))
    }

    fn ask<T: for<'a> Deserialize<'a>>(&mut self, request: &Value) -> Result<T> {
        writeln!(self.requests, "{request}").context("the peer has ended")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("the peer answered {line:?}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
