//! TopiOCQA: a conversation up to a question, and the passage that answers it.
//!
//! The query is the whole history, turn after turn, and the question last, with ` [SEP] ` between them as in the
//! data set's own all-history form. Two forms are read: conversations (`Conversation_no`, `Turn_no`, `Context`,
//! `Question`, `Gold_passage`), and the retriever's all-history files (`question` with the history in it,
//! `positive_ctxs`). Conversations without their passages, as they were first released, are passed over: the
//! retriever's files have the same questions. So are the retriever's files without history. The public dev set
//! is the test split.

use super::grow::{Answered, Grow, id, metadata};
use super::records::{self, Source};
use crate::collection::Query;
use crate::dataset::{Dataset, Split};
use crate::error::Error;
use crate::lines::{Bad, BadLines};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

const BETWEEN_TURNS: &str = " [SEP] ";

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "neither a turn (`Conversation_no`, `Turn_no`, `Question`) nor a retriever's record (`question`, \
                 `positive_ctxs`)"
)]
enum Record {
    Turn {
        #[serde(rename = "Conversation_no")]
        conversation: Value,
        #[serde(rename = "Turn_no")]
        turn: Value,
        #[serde(rename = "Context", default)]
        context: Vec<String>,
        #[serde(rename = "Question")]
        question: String,
        #[serde(rename = "Gold_passage")]
        passage: Option<Passage>,
    },
    Retriever {
        conv_id: Value,
        turn_id: Value,
        question: String,
        positive_ctxs: Vec<Passage>,
    },
}

#[derive(Deserialize)]
struct Passage {
    #[serde(default)]
    title: String,
    text: String,
}

pub(super) fn convert(folder: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    let expected =
        "TopiOCQA's topiocqa_train.jsonl and topiocqa_valid.jsonl, or its retriever's all-history files";
    records::convert(&Source { folder, bad_lines, split, expected }, take)
}

fn split(name: &str) -> Option<Split> {
    if name.contains("rewrite") || name.contains("original") {
        None
    } else if name.contains("train") {
        Some(Split::Train)
    } else {
        (name.contains("dev") || name.contains("valid")).then_some(Split::Test)
    }
}

fn take(grow: &mut Grow, split: &Split, record: Record) -> Result<(), Bad> {
    let (conversation, turn, text, passage) = match record {
        Record::Turn { passage: None, .. } => return Ok(()),
        Record::Turn { conversation, turn, mut context, question, passage: Some(passage) } => {
            context.push(question);
            let turns: Vec<&str> = context.iter().map(|turn| turn.trim()).collect();
            (conversation, turn, turns.join(BETWEEN_TURNS), passage)
        }
        Record::Retriever { conv_id, turn_id, question, positive_ctxs } => {
            let first = positive_ctxs.into_iter().next();
            let passage = first.ok_or_else(|| Bad::line("`positive_ctxs` is empty"))?;
            (conv_id, turn_id, question.trim().to_owned(), passage)
        }
    };
    let conversation = id(&conversation);
    let query = Query {
        id: format!("{split}-{conversation}-{}", id(&turn)),
        text,
        metadata: metadata([("conversation", conversation)]),
    };
    // The title is the article's and the section's, with the same mark between them.
    let title = passage.title.replace(BETWEEN_TURNS, " ");
    let text = passage.text.trim().to_owned();
    grow.pair(split, Answered { query, title, text, metadata: Map::new() })
}
