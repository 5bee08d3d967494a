//! An index written by any version of the format opens and answers, in this version and every later one.
//!
//! `RETREEVER_WRITE_FIXTURE=1` writes that of this version again, which only a new version of the format is a reason
//! for.

mod made;

use made::Recipe;
use retreever_index::{Document, Filter, Index, Mode, Query, Shape};
use retreever_tree::Nesting;
use serde_json::json;
use std::fs;
use std::path::Path;

const RECIPE: Recipe = Recipe { depth: 3, nesting: Nesting::Nested, sharpness: 0.5, seed: 1 };

fn write(dir: &Path) {
    let index = Index::create(dir, Shape { depth: RECIPE.depth(), nesting: RECIPE.nesting }).unwrap();
    let mut writer = index.writer().unwrap();
    let documents: Vec<Document> = (0..12)
        .map(|i| {
            let mut document = Document::new(format!("d{i}"), format!("the text of document {i}"));
            document.title = format!("Title {i}");
            document.metadata.insert("year".to_owned(), json!(2000 + i));
            document
        })
        .collect();
    writer.add(&documents, &RECIPE.items(12, 1)).unwrap();
    writer.commit().unwrap();
    writer.delete(["d3"]).unwrap();
    writer.add(&documents[4..5], &RECIPE.items(1, 2)).unwrap();
    writer.commit().unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The version of the format that is written.
const VERSION: u32 = 2;

#[test]
fn every_version_opens() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    if std::env::var_os("RETREEVER_WRITE_FIXTURE").is_some() {
        let fixture = fixtures.join(format!("format-{VERSION}"));
        fs::remove_dir_all(&fixture).ok();
        write(&fixture);
        let _ = fs::remove_file(fixture.join("documents/.tantivy-meta.lock"));
        let _ = fs::remove_file(fixture.join("documents/.tantivy-writer.lock"));
    }
    for version in 1..=VERSION {
        // Opening takes locks and sweeps left-overs: not in the work tree.
        let dir = tempfile::tempdir().unwrap();
        copy(&fixtures.join(format!("format-{version}")), dir.path());
        read(dir.path());
    }
}

fn read(dir: &Path) {
    let index = Index::open(dir).unwrap();
    assert_eq!(index.verify().unwrap().documents, 11);
    let snapshot = index.snapshot().unwrap();
    let query = RECIPE.items(1, 1);
    let answer = snapshot.search(&Query::new(query.row(0), 20)).unwrap();
    let ids: Vec<String> = answer.hits.iter().map(|hit| snapshot.document(hit).unwrap().id).collect();
    assert_eq!(ids[0], "d0");
    assert_eq!(answer.hits[0].score, 1.0);
    assert_eq!(ids.len(), 11);
    assert!(!ids.contains(&"d3".to_owned()));
    let mode = Mode::Approximate { rerank: 20 };
    let quick = snapshot.search(&Query { mode, ..Query::new(query.row(0), 20) }).unwrap();
    assert_eq!(quick.hits, answer.hits);
    let filter: Filter = "year >= 2010".parse().unwrap();
    let late = snapshot.search(&Query { filter: Some(filter), ..Query::new(query.row(0), 20) }).unwrap();
    assert_eq!(late.hits.len(), 2);
    let words = snapshot.search_words("title 7", 1, None).unwrap();
    assert_eq!(snapshot.document(&words.hits[0]).unwrap().title, "Title 7");
    let mut writer = index.writer().unwrap();
    writer.compact().unwrap();
    assert_eq!(index.verify().unwrap().segments, 1);
}
