//! Finished pieces on disk: a comparison that was stopped carries on, and nothing is computed twice.
//!
//! `pieces/NAME.json` holds what was found and what it was made from. A file made from something else, or one that cannot
//! be read, is as if it were not there.

use super::Piece;
use crate::report::{JudgedTree, Row};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Where finished pieces are kept.
pub(super) struct Kept {
    folder: PathBuf,
}

/// What a piece has found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Findings {
    /// One for each thing measured.
    pub(super) rows: Vec<Row>,
    /// The trees of the piece, judged as trees.
    pub(super) trees: Vec<JudgedTree>,
}

impl From<Vec<Row>> for Findings {
    fn from(rows: Vec<Row>) -> Self {
        Self { rows, trees: Vec::new() }
    }
}

#[derive(Serialize, Deserialize)]
struct File {
    /// Which piece, as it is typed.
    piece: String,
    /// A hash of the data, the encoder and the settings.
    made_from: String,
    found: Findings,
}

impl Kept {
    /// In the folder of a report, which is made if it is not there.
    pub(super) fn open(report: &Path) -> Result<Self> {
        let folder = report.join("pieces");
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(Self { folder })
    }

    fn file(&self, piece: Piece) -> PathBuf {
        self.folder.join(format!("{}.json", piece.to_string().replace([':', '='], "-")))
    }

    /// What a piece has found, if it was finished from the same things.
    pub(super) fn get(&self, piece: Piece, made_from: &str) -> Option<Findings> {
        let text = fs::read(self.file(piece)).ok()?;
        let file: File = serde_json::from_slice(&text).ok()?;
        (file.made_from == made_from).then_some(file.found)
    }

    /// The pieces that there are, whatever they were made from.
    pub(super) fn pieces(&self) -> Vec<Piece> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let read = |file: fs::DirEntry| serde_json::from_slice::<File>(&fs::read(file.path()).ok()?).ok();
        let mut pieces: Vec<String> = files.filter_map(read).map(|file| file.piece).collect();
        pieces.sort_unstable();
        pieces.iter().filter_map(|piece| piece.parse().ok()).collect()
    }

    /// Keeps what a finished piece has found.
    pub(super) fn put(&self, piece: Piece, made_from: &str, found: &Findings) -> Result<()> {
        let file = self.file(piece);
        let json = serde_json::to_string(&File {
            piece: piece.to_string(),
            made_from: made_from.to_owned(),
            found: found.clone(),
        })?;
        crate::report::replace(&file, &json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_kept_for_what_it_was_made_from() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::open(folder.path()).unwrap();
        assert_eq!(kept.get(Piece::Bm25, "a"), None);
        kept.put(Piece::Bm25, "a", &Findings::default()).unwrap();
        assert_eq!(kept.get(Piece::Bm25, "a"), Some(Findings::default()));
        assert_eq!(kept.get(Piece::Bm25, "b"), None);
        assert_eq!(kept.get(Piece::Raptor(1), "a"), None);
        kept.put(Piece::Raptor(1), "a", &Findings::default()).unwrap();
        assert_eq!(kept.pieces(), [Piece::Bm25, Piece::Raptor(1)]);
        fs::write(kept.file(Piece::Bm25), "{ torn").unwrap();
        assert_eq!(kept.get(Piece::Bm25, "a"), None);
    }
}
