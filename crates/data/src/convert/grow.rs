//! A data set that grows pair by pair; equal texts are one document.

use crate::collection::{Corpus, Document, Queries, Query};
use crate::dataset::{Dataset, Split};
use crate::lines::{Bad, Skipped};
use crate::qrels::Qrels;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// What has been read so far.
#[derive(Default)]
pub(super) struct Grow {
    corpus: Corpus,
    queries: Queries,
    qrels: BTreeMap<Split, Qrels>,
    skipped: Skipped,
    ids: HashMap<String, String>, // text -> document id
}

/// A question and the text that answers it.
pub(super) struct Answered {
    pub(super) query: Query,
    pub(super) title: String,
    pub(super) text: String,
    pub(super) metadata: Map<String, Value>,
}

impl Grow {
    /// Adds a pair to a split.
    pub(super) fn pair(&mut self, split: &Split, pair: Answered) -> Result<(), Bad> {
        let Answered { query, title, text, metadata } = pair;
        if query.text.is_empty() {
            return Err(Bad::line(format!("the question `{}` is empty", query.id)));
        }
        if text.is_empty() {
            return Err(Bad::line(format!("the document of the question `{}` is empty", query.id)));
        }
        let query_id = query.id.clone();
        self.queries.push(query).map_err(|taken| {
            Bad::line(format!("the question `{}` came before; keep one file of each split", taken.id))
        })?;
        let document = match self.ids.get(&text) {
            Some(id) => id.clone(),
            None => {
                let id = format!("d{}", self.corpus.len());
                self.ids.insert(text.clone(), id.clone());
                let document = Document { id: id.clone(), title, text, metadata };
                self.corpus.push(document).map_err(|taken| Bad::line(taken.to_string()))?;
                id
            }
        };
        self.qrels.entry(split.clone()).or_default().insert(&query_id, &document, 1);
        Ok(())
    }

    pub(super) fn skipped(&mut self, skipped: Skipped) {
        self.skipped.add(skipped);
    }

    pub(super) fn finish(self) -> Dataset {
        Dataset { corpus: self.corpus, queries: self.queries, qrels: self.qrels, skipped: self.skipped }
    }
}

/// An id that is a text or a number.
pub(super) fn id(value: &Value) -> String {
    match value {
        Value::String(id) => id.clone(),
        other => other.to_string(),
    }
}

/// Metadata of texts.
pub(super) fn metadata<const N: usize>(fields: [(&str, String); N]) -> Map<String, Value> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), Value::String(value))).collect()
}
