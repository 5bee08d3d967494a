//! Which leaves a search opens, as it is typed.

use retreever::Opening;
use std::num::NonZeroUsize;

/// At most one of these; none of them searches all documents.
#[derive(clap::Args)]
pub(super) struct OpeningArgs {
    /// Open only this many leaves, the likeliest first.
    #[arg(long, group = "opening")]
    leaves: Option<NonZeroUsize>,
    /// Open the likeliest leaves until this share of the documents is read, such as 5%.
    #[arg(long, value_name = "SHARE", group = "opening", value_parser = crate::share::parse)]
    read: Option<f64>,
    /// Open the likeliest leaves until the answer is among them with this chance, such as 95%.
    #[arg(long, value_name = "CHANCE", group = "opening", value_parser = crate::share::parse)]
    cover: Option<f64>,
}

impl OpeningArgs {
    /// What to open; `None` for everything.
    pub(super) fn opening(&self) -> Option<Opening> {
        let leaves = self.leaves.map(|leaves| Opening::Top(leaves.get()));
        leaves.or(self.read.map(Opening::Read)).or(self.cover.map(Opening::Cover))
    }
}
