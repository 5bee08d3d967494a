//! HotpotQA: a question and the paragraphs that it takes to answer it, joined to one document; the others that
//! come with the question are left out.
//!
//! The original lists (`_id`, `supporting_facts` and `context` as lists) and the columns that the hub exports
//! (`id`, both as tables). The public dev set is the test split.

use super::grow::{Answered, Grow};
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
    #[serde(alias = "_id")]
    id: String,
    question: String,
    supporting_facts: Facts,
    context: Context,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`supporting_facts` is neither a list of (title, sentence) nor a table")]
enum Facts {
    Lists(Vec<(String, i64)>),
    Table { title: Vec<String> },
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`context` is neither a list of (title, sentences) nor a table")]
enum Context {
    Lists(Vec<(String, Vec<String>)>),
    Table { title: Vec<String>, sentences: Vec<Vec<String>> },
}

pub(super) fn convert(folder: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    let expected = "HotpotQA's hotpot_train_v1.1.json and hotpot_dev_distractor_v1.json";
    records::convert(&Source { folder, bad_lines, split, expected }, take)
}

fn split(name: &str) -> Option<Split> {
    if name.contains("train") {
        Some(Split::Train)
    } else {
        // The fullwiki dev file has the same questions without all their paragraphs.
        let dev = name.contains("dev") || name.contains("validation");
        (dev && !name.contains("fullwiki")).then_some(Split::Test)
    }
}

fn take(grow: &mut Grow, split: &Split, record: Record) -> Result<(), Bad> {
    let wanted: Vec<String> = match record.supporting_facts {
        Facts::Lists(facts) => facts.into_iter().map(|(title, _)| title).collect(),
        Facts::Table { title } => title,
    };
    let paragraphs: Vec<(String, Vec<String>)> = match record.context {
        Context::Lists(paragraphs) => paragraphs,
        Context::Table { title, sentences } => title.into_iter().zip(sentences).collect(),
    };
    let relevant = paragraphs.into_iter().filter(|(title, _)| wanted.contains(title));
    let (titles, texts): (Vec<String>, Vec<String>) =
        relevant.map(|(title, sentences)| (title, sentences.concat().trim().to_owned())).unzip();
    let titles = titles.into_iter().map(Value::String).collect();
    let query = Query { id: record.id, text: record.question.trim().to_owned(), ..Query::default() };
    let metadata = Map::from_iter([("titles".to_owned(), Value::Array(titles))]);
    grow.pair(split, Answered { query, title: String::new(), text: texts.join(" "), metadata })
}
