//! The comparison on paper: `results.json`, one row for each thing measured, and `index.html` made from it alone.
//!
//! A [`Row`] says which method ranked, at which size, searched how, with which seed, and carries the command that makes
//! it again; a [`JudgedTree`] says how good a tree is as a tree. [`Report::to_html`] is a pure function: tables and figures are views of the rows.

mod figures;
mod page;
mod pooled;
mod row;
pub(crate) mod tables;
mod trees;

pub use pooled::{Best, Stat};
pub use row::{Ablation, Cover, Method, Row, Search, Summaries, Variant};
pub use trees::JudgedTree;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Everything that one comparison measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this layout.
    pub format: u32,
    /// What was searched.
    pub data: DataFacts,
    /// The frozen encoder, by name.
    pub encoder: String,
    /// Width of its embeddings.
    pub width: usize,
    /// Processor and number of threads, as far as they are known.
    pub machine: String,
    /// The command that made the whole report.
    pub command: String,
    /// One for each thing measured.
    pub rows: Vec<Row>,
    /// Every tree, judged as a tree.
    pub trees: Vec<JudgedTree>,
}

/// The layout that this program writes and reads.
pub const FORMAT: u32 = 2;

/// What was searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataFacts {
    /// Name of the data set.
    pub name: String,
    /// Documents in the corpus.
    pub documents: usize,
    /// Pairs that the trained methods learned from.
    pub training_pairs: usize,
    /// Judged queries that everything was measured on.
    pub test_queries: usize,
}

impl Report {
    /// Writes `results.json` and `index.html` into the folder, each whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let mut json = serde_json::to_string_pretty(self)?;
        json.push('\n');
        replace(&folder.join("results.json"), &json)?;
        replace(&folder.join("index.html"), &self.to_html())
    }

    /// Reads a `results.json`.
    pub fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let report: Self = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a results.json of this version", file.display()))?;
        anyhow::ensure!(
            report.format == FORMAT,
            "{} has format {}, this program reads {FORMAT}: make it again with its own command",
            file.display(),
            report.format
        );
        Ok(report)
    }

    /// Each method, searched each way, at the size that scored best on the mean of the seeds.
    pub fn best(&self) -> Vec<Best> {
        pooled::best(&pooled::pool(&self.rows))
    }

    /// The whole page.
    pub fn to_html(&self) -> String {
        page::render(self)
    }
}

/// Writes a file whole or not at all.
pub(crate) fn replace(file: &Path, content: &str) -> Result<()> {
    let beside = file.with_extension("partial");
    fs::write(&beside, content).with_context(|| format!("cannot write {}", beside.display()))?;
    fs::rename(&beside, file).with_context(|| format!("cannot replace {}", file.display()))
}
