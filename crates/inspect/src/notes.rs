//! Labels and keywords of all nodes, in little: what an index keeps about its documents.

use crate::inspection::{Error, Result, Worded};
use crate::places::Places;
use crate::words::{self, Piece};
use retreever_tree::{Depth, LeafId, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// How many keywords of a node are kept.
const KEYWORDS: usize = 6;
/// A node with more than this share of its parent's documents says nothing new.
const ALL: f64 = 0.95;

/// The labels and keywords of all nodes, in breadth-first order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// A few words for each node.
    pub labels: Vec<String>,
    /// What sets each node apart from the rest of the corpus, the most telling first; at most six.
    pub keywords: Vec<Vec<String>>,
    /// How many documents the words were taken from.
    pub documents: usize,
    /// The nodes that [`Notes::folds`] is true of, in order.
    pub folded: Vec<NodeId>,
}

impl Notes {
    /// The labels and keywords of documents whose leaves are known, without anything else that an
    /// [`Inspection`](crate::Inspection) finds.
    ///
    /// # Panics
    /// If a leaf is not of a tree of this depth.
    pub fn new<T: AsRef<str> + Sync>(texts: &[T], places: &[LeafId], depth: Depth) -> Result<Self> {
        if texts.len() != places.len() {
            return Err(Error::Lengths { what: "texts", expected: places.len(), received: texts.len() });
        }
        let places = Places::new(depth, places.to_vec());
        let worded = Worded::new(&places, texts);
        let keywords =
            worded.words.iter().map(|words| words.keywords.iter().map(|word| word.text.clone()).collect());
        Ok(Self::of(&places, worded.labels, keywords.collect()))
    }

    /// From all labels and keywords.
    pub(crate) fn of(places: &Places, labels: Vec<String>, mut keywords: Vec<Vec<String>>) -> Self {
        keywords.iter_mut().for_each(|keywords| keywords.truncate(KEYWORDS));
        let folded = folded(places, &labels);
        Self { labels, keywords, documents: places.len(), folded }
    }

    /// Whether a node's label says nothing new, so that an outline may show the node's children in its place: all its words
    /// are in the label of the nearest node above that does not fold, or the node has more than 95 % of its parent's
    /// documents, or none.
    pub fn folds(&self, node: NodeId) -> bool {
        self.folded.binary_search(&node).is_ok()
    }
}

fn folded(places: &Places, labels: &[String]) -> Vec<NodeId> {
    let said: Vec<HashSet<String>> = labels.iter().map(|label| said(label)).collect();
    let mut out = Vec::new();
    for node in places.depth().levels().flat_map(|level| level.nodes()) {
        let Some(parent) = node.parent() else { continue };
        let mut above = parent;
        while let (Ok(_), Some(further)) = (out.binary_search(&above), above.parent()) {
            above = further;
        }
        let (here, there) = (places.count(node), places.count(parent));
        let news = &said[node.index()] - &said[above.index()];
        if here == 0 || here as f64 > ALL * there as f64 || news.is_empty() {
            out.push(node);
        }
    }
    out
}

/// The stems of a label's words; numbers do not count.
fn said(label: &str) -> HashSet<String> {
    let mut out = HashSet::new();
    words::pieces(label, |piece| {
        if let Piece::Word(word) = piece
            && words::is_telling(word)
        {
            out.insert(words::stem(word));
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|label| label.to_string()).collect()
    }

    fn places(depth: u8, counts: &[usize]) -> Places {
        let leaves = counts.iter().zip(0..).flat_map(|(count, leaf)| vec![LeafId::new(leaf); *count]);
        Places::new(Depth::new(depth).unwrap(), leaves.collect())
    }

    #[test]
    fn what_says_nothing_new_folds() {
        let all = labels(&[
            "All documents",
            "Life insurance, term",
            "Auto",
            "Term (3)",
            "Whole life",
            "Cars",
            "No documents",
        ]);
        let notes = Notes::of(&places(2, &[3, 3, 6, 0]), all, vec![Vec::new(); 7]);
        // "Term" is said above, "Cars" has all documents of "Auto", and node 6 none.
        assert_eq!(notes.folded, [3, 5, 6].map(NodeId::new));
        assert!(notes.folds(NodeId::new(3)) && !notes.folds(NodeId::new(4)) && !notes.folds(NodeId::ROOT));
    }

    #[test]
    fn what_a_folded_node_says_was_not_heard() {
        let mut all = labels(&["All documents", "Cars", "Boats", "Claims", "Nothing"]);
        all.extend(labels(&["a"; 2]));
        all.extend(labels(&["Claims", "Claims paid"]));
        all.extend(labels(&["b"; 6]));
        // Node 3 has all documents of node 1 and folds; so node 7 is held against "Cars".
        let notes = Notes::of(&places(3, &[4, 4, 0, 0, 4, 4, 4, 4]), all, vec![Vec::new(); 15]);
        assert!(notes.folds(NodeId::new(3)) && !notes.folds(NodeId::new(7)));
    }

    #[test]
    fn notes_are_what_an_inspection_says() {
        let texts = ["ripe apples", "green apples", "rye bread", "white bread"];
        let depth = Depth::new(1).unwrap();
        let notes = Notes::new(&texts, &[0, 0, 1, 1].map(LeafId::new), depth).unwrap();
        assert_eq!(notes.labels, ["All documents", "Apples", "Bread"]);
        assert_eq!((notes.documents, &notes.keywords[1][0][..]), (4, "apples"));
        let written = serde_json::to_string(&notes).unwrap();
        assert_eq!(serde_json::from_str::<Notes>(&written).unwrap(), notes);
        assert!(Notes::new(&texts[..3], &[0, 0, 1, 1].map(LeafId::new), depth).is_err());
    }
}
