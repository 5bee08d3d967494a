//! Queries and answers: what was asked, what came back, and what is guaranteed about it.
//!
//! The score of a document is `1 - TVD = 1 - L1 / 2` between its assignment and the query's at the level
//! asked for, which is also the sum over nodes of the smaller of the two numbers: see [`Share`].

mod approximate;
mod explain;
mod ladder;
mod leaves;
mod probe;
pub mod rows;
mod scan;
mod words;

pub use explain::Share;
pub use words::{Fusion, Parts};

use crate::segment::Segment;
use crate::{Error, Filter, Result, Shape, Snapshot};
use ladder::Ladder;
use retreever_tree::{Assignment, Level};
use scan::{Asked, Found, everything, nearest};
use serde::Serialize;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// How the query spreads over the tree.
    pub assignment: Assignment<'a>,
    /// How many documents to find.
    pub k: usize,
    /// The level to compare at; the leaves if nothing is said.
    pub level: Option<Level>,
    /// How to search.
    pub mode: Mode,
    /// Which documents may be found.
    pub filter: Option<Filter>,
}

impl<'a> Query<'a> {
    /// The `k` nearest at the leaves, exactly.
    pub fn new(assignment: Assignment<'a>, k: usize) -> Self {
        Self { assignment, k, level: None, mode: Mode::Exact, filter: None }
    }
}

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Every document counts: the answer is that of scoring them all.
    Exact,
    /// Only the documents of the leaves where the query's answer most likely is, by its routing reading.
    Leaves(Opening),
    /// The codes of a coarse level choose `rerank` documents, which are then scored. No guarantee.
    Approximate {
        /// How many documents are scored.
        rerank: usize,
    },
}

/// How many leaves to open, the likeliest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Opening {
    /// This many of them.
    Top(usize),
    /// One after the other, until this share of the documents is read.
    Read(f64),
    /// One after the other, until the answer is among them with this chance: until their routing probability together
    /// reaches [`Routing::opened_for`](retreever_tree::Routing::opened_for) it. Only where the routing is calibrated is that
    /// the measured chance; elsewhere it is the sum of routing probabilities.
    Cover(f64),
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The documents found, best first; equals in the order they were added.
    pub hits: Vec<Hit>,
    /// What is certain about them.
    pub guarantee: Guarantee,
    /// The share of the documents that were looked at, between 0 and 1.
    pub share_read: f64,
    /// The chance that the answer is among the documents that were looked at: 1 where these are all, measured on held-out
    /// pairs for leaf searches. `None` for approximate searches, and where the routing is not calibrated.
    pub cover: Option<f64>,
}

/// What is certain about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guarantee {
    /// No document that was left out scores higher.
    Exact,
    /// A document that was not read scores at most this.
    UnreadAtMost(f64),
    /// Nothing is certain about documents that were left out.
    None,
}

/// A document found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// How well it fits: by the tree at most 1, by words whatever BM25 gives.
    pub score: f64,
    /// What the tree and the words added to the score, where both were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    #[serde(skip)]
    pub(crate) segment: usize,
    #[serde(skip)]
    pub(crate) row: usize,
}

impl Hit {
    /// A row of a segment, with a score of one kind.
    pub(crate) fn at(score: f64, segment: usize, row: usize) -> Self {
        Self { score, parts: None, segment, row }
    }

    /// The segment and the row.
    fn place(&self) -> (usize, usize) {
        (self.segment, self.row)
    }

    fn new(found: Found) -> Self {
        Self::at(1.0 - found.distance / 2.0, found.view, found.row)
    }
}

/// What a search has found, and what is known about the documents it did not look at.
pub(crate) struct Outcome {
    pub(crate) found: Vec<Found>,
    pub(crate) guarantee: Guarantee,
    /// How many documents were looked at.
    pub(crate) read: usize,
    pub(crate) cover: Option<f64>,
}

/// A segment, and which of its rows may be found.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) segment: &'a Segment,
    /// One bit a row; nothing stands for all rows.
    pub(crate) allowed: Option<&'a [u64]>,
}

impl View<'_> {
    #[inline(always)]
    pub(crate) fn allows(&self, row: usize) -> bool {
        self.allowed.is_none_or(|bits| bits[row / 64] >> (row % 64) & 1 == 1)
    }
}

/// Documents that are scored before an exact scan begins, for each one wanted: their distances are its limit.
const SCORED_BEFORE: usize = 8;
/// Scans of fewer rows, or for more documents, begin without a limit.
const LIMITED_ROWS: usize = 10_000;
const LIMITED_K: usize = 100;

/// The `k` nearest rows of all views, for each query, by definition.
fn exact(views: &[View<'_>], queries: &[Assignment<'_>], level: Level, k: usize) -> Result<Vec<Vec<Found>>> {
    use rayon::prelude::*;
    let rows: usize = views.iter().map(|view| view.segment.len()).sum();
    let ask = |query: &Assignment<'_>| -> Result<Asked> {
        let ladder = Ladder::new(*query, level, views);
        let mut limit = f64::INFINITY;
        if rows >= LIMITED_ROWS && (1..=LIMITED_K).contains(&k) {
            let found = approximate::search(views, *query, &ladder, (SCORED_BEFORE * k, k))?;
            limit = found.get(k - 1).map_or(f64::INFINITY, |found| found.distance);
        }
        Ok(Asked { ladder, limit })
    };
    let asked = queries.par_iter().map(ask).collect::<Result<Vec<_>>>()?;
    nearest(views, &everything(views), &asked, k)
}

impl Snapshot {
    /// Answers one query.
    pub fn search(&self, query: &Query<'_>) -> Result<Answer> {
        let level = self.level(query)?;
        let bits = query.filter.as_ref().map(|filter| filter.rows(self)).transpose()?;
        let views = self.views(bits.as_deref());
        let outcome = match query.mode {
            Mode::Exact => {
                let found = exact(&views, &[query.assignment], level, query.k)?.remove(0);
                Outcome { found, guarantee: Guarantee::Exact, read: self.len(), cover: Some(1.0) }
            }
            Mode::Leaves(opening) => {
                leaves::search(self, &views, query.assignment, level, (opening, query.k))?
            }
            Mode::Approximate { rerank } => {
                let ladder = Ladder::new(query.assignment, level, &views);
                let found = approximate::search(&views, query.assignment, &ladder, (rerank, query.k))?;
                Outcome { found, guarantee: Guarantee::None, read: self.len(), cover: None }
            }
        };
        Ok(self.answer(outcome))
    }

    /// Answers many queries exactly at one level, each document's codes read once for all of them.
    pub fn search_batch(
        &self,
        queries: &[Assignment<'_>],
        level: Option<Level>,
        k: usize,
    ) -> Result<Vec<Answer>> {
        let views = self.views(None);
        let checked = |query: &Assignment<'_>| self.level(&Query { level, ..Query::new(*query, k) });
        let levels = queries.iter().map(checked).collect::<Result<Vec<_>>>()?;
        let found = match levels.first() {
            Some(level) => exact(&views, queries, *level, k)?,
            None => Vec::new(),
        };
        let outcome =
            |found| Outcome { found, guarantee: Guarantee::Exact, read: self.len(), cover: Some(1.0) };
        Ok(found.into_iter().map(|found| self.answer(outcome(found))).collect())
    }

    fn answer(&self, outcome: Outcome) -> Answer {
        let Outcome { found, guarantee, read, cover } = outcome;
        let share_read = if self.is_empty() { 0.0 } else { read as f64 / self.len() as f64 };
        Answer { hits: found.into_iter().map(Hit::new).collect(), guarantee, share_read, cover }
    }

    /// The level to compare at, if the query is of this tree.
    fn level(&self, query: &Query<'_>) -> Result<Level> {
        let Query { assignment, level, .. } = query;
        let shape = Shape { depth: assignment.depth(), nesting: assignment.nesting() };
        if shape != self.shape() {
            return Err(Error::Tree { expected: self.shape().to_string(), received: shape.to_string() });
        }
        let leaves = shape.depth.leaf_level();
        match level {
            Some(level) if *level > leaves || *level == Level::ROOT => {
                Err(Error::Level { level: level.get(), leaves: leaves.get() })
            }
            level => Ok(level.unwrap_or(leaves)),
        }
    }

    /// The segments with their live rows, or with the rows that `bits` allow.
    pub(crate) fn views<'a>(&'a self, bits: Option<&'a [Vec<u64>]>) -> Vec<View<'a>> {
        let whole = self.len() == self.segments().map(Segment::len).sum::<usize>();
        let views = self.segments.iter().enumerate().map(|(number, segment)| View {
            segment,
            allowed: match bits {
                Some(bits) => Some(&bits[number]),
                None if whole => None,
                None => Some(&self.live[number]),
            },
        });
        views.collect()
    }
}
