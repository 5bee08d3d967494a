//! Pairs of items of one class (images of a kind, recordings of a speaker): m of them a class.
//!
//! No item is in two pairs; the first of a pair is a query, the second a document. In training a query belongs to
//! the document of its own pair. In the test split it belongs to every document of its class, whichever split that
//! came from, since all of them are in the corpus.
//!
//! An item is not a text: its text is its path below the folder, which is its id too, and `path` and `class` in
//! its metadata say where it is and what it is.

use super::grow::metadata;
use crate::collection::{Document, Query};
use crate::dataset::{Dataset, Split, stable_hash};
use crate::error::{Error, Place};
use crate::qrels::Qrels;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One item of a class.
pub(super) struct Item {
    pub(super) path: PathBuf,
    /// Items of one take (a video) are alike: pairs are made across takes as far as there are several.
    pub(super) take: String,
}

/// The items of each class of each split.
pub(super) type Classes = BTreeMap<(Split, String), Vec<Item>>;

/// Draws at most `m` pairs of each class. Which ones depends on the paths alone.
pub(super) fn build(folder: &Path, classes: Classes, m: usize) -> Result<Dataset, Error> {
    let (mut documents, mut queries) = (Vec::new(), Vec::new());
    let mut of_class: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut qrels: BTreeMap<Split, Qrels> = BTreeMap::new();
    let mut asked = Vec::new();
    for ((split, class), items) in classes {
        for pair in across_takes(folder, items)?.chunks_exact(2).take(m) {
            let [query, document] = [&pair[0], &pair[1]];
            documents.push(described(folder, document, &class));
            of_class.entry(class.clone()).or_default().push(document.clone());
            let Document { id, text, metadata, .. } = described(folder, query, &class);
            queries.push(Query { id, text, metadata });
            if split == Split::Test {
                asked.push((query.clone(), class.clone()));
            } else {
                qrels.entry(split.clone()).or_default().insert(query, document, 1);
            }
        }
    }
    for (query, class) in asked {
        for document in &of_class[&class] {
            qrels.entry(Split::Test).or_default().insert(&query, document, 1);
        }
    }
    let (corpus, queries) = (documents.into_iter().collect(), queries.into_iter().collect());
    Ok(Dataset { corpus, queries, qrels, ..Dataset::default() })
}

/// The ids of the items in an order in which neighbours come from different takes, as far as there are several.
fn across_takes(folder: &Path, items: Vec<Item>) -> Result<Vec<String>, Error> {
    let mut takes: BTreeMap<(u64, String), Vec<(u64, String)>> = BTreeMap::new();
    for item in items {
        let parts = item.path.strip_prefix(folder).unwrap_or(&item.path).iter();
        let parts = parts.map(|part| part.to_str()).collect::<Option<Vec<_>>>();
        let not_utf8 = || Error::malformed(Place::file(&item.path), "the name is not UTF-8");
        let id = parts.ok_or_else(not_utf8)?.join("/");
        takes.entry((stable_hash(&item.take), item.take)).or_default().push((stable_hash(&id), id));
    }
    let mut rounds = Vec::new();
    for (number, items) in takes.values_mut().enumerate() {
        items.sort_unstable();
        rounds.extend(items.drain(..).enumerate().map(|(round, (_, id))| (round, number, id)));
    }
    rounds.sort_unstable();
    Ok(rounds.into_iter().map(|(.., id)| id).collect())
}

fn described(folder: &Path, id: &str, class: &str) -> Document {
    let path = folder.join(id).to_string_lossy().into_owned();
    let metadata = metadata([("path", path), ("class", class.to_owned())]);
    Document { id: id.to_owned(), title: String::new(), text: id.to_owned(), metadata }
}
