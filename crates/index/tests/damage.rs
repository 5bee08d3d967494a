//! Flipped and missing bytes, anywhere: an error or the right answer, never a panic, never a wrong one.

mod made;

use made::{Dice, Recipe};
use retreever_index::{Answer, Document, Error, Filter, Index, Query, Result, Shape};
use retreever_tree::Nesting;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

const RECIPE: Recipe = Recipe { depth: 4, nesting: Nesting::Nested, sharpness: 0.4, seed: 5 };

/// Answers with their documents, the notes, and the average assignment.
type Everything = (Vec<(Answer, Vec<Document>)>, Option<Vec<u8>>, Vec<f32>);

/// Everything a reader does, and what came of it.
fn read(dir: &Path) -> Result<Everything> {
    let index = Index::open(dir)?;
    let snapshot = index.snapshot()?;
    let queries = RECIPE.items(3, 2);
    let filter: Filter = r#"domain = "home" and year > 2003"#.parse()?;
    let mut answers = Vec::new();
    for assignment in queries.iter() {
        answers.push(snapshot.search(&Query::new(assignment, 5))?);
        answers
            .push(snapshot.search(&Query { level: RECIPE.depth().level(2), ..Query::new(assignment, 5) })?);
        answers.push(snapshot.search(&Query { filter: Some(filter.clone()), ..Query::new(assignment, 5) })?);
        answers.push(snapshot.search_words("word1 word3", 5, None)?);
    }
    let answers = answers
        .into_iter()
        .map(|answer| {
            let documents = answer.hits.iter().map(|hit| snapshot.document(hit)).collect::<Result<_>>()?;
            Ok((answer, documents))
        })
        .collect::<Result<_>>()?;
    Ok((answers, snapshot.notes()?, snapshot.average()?))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path));
        } else {
            out.push(path);
        }
    }
    out.sort();
    out
}

#[test]
fn no_damaged_byte_gives_a_wrong_answer() {
    let dir = tempfile::tempdir().unwrap();
    let shape = Shape { depth: RECIPE.depth(), nesting: RECIPE.nesting };
    let index = Index::create(dir.path(), shape, RECIPE.routing()).unwrap();
    let mut writer = index.writer().unwrap();
    for part in 0..2 {
        let documents: Vec<Document> = (0..30)
            .map(|i| {
                let mut document = Document::new(format!("{part}-{i}"), format!("word{} text", i % 7));
                document.metadata.insert("year".to_owned(), json!(2000 + i % 9));
                document.metadata.insert("domain".to_owned(), json!(["auto", "home"][i % 2]));
                document
            })
            .collect();
        writer.add(&documents, &RECIPE.items(30, part)).unwrap();
        writer.delete(["0-3"]).unwrap();
        writer.set_notes((0..9000).map(|i| (i * i % 251) as u8).collect()).unwrap();
        writer.commit().unwrap();
    }
    drop(writer);
    let right = read(dir.path()).unwrap();
    let mut dice = Dice::new(8);
    let mut noticed = 0;
    for path in files(dir.path()) {
        let whole = fs::read(&path).unwrap();
        for trial in 0..40 {
            let mut bytes = whole.clone();
            if trial % 4 == 3 {
                bytes.truncate(dice.below(whole.len().max(1)));
            } else if !bytes.is_empty() {
                // The ends of files are where lengths and checksums are.
                let at = if trial % 4 == 2 {
                    whole.len() - 1 - dice.below(whole.len().min(64))
                } else {
                    dice.below(whole.len())
                };
                bytes[at] ^= 1 << dice.below(8);
            }
            fs::write(&path, &bytes).unwrap();
            match read(dir.path()) {
                Ok(answers) => {
                    assert!(answers == right, "a wrong answer from {} trial {trial}", path.display())
                }
                Err(error) => {
                    noticed += 1;
                    assert!(!error.to_string().is_empty());
                }
            }
            let damaged = bytes != whole && !path.to_string_lossy().ends_with(".lock");
            let verified = Index::open(dir.path()).and_then(|index| index.verify());
            assert!(verified.is_err() || !damaged, "verify overlooked {} trial {trial}", path.display());
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(noticed > 100, "{noticed}");
    assert!(read(dir.path()).unwrap() == right);
}

#[test]
fn damaged_notes_are_noticed_when_they_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let shape = Shape { depth: RECIPE.depth(), nesting: RECIPE.nesting };
    let index = Index::create(dir.path(), shape, RECIPE.routing()).unwrap();
    let mut writer = index.writer().unwrap();
    writer.set_notes(b"what was found out".to_vec()).unwrap();
    writer.commit().unwrap();
    let path = files(&dir.path().join("assignments")).pop().unwrap();
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let snapshot = index.snapshot().unwrap();
        match snapshot.notes() {
            Err(Error::Damaged { path: place, .. }) => assert_eq!(place, path),
            other => panic!("byte {at}: {other:?}"),
        }
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(index.snapshot().unwrap().notes().unwrap().unwrap(), b"what was found out");
}
