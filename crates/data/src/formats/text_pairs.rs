//! Pair JSONL: `query` (or `anchor`), `positive`, optionally `negative`; the last two a text or a list of texts.
//!
//! Equal texts are one document or query. They are numbered in the order in which they come: `d0`, `d1`, ... and
//! `q0`, `q1`, ... Positives get grade 1, negatives are in the corpus without a judgement, and all of it is
//! the training split.

use super::fields::Fields;
use crate::collection::{Collection, Document, Identified, Query};
use crate::dataset::{Dataset, Split};
use crate::error::{Error, Place};
use crate::lines::{self, Bad, BadLines};
use crate::qrels::Qrels;
use std::collections::HashMap;
use std::path::Path;

/// Whether a line of JSON is a pair.
pub(crate) fn is_pair(line: &str) -> bool {
    let Ok(fields) = Fields::parse(line) else { return false };
    (fields.has("query") || fields.has("anchor")) && fields.has("positive")
}

/// Reads pairs.
pub fn read(path: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    let (mut documents, mut queries, mut qrels) = (Texts::default(), Texts::default(), Qrels::new());
    let skipped = lines::each(path, bad_lines, |line| {
        let mut fields = Fields::parse(line.text)?;
        let query = match fields.text("query")? {
            Some(query) => query,
            None => {
                fields.text("anchor")?.ok_or_else(|| Bad::line("there is neither `query` nor `anchor`"))?
            }
        };
        if query.trim().is_empty() {
            return Err(Bad::line("the query is empty"));
        }
        let (positives, negatives) = (fields.texts("positive")?, fields.texts("negative")?);
        if positives.is_empty() {
            return Err(Bad::line("there is no `positive`"));
        }
        let query = queries.number(query);
        for positive in positives {
            qrels.insert(&format!("q{query}"), &format!("d{}", documents.number(positive)), 1);
        }
        for negative in negatives {
            documents.number(negative);
        }
        Ok(())
    })?;
    if qrels.is_empty() {
        return Err(Error::Empty { place: Place::file(path), what: "pair" });
    }
    Ok(Dataset {
        corpus: documents.into_collection(|number, text| Document {
            id: format!("d{number}"),
            text,
            ..Document::default()
        }),
        queries: queries.into_collection(|number, text| Query {
            id: format!("q{number}"),
            text,
            ..Query::default()
        }),
        qrels: [(Split::Train, qrels)].into(),
        skipped,
    })
}

/// Different texts in the order in which they came first.
#[derive(Default)]
struct Texts {
    numbers: HashMap<String, usize>,
}

impl Texts {
    /// The number of a text, which is added if it is new.
    fn number(&mut self, text: String) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(text).or_insert(next)
    }

    fn into_collection<T: Identified>(self, item: impl Fn(usize, String) -> T) -> Collection<T> {
        let mut texts: Vec<_> = self.numbers.into_iter().map(|(text, number)| (number, text)).collect();
        texts.sort_unstable();
        texts.into_iter().map(|(number, text)| item(number, text)).collect()
    }
}
