//! The peer: a Python process with FAISS that answers requests line by line.

use super::K;
use super::corpus::Corpus;
use crate::peer;
use anyhow::Result;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::process::Command;

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

pub(super) struct Peer(peer::Peer);

impl Peer {
    pub(super) fn start(corpus: &Corpus) -> Result<Self> {
        let mut command = Command::new(peer::python(&[("faiss-cpu", "faiss"), ("numpy", "numpy")])?);
        command
            .arg("-c")
            .arg(SCRIPT)
            .arg(&corpus.documents)
            .arg(&corpus.queries)
            .arg(corpus.depth.leaves().to_string());
        Ok(Self(peer::Peer::start(&mut command)?))
    }

    /// Builds an index of this kind with two threads.
    pub(super) fn build(&mut self, kind: &str) -> Result<Built> {
        self.0.ask(&json!({"build": {"kind": kind, "threads": 2}}))
    }

    /// Asks the first `count` queries, `batch` at a time.
    pub(super) fn search(
        &mut self,
        kind: &str,
        (threads, batch): (usize, usize),
        count: usize,
        effort: usize,
    ) -> Result<Found> {
        self.0.ask(&json!({"search": {
            "kind": kind, "threads": threads, "batch": batch, "count": count, "effort": effort, "k": K,
        }}))
    }

    /// Writes an index to a file, and reads it back.
    pub(super) fn reopen(&mut self, kind: &str, path: &Path) -> Result<Built> {
        self.0.ask(&json!({"reopen": {"kind": kind, "path": path}}))
    }
}
