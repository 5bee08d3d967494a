//! `retreever pull`: an encoder by name, and where it is.

use crate::progress;
use anyhow::Result;
use retreever_encoder::{Source, open};

/// Which encoder.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// minilm, mpnet, ORGANISATION/NAME on the Hugging Face hub, or a directory.
    encoder: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let dir = Source::parse(&args.encoder)?.pull(&mut progress::fetching())?;
    // An encoder that cannot be opened is better known now than when it is needed.
    open(&dir)?;
    println!("{}", dir.display());
    Ok(())
}
