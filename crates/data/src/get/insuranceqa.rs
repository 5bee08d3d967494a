//! InsuranceQA: the English questions and answers, with the package's own split.
//!
//! The package holds `answers.json.gz` (`{number: {en, zh}}`) and one file a split (`{number: {en, zh, domain,
//! answers, negatives}}`). An answer's domain is the one that most of its questions have.

use super::tidy;
use crate::collection::{Document, Query};
use crate::dataset::{Dataset, Split};
use crate::error::{Error, Place};
use crate::lines::reader;
use crate::qrels::Qrels;
use retreever_fetch::{Distribution, Package, Registry};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

pub(super) const PACKAGE: Package = Package {
    registry: Registry::PyPi(Distribution::Source),
    name: "insuranceqa-data",
    version: "1.2",
    sha256: "3e1eaa2a8cc3a785b059d52f473c0e7280ba5de045a300701cb731a8b8cb16b3",
    bytes: 21_615_618,
    licence: "GPL-3.0",
};

const ANSWERS: &str = "answers.json.gz";
const SPLITS: [(Split, &str); 3] =
    [(Split::Train, "train.json.gz"), (Split::Dev, "valid.json.gz"), (Split::Test, "test.json.gz")];

pub(super) fn member(name: &Path) -> Option<PathBuf> {
    let file = name.file_name()?;
    let wanted = file == ANSWERS || SPLITS.iter().any(|(_, split)| file == *split);
    wanted.then(|| file.into())
}

#[derive(Deserialize)]
struct Answer {
    en: String,
}

#[derive(Deserialize)]
struct Question {
    en: String,
    domain: String,
    answers: Vec<String>,
}

pub(super) fn convert(folder: &Path) -> Result<Dataset, Error> {
    let mut dataset = Dataset::default();
    let mut domains: HashMap<String, BTreeMap<String, usize>> = HashMap::new();
    let mut queries = Vec::new();
    for (split, file) in SPLITS {
        let mut qrels = Qrels::new();
        for (number, question) in numbered::<Question>(&folder.join(file))? {
            let id = format!("{split}-{number}");
            for answer in question.answers {
                *domains.entry(answer.clone()).or_default().entry(question.domain.clone()).or_default() += 1;
                qrels.insert(&id, &answer, 1);
            }
            queries.push(Query { id, text: tidy(&question.en), metadata: domain(question.domain) });
        }
        dataset.qrels.insert(split, qrels);
    }
    dataset.queries = queries.into_iter().collect();
    let answers = numbered::<Answer>(&folder.join(ANSWERS))?;
    dataset.corpus = answers
        .into_iter()
        .map(|(number, answer)| {
            let id = number.to_string();
            // Of equally frequent domains, the first by name.
            let most = domains.get(&id).and_then(|counts| {
                counts.iter().rev().max_by_key(|(_, count)| **count).map(|(name, _)| name.clone())
            });
            let metadata = most.map(domain).unwrap_or_default();
            Document { id, text: tidy(&answer.en), metadata, ..Document::default() }
        })
        .collect();
    for (split, file) in SPLITS {
        let unknown =
            dataset.qrels[&split].pairs().find(|(_, answer)| dataset.corpus.number(answer).is_none());
        if let Some((question, answer)) = unknown {
            let reason =
                format!("the question `{question}` has the answer `{answer}`, which is not in {ANSWERS}");
            return Err(Error::malformed(Place::file(&folder.join(file)), reason));
        }
    }
    Ok(dataset)
}

fn domain(name: String) -> Map<String, Value> {
    Map::from_iter([("domain".to_owned(), Value::String(name))])
}

/// The entries of a file in the order of their numbers.
fn numbered<T: DeserializeOwned>(path: &Path) -> Result<BTreeMap<u64, T>, Error> {
    serde_json::from_reader(reader(path)?)
        .map_err(|error| Error::malformed(Place::file(path), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::fs::File;
    use std::io::Write;

    fn put(folder: &Path, name: &str, json: &str) {
        let mut file = GzEncoder::new(File::create(folder.join(name)).unwrap(), Compression::fast());
        file.write_all(json.as_bytes()).unwrap();
        file.finish().unwrap();
    }

    fn question(domain: &str, answers: &str) -> String {
        format!(
            "{{\"0\": {{\"zh\": \"?\", \"en\": \"Is  It ?\", \"domain\": \"{domain}\", \"answers\": {answers}, \
             \"negatives\": []}}}}"
        )
    }

    #[test]
    fn splits_and_domains_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), ANSWERS, r#"{"10": {"zh": "", "en": " Ten"}, "9": {"zh": "", "en": "Nine"}}"#);
        put(folder.path(), "train.json.gz", &question("life", "[\"9\", \"10\"]"));
        put(folder.path(), "valid.json.gz", &question("auto", "[\"9\"]"));
        put(folder.path(), "test.json.gz", &question("auto", "[\"10\", \"9\"]"));
        let dataset = convert(folder.path()).unwrap();
        let corpus: Vec<_> = dataset
            .corpus
            .items()
            .iter()
            .map(|d| (&d.id[..], &d.text[..], d.metadata["domain"].as_str()))
            .collect();
        assert_eq!(corpus, [("9", "Nine", Some("auto")), ("10", "Ten", Some("auto"))]);
        let queries: Vec<_> = dataset.queries.items().iter().map(|q| (&q.id[..], &q.text[..])).collect();
        assert_eq!(queries, [("train-0", "Is It ?"), ("dev-0", "Is It ?"), ("test-0", "Is It ?")]);
        assert_eq!(dataset.qrels[&Split::Test].grade("test-0", "10"), 1);

        put(folder.path(), "test.json.gz", &question("auto", "[\"11\"]"));
        let error = convert(folder.path()).unwrap_err().to_string();
        assert!(
            error.ends_with("the question `test-0` has the answer `11`, which is not in answers.json.gz")
        );
    }
}
