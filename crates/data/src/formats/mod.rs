//! The files that text data is kept in, one format a file: BEIR folders, pair JSONL, TREC qrels and runs,
//! folders of `.txt` and `.md`. Which of them a path is, is decided in [`crate::open()`].

pub mod beir;
mod fields;
pub mod judgements;
pub mod runs;
pub mod text_pairs;
pub mod texts;
