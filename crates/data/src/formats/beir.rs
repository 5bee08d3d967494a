//! BEIR folders: `corpus.jsonl` (`_id`, `title`, `text`, anything else is metadata), `queries.jsonl` (`_id`,
//! `text`) and `qrels/SPLIT.tsv`. A folder with `corpus.jsonl` alone is a corpus without queries.

use super::fields::Fields;
use super::judgements::{self, Known};
use crate::collection::{Collection, Corpus, Document, Identified, Queries, Query, Taken};
use crate::dataset::{Dataset, Split};
use crate::error::{Duplicate, Error, Place};
use crate::lines::{self, Bad, BadLines, Skipped};
use crate::whole_folder::write_whole;
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// The file that makes a folder a BEIR folder.
pub const CORPUS: &str = "corpus.jsonl";
const QUERIES: &str = "queries.jsonl";
const QRELS: &str = "qrels";

/// Reads a folder; every id that its judgements name must be there.
pub fn read(folder: &Path, bad_lines: BadLines) -> Result<Dataset, Error> {
    let mut dataset = Dataset::default();
    (dataset.corpus, dataset.skipped) = read_corpus(&folder.join(CORPUS), bad_lines)?;
    let (queries, qrels) = (folder.join(QUERIES), folder.join(QRELS));
    if !queries.exists() && !qrels.exists() {
        return Ok(dataset);
    }
    let (read, skipped) = read_queries(&queries, bad_lines)?;
    dataset.queries = read;
    dataset.skipped.add(skipped);
    if !qrels.exists() {
        return Ok(dataset);
    }
    for entry in fs::read_dir(&qrels).map_err(Error::io(&qrels))? {
        let path = entry.map_err(Error::io(&qrels))?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let (Some(stem), Some("tsv")) = (stem, path.extension().and_then(|extension| extension.to_str()))
        else {
            continue;
        };
        let known = Known::Ids { corpus: &dataset.corpus, queries: &dataset.queries };
        let (judged, skipped) = judgements::read(&path, known, bad_lines)?;
        let Ok(split) = stem.parse::<Split>();
        if dataset.qrels.insert(split.clone(), judged).is_some() {
            let reason = format!("another file is the split `{split}` too; keep one of them");
            return Err(Error::malformed(Place::file(&path), reason));
        }
        dataset.skipped.add(skipped);
    }
    Ok(dataset)
}

/// Reads `corpus.jsonl`.
pub fn read_corpus(path: &Path, bad_lines: BadLines) -> Result<(Corpus, Skipped), Error> {
    let mut corpus = Numbered::new(path);
    let skipped = lines::each(path, bad_lines, |line| {
        let mut fields = Fields::parse(line.text)?;
        let id = fields.id()?;
        let title = fields.text("title")?.unwrap_or_default();
        let text = fields.text("text")?.ok_or_else(|| Bad::line("there is no `text`"))?;
        let document = Document { id, title, text, metadata: fields.rest() };
        if document.encoded().is_empty() {
            return Err(Bad::line(format!("the document `{}` has neither text nor title", document.id)));
        }
        Ok(corpus.push(document, line.number)?)
    })?;
    Ok((corpus.finish()?, skipped))
}

/// Reads `queries.jsonl`.
pub fn read_queries(path: &Path, bad_lines: BadLines) -> Result<(Queries, Skipped), Error> {
    let mut queries = Numbered::new(path);
    let skipped = lines::each(path, bad_lines, |line| {
        let mut fields = Fields::parse(line.text)?;
        let id = fields.id()?;
        let text = fields.text("text")?.ok_or_else(|| Bad::line("there is no `text`"))?;
        if text.trim().is_empty() {
            return Err(Bad::line(format!("the query `{id}` is empty")));
        }
        let query = Query { id, text, metadata: fields.rest() };
        Ok(queries.push(query, line.number)?)
    })?;
    Ok((queries.finish()?, skipped))
}

/// Items of one file with the lines that they stand in.
struct Numbered<'a, T> {
    path: &'a Path,
    items: Collection<T>,
    lines: Vec<usize>, // [items]
}

impl<'a, T: Identified> Numbered<'a, T> {
    fn new(path: &'a Path) -> Self {
        Self { path, items: Collection::new(), lines: Vec::new() }
    }

    /// Appends an item; an id that came before is an error that names both lines.
    fn push(&mut self, item: T, line: usize) -> Result<(), Error> {
        self.lines.push(line);
        self.items.push(item).map_err(|Taken { what, id, number }| {
            let [first, second] = [self.lines[number], line].map(|line| Place::line(self.path, line));
            Error::Duplicate(Box::new(Duplicate { what, id, first, second }))
        })
    }

    fn finish(self) -> Result<Collection<T>, Error> {
        let place = Place::file(self.path);
        if self.items.is_empty() { Err(Error::Empty { place, what: T::WHAT }) } else { Ok(self.items) }
    }
}

/// Writes a data set as a folder that appears whole or not at all; it must not be there yet.
pub fn write(dataset: &Dataset, folder: &Path) -> Result<(), Error> {
    write_whole(folder, |part| {
        let documents = dataset.corpus.items().iter().map(|document| {
            with_metadata(
                json!({"_id": document.id, "title": document.title, "text": document.text}),
                &document.metadata,
            )
        });
        write_lines(&part.join(CORPUS), documents)?;
        let queries = dataset.queries.items().iter();
        let queries =
            queries.map(|query| with_metadata(json!({"_id": query.id, "text": query.text}), &query.metadata));
        write_lines(&part.join(QUERIES), queries)?;
        let qrels = part.join(QRELS);
        fs::create_dir(&qrels).map_err(Error::io(&qrels))?;
        for (split, judged) in &dataset.qrels {
            let path = qrels.join(format!("{split}.tsv"));
            fs::write(&path, judgements::to_tsv(judged)).map_err(Error::io(&path))?;
        }
        Ok(())
    })
}

fn with_metadata(mut line: Value, metadata: &Map<String, Value>) -> Value {
    if !metadata.is_empty() {
        line["metadata"] = Value::Object(metadata.clone());
    }
    line
}

fn write_lines(path: &Path, lines: impl Iterator<Item = Value>) -> Result<(), Error> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        for line in lines {
            serde_json::to_writer(&mut file, &line)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    };
    write().map_err(Error::io(path))
}
