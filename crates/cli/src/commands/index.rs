//! `retreever index`, `add`, `delete`, `compact`, `verify`: an index from a tree and documents, and what keeps it alive.

use crate::commands::output::Output;
use crate::commands::texts::Texts;
use crate::progress::{self, say};
use anyhow::{Result, ensure};
use retreever::{CachedEncoder, Retriever};
use retreever_index::Index;
use serde_json::json;
use std::path::PathBuf;

/// What to index.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever index --data my-documents/                       (a tree is planted in the documents, without training)
  retreever index --tree tree --data insuranceqa --out index")]
pub(crate) struct BuildArgs {
    /// A tree that `retreever train` made. Default: a tree is planted in the documents, without training.
    #[arg(long)]
    tree: Option<PathBuf>,
    /// The encoder of a planted tree: minilm, mpnet, ORGANISATION/NAME on the hub, or a directory.
    #[arg(long, default_value = "minilm", conflicts_with = "tree")]
    encoder: String,
    #[command(flatten)]
    texts: Texts,
    /// Where the index goes.
    #[arg(long, default_value = "index")]
    out: PathBuf,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn build(args: &BuildArgs) -> Result<()> {
    let mut progress = progress::indexing();
    let retriever = match &args.tree {
        Some(tree) => {
            ensure!(
                tree.join("config.json").exists(),
                "there is no tree in {}: train one with `retreever train`, or leave --tree out to plant one",
                tree.display()
            );
            let dataset = args.texts.open()?;
            let encoder = Retriever::encoder_of(tree, &mut progress::fetching())?;
            Retriever::build(&args.out, tree, encoder, &dataset.corpus, &mut progress)?
        }
        None => {
            let dataset = args.texts.open()?;
            let encoder = CachedEncoder::open(&args.encoder, &mut progress::fetching())?;
            let there = std::path::Path::new("tree").join("config.json").exists();
            let hint = if there { "; there is a trained one in ./tree: --tree tree" } else { "" };
            say!("planting a tree in the documents, without training{hint}");
            Retriever::build_planted(&args.out, encoder, &dataset, &mut progress)?
        }
    };
    let documents = retriever.snapshot()?.len();
    say!("{documents} documents");
    args.output.print(&json!({ "index": args.out, "documents": documents }), args.out.display());
    Ok(())
}

/// Which index.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// An index that `retreever index` made.
    #[arg(long, default_value = "index")]
    pub(crate) index: PathBuf,
}

/// Which index, and how to report.
#[derive(clap::Args)]
#[command(after_help = "Example:
  retreever compact --index index && retreever verify --index index")]
pub(crate) struct UpkeepArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    output: Output,
}

/// What to add.
#[derive(clap::Args)]
#[command(after_help = "Example:
  retreever add --index index --data new.jsonl")]
pub(crate) struct AddArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    texts: Texts,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn add(args: &AddArgs) -> Result<()> {
    let dataset = args.texts.open()?;
    let mut retriever = Retriever::open(&args.which.index, &mut progress::fetching())?;
    retriever.add(dataset.corpus.items(), &mut progress::indexing())?;
    let documents = retriever.snapshot()?.len();
    args.output.print(&json!({ "documents": documents }), format_args!("{documents} documents"));
    Ok(())
}

/// What to delete.
#[derive(clap::Args)]
#[command(after_help = "Example:
  retreever delete --index index doc-17 doc-18")]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    which: Which,
    /// Ids of documents.
    #[arg(required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn delete(args: &DeleteArgs) -> Result<()> {
    let index = Index::open(&args.which.index)?;
    let before = index.snapshot()?.len();
    let mut writer = index.writer()?;
    writer.delete(args.ids.iter().map(String::as_str))?;
    writer.commit()?;
    drop(writer);
    retreever::refresh_notes(&index)?;
    let after = index.snapshot()?.len();
    ensure!(after < before, "none of these ids is in {}", args.which.index.display());
    let deleted = before - after;
    let words = format_args!("{deleted} deleted, {after} documents left");
    args.output.print(&json!({ "deleted": deleted, "documents": after }), words);
    Ok(())
}

pub(crate) fn compact(args: &UpkeepArgs) -> Result<()> {
    let index = Index::open(&args.which.index)?;
    index.writer()?.compact()?;
    retreever::write_notes(&index)?;
    let snapshot = index.snapshot()?;
    let (documents, segments) = (snapshot.len(), snapshot.segments().len());
    let words = format_args!("{documents} documents in {segments} segments");
    args.output.print(&json!({ "documents": documents, "segments": segments }), words);
    Ok(())
}

pub(crate) fn verify(args: &UpkeepArgs) -> Result<()> {
    let verified = Index::open(&args.which.index)?.verify()?;
    let (documents, segments) = (verified.documents, verified.segments);
    let words = format_args!("{documents} documents in {segments} segments, every byte read");
    args.output.print(&json!({ "documents": documents, "segments": segments, "sound": true }), words);
    Ok(())
}
