//! Texts to work on: a path, or the name of a data set that is fetched when it is not there.

use crate::progress::{self, say};
use anyhow::{Result, ensure};
use retreever::{BadLines, Dataset};
use retreever_data::get::{Named, get};
use std::path::PathBuf;

/// Where texts come from.
#[derive(clap::Args)]
pub(crate) struct Texts {
    /// A BEIR folder, a JSONL file, a folder of .txt or .md files; or insuranceqa or squadshifts, fetched by name.
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// Leave out lines that cannot be read, and say how many.
    #[arg(long)]
    pub(crate) skip_bad_lines: bool,
}

/// The data sets that are fetched by name.
const NAMED: [Named; 2] = [Named::InsuranceQa, Named::SquadShifts];

impl Texts {
    /// Whether they can be read without fetching.
    pub(crate) fn at_hand(&self) -> bool {
        self.data.exists() || self.named().is_some_and(|named| named.folder().exists())
    }

    fn named(&self) -> Option<Named> {
        NAMED.into_iter().find(|named| self.data.as_os_str() == named.to_string().as_str())
    }

    /// Where they are on disk, fetched first if need be.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        let path = match self.named() {
            Some(named) if !self.data.exists() => {
                if !named.folder().exists() {
                    get(named, &named.folder(), &mut progress::fetching())?;
                }
                named.folder()
            }
            _ => self.data.clone(),
        };
        ensure!(
            path.exists(),
            "{} is not there: give a file or folder, or {} to fetch a data set by name",
            path.display(),
            NAMED.map(|named| named.to_string()).join(" or ")
        );
        Ok(path)
    }

    /// Reads them.
    pub(crate) fn open(&self) -> Result<Dataset> {
        let path = self.path()?;
        let bad_lines = if self.skip_bad_lines { BadLines::Skip } else { BadLines::Stop };
        let dataset = retreever::open(&path, bad_lines)?;
        if dataset.skipped.lines > 0 {
            say!("{}: {} lines or files left out, the first of them:", path.display(), dataset.skipped.lines);
            for line in &dataset.skipped.first {
                say!("  {line}");
            }
        }
        Ok(dataset)
    }
}
