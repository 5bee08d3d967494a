//! What a retriever answered: for each query, documents with their scores.

use std::collections::BTreeMap;

/// Answers: query id, document id, score (more is better).
///
/// Scores are single precision, as in `trec_eval`: two that differ only beyond it are tied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    queries: BTreeMap<String, BTreeMap<String, f32>>,
}

impl Run {
    /// No answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer, and gives back the score that it replaces if the document had been given before.
    pub fn insert(&mut self, query: &str, document: &str, score: f32) -> Option<f32> {
        match self.queries.get_mut(query) {
            Some(documents) => documents.insert(document.to_owned(), score),
            None => {
                self.queries.insert(query.to_owned(), BTreeMap::from([(document.to_owned(), score)]));
                None
            }
        }
    }

    /// The documents of a query with their scores, best first; none if the query was not answered.
    ///
    /// Ties are broken as `trec_eval` does: the greater id, byte by byte, comes first.
    pub fn ranking(&self, query: &str) -> Vec<(&str, f32)> {
        let documents = self.queries.get(query).into_iter().flatten();
        let mut ranking: Vec<_> = documents.map(|(document, &score)| (document.as_str(), score)).collect();
        ranking.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(a.0)));
        ranking
    }

    /// The queries that were answered, in the order of their ids.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.queries.keys().map(String::as_str)
    }

    /// How many queries were answered.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether no query was answered.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }
}

impl<Q: AsRef<str>, D: AsRef<str>> FromIterator<(Q, D, f32)> for Run {
    fn from_iter<I: IntoIterator<Item = (Q, D, f32)>>(answers: I) -> Self {
        let mut run = Self::new();
        for (query, document, score) in answers {
            run.insert(query.as_ref(), document.as_ref(), score);
        }
        run
    }
}
