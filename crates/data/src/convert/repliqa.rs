//! RepLiQA: questions about made-up documents. Parts 0 to 3 are trained on, part 4 is the test split.
//!
//! A fifth of the questions cannot be answered from their document; they are about it all the same and are kept,
//! with `answerable` in their metadata. The parts are distributed as parquet; each is read as `.jsonl` of the same
//! columns.

use super::grow::{Answered, Grow, metadata};
use super::records::{self, Source};
use crate::collection::Query;
use crate::dataset::{Dataset, Split};
use crate::error::Error;
use crate::lines::{Bad, BadLines};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

#[derive(Deserialize)]
struct Record {
    document_id: String,
    document_topic: String,
    document_extracted: String,
    question_id: String,
    question: String,
    answer: String,
}

pub(super) fn convert(folder: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    let expected = "repliqa_0.jsonl to repliqa_4.jsonl (pandas.read_parquet(PART).to_json(OUT, orient='records', \
                    lines=True))";
    records::convert(&Source { folder, bad_lines, split, expected }, take)
}

fn split(name: &str) -> Option<Split> {
    match name.rsplit_once("repliqa_")?.1.bytes().next()? {
        b'0'..=b'3' => Some(Split::Train),
        b'4' => Some(Split::Test),
        _ => None,
    }
}

fn take(grow: &mut Grow, split: &Split, record: Record) -> Result<(), Bad> {
    let answerable = Value::Bool(record.answer.trim() != "UNANSWERABLE");
    let query = Query {
        id: record.question_id,
        text: record.question.trim().to_owned(),
        metadata: Map::from_iter([("answerable".to_owned(), answerable)]),
    };
    let metadata = metadata([("document", record.document_id), ("topic", record.document_topic)]);
    let text = record.document_extracted.trim().to_owned();
    grow.pair(split, Answered { query, title: String::new(), text, metadata })
}
