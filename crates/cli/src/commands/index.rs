//! `retreever index`, `add`, `delete`, `compact`, `verify`: an index from a tree and documents, and what keeps it alive.

use crate::commands::texts::Texts;
use crate::progress;
use anyhow::{Result, ensure};
use retreever::Retriever;
use retreever_index::Index;
use std::path::PathBuf;

/// What to index.
#[derive(clap::Args)]
#[command(after_help = "Example:
  retreever index --tree tree --data insuranceqa --out index")]
pub(crate) struct BuildArgs {
    /// A tree that `retreever train` made.
    #[arg(long, default_value = "tree")]
    tree: PathBuf,
    #[command(flatten)]
    texts: Texts,
    /// Where the index goes.
    #[arg(long, default_value = "index")]
    out: PathBuf,
}

pub(crate) fn build(args: &BuildArgs) -> Result<()> {
    let encoder = Retriever::encoder_of(&args.tree, &mut progress::fetching())?;
    let dataset = args.texts.open()?;
    let retriever =
        Retriever::build(&args.out, &args.tree, encoder, &dataset.corpus, &mut progress::indexing())?;
    eprintln!("{} documents", retriever.snapshot()?.len());
    println!("{}", args.out.display());
    Ok(())
}

/// Which index.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// An index that `retreever index` made.
    #[arg(long, default_value = "index")]
    pub(crate) index: PathBuf,
}

/// What to add.
#[derive(clap::Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    texts: Texts,
}

pub(crate) fn add(args: &AddArgs) -> Result<()> {
    let dataset = args.texts.open()?;
    let mut retriever = Retriever::open(&args.which.index, &mut progress::fetching())?;
    retriever.add(dataset.corpus.items(), &mut progress::indexing())?;
    println!("{} documents", retriever.snapshot()?.len());
    Ok(())
}

/// What to delete.
#[derive(clap::Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    which: Which,
    /// Ids of documents.
    #[arg(required = true)]
    ids: Vec<String>,
}

pub(crate) fn delete(args: &DeleteArgs) -> Result<()> {
    let index = Index::open(&args.which.index)?;
    let before = index.snapshot()?.len();
    let mut writer = index.writer()?;
    writer.delete(args.ids.iter().map(String::as_str))?;
    writer.commit()?;
    let after = index.snapshot()?.len();
    ensure!(after < before, "none of these ids is in {}", args.which.index.display());
    println!("{} deleted, {after} documents left", before - after);
    Ok(())
}

pub(crate) fn compact(args: &Which) -> Result<()> {
    let index = Index::open(&args.index)?;
    index.writer()?.compact()?;
    let snapshot = index.snapshot()?;
    println!("{} documents in {} segments", snapshot.len(), snapshot.segments().len());
    Ok(())
}

pub(crate) fn verify(args: &Which) -> Result<()> {
    let verified = Index::open(&args.index)?.verify()?;
    println!("{} documents in {} segments, every byte read", verified.documents, verified.segments);
    Ok(())
}
