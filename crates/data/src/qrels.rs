//! Who answers whom: for each query, the documents that were judged and how relevant each is.

use std::collections::BTreeMap;

/// Judgements: query id, document id, grade (0 is not relevant, more is better).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qrels {
    queries: BTreeMap<String, BTreeMap<String, u32>>,
}

impl Qrels {
    /// No judgements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a judgement, and gives back the grade that it replaces if the pair had been judged before.
    pub fn insert(&mut self, query: &str, document: &str, grade: u32) -> Option<u32> {
        match self.queries.get_mut(query) {
            Some(documents) => documents.insert(document.to_owned(), grade),
            None => {
                self.queries.insert(query.to_owned(), BTreeMap::from([(document.to_owned(), grade)]));
                None
            }
        }
    }

    /// The grade of a document for a query, 0 if nobody judged it.
    pub fn grade(&self, query: &str, document: &str) -> u32 {
        self.queries.get(query).and_then(|documents| documents.get(document)).copied().unwrap_or(0)
    }

    /// The queries in the order of their ids, each with its judged documents and their grades.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, u32>)> {
        self.queries.iter().map(|(query, documents)| (query.as_str(), documents))
    }

    /// All judgements above grade 0, as (query, document): what a retriever is trained on.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().flat_map(|(query, documents)| {
            documents
                .iter()
                .filter(|(_, grade)| **grade > 0)
                .map(move |(document, _)| (query, document.as_str()))
        })
    }

    /// How many queries have a judgement.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there is no judgement at all.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// How many judgements there are.
    pub fn judgements(&self) -> usize {
        self.queries.values().map(BTreeMap::len).sum()
    }
}

impl<Q: AsRef<str>, D: AsRef<str>> FromIterator<(Q, D, u32)> for Qrels {
    fn from_iter<I: IntoIterator<Item = (Q, D, u32)>>(judgements: I) -> Self {
        let mut qrels = Self::new();
        for (query, document, grade) in judgements {
            qrels.insert(query.as_ref(), document.as_ref(), grade);
        }
        qrels
    }
}
