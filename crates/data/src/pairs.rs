//! Which query row belongs to which document row, for embeddings that have numbers instead of ids.
//!
//! A TSV file (`query<TAB>document`, an optional header) or JSONL (`{"query": 0, "document": 7}`), rows from 0.

use crate::error::{Error, Place};
use crate::lines::{self, Bad, BadLines, Line};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A query and a document that answers it, as item numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pair {
    /// The query's number.
    pub query: u32,
    /// The document's number.
    pub document: u32,
}

/// How many items there are on each side; a number at or above it is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Queries.
    pub queries: usize,
    /// Documents.
    pub documents: usize,
}

/// Reads pairs of item numbers; one out of range is an error that names the line.
pub fn read(path: &Path, bounds: Bounds) -> Result<Vec<Pair>, Error> {
    let mut pairs = Vec::new();
    lines::each(path, BadLines::Stop, |line| {
        let [query, document] = if line.text.trim_start().starts_with('{') {
            json(line.text)?
        } else if is_header(line) {
            return Ok(());
        } else {
            tsv(line.text)?
        };
        pairs.push(Pair {
            query: in_range(query, "query", bounds.queries)?,
            document: in_range(document, "document", bounds.documents)?,
        });
        Ok(())
    })?;
    if pairs.is_empty() {
        return Err(Error::Empty { place: Place::file(path), what: "pair" });
    }
    Ok(pairs)
}

fn is_header(line: Line<'_>) -> bool {
    line.number == 1 && line.text.split_whitespace().all(|word| word.parse::<f64>().is_err())
}

fn tsv(text: &str) -> Result<[u64; 2], Bad> {
    let mut fields = text.split('\t').map(str::trim);
    let (Some(query), Some(document), None) = (fields.next(), fields.next(), fields.next()) else {
        return Err(Bad::line("expected two item numbers with a tab between them: query, document"));
    };
    let number = |field: &str| {
        field.parse().map_err(|_| Bad::line(format!("`{field}` is not an item number (0, 1, 2, ...)")))
    };
    Ok([number(query)?, number(document)?])
}

fn json(text: &str) -> Result<[u64; 2], Bad> {
    #[derive(Deserialize)]
    struct Row {
        query: u64,
        document: u64,
    }
    let row: Row = serde_json::from_str(text).map_err(|error| Bad::line(format!("not a pair: {error}")))?;
    Ok([row.query, row.document])
}

fn in_range(number: u64, what: &str, count: usize) -> Result<u32, Bad> {
    match u32::try_from(number) {
        Ok(item) if number < count as u64 => Ok(item),
        _ if count == 0 => Err(Bad::line(format!("{what} {number} is out of range: there is no {what}"))),
        _ => {
            let reason =
                format!("{what} {number} is out of range: there are {count}, numbered 0 to {}", count - 1);
            Err(Bad::line(reason))
        }
    }
}
