//! What a tree has learned, read off the assignments of a corpus: which documents stand where, in which words
//! they differ, and how well the tree agrees with what is known about them.
//!
//! Everything here is a pure function of texts, [`Assignments`](retreever_tree::Assignments), their
//! [`Routing`](retreever_tree::Routing) and metadata. [`places`] says where each item is, [`census`] counts, [`keywords`] and [`labels`] put nodes into words (or [`llm`], with a language model), [`congruence`], [`clusters`] and
//! [`levels`] judge the tree, [`demand`] compares where users ask with what there is to read, and
//! [`Inspection`] holds all of it for one corpus; [`Notes`] are its labels and keywords alone, and a [`Report`] puts it on
//! paper. [`agreement`] and [`topics`] judge a tree by held-out pairs and by its words, [`judgement`] holds all such figures
//! of one tree, and [`two_means`] is a plain rival to hold it against. Drawing the tree is left to others.
//!
//! ```
//! use retreever_inspect::{Corpus, Inspection};
//! use retreever_tree::{Assignments, Depth, NodeId, Routing};
//!
//! let texts = ["ripe apples", "green apples", "rye bread", "white bread"];
//! let rows = vec![0.9, 0.1, 0.8, 0.2, 0.1, 0.9, 0.3, 0.7];
//! let documents = Assignments::nested(Depth::new(1).unwrap(), rows).unwrap();
//! let routing = Routing::same();
//! let corpus = Corpus { texts: &texts, documents: &documents, routing: &routing, queries: None, metadata: &[] };
//! let inspection = Inspection::new(&corpus).unwrap();
//! assert_eq!(inspection.node(NodeId::new(1)).unwrap().label, "Apples");
//! assert_eq!(inspection.node(NodeId::new(2)).unwrap().label, "Bread");
//! ```
#![forbid(unsafe_code)]

pub mod agreement;
pub mod census;
pub mod clusters;
pub mod congruence;
pub mod demand;
mod fragments;
mod grammar;
mod inspection;
pub mod judgement;
pub mod keywords;
pub mod labels;
pub mod levels;
mod lexicon;
pub mod llm;
mod notes;
pub mod phrases;
pub mod places;
mod report;
mod stop_words;
pub mod topics;
pub mod two_means;
pub mod words;

pub use inspection::{Corpus, Error, FieldReport, Inspection, NodeReport, Queries, Result};
pub use notes::Notes;
pub use places::Places;
pub use report::Report;
