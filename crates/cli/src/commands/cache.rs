//! `retreever cache`: where files that were fetched or computed are kept.

use anyhow::Result;

/// Nothing to choose yet.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<()> {
    println!("{}", retreever_fetch::cache_dir().display());
    Ok(())
}
