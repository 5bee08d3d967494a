//! The quality of topics: whether the top words of each go together, and whether topics have words of their own.
//!
//! Topics are a partition of documents into groups, such as the nodes of one level of a tree; documents may be in none.
//! Every group has up to ten top words, chosen by [`top_words`] or by another program. [`quality`] judges them by the
//! documents of the whole corpus, `N` of them, whichever groups these are in:
//!
//! ```text
//! p(a)      = documents with word a / N
//! p(a, b)   = documents with both words / N
//! NPMI(a,b) = ln( p(a, b) / (p(a) p(b)) ) / -ln p(a, b)      -1 if p(a, b) = 0,  0 if p(a, b) = 1
//! coherence = mean over groups of the mean over pairs of its top words of NPMI
//! diversity = distinct words among all top words / all top words
//! covered   = documents that are in a group / N
//! ```
//!
//! Groups with fewer than two top words have no pairs and are left out of `coherence`. This is C_NPMI with whole documents
//! as windows (Bouma 2009, Röder et al. 2015) and the diversity of Dieng et al. (2020) with ten words.

mod selection;
mod vocabulary;

pub use selection::{SMOOTHING, c_tf_idf, top_words};
pub use vocabulary::{Vocabulary, WordId};

use crate::places::Places;
use retreever_tree::Level;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// How many top words a group has at most.
pub const TOP: usize = 10;

/// Which group each document is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    of: Vec<Option<u32>>,
    sizes: Vec<u32>,
}

impl Groups {
    /// Groups by number; `None` is a document in no group.
    pub fn new(of: Vec<Option<u32>>) -> Self {
        let count = of.iter().flatten().max().map_or(0, |last| *last as usize + 1);
        let mut sizes = vec![0; count];
        of.iter().flatten().for_each(|group| sizes[*group as usize] += 1);
        Self { of, sizes }
    }

    /// The nodes of `level`, by rank.
    ///
    /// # Panics
    /// If the tree is not that deep.
    pub fn of_level(places: &Places, level: Level) -> Self {
        let node = |leaf: &retreever_tree::LeafId| leaf.node(places.depth()).ancestor(level);
        let rank = |leaf| node(leaf).expect("a level of this tree").rank() as u32;
        Self::new(places.leaves().iter().map(|leaf| Some(rank(leaf))).collect())
    }

    /// The group of a document.
    pub fn of(&self, document: usize) -> Option<u32> {
        self.of[document]
    }

    /// How many documents each group has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// How many groups have documents.
    pub fn filled(&self) -> usize {
        self.sizes.iter().filter(|size| **size > 0).count()
    }

    /// The share of documents that are in a group.
    pub fn covered(&self) -> f64 {
        self.of.iter().flatten().count() as f64 / self.of.len().max(1) as f64
    }

    fn members(&self) -> Vec<Vec<u32>> {
        let mut out = vec![Vec::new(); self.sizes.len()];
        for (group, document) in self.of.iter().zip(0..) {
            if let Some(group) = group {
                out[*group as usize].push(document);
            }
        }
        out
    }
}

/// How good topics are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Groups with documents.
    pub topics: usize,
    /// Mean NPMI of a group's top words.
    pub coherence: f64,
    /// The share of distinct words among all top words.
    pub diversity: f64,
    /// The share of documents that are in a group.
    pub covered: f64,
}

/// Judges the top words of groups, the best [`TOP`] of each.
///
/// # Panics
/// If the groups are of another corpus.
pub fn quality(vocabulary: &Vocabulary, groups: &Groups, top: &[Vec<WordId>]) -> Quality {
    assert_eq!(vocabulary.documents(), groups.of.len(), "groups of another corpus");
    let top: Vec<&[WordId]> = top.iter().map(|words| &words[..words.len().min(TOP)]).collect();
    let holders = holders(vocabulary, &top);
    let coherences: Vec<f64> = top
        .iter()
        .filter(|words| words.len() > 1)
        .map(|words| {
            let pairs = (0..words.len()).flat_map(|b| (0..b).map(move |a| (words[a], words[b])));
            let all: Vec<f64> =
                pairs.map(|(a, b)| npmi(&holders[&a], &holders[&b], vocabulary.documents())).collect();
            mean(&all)
        })
        .collect();
    let words = top.iter().map(|words| words.len()).sum::<usize>();
    let distinct: BTreeSet<WordId> = top.iter().flat_map(|words| words.iter().copied()).collect();
    Quality {
        topics: groups.filled(),
        coherence: mean(&coherences),
        diversity: distinct.len() as f64 / words.max(1) as f64,
        covered: groups.covered(),
    }
}

/// The documents of each top word, in order.
fn holders(vocabulary: &Vocabulary, top: &[&[WordId]]) -> HashMap<WordId, Vec<u32>> {
    let mut out: HashMap<WordId, Vec<u32>> =
        top.iter().flat_map(|words| words.iter().map(|word| (*word, Vec::new()))).collect();
    for document in 0..vocabulary.documents() {
        for (word, _) in vocabulary.of_document(document) {
            if let Some(holders) = out.get_mut(word) {
                holders.push(document as u32);
            }
        }
    }
    out
}

/// Normalised pointwise mutual information of two words, by the documents that have them.
fn npmi(a: &[u32], b: &[u32], documents: usize) -> f64 {
    let mut rest = b.iter().peekable();
    let met = a.iter().filter(|document| {
        while rest.next_if(|other| other < document).is_some() {}
        rest.peek() == Some(document)
    });
    let share = |count: usize| count as f64 / documents as f64;
    let both = met.count();
    match both {
        0 => -1.0,
        _ if both == documents => 0.0,
        _ => (share(both) / (share(a.len()) * share(b.len()))).ln() / -share(both).ln(),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::{Depth, LeafId};

    #[test]
    fn words_that_always_meet_and_words_that_never_do() {
        assert_eq!(npmi(&[0, 1], &[0, 1], 8), 1.0);
        assert_eq!(npmi(&[0, 1], &[2, 3], 8), -1.0);
        assert_eq!(npmi(&[0, 1], &[0, 1], 2), 0.0);
        // 2 of 8 have both, 4 and 4 each: what chance gives.
        assert_eq!(npmi(&[0, 1, 2, 3], &[2, 3, 4, 5], 8), 0.0);
        let expected = (0.25f64 / (0.375 * 0.5)).ln() / -(0.25f64.ln());
        assert!((npmi(&[0, 2, 3], &[2, 3, 4, 5], 8) - expected).abs() < 1e-12);
    }

    #[test]
    fn two_topics_by_hand() {
        let texts = ["apple pear", "apple pear", "rye wheat", "rye", "stone"];
        let vocabulary = Vocabulary::new(&texts);
        let groups = Groups::new(vec![Some(0), Some(0), Some(1), Some(1), None]);
        let words =
            |words: &[&str]| words.iter().map(|word| vocabulary.id(word).unwrap()).collect::<Vec<_>>();
        let found = quality(&vocabulary, &groups, &[words(&["apple", "pear"]), words(&["rye", "wheat"])]);
        let second = (0.2f64 / (0.4 * 0.2)).ln() / -(0.2f64.ln());
        assert!((found.coherence - (1.0 + second) / 2.0).abs() < 1e-12);
        assert_eq!((found.topics, found.diversity, found.covered), (2, 1.0, 0.8));
        let same = quality(&vocabulary, &groups, &[words(&["apple", "pear"]), words(&["apple", "pear"])]);
        assert!((same.coherence - 1.0).abs() < 1e-12);
        assert_eq!(same.diversity, 0.5);
        assert_eq!(quality(&vocabulary, &groups, &[vec![], words(&["rye"])]).coherence, 0.0);
    }

    #[test]
    fn nodes_of_a_level_are_groups() {
        let places = Places::new(Depth::new(2).unwrap(), [0, 3, 1].map(LeafId::new).to_vec());
        let groups = Groups::of_level(&places, places.depth().level(1).unwrap());
        assert_eq!((groups.of(0), groups.of(1), groups.of(2)), (Some(0), Some(1), Some(0)));
        assert_eq!((groups.sizes(), groups.filled(), groups.covered()), (&[2, 1][..], 2, 1.0));
    }
}
