//! `retreever cache`: what is kept from earlier runs, how large it is, and how to be rid of it.

use crate::commands::output::Output;
use anyhow::{Context, Result};
use clap::ValueEnum;
use retreever_fetch::cache_dir;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Show, or clear.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever cache
  retreever cache --clear                 (computed embeddings)
  retreever cache --clear all")]
pub(crate) struct Args {
    /// Remove what is kept: computed embeddings unless another kind is named.
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "embeddings")]
    clear: Option<Kind>,
    #[command(flatten)]
    output: Output,
}

/// What is kept, each in a folder of its own.
#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Embeddings that were computed.
    Embeddings,
    /// Encoders that were pulled.
    Encoders,
    /// Archives that were fetched.
    Packages,
    /// Data sets that were converted.
    Data,
    /// Everything.
    All,
}

impl Kind {
    fn folder(self) -> PathBuf {
        let root = cache_dir();
        match self {
            Self::Embeddings => root.join("embeddings"),
            Self::Encoders => root.join("encoders"),
            Self::Packages => root.join("packages"),
            Self::Data => root.join("data"),
            Self::All => root,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(kind) = args.clear {
        let folder = kind.folder();
        let bytes = size(&folder);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        args.output.print(&json!({ "freed": bytes }), format_args!("freed {}", readable(bytes)));
        return Ok(());
    }
    let root = cache_dir();
    if args.output.json {
        let kept =
            entries(&root).into_iter().flat_map(|entry| entries(&entry)).filter(|entry| entry.is_dir());
        let kept: Vec<Value> = kept.map(|entry| json!({ "path": entry, "bytes": size(&entry) })).collect();
        println!("{}", json!({ "path": root, "bytes": size(&root), "kept": kept }));
        return Ok(());
    }
    println!("{:>10}  {}", readable(size(&root)), root.display());
    for entry in entries(&root) {
        println!("{:>10}  {}", readable(size(&entry)), name(&entry));
        for inner in entries(&entry).into_iter().filter(|inner| inner.is_dir()) {
            println!("{:>10}    {}{}", readable(size(&inner)), name(&inner), texts(&inner));
        }
    }
    Ok(())
}

/// How many texts a folder of embeddings has: its list of texts has 64 bytes each, and a header.
fn texts(folder: &Path) -> String {
    match fs::metadata(folder.join("texts.bin")) {
        Ok(list) => format!(" ({} texts)", (list.len() / 64).saturating_sub(1)),
        Err(_) => String::new(),
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

fn size(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => entries(path).iter().map(|entry| size(entry)).sum(),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}

fn readable(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
