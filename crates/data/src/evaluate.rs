//! A run against judgements: each query's measures, and their mean.
//!
//! Per query the numbers are those of `trec_eval`. The mean is over ALL judged queries: one that the run does
//! not answer counts as 0 (as `trec_eval -c` does), so leaving out hard queries cannot raise a score. Answers to
//! queries that nobody judged are not looked at.

use crate::metrics::{average_precision, ndcg, recall, reciprocal_rank};
use crate::{Qrels, Run};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One measure at the ranks it is reported at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AtRanks {
    /// The first document alone.
    pub at_1: f64,
    /// The first five.
    pub at_5: f64,
    /// The first ten.
    pub at_10: f64,
    /// The first hundred.
    pub at_100: f64,
}

impl AtRanks {
    fn of(measure: impl Fn(usize) -> f64) -> Self {
        Self { at_1: measure(1), at_5: measure(5), at_10: measure(10), at_100: measure(100) }
    }
}

/// How well one query was answered, or the mean of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Normalised discounted cumulative gain.
    pub ndcg: AtRanks,
    /// The share of the relevant documents found.
    pub recall: AtRanks,
    /// Reciprocal rank of the first relevant document among ten; its mean is MRR@10.
    pub mrr_at_10: f64,
    /// Average precision over the whole ranking; its mean is MAP.
    pub map: f64,
}

impl Measures {
    /// The measures of one ranking: its grades, best first, and the grades of all judged documents.
    pub fn of(ranked: &[u32], judged: &[u32]) -> Self {
        Self {
            ndcg: AtRanks::of(|k| ndcg(ranked, judged, k)),
            recall: AtRanks::of(|k| recall(ranked, judged, k)),
            mrr_at_10: reciprocal_rank(ranked, 10),
            map: average_precision(ranked, judged),
        }
    }

    /// The mean of each measure, 0 of none.
    pub fn mean<'a>(all: impl ExactSizeIterator<Item = &'a Measures> + Clone) -> Self {
        let count = all.len().max(1) as f64;
        let mean = |get: fn(&Measures) -> f64| all.clone().map(get).sum::<f64>() / count;
        Self {
            ndcg: AtRanks {
                at_1: mean(|m| m.ndcg.at_1),
                at_5: mean(|m| m.ndcg.at_5),
                at_10: mean(|m| m.ndcg.at_10),
                at_100: mean(|m| m.ndcg.at_100),
            },
            recall: AtRanks {
                at_1: mean(|m| m.recall.at_1),
                at_5: mean(|m| m.recall.at_5),
                at_10: mean(|m| m.recall.at_10),
                at_100: mean(|m| m.recall.at_100),
            },
            mrr_at_10: mean(|m| m.mrr_at_10),
            map: mean(|m| m.map),
        }
    }
}

/// How well a run answers judged queries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The mean over all judged queries.
    pub mean: Measures,
    /// How many judged queries the run does not answer; each counts as 0 in the mean.
    pub unanswered: usize,
    /// Each judged query.
    pub queries: BTreeMap<String, Measures>,
}

/// Scores a run against judgements.
pub fn evaluate(qrels: &Qrels, run: &Run) -> Scores {
    let mut unanswered = 0;
    let mut queries = BTreeMap::new();
    for (query, documents) in qrels.iter() {
        let ranking = run.ranking(query);
        unanswered += usize::from(ranking.is_empty());
        let grade = |document: &str| documents.get(document).copied().unwrap_or(0);
        let ranked: Vec<u32> = ranking.iter().map(|(document, _)| grade(document)).collect();
        let judged: Vec<u32> = documents.values().copied().collect();
        queries.insert(query.to_owned(), Measures::of(&ranked, &judged));
    }
    Scores { mean: Measures::mean(queries.values()), unanswered, queries }
}
