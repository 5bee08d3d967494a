//! Results on stdout, for people or for programs.

use serde_json::Value;
use std::fmt::Display;

/// How results are printed.
#[derive(clap::Args)]
pub(crate) struct Output {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Output {
    /// Prints one result.
    pub(crate) fn print(&self, value: &Value, words: impl Display) {
        if self.json { println!("{value}") } else { println!("{words}") }
    }
}
