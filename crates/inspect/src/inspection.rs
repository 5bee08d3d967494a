//! Everything that can be said about a tree and a corpus, worked out once.

use crate::census::{Census, Reach};
use crate::clusters::{Agreement, Classes, agreement};
use crate::keywords::{self, Keyword, NodeWords};
use crate::labels;
use crate::levels::{self, LevelReport};
use crate::notes::Notes;
use crate::phrases::Phrases;
use crate::places::Places;
use retreever_tree::{Assignments, Depth, NodeId, Routing};
use serde::Serialize;
use serde_json::{Map, Value};

/// What can be wrong with a corpus to inspect.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Error {
    /// Two lists that go together have different lengths.
    #[error(
        "{received} {what}, but {expected} assignments: give one for each document or query, in the same order"
    )]
    Lengths {
        /// What there is too much or too little of.
        what: &'static str,
        /// How many assignments there are.
        expected: usize,
        /// How many of them were given.
        received: usize,
    },
    /// The routing is of a tree of another depth.
    #[error("the routing does not fit the tree: {0}; take both from one tree")]
    Routing(String),
    /// Documents and queries are of different trees.
    #[error(
        "the documents are of a tree {documents} deep, the queries of one {queries} deep: assign both with one tree"
    )]
    Tree {
        /// Depth of the documents' tree.
        documents: Depth,
        /// Depth of the queries' tree.
        queries: Depth,
    },
}

/// The result of inspecting.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What to inspect. All lists are in the same order.
#[derive(Clone, Copy, Debug)]
pub struct Corpus<'a, T> {
    /// The documents' texts.
    pub texts: &'a [T],
    /// Where they are.
    pub documents: &'a Assignments,
    /// How the tree's assignments are read as places and chances.
    pub routing: &'a Routing,
    /// What users ask, if it is known.
    pub queries: Option<Queries<'a>>,
    /// What is known of each document; empty if nothing is.
    pub metadata: &'a [Map<String, Value>],
}

/// What users ask.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    /// The queries as they were put.
    pub texts: &'a [String],
    /// Where they are.
    pub assignments: &'a Assignments,
}

/// A tree and a corpus, inspected.
pub struct Inspection {
    /// Where the documents are.
    pub documents: Census,
    /// Where the queries are.
    pub queries: Option<Census>,
    /// Every node, in breadth-first order.
    pub nodes: Vec<NodeReport>,
    /// Balance and sharpness of levels 1 to the leaves.
    pub levels: Vec<LevelReport>,
    /// Agreement with each field of the metadata that sorts documents into classes.
    pub fields: Vec<FieldReport>,
}

/// One node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeReport {
    /// The node.
    pub node: NodeId,
    /// A few words for it.
    pub label: String,
    /// A sentence about it.
    pub summary: String,
    /// What sets it apart from the rest of the corpus.
    pub keywords: Vec<Keyword>,
    /// What sets it apart from its sibling.
    pub apart: Vec<Keyword>,
    /// Documents whose place is under it.
    pub documents: usize,
    /// The documents' mean routing probability of it.
    pub mass: f64,
    /// The queries' mean routing probability of it, if queries are known.
    pub queries: Option<f64>,
    /// Entropy, in bits, of its mass over the leaves below.
    pub entropy: f64,
    /// The documents that are likeliest under it.
    pub typical: Vec<Reach>,
    /// The queries that are likeliest under it.
    pub typical_queries: Vec<Reach>,
}

/// A field of the metadata, and how the tree agrees with it.
#[derive(Clone, Debug, Serialize)]
pub struct FieldReport {
    /// The field.
    pub name: String,
    /// Its classes.
    #[serde(skip)]
    pub classes: Classes,
    /// NMI and purity, level by level.
    pub levels: Vec<Agreement>,
}

impl Inspection {
    /// Inspects a corpus.
    pub fn new<T: AsRef<str> + Sync>(corpus: &Corpus<'_, T>) -> Result<Self> {
        check(corpus)?;
        let documents = Census::new(corpus.documents, corpus.routing);
        let queries = corpus.queries.map(|queries| Census::new(queries.assignments, corpus.routing));
        let Worded { phrases, words, labels } = Worded::new(documents.places(), corpus.texts);
        let nodes = words
            .into_iter()
            .zip(labels)
            .enumerate()
            .map(|(index, (words, label))| {
                let node = NodeId::new(index as u32);
                let asked =
                    queries.as_ref().filter(|_| node != NodeId::ROOT).map(|census| census.typical(node));
                let asked = asked.and_then(|typical| Some(typical.first()?.item as usize));
                let asked = asked.and_then(|item| Some(corpus.queries?.texts.get(item)?.as_str()));
                NodeReport {
                    node,
                    label,
                    summary: summary(documents.count(node), &about(&words, &phrases), asked),
                    keywords: words.keywords,
                    apart: words.apart,
                    documents: documents.count(node),
                    mass: documents.share(node),
                    queries: queries.as_ref().map(|census| census.share(node)),
                    entropy: documents.entropy(node),
                    typical: documents.typical(node).to_vec(),
                    typical_queries: queries
                        .as_ref()
                        .map_or(Vec::new(), |census| census.typical(node).to_vec()),
                }
            })
            .collect();
        let levels = levels::of_tree(&documents);
        let fields = fields(corpus.metadata, &documents);
        Ok(Self { documents, queries, nodes, levels, fields })
    }

    /// The depth of the tree.
    pub fn depth(&self) -> Depth {
        self.documents.depth()
    }

    /// The labels and keywords alone, to be kept with an index.
    pub fn notes(&self) -> Notes {
        let words = |node: &NodeReport| node.keywords.iter().map(|word| word.text.clone()).collect();
        let labels = self.nodes.iter().map(|node| node.label.clone()).collect();
        Notes::of(self.documents.places(), labels, self.nodes.iter().map(words).collect())
    }

    /// What is said about one node, if the tree has it.
    pub fn node(&self, node: NodeId) -> Option<&NodeReport> {
        self.nodes.get(node.index())
    }
}

/// Nodes put into words: all that depends on texts and places alone.
pub(crate) struct Worded {
    phrases: Phrases,
    pub(crate) words: Vec<NodeWords>,
    pub(crate) labels: Vec<String>,
}

impl Worded {
    pub(crate) fn new<T: AsRef<str> + Sync>(places: &Places, texts: &[T]) -> Self {
        let phrases = Phrases::new(texts);
        let words = keywords::of_nodes(places, &phrases);
        let labels = labels::of_nodes(places.depth(), &words, &phrases);
        Self { phrases, words, labels }
    }
}

fn check<T>(corpus: &Corpus<'_, T>) -> Result<()> {
    let expected = corpus.documents.len();
    let same = |what, expected, received| {
        if expected == received { Ok(()) } else { Err(Error::Lengths { what, expected, received }) }
    };
    same("texts", expected, corpus.texts.len())?;
    if !corpus.metadata.is_empty() {
        same("sets of metadata", expected, corpus.metadata.len())?;
    }
    corpus.routing.check(corpus.documents.depth()).map_err(Error::Routing)?;
    if let Some(queries) = corpus.queries {
        same("queries", queries.assignments.len(), queries.texts.len())?;
        let (documents, queries) = (corpus.documents.depth(), queries.assignments.depth());
        if documents != queries {
            return Err(Error::Tree { documents, queries });
        }
    }
    Ok(())
}

/// What a node is about; the root, which stands against nothing, is about what most documents have.
fn about<'a>(words: &'a NodeWords, phrases: &'a Phrases) -> Vec<&'a str> {
    let own = labels::about(words, phrases);
    if own.is_empty() { words.keywords.iter().take(3).map(|word| word.text.as_str()).collect() } else { own }
}

/// A sentence from the words of a node, and what users typically ask if it is known.
fn summary(documents: usize, about: &[&str], asked: Option<&str>) -> String {
    if documents == 0 {
        return "No document comes by here.".to_owned();
    }
    let about = match about {
        [] => format!("{documents} documents that share no words of their own."),
        [one] => format!("About {one}."),
        [most @ .., last] => format!("About {} and {last}.", most.join(", ")),
    };
    match asked {
        Some(query) => format!("{about} Users ask, for example: “{}”", query.trim()),
        None => about,
    }
}

fn fields(metadata: &[Map<String, Value>], census: &Census) -> Vec<FieldReport> {
    let levels = |classes: &Classes| {
        let levels = census.depth().levels();
        levels.map(|level| agreement(census.places(), level, classes)).collect()
    };
    let fields = Classes::of_metadata(metadata).into_iter();
    fields.map(|(name, classes)| FieldReport { levels: levels(&classes), name, classes }).collect()
}
