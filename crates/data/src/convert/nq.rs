//! Natural Questions: a question and the long answer to it, a paragraph, list or table of an article.
//!
//! The original form (`document_tokens`, `document_title`) and the simplified one (`document_text`, words and tags
//! between blanks). The answer is the span that most annotators chose; of several annotators, two must agree.
//! Questions without a long answer are left out. The public dev set is the test split.

use super::grow::{Answered, Grow, id};
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
    example_id: Value,
    question_text: String,
    #[serde(default)]
    document_title: String,
    #[serde(flatten)]
    article: Article,
    annotations: Vec<Annotation>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "there is neither `document_tokens` nor `document_text`")]
enum Article {
    Original { document_tokens: Vec<Token> },
    Simplified { document_text: String },
}

#[derive(Deserialize)]
struct Token {
    token: String,
    html_token: bool,
}

#[derive(Deserialize)]
struct Annotation {
    long_answer: Span,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
struct Span {
    start_token: i64,
    end_token: i64,
}

pub(super) fn convert(folder: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    let expected = "Natural Questions' *train*.jsonl.gz and *dev*.jsonl.gz";
    records::convert(&Source { folder, bad_lines, split, expected }, take)
}

fn split(name: &str) -> Option<Split> {
    if name.contains("train") { Some(Split::Train) } else { name.contains("dev").then_some(Split::Test) }
}

fn take(grow: &mut Grow, split: &Split, record: Record) -> Result<(), Bad> {
    let Some(span) = chosen(&record.annotations) else { return Ok(()) };
    let id = id(&record.example_id);
    let text = words(&record.article, span).ok_or_else(|| {
        Bad::line(format!("the answer of the question `{id}` is past the end of its article"))
    })?;
    let query = Query { id, text: record.question_text.trim().to_owned(), ..Query::default() };
    grow.pair(split, Answered { query, title: record.document_title, text, metadata: Map::new() })
}

/// The span that most annotators chose, the earlier of equals.
fn chosen(annotations: &[Annotation]) -> Option<Span> {
    let needed = if annotations.len() > 1 { 2 } else { 1 };
    let spans = annotations.iter().map(|annotation| annotation.long_answer);
    let spans = spans.filter(|span| span.start_token >= 0 && span.end_token > span.start_token);
    let votes = |span: &Span| annotations.iter().filter(|other| other.long_answer == *span).count();
    spans
        .filter(|span| votes(span) >= needed)
        .reduce(|best, span| if votes(&span) > votes(&best) { span } else { best })
}

/// The words of a span, without tags; none if the article ends before it.
fn words(article: &Article, span: Span) -> Option<String> {
    let range = usize::try_from(span.start_token).ok()?..usize::try_from(span.end_token).ok()?;
    let words: Vec<&str> = match article {
        Article::Original { document_tokens } => {
            document_tokens.get(range)?.iter().filter(|t| !t.html_token).map(|t| &t.token[..]).collect()
        }
        Article::Simplified { document_text } => {
            let words: Vec<&str> = document_text.split(' ').collect();
            let is_tag = |word: &str| word.starts_with('<') && word.ends_with('>');
            words.get(range)?.iter().filter(|word| !is_tag(word)).copied().collect()
        }
    };
    Some(words.join(" ").trim().to_owned())
}
