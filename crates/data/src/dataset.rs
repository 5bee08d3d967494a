//! A data set: documents, queries, and who answers whom in each split.

use crate::collection::{Corpus, Queries};
use crate::lines::Skipped;
use crate::pairs::Pair;
use crate::qrels::Qrels;
use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// A part of the judgements, kept apart for one purpose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Split {
    /// To train on.
    Train,
    /// To choose between trained models.
    Dev,
    /// To report.
    Test,
    /// Under a name of its own.
    Other(String),
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Train => "train",
            Self::Dev => "dev",
            Self::Test => "test",
            Self::Other(name) => name,
        })
    }
}

impl FromStr for Split {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(match name {
            "train" => Self::Train,
            "dev" | "valid" | "validation" => Self::Dev,
            "test" => Self::Test,
            other => Self::Other(other.to_owned()),
        })
    }
}

/// A data set. Every id in its judgements is in its corpus and queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// The documents.
    pub corpus: Corpus,
    /// The queries of all splits; none for a corpus alone.
    pub queries: Queries,
    /// The judgements of each split.
    pub qrels: BTreeMap<Split, Qrels>,
    /// Lines that were left out on the way.
    pub skipped: Skipped,
}

impl Dataset {
    /// The relevant pairs of a split as item numbers, in the order of the queries' ids.
    pub fn pairs(&self, split: &Split) -> Vec<Pair> {
        let pairs = self.qrels.get(split).into_iter().flat_map(Qrels::pairs);
        let number = |query: &str, document: &str| {
            Some(Pair {
                query: self.queries.number(query)?.try_into().ok()?,
                document: self.corpus.number(document)?.try_into().ok()?,
            })
        };
        pairs.filter_map(|(query, document)| number(query, document)).collect()
    }

    /// Moves about `share` of the training queries to [`Split::Dev`], if there is none yet. Which ones depends
    /// on their ids alone, not on their order or on the other queries.
    pub fn hold_out_dev(&mut self, share: f64) {
        if self.qrels.contains_key(&Split::Dev) {
            return;
        }
        let Some(train) = self.qrels.remove(&Split::Train) else { return };
        let (mut kept, mut held_out) = (Qrels::new(), Qrels::new());
        for (query, documents) in train.iter() {
            let side = if held_out_by_hash(query, share) { &mut held_out } else { &mut kept };
            for (document, &grade) in documents {
                side.insert(query, document, grade);
            }
        }
        self.qrels.extend(
            [(Split::Train, kept), (Split::Dev, held_out)].into_iter().filter(|(_, q)| !q.is_empty()),
        );
    }
}

/// A part of a data set that can be worked with like the whole.
impl Dataset {
    /// About `share` of the queries of each split, the documents that answer them, and others up to about that share of
    /// the documents. Which ones depends on the ids alone.
    pub fn sample(&self, share: f64) -> Self {
        let mut sample = Self::default();
        let mut needed: HashSet<String> = HashSet::new();
        for (split, qrels) in &self.qrels {
            let kept = qrels.iter().filter(|(query, _)| held_out_by_hash(query, share));
            let judgements = kept.flat_map(|(query, documents)| {
                documents.iter().map(move |(document, &grade)| (query, document.as_str(), grade))
            });
            let kept: Qrels = judgements.collect();
            needed.extend(kept.iter().flat_map(|(_, documents)| documents.keys().cloned()));
            sample.qrels.insert(split.clone(), kept);
        }
        // As many others as make up the share.
        let (all, have) = (self.corpus.len() as f64, needed.len() as f64);
        let others = ((share * all - have) / (all - have).max(1.0)).max(0.0);
        let documents = self.corpus.items().iter();
        let documents = documents.filter(|d| needed.contains(&d.id) || held_out_by_hash(&d.id, others));
        sample.corpus = documents.cloned().collect();
        sample.queries =
            self.queries.items().iter().filter(|q| held_out_by_hash(&q.id, share)).cloned().collect();
        sample
    }
}

/// Whether a key falls into a share of all keys, by a hash that is the same on every machine and run.
pub(crate) fn held_out_by_hash(key: &str, share: f64) -> bool {
    (stable_hash(key) as f64) < share * 2f64.powi(64)
}

/// FNV-1a, finished as splitmix64 is so that short keys spread over the whole range.
pub(crate) fn stable_hash(key: &str) -> u64 {
    let fnv = key.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
