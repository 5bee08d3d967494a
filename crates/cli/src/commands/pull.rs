//! `retreever pull`: an encoder by name, and where it is.

use crate::commands::output::Output;
use crate::progress;
use anyhow::Result;
use retreever_encoder::{Source, open};
use serde_json::json;

/// Which encoder.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever pull minilm
  retreever pull sentence-transformers/all-MiniLM-L12-v2      (from the Hugging Face hub)")]
pub(crate) struct Args {
    /// minilm, mpnet, ORGANISATION/NAME on the Hugging Face hub, or a directory.
    encoder: String,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let dir = Source::parse(&args.encoder)?.pull(&mut progress::fetching())?;
    // An encoder that cannot be opened is better known now than when it is needed.
    open(&dir)?;
    args.output.print(&json!({ "encoder": args.encoder, "path": dir }), dir.display());
    Ok(())
}
