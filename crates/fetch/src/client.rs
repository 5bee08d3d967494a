//! The user's own `pip` and `npm`, as they are configured: start one, watch its files grow, read its complaints.
//!
//! Nothing of a package is run. Wheels and npm tarballs are downloaded as they are. For a source distribution
//! `pip download` would start a Python process to ask `setup.py` for metadata, after the download and before
//! handing over the file. [`LAUNCHER`] therefore runs `pip` under an audit hook: at the first Python process
//! that `pip` wants to start, the archive is moved out and `pip` ends there. Other programs that `pip` starts
//! (a keyring, for instance) are the user's own and are let through.

use crate::error::{FetchError, io};
use crate::package::{Distribution, Package, Registry};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Runs `pip` in this process; its last argument is where archives go.
const LAUNCHER: &str = r#"
import glob, os, runpy, sys, tempfile
destination = sys.argv.pop()
def watch(event, args):
    if event in ("os.system", "os.exec", "os.posix_spawn", "os.spawn"):
        os._exit(3)
    if event == "subprocess.Popen" and os.path.basename(str(args[0])).startswith("py"):
        for archive in glob.glob(os.path.join(tempfile.gettempdir(), "pip-unpack-*", "*.*")):
            os.replace(archive, os.path.join(destination, os.path.basename(archive)))
        os._exit(0)
sys.addaudithook(watch)
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"#;

const PYTHONS: [&str; 2] = ["python3", "python"];

/// Downloads into `staging` and names the file there; `grown` hears the bytes so far. `place` is where the
/// archive will end up, for messages.
pub(crate) fn download(
    package: &Package,
    staging: &Path,
    place: &Path,
    grown: &mut dyn FnMut(u64),
) -> Result<PathBuf, FetchError> {
    let done = staging.join("done");
    let scratch = staging.join("scratch");
    for dir in [&done, &scratch] {
        fs::create_dir(dir).map_err(io("make", dir))?;
    }
    let (client, command) = match package.registry {
        Registry::PyPi(kind) => ("pip", pip(package, kind, &done)),
        Registry::Npm => ("npm", npm(package, &done)),
    };
    let no_client = || FetchError::NoClient {
        client,
        package: package.to_string(),
        by_hand: package.by_hand(),
        place: place.to_owned(),
    };
    let mut command = command.ok_or_else(no_client)?;

    let log_path = staging.join("log");
    let log = File::create(&log_path).map_err(io("make", &log_path))?;
    let both = log.try_clone().map_err(io("make", &log_path))?;
    let mut child = command
        .env("TMPDIR", &scratch)
        .env("TEMP", &scratch)
        .current_dir(staging)
        .stdin(Stdio::null())
        .stdout(both)
        .stderr(log)
        .spawn()
        .map_err(|_| no_client())?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io("wait for the client in", staging))? {
            break status;
        }
        grown(size(staging));
        thread::sleep(Duration::from_millis(50));
    };
    if let (true, Some(file)) = (status.success(), only_file(&done)) {
        return Ok(file);
    }
    let said = fs::read(&log_path).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default();
    Err(explain(client, package, place, &said))
}

fn pip(package: &Package, kind: Distribution, done: &Path) -> Option<Command> {
    let works = |python: &&&str| {
        let mut version = Command::new(python);
        version.args(["-m", "pip", "--version"]).stdin(Stdio::null());
        version.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let python = PYTHONS.iter().find(works)?;
    let mut command = Command::new(python);
    let requirement = format!("{}=={}", package.name, package.version);
    let options = ["--no-deps", "--no-input", "--progress-bar", "off", "--ignore-requires-python"];
    match kind {
        Distribution::Wheel => {
            command.args(["-m", "pip", "download"]).args(options).args(["--only-binary", ":all:"]);
            command.arg("--dest").arg(done).arg(requirement);
        }
        Distribution::Source => {
            command.args(["-c", LAUNCHER, "download"]).args(options).args(["--no-binary", ":all:"]);
            command.arg("--dest").arg(done).arg(requirement).arg(done);
        }
    }
    Some(command)
}

fn npm(package: &Package, done: &Path) -> Option<Command> {
    let mut command = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    command.arg("pack").arg(format!("{}@{}", package.name, package.version));
    command.args(["--ignore-scripts", "--loglevel", "error"]).arg("--pack-destination").arg(done);
    Some(command)
}

/// The bytes under a directory; files that vanish meanwhile count nothing.
fn size(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
        .map(|(path, metadata)| if metadata.is_dir() { size(&path) } else { metadata.len() })
        .sum()
}

fn only_file(dir: &Path) -> Option<PathBuf> {
    let is_archive = |path: &PathBuf| path.extension().and_then(OsStr::to_str).is_some();
    fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).find(is_archive)
}

/// What the client's words mean. Clients have no exit codes for this, so their words are all there is; an
/// unknown complaint is passed on as it is.
fn explain(client: &'static str, package: &Package, place: &Path, said: &str) -> FetchError {
    let any = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let last = said.lines().map(str::trim).filter(|line| !line.is_empty()).rev().take(4).collect::<Vec<_>>();
    let last = last.into_iter().rev().collect::<Vec<_>>().join(" | ");
    let name = package.to_string();
    if any(&["No space left on device", "ENOSPC", "Disk quota exceeded", "File too large"]) {
        FetchError::NoSpace { path: place.to_owned() }
    } else if any(&[
        "NewConnectionError",
        "Connection",
        "Name or service",
        "ENOTFOUND",
        "ETIMEDOUT",
        "ECONN",
        "EAI_AGAIN",
        "ProxyError",
        "SSLError",
        "timed out",
        "Max retries",
    ]) {
        let (by_hand, place) = (package.by_hand(), place.to_owned());
        FetchError::Network { client, package: name, by_hand, place, said: last }
    } else if any(&["No matching distribution", "E404", "ETARGET", "404 Not Found"]) {
        FetchError::NotFound { client, package: name, said: last }
    } else {
        FetchError::Client { client, package: name, said: last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_understood() {
        let package = Package {
            registry: Registry::PyPi(Distribution::Wheel),
            name: "x",
            version: "1",
            sha256: "",
            bytes: 0,
            licence: "MIT",
        };
        let explain = |said| explain("pip", &package, Path::new("there"), said);
        let offline = "WARNING: Retrying: NewConnectionError\nERROR: No matching distribution found for x==1";
        assert!(matches!(explain(offline), FetchError::Network { .. }));
        let missing = "ERROR: No matching distribution found for x==1";
        assert!(matches!(explain(missing), FetchError::NotFound { .. }));
        let full = "OSError: [Errno 28] No space left on device";
        assert!(matches!(explain(full), FetchError::NoSpace { .. }));
        let FetchError::Client { said, .. } = explain("one\n\ntwo\n") else { panic!() };
        assert_eq!(said, "one | two");
    }
}
