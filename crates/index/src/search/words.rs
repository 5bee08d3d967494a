//! Search by words: BM25 over titles and texts, alone or together with the tree.

use super::probe::Probe;
use super::{Answer, Guarantee, Hit, Query};
use crate::{Error, Filter, Result, Snapshot};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use tantivy::collector::{Collector, FilterCollector, TopDocs};
use tantivy::query::{BooleanQuery, Occur, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Term};

/// How many documents of either list are put together.
const POOL: usize = 100;
/// The constant of reciprocal ranks.
const RANK_OFFSET: f64 = 60.0;

/// How two rankings become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fusion {
    /// The share of BM25 in the score (divided by its largest); the tree's score has the rest.
    Weighted(f64),
    /// `1 / (60 + rank)`, summed over both rankings.
    ReciprocalRank,
}

/// What the tree and the words added to a score: `score = tree + words`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// What the tree added.
    pub tree: f64,
    /// What the words added.
    pub words: f64,
}

/// The parts of each candidate's score, by its segment and row.
type Candidates = HashMap<(usize, usize), Parts>;

impl Snapshot {
    /// The `k` best by BM25 alone.
    pub fn search_words(&self, words: &str, k: usize, filter: Option<&Filter>) -> Result<Answer> {
        let hits = self.by_words(words, k, filter)?;
        let share_read = if self.is_empty() { 0.0 } else { 1.0 };
        Ok(Answer { hits, guarantee: Guarantee::Exact, share_read, cover: Some(1.0) })
    }

    /// The best by the tree and by words together: the first hundred (or `k`, if that is more) of each are
    /// put in one order. Weighted scores use every candidate's own score by the tree. Share read and cover are those of the
    /// search by the tree.
    pub fn search_hybrid(&self, query: &Query<'_>, words: &str, fusion: Fusion) -> Result<Answer> {
        let pool = query.k.max(POOL);
        let tree = self.search(&Query { k: pool, ..query.clone() })?;
        let words = self.by_words(words, pool, query.filter.as_ref())?;
        let candidates = match fusion {
            Fusion::ReciprocalRank => by_rank(&tree.hits, &words),
            Fusion::Weighted(weight) => self.weighted(query, &tree.hits, &words, weight)?,
        };
        let mut hits = candidates
            .into_iter()
            .map(|((segment, row), parts)| {
                let order = self.segments[segment].sequence()[self.segments[segment].rank_of(row)?];
                let hit = Hit::at(parts.tree + parts.words, segment, row);
                Ok((order, Hit { parts: Some(parts), ..hit }))
            })
            .collect::<Result<Vec<_>>>()?;
        hits.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
        hits.truncate(query.k);
        // A document in neither list was not considered, and one in a single list has no score from the other.
        let hits = hits.into_iter().map(|(_, hit)| hit).collect();
        Ok(Answer { hits, guarantee: Guarantee::None, ..tree })
    }

    /// Scores of both kinds, the words' with this weight and the tree's with the rest.
    fn weighted(&self, query: &Query<'_>, tree: &[Hit], words: &[Hit], weight: f64) -> Result<Candidates> {
        let views = self.views(None);
        let probe = Probe::new(query.assignment, self.level(query)?, &views);
        let mut candidates = Candidates::new();
        for hit in tree {
            candidates.entry(hit.place()).or_default().tree = (1.0 - weight) * hit.score;
        }
        let largest = words.first().map_or(1.0, |hit| hit.score).max(f64::MIN_POSITIVE);
        for hit in words {
            let parts = match candidates.entry(hit.place()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let distance = probe.distance(&views[hit.segment], hit.row)?;
                    entry.insert(Parts { tree: (1.0 - weight) * (1.0 - distance / 2.0), words: 0.0 })
                }
            };
            parts.words = weight * hit.score / largest;
        }
        Ok(candidates)
    }

    fn by_words(&self, words: &str, k: usize, filter: Option<&Filter>) -> Result<Vec<Hit>> {
        let path = self.index.documents();
        let failed = || Error::store("search by words", &path);
        if k == 0 || self.is_empty() {
            return Ok(Vec::new());
        }
        let query = self.words_query(words)?;
        let top = TopDocs::with_limit(k).order_by_score();
        let found: Vec<(f32, DocAddress)> = match filter {
            None => self.searcher.search(&query, &top).map_err(failed())?,
            Some(filter) => {
                let bits = filter.rows(self)?;
                let segments = self.segments.clone();
                let allowed = move |sequence: u64| {
                    segments.iter().zip(&bits).any(|(segment, bits)| {
                        let row = segment.rank(sequence).and_then(|rank| segment.row_at(rank).ok());
                        row.is_some_and(|row| bits[row / 64] >> (row % 64) & 1 == 1)
                    })
                };
                let collector = FilterCollector::new("sequence".to_owned(), allowed, top);
                collect(&self.searcher, &query, &collector).map_err(failed())?
            }
        };
        let hit = |(score, address)| {
            let (segment, row) = self.row_of(address)?;
            Some(Hit::at(f64::from(score), segment, row))
        };
        Ok(found.into_iter().filter_map(hit).collect())
    }

    /// Any of the words, in title or text. There is no syntax: every character is taken as it is.
    fn words_query(&self, words: &str) -> Result<BooleanQuery> {
        let fields = self.index.fields();
        let path = self.index.documents();
        let mut clauses: Vec<(Occur, Box<dyn tantivy::query::Query>)> = Vec::new();
        for field in [fields.title, fields.text] {
            let tokenizer = self.index.store().tokenizer_for_field(field);
            let mut tokenizer = tokenizer.map_err(Error::store("search by words", &path))?;
            let mut stream = tokenizer.token_stream(words);
            while stream.advance() {
                let term = Term::from_field_text(field, &stream.token().text);
                clauses.push((Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))));
            }
        }
        Ok(BooleanQuery::new(clauses))
    }
}

/// The reciprocal ranks of both lists.
fn by_rank(tree: &[Hit], words: &[Hit]) -> Candidates {
    let mut candidates = Candidates::new();
    let term = |rank: usize| 1.0 / (RANK_OFFSET + rank as f64 + 1.0);
    for (rank, hit) in tree.iter().enumerate() {
        candidates.entry(hit.place()).or_default().tree = term(rank);
    }
    for (rank, hit) in words.iter().enumerate() {
        candidates.entry(hit.place()).or_default().words = term(rank);
    }
    candidates
}

fn collect<C: Collector>(
    searcher: &tantivy::Searcher,
    query: &BooleanQuery,
    collector: &C,
) -> tantivy::Result<C::Fruit> {
    searcher.search(query, collector)
}
