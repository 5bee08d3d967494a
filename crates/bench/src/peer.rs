//! The Python peers that a measurement runs beside: an interpreter with the packages it needs.
//!
//! `RETREEVER_PYTHON` names an interpreter that has them already; otherwise a virtual environment is made
//! once in the cache directory and the packages are installed into it by name.

use anyhow::{Context, Result, ensure};
use retreever_fetch::cache_dir;
use std::path::{Path, PathBuf};
use std::process::Command;

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
