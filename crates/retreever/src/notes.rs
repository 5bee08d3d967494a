//! The notes of an index: labels and keywords of all nodes, written when it is built and read to explain answers.
//!
//! Counts and average assignments follow from the index itself and are always up to date. Words are taken from the documents
//! again once their number differs by more than a tenth. Documents that replace as many others do not change it: `retreever compact`
//! makes the words anew in any case.

use crate::Error;
use retreever_index::{Index, Snapshot};
use retreever_inspect::Notes;
use retreever_tree::LeafId;

/// By what share the number of documents may differ before labels are made anew.
const CHANGED: f64 = 0.1;

/// The notes of a snapshot; `None` for an index without texts.
pub fn notes(snapshot: &Snapshot) -> Result<Option<Notes>, Error> {
    let Some(bytes) = snapshot.notes()? else { return Ok(None) };
    let notes: Notes = serde_json::from_slice(&bytes).map_err(|error| Error::Notes(error.to_string()))?;
    let (expected, received) = (snapshot.shape().depth.nodes(), notes.labels.len());
    if expected != received {
        return Err(Error::Notes(format!("{received} labels for {expected} nodes")));
    }
    Ok(Some(notes))
}

/// Makes the notes of an index anew, if the number of documents differs too much from when they were made. Call it after a commit.
pub fn refresh_notes(index: &Index) -> Result<(), Error> {
    let snapshot = index.snapshot()?;
    if let Some(notes) = notes(&snapshot)? {
        let changed = notes.documents.abs_diff(snapshot.len());
        if changed as f64 <= CHANGED * notes.documents as f64 {
            return Ok(());
        }
    }
    write_notes(index)
}

/// Makes the notes of an index anew from all of its documents. Call it after a commit.
pub fn write_notes(index: &Index) -> Result<(), Error> {
    let snapshot = index.snapshot()?;
    let (mut texts, mut places): (Vec<String>, Vec<LeafId>) = (Vec::new(), Vec::new());
    for hit in snapshot.hits() {
        let document = snapshot.document(&hit)?;
        texts.push(document.words());
        places.push(snapshot.place(&hit));
    }
    if texts.iter().all(String::is_empty) {
        return Ok(());
    }
    let made =
        Notes::new(&texts, &places, snapshot.shape().depth).map_err(|e| Error::Notes(e.to_string()))?;
    let mut writer = index.writer()?;
    writer.set_notes(serde_json::to_vec(&made).map_err(|error| Error::Notes(error.to_string()))?)?;
    Ok(writer.commit()?)
}
