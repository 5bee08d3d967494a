//! TopiOCQA: a conversation up to a question, and the passage that answers it.
//!
//! The query is the whole history, turn after turn, and the question last, with ` [SEP] ` between them as in the
//! data set's own all-history form. Two forms are read: conversations (`Conversation_no`, `Turn_no`, `Context`,
//! `Question`, `Gold_passage`), and the retriever's form (`question` with the history in it, `positive_ctxs`). The
//! public dev set is the test split.

use super::grow::{Answered, Grow, metadata};
use super::records::{self, Source};
use crate::collection::Query;
use crate::dataset::{Dataset, Split};
use crate::error::Error;
use crate::lines::{Bad, BadLines};
use serde::Deserialize;
use serde_json::Map;
use std::path::Path;

const BETWEEN_TURNS: &str = " [SEP] ";

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "neither a turn (`Conversation_no`, `Turn_no`, `Question`, `Gold_passage`) nor a retriever's record \
                 (`question`, `positive_ctxs`)"
)]
enum Record {
    Turn {
        #[serde(rename = "Conversation_no")]
        conversation: u64,
        #[serde(rename = "Turn_no")]
        turn: u64,
        #[serde(rename = "Context", default)]
        context: Vec<String>,
        #[serde(rename = "Question")]
        question: String,
        #[serde(rename = "Gold_passage")]
        passage: Passage,
    },
    Retriever {
        #[serde(default)]
        conv_id: Option<u64>,
        #[serde(default)]
        turn_id: Option<u64>,
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
    let expected = "TopiOCQA's *train*.json and *dev*.json (or *valid*)";
    records::convert(&Source { folder, bad_lines, split, expected }, take)
}

fn split(name: &str) -> Option<Split> {
    if name.contains("train") {
        Some(Split::Train)
    } else {
        (name.contains("dev") || name.contains("valid")).then_some(Split::Test)
    }
}

fn take(grow: &mut Grow, split: &Split, record: Record) -> Result<(), Bad> {
    let (place, text, passage) = match record {
        Record::Turn { conversation, turn, mut context, question, passage } => {
            context.push(question);
            let turns: Vec<&str> = context.iter().map(|turn| turn.trim()).collect();
            (Some((conversation, turn)), turns.join(BETWEEN_TURNS), passage)
        }
        Record::Retriever { conv_id, turn_id, question, positive_ctxs } => {
            let first = positive_ctxs.into_iter().next();
            let passage = first.ok_or_else(|| Bad::line("`positive_ctxs` is empty"))?;
            (conv_id.zip(turn_id), question.trim().to_owned(), passage)
        }
    };
    let id = match place {
        Some((conversation, turn)) => format!("{split}-{conversation}-{turn}"),
        None => format!("{split}-{}", grow.queries()),
    };
    let conversation = place.map(|(conversation, _)| metadata([("conversation", conversation.to_string())]));
    let query = Query { id, text, metadata: conversation.unwrap_or_default() };
    let text = passage.text.trim().to_owned();
    grow.pair(split, Answered { query, title: passage.title, text, metadata: Map::new() })
}
