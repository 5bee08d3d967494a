//! An index of this version of the format, written once, opens and answers; earlier versions are refused.
//!
//! `RETREEVER_WRITE_FIXTURE=1` writes the fixture again, which only a new version of the format is a reason for.

mod made;

use made::Recipe;
use retreever_index::segment::Segment;
use retreever_index::{Document, Error, Filter, Index, Mode, Query, Shape};
use retreever_tree::{Assignment, Nesting, NodeId};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const RECIPE: Recipe = Recipe { depth: 3, nesting: Nesting::Nested, sharpness: 0.5, seed: 1 };

fn shape() -> Shape {
    Shape { depth: RECIPE.depth(), nesting: RECIPE.nesting }
}

fn write(dir: &Path) {
    let index = Index::create(dir, shape(), RECIPE.routing()).unwrap();
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
    writer.set_notes(b"notes of the second commit".to_vec()).unwrap();
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

/// The version of the format that is written and read.
const VERSION: u32 = 3;

fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(format!("format-{version}"))
}

/// A copy of a fixture. Opening takes locks and sweeps left-overs: not in the work tree.
fn copy_of(version: u32) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy(&fixture(version), dir.path());
    dir
}

#[test]
fn this_version_opens() {
    if std::env::var_os("RETREEVER_WRITE_FIXTURE").is_some() {
        let fixture = fixture(VERSION);
        fs::remove_dir_all(&fixture).ok();
        write(&fixture);
        let _ = fs::remove_file(fixture.join("documents/.tantivy-meta.lock"));
        let _ = fs::remove_file(fixture.join("documents/.tantivy-writer.lock"));
    }
    read(copy_of(VERSION).path());
}

/// Of each earlier version there is the last commit and a segment.
#[test]
fn earlier_versions_are_refused() {
    for version in 1..VERSION {
        let dir = copy_of(version);
        let index = Index::open(dir.path()).err().unwrap();
        let segment = Segment::open(&dir.path().join("assignments/0000000000.segment")).unwrap_err();
        let made_again = Index::create(dir.path(), shape(), RECIPE.routing()).err().unwrap();
        for error in [index, segment, made_again] {
            assert!(matches!(error, Error::Outdated(_)), "{error}");
            let message = error.to_string();
            assert!(message.starts_with(&dir.path().display().to_string()), "{message}");
            assert!(message.ends_with("build the index again with `retreever index`"), "{message}");
        }
    }
}

fn read(dir: &Path) {
    let index = Index::open(dir).unwrap();
    assert_eq!(index.verify().unwrap().documents, 11);
    assert_eq!(index.routing(), &RECIPE.routing());
    assert!(!index.routing().sharpening.is_empty());
    let snapshot = index.snapshot().unwrap();
    assert_eq!(snapshot.notes().unwrap().unwrap(), b"notes of the second commit");
    assert_eq!(snapshot.count(NodeId::ROOT), 11);
    for hit in snapshot.hits() {
        let row = snapshot.assignment(&hit).unwrap();
        let item = Assignment::new(RECIPE.depth(), RECIPE.nesting, &row);
        assert_eq!(snapshot.place(&hit), index.routing().leaf(item));
    }
    let before = snapshot.average().unwrap();
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
    let after = index.snapshot().unwrap().average().unwrap();
    assert!(before.iter().zip(&after).all(|(before, after)| (before - after).abs() < 1e-6));
}
