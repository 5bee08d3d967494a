//! A data set by its path, whatever it is kept in.

use crate::dataset::Dataset;
use crate::embeddings;
use crate::error::{Error, Place};
use crate::formats::{beir, text_pairs, texts};
use crate::lines::{self, BadLines};
use std::fs;
use std::io::{BufRead, Read};
use std::path::Path;

/// What a path holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder with `corpus.jsonl`.
    Beir,
    /// A JSONL file of documents alone, as in a BEIR folder.
    Corpus,
    /// A JSONL file of queries and the texts that answer them.
    TextPairs,
    /// A folder of `.txt` and `.md` files.
    Texts,
}

const ACCEPTED: &str = "expected a folder with corpus.jsonl (and queries.jsonl, qrels/*.tsv), a folder of .txt or .md \
     files, a JSONL file of pairs (`query`, `positive`), or a JSONL file of documents (`_id`, `text`)";

/// How far into a file its first line is looked for.
const FIRST_LINE: u64 = 64 << 20;

/// Finds out what a path holds, from its name and its first line.
pub fn kind(path: &Path) -> Result<Kind, Error> {
    let unknown = |reason: &str| Err(Error::malformed(Place::file(path), reason));
    if fs::metadata(path).map_err(Error::io(path))?.is_dir() {
        if path.join(beir::CORPUS).exists() {
            return Ok(Kind::Beir);
        }
        return if texts::has_texts(path)? {
            Ok(Kind::Texts)
        } else {
            unknown(&format!("{ACCEPTED}; found none of them in it"))
        };
    }
    if embeddings::is_named_so(path) {
        return unknown("this holds embeddings, not texts: give it as embeddings (--embeddings)");
    }
    if path.extension().is_some_and(|extension| extension == "parquet") {
        return unknown(
            "parquet is not read; write JSONL: pandas.read_parquet(FILE).to_json(OUT, orient='records', lines=True)",
        );
    }
    let first = first_line(path)?;
    if text_pairs::is_pair(&first) {
        Ok(Kind::TextPairs)
    } else if first.trim_start().starts_with('{') {
        Ok(Kind::Corpus)
    } else if first.trim().is_empty() {
        Err(Error::Empty { place: Place::file(path), what: "line" })
    } else {
        unknown(&format!("{ACCEPTED}; its first line is not a JSON object"))
    }
}

/// Reads the data set at a path.
pub fn open(path: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    match kind(path)? {
        Kind::Beir => beir::read(path, bad_lines),
        Kind::TextPairs => text_pairs::read(path, bad_lines),
        Kind::Texts => texts::read(path, bad_lines),
        Kind::Corpus => {
            let (corpus, skipped) = beir::read_corpus(path, bad_lines)?;
            Ok(Dataset { corpus, skipped, ..Dataset::default() })
        }
    }
}

/// The first line that is not blank; what is not UTF-8 in it is replaced.
fn first_line(path: &Path) -> Result<String, Error> {
    let mut file = lines::reader(path)?.take(FIRST_LINE);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = file.read_until(b'\n', &mut bytes).map_err(Error::io(path))?;
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_start_matches('\u{feff}');
        if read == 0 || !line.trim().is_empty() {
            return Ok(line.to_owned());
        }
    }
}
