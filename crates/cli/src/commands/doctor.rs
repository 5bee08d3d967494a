//! `retreever doctor`: what this machine has of what is needed, and the next step for what it has not.

use anyhow::{Result, bail};
use retreever_encoder::Source;
use retreever_fetch::cache_dir;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// How to report.
#[derive(clap::Args)]
#[command(after_help = "Exit code 1 if something that is required is missing.

Example:
  retreever doctor --json")]
pub(crate) struct Args {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// As it should be.
    Good,
    /// Works without it, or slower.
    Note,
    /// Does not work without it.
    Missing,
}

#[derive(Serialize)]
struct Check {
    what: &'static str,
    state: State,
    found: String,
}

/// Free space below which nothing useful fits, and below which a first run may not, in bytes.
const LITTLE: u64 = 500_000_000;
const FIRST_RUN: u64 = 4_000_000_000;

pub(crate) fn run(args: &Args) -> Result<()> {
    let encoder = encoder();
    // What is here need not be fetched.
    let pip = pip(encoder.state == State::Good);
    let checks = [threads(), processor(), encoder, pip, cache(), disk(), browser()];
    let missing: Vec<&str> =
        checks.iter().filter(|check| check.state == State::Missing).map(|check| check.what).collect();
    if args.json {
        println!("{}", serde_json::json!({ "ready": missing.is_empty(), "checks": checks }));
    } else {
        for Check { what, state, found } in &checks {
            let mark = match state {
                State::Good => "ok",
                State::Note => "note",
                State::Missing => "MISSING",
            };
            println!("{mark:>7}  {what:<10} {found}");
        }
    }
    if !missing.is_empty() {
        bail!("missing: {}", missing.join(", "));
    }
    Ok(())
}

fn check(what: &'static str, state: State, found: impl Into<String>) -> Check {
    Check { what, state, found: found.into() }
}

fn threads() -> Check {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    check("threads", State::Good, format!("{} of {cores} cores", rayon::current_num_threads()))
}

fn processor() -> Check {
    let has = features();
    let all = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
    let (state, advice) = match () {
        () if cfg!(not(target_arch = "x86_64")) => (State::Note, "; plain code is used on this processor"),
        () if !has.contains(&"AVX2") => (State::Note, "; without AVX2 search is several times slower"),
        () => (State::Good, ""),
    };
    check("processor", state, format!("{}, SIMD: {all}{advice}", std::env::consts::ARCH))
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    use retreever_kernels::gemm;
    let found = [
        ("AVX2", is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")),
        ("AVX-512", is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")),
        ("AMX", gemm::Path::available().contains(&gemm::Path::Amx)),
    ];
    found.into_iter().filter(|(_, here)| *here).map(|(name, _)| name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

fn encoder() -> Check {
    let what = "encoder";
    match Source::MiniLm.here() {
        None => check(
            what,
            State::Note,
            "minilm is not here yet; it is fetched when needed, or now: retreever pull minilm",
        ),
        Some(dir) => match retreever_encoder::open(&dir) {
            Ok(_) => check(what, State::Good, format!("minilm, {}", dir.display())),
            Err(error) => {
                let advice = "retreever cache --clear encoders, then retreever pull minilm";
                check(what, State::Missing, format!("{error}; {advice}"))
            }
        },
    }
}

fn pip(have_encoder: bool) -> Check {
    let version = |python: &str| {
        let output =
            Command::new(python).args(["-m", "pip", "--version"]).stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.split(" from ").next().unwrap_or_default().trim().to_owned())
    };
    match ["python3", "python"].into_iter().find_map(version) {
        Some(version) => check("pip", State::Good, version),
        None => {
            let state = if have_encoder { State::Note } else { State::Missing };
            check(
                "pip",
                state,
                "none; encoders and example data are fetched through it: install Python with pip",
            )
        }
    }
}

fn cache() -> Check {
    let dir = cache_dir();
    let probe = dir.join(".doctor");
    let written =
        fs::create_dir_all(&dir).and_then(|()| fs::write(&probe, b"")).and_then(|()| fs::remove_file(&probe));
    match written {
        Ok(()) => check("cache", State::Good, dir.display().to_string()),
        Err(error) => {
            let advice = "set RETREEVER_CACHE to a folder that can be written";
            check("cache", State::Missing, format!("{}: {error}; {advice}", dir.display()))
        }
    }
}

fn disk() -> Check {
    let dir = cache_dir();
    let Some(free) = free_space(&dir) else {
        return check("disk", State::Note, "free space is not known here; a first run takes 4 GB");
    };
    let found = format!("{:.1} GB free for the cache", free as f64 / 1e9);
    match free {
        0..LITTLE => check("disk", State::Missing, format!("{found}; set RETREEVER_CACHE to a larger disk")),
        LITTLE..FIRST_RUN => {
            check("disk", State::Note, format!("{found}; the demo's embeddings take about 3 GB"))
        }
        _ => check("disk", State::Good, found),
    }
}

/// As `df` of POSIX says; nothing on systems without it.
fn free_space(dir: &Path) -> Option<u64> {
    let there = dir.ancestors().find(|dir| dir.is_dir())?;
    let output = Command::new("df").arg("-Pk").arg(there).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let blocks: u64 = text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(blocks * 1024)
}

fn browser() -> Check {
    let names = ["xdg-open", "open", "firefox", "chromium", "google-chrome", "explorer.exe"];
    let paths: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    match names.into_iter().find(|name| paths.iter().any(|path| path.join(name).is_file())) {
        Some(name) => check("browser", State::Good, format!("{name}, for retreever explore")),
        None => {
            let advice = "none found; retreever explore prints an address to open elsewhere, inspect --html writes a file";
            check("browser", State::Note, advice)
        }
    }
}
