//! The Python peers that a measurement runs beside: an interpreter with the packages it needs, and a process that answers
//! requests.
//!
//! `RETREEVER_PYTHON` names an interpreter that has them already; otherwise a virtual environment is made
//! once in the cache directory and the packages are installed into it by name.

use anyhow::{Context, Result, ensure};
use retreever_fetch::cache_dir;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An interpreter that can import the packages, each given as the name to install and the name to import.
pub fn python(packages: &[(&str, &str)]) -> Result<PathBuf> {
    if let Some(python) = std::env::var_os("RETREEVER_PYTHON") {
        return Ok(python.into());
    }
    let environment = cache_dir().join("python");
    let python = environment.join("bin").join("python3");
    if !python.exists() {
        eprintln!("making a Python environment in {}", environment.display());
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    for (package, module) in packages {
        if !imports(&python, module) {
            eprintln!("installing {package} into {}", environment.display());
            run(Command::new(&python).args(["-m", "pip", "install", "--quiet", package]))?;
        }
    }
    Ok(python)
}

/// A process that answers requests, one JSON line each.
pub struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts it.
    pub fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the Python peer")?;
        let requests = child.stdin.take().context("the peer has no input")?;
        let answers = BufReader::new(child.stdout.take().context("the peer has no output")?);
        Ok(Self { child, requests, answers })
    }

    /// Sends a request and waits for the answer.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<T> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        self.requests.write_all(line.as_bytes()).context("the Python peer has ended")?;
        self.requests.flush()?;
        line.clear();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).context("the Python peer has ended or answers nonsense")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It has nothing to finish.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn imports(python: &Path, module: &str) -> bool {
    let check = format!("import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)");
    Command::new(python).args(["-c", &check]).status().is_ok_and(|status| status.success())
}

fn run(command: &mut Command) -> Result<()> {
    let status =
        command.status().with_context(|| format!("cannot start {command:?}: is Python 3 installed?"))?;
    ensure!(status.success(), "{command:?} failed ({status})");
    Ok(())
}
