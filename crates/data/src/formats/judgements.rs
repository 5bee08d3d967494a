//! Judgement files: BEIR's TSV (`query-id`, `corpus-id`, `score`, with or without the header) and TREC's qrels
//! (`query iteration document grade`, between blanks). The first line tells which.
//!
//! A grade below 0 (TREC marks junk so) counts as 0.

use super::fields::check_id;
use crate::collection::{Corpus, Queries};
use crate::error::{Error, Place};
use crate::lines::{self, Bad, BadLines, Line, Skipped};
use crate::qrels::Qrels;
use std::path::Path;

/// The ids that judgements may name.
#[derive(Clone, Copy, Debug)]
pub enum Known<'a> {
    /// Any.
    Anything,
    /// Those of a data set.
    Ids {
        /// Its documents.
        corpus: &'a Corpus,
        /// Its queries.
        queries: &'a Queries,
    },
}

/// Reads judgements. A pair that is judged twice is a bad line; so is an id that is not known.
pub fn read(path: &Path, known: Known<'_>, bad_lines: BadLines) -> Result<(Qrels, Skipped), Error> {
    let mut qrels = Qrels::new();
    let mut form = None;
    let skipped = lines::each(path, bad_lines, |line| {
        let form = *form.get_or_insert_with(|| Form::of(line));
        if line.number == 1 && is_header(line) {
            return Ok(());
        }
        let Judgement { query, document, grade } = form.parse(line.text)?;
        if let Known::Ids { corpus, queries } = known {
            if queries.number(query).is_none() {
                return Err(Bad::line(format!("the query `{query}` is not among the queries")));
            }
            if corpus.number(document).is_none() {
                return Err(Bad::line(format!("the document `{document}` is not in the corpus")));
            }
        }
        if let Some(before) = qrels.insert(query, document, grade) {
            qrels.insert(query, document, before);
            let first = first_line(path, form, query, document)?;
            let reason = format!("`{query}` and `{document}` are already judged in line {first}");
            return Err(Bad::line(reason));
        }
        Ok(())
    })?;
    if qrels.is_empty() {
        return Err(Error::Empty { place: Place::file(path), what: "judgement" });
    }
    Ok((qrels, skipped))
}

/// Judgements as BEIR's TSV.
pub fn to_tsv(qrels: &Qrels) -> String {
    let mut tsv = String::from("query-id\tcorpus-id\tscore\n");
    for (query, documents) in qrels.iter() {
        for (document, grade) in documents {
            tsv.push_str(&format!("{query}\t{document}\t{grade}\n"));
        }
    }
    tsv
}

#[derive(Clone, Copy)]
enum Form {
    Beir,
    Trec,
}

struct Judgement<'a> {
    query: &'a str,
    document: &'a str,
    grade: u32,
}

fn is_header(line: Line<'_>) -> bool {
    let mut fields = line.text.split('\t').map(str::trim);
    matches!((fields.next(), fields.next()), (Some("query-id" | "query_id" | "qid"), Some(_)))
}

impl Form {
    fn of(first: Line<'_>) -> Self {
        let three = first.text.split('\t').count() == 3;
        if three || is_header(first) { Self::Beir } else { Self::Trec }
    }

    fn parse(self, text: &str) -> Result<Judgement<'_>, Bad> {
        let (query, document, grade) = match self {
            Self::Beir => {
                let mut fields = text.split('\t').map(str::trim);
                let (Some(query), Some(document), Some(grade), None) =
                    (fields.next(), fields.next(), fields.next(), fields.next())
                else {
                    return Err(Bad::line("expected three fields between tabs: query-id, corpus-id, score"));
                };
                (query, document, grade)
            }
            Self::Trec => {
                let mut fields = text.split_whitespace();
                let (Some(query), Some(_), Some(document), Some(grade), None) =
                    (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
                else {
                    return Err(Bad::line(
                        "expected `query 0 document grade` between blanks (or BEIR's three fields between tabs)",
                    ));
                };
                (query, document, grade)
            }
        };
        check_id(query)?;
        check_id(document)?;
        let grade: i64 =
            grade.parse().map_err(|_| Bad::line(format!("the grade `{grade}` is not a whole number")))?;
        let grade =
            u32::try_from(grade.max(0)).map_err(|_| Bad::line(format!("the grade {grade} is too large")))?;
        Ok(Judgement { query, document, grade })
    }
}

/// Where a pair was judged first; looked for only when it came again.
fn first_line(path: &Path, form: Form, query: &str, document: &str) -> Result<usize, Error> {
    let mut first = None;
    lines::each(path, BadLines::Skip, |line| {
        if let (None, Ok(judgement)) = (first, form.parse(line.text)) {
            first = (judgement.query == query && judgement.document == document).then_some(line.number);
        }
        Ok(())
    })?;
    Ok(first.unwrap_or(0))
}
