//! TREC runs: `query Q0 document rank score tag`, between blanks. The score ranks; the rank is not looked at.

use crate::error::{Error, Place};
use crate::lines::{self, Bad, BadLines, Skipped};
use crate::run::Run;
use std::fmt::Write;
use std::path::Path;

/// Reads a run. A document that is given twice for one query is a bad line.
pub fn read(path: &Path, bad_lines: BadLines) -> Result<(Run, Skipped), Error> {
    let mut run = Run::new();
    let skipped = lines::each(path, bad_lines, |line| {
        let Answer { query, document, score } = parse(line.text)?;
        if let Some(before) = run.insert(query, document, score) {
            run.insert(query, document, before);
            let first = first_line(path, query, document)?;
            return Err(Bad::line(format!("`{document}` is already given for `{query}` in line {first}")));
        }
        Ok(())
    })?;
    if run.is_empty() {
        return Err(Error::Empty { place: Place::file(path), what: "answer" });
    }
    Ok((run, skipped))
}

/// Writes a run, each query's documents best first, under a name.
pub fn write(path: &Path, run: &Run, tag: &str) -> Result<(), Error> {
    let mut text = String::new();
    for query in run.queries() {
        for (at, (document, score)) in run.ranking(query).into_iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{query} Q0 {document} {} {score} {tag}", at + 1);
        }
    }
    std::fs::write(path, text).map_err(Error::io(path))
}

struct Answer<'a> {
    query: &'a str,
    document: &'a str,
    score: f32,
}

fn parse(text: &str) -> Result<Answer<'_>, Bad> {
    let mut fields = text.split_whitespace();
    let [query, _, document, _, score, tag] = std::array::from_fn(|_| fields.next());
    let (Some(query), Some(document), Some(score), Some(_), None) =
        (query, document, score, tag, fields.next())
    else {
        return Err(Bad::line("expected `query Q0 document rank score tag` between blanks"));
    };
    match score.parse::<f64>().map(|score| score as f32) {
        Ok(score) if score.is_finite() => Ok(Answer { query, document, score }),
        _ => Err(Bad::line(format!("the score `{score}` is not a finite number"))),
    }
}

/// Where a document was given first; looked for only when it came again.
fn first_line(path: &Path, query: &str, document: &str) -> Result<usize, Error> {
    let mut first = None;
    lines::each(path, BadLines::Skip, |line| {
        if let (None, Ok(answer)) = (first, parse(line.text)) {
            first = (answer.query == query && answer.document == document).then_some(line.number);
        }
        Ok(())
    })?;
    Ok(first.unwrap_or(0))
}
