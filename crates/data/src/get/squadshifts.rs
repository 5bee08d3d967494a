//! SQuADShifts and the SQuAD development set: paragraphs, and questions asked about them.
//!
//! Trained on reviews, news and comments, tested on encyclopedia articles: `new_wiki` and SQuAD's own. A tenth of
//! the training articles, chosen by a hash of their names, is held out as dev with all their questions. The
//! comments stand in one article in the package; here each is an article of its own. Paragraphs whose text is
//! equal are one document. Titles (addresses and numbers, mostly) are metadata, so that training and test
//! documents look alike.

use crate::collection::{Document, Query};
use crate::dataset::{Dataset, Split, held_out_by_hash};
use crate::error::{Error, Place};
use crate::qrels::Qrels;
use retreever_fetch::{Distribution, Package, Registry};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

pub(super) const PACKAGE: Package = Package {
    registry: Registry::PyPi(Distribution::Source),
    name: "bigbench",
    version: "1.0.0",
    sha256: "1bb398a5512c6d798cdebe0dfa0ac03f67f6033fa6b39c6ef71df978c7cbc5c2",
    bytes: 358_249_635,
    licence: "Apache-2.0; SQuAD: CC BY-SA 4.0",
};

/// The share of training articles that is held out.
const DEV: f64 = 0.1;

struct Source {
    name: &'static str,
    file: &'static str,
    role: Role,
}

enum Role {
    /// Articles of these go to train or dev.
    Train,
    /// As `Train`, but each paragraph is an article.
    TrainByParagraph,
    Test,
}

const SOURCES: [Source; 5] = [
    Source { name: "amazon", file: "amazon_reviews_v1.0.json", role: Role::Train },
    Source { name: "nyt", file: "nyt_v1.0.json", role: Role::Train },
    Source { name: "reddit", file: "reddit_v1.0.json", role: Role::TrainByParagraph },
    Source { name: "new_wiki", file: "new_wiki_v1.0.json", role: Role::Test },
    Source { name: "squad", file: "squaddev_v1.1.json", role: Role::Test },
];

pub(super) fn member(name: &Path) -> Option<PathBuf> {
    let folder = name.parent()?.file_name()?;
    let file = name.file_name()?;
    (folder == "squad_shifts" && SOURCES.iter().any(|source| file == source.file)).then(|| file.into())
}

#[derive(Deserialize)]
struct Contents {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    title: String,
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    question: String,
}

pub(super) fn convert(folder: &Path) -> Result<Dataset, Error> {
    let (mut documents, mut queries) = (Vec::<Document>::new(), Vec::new());
    let mut ids: HashMap<String, String> = HashMap::new();
    let mut qrels = [Split::Train, Split::Dev, Split::Test].map(|split| (split, Qrels::new()));
    for source in &SOURCES {
        let path = folder.join(source.file);
        let file = BufReader::new(File::open(&path).map_err(Error::io(&path))?);
        let contents: Contents = serde_json::from_reader(file)
            .map_err(|error| Error::malformed(Place::file(&path), error.to_string()))?;
        let mut count = 0;
        for article in contents.data {
            for paragraph in article.paragraphs {
                let text = paragraph.context.trim();
                let document = ids.entry(text.to_owned()).or_insert_with(|| {
                    let id = format!("{}-{count}", source.name);
                    count += 1;
                    documents.push(document(source, id.clone(), &article.title, text));
                    id
                });
                let split = match source.role {
                    Role::Test => 2,
                    Role::Train => usize::from(held_out_by_hash(&article.title, DEV)),
                    Role::TrainByParagraph => usize::from(held_out_by_hash(text, DEV)),
                };
                for question in paragraph.qas {
                    qrels[split].1.insert(&question.id, document, 1);
                    let text = question.question.trim().to_owned();
                    queries.push(Query { id: question.id, text, ..Query::default() });
                }
            }
        }
    }
    Ok(Dataset {
        corpus: documents.into_iter().collect(),
        queries: queries.into_iter().collect(),
        qrels: qrels.into(),
        ..Dataset::default()
    })
}

fn document(source: &Source, id: String, article: &str, text: &str) -> Document {
    let fields = [("source", source.name), ("article", article)];
    let metadata = fields.map(|(key, value)| (key.to_owned(), Value::String(value.to_owned())));
    Document { id, text: text.to_owned(), metadata: Map::from_iter(metadata), ..Document::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paragraphs_are_one_document_each_and_articles_stay_together() {
        let folder = tempfile::tempdir().unwrap();
        for source in &SOURCES {
            let article = |a: usize| {
                let paragraph = |p: usize| {
                    let id = format!("{}-{a}-{p}", source.name);
                    json!({"context": format!("{} {a} {}\n", source.name, p / 2),
                           "qas": [{"id": id, "question": " why? ", "answers": []}]})
                };
                json!({"title": format!("T{a}"), "paragraphs": (0..4).map(paragraph).collect::<Vec<_>>()})
            };
            let contents = json!({"data": (0..50).map(article).collect::<Vec<_>>(), "version": "1"});
            std::fs::write(folder.path().join(source.file), contents.to_string()).unwrap();
        }
        let dataset = convert(folder.path()).unwrap();
        assert_eq!((dataset.corpus.len(), dataset.queries.len()), (5 * 50 * 2, 5 * 50 * 4));
        assert_eq!(dataset.qrels[&Split::Test].len(), 2 * 50 * 4);
        assert_eq!(dataset.corpus.get("amazon-3").unwrap().text, "amazon 1 1");
        let dev = &dataset.qrels[&Split::Dev];
        assert!(!dev.is_empty());
        for (query, _) in dev.iter().filter(|(query, _)| !query.starts_with("reddit")) {
            let article = query.rsplit_once('-').unwrap().0;
            assert!(
                (0..4).all(|p| dev.iter().any(|(other, _)| other == format!("{article}-{p}"))),
                "{query}"
            );
        }
    }
}
