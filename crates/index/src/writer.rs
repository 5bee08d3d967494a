//! Adding, replacing, deleting, compacting: everything that makes a new generation.
//!
//! Rows are written to segment files first, under names that no commit mentions; then one commit of the
//! document store, whose payload names the live segments, makes documents and rows visible together. A writer
//! that is killed leaves files that the next one sweeps away.

use crate::documents::Document;
use crate::segment::{Durability, Input, build};
use crate::snapshot::{Index, Manifest};
use crate::{Error, Result, Shape, Snapshot};
use retreever_tree::Assignments;
use std::fs;
use tantivy::indexer::NoMergePolicy;
use tantivy::{IndexWriter, Term};

/// Numbers of rows kept in memory before they become a segment: 1 GiB.
const PENDING: usize = 1 << 28;
/// Memory that the store gathers documents in.
const ARENA: usize = 64 << 20;
/// The longest id that can be looked up.
const LONGEST_ID: usize = 1000;

/// The one writer of an index.
pub struct Writer {
    index: Index,
    store: IndexWriter,
    manifest: Manifest,
    rows: Vec<f32>,
    sequence: Vec<u64>,
    failed: bool,
}

impl Writer {
    /// Takes the lock. `first` is the manifest of an index without a commit.
    pub(crate) fn open(index: Index, first: Manifest) -> Result<Self> {
        let documents = index.documents();
        let store: IndexWriter =
            index.store().writer_with_num_threads(1, ARENA).map_err(|error| match error {
                tantivy::TantivyError::LockFailure(tantivy::directory::error::LockError::LockBusy, _) => {
                    Error::Locked(index.dir().to_owned())
                }
                error => Error::store("open for writing", &documents)(error),
            })?;
        store.set_merge_policy(Box::new(NoMergePolicy));
        let manifest = match index.manifest() {
            Ok((manifest, _)) => manifest,
            Err(Error::NotAnIndex(_)) => first,
            Err(error) => return Err(error),
        };
        let writer = Self { index, store, manifest, rows: Vec::new(), sequence: Vec::new(), failed: false };
        writer.sweep();
        Ok(writer)
    }

    /// Adds documents with their assignments; one whose id is there already is replaced.
    pub fn add(&mut self, documents: &[Document], assignments: &Assignments) -> Result<()> {
        if documents.len() != assignments.len() {
            return Err(Error::Count { documents: documents.len(), assignments: assignments.len() });
        }
        let shape = Shape { depth: assignments.depth(), nesting: assignments.nesting() };
        if shape != self.manifest.shape {
            let (expected, received) = (self.manifest.shape.to_string(), shape.to_string());
            return Err(Error::Tree { expected, received });
        }
        if let Some(bad) = documents.iter().find(|d| d.id.is_empty() || d.id.len() > LONGEST_ID) {
            return Err(Error::Id(bad.id.clone()));
        }
        self.attempt(|writer| {
            for (document, row) in documents.iter().zip(assignments.iter()) {
                writer.delete_id(&document.id);
                let sequence = writer.manifest.next_sequence;
                let packed = writer.index.fields().pack(document, sequence);
                let path = writer.index.documents();
                writer.store.add_document(packed).map_err(Error::store("add a document", &path))?;
                writer.manifest.next_sequence += 1;
                writer.push(sequence, row.as_slice())?;
            }
            Ok(())
        })
    }

    /// Deletes the documents of these ids, where there are any.
    pub fn delete<'a>(&mut self, ids: impl IntoIterator<Item = &'a str>) -> Result<()> {
        self.attempt(|writer| {
            ids.into_iter().for_each(|id| writer.delete_id(id));
            Ok(())
        })
    }

    /// Makes everything since the last commit visible at once, and safe on the disk.
    pub fn commit(&mut self) -> Result<()> {
        self.attempt(|writer| {
            writer.flush()?;
            writer.publish()
        })
    }

    /// Commits, then rewrites the segments without the rows of deleted documents.
    pub fn compact(&mut self) -> Result<()> {
        self.commit()?;
        self.attempt(|writer| {
            let snapshot = writer.index.snapshot()?;
            let path = writer.index.documents();
            let ids = writer.index.store().searchable_segment_ids().map_err(Error::store("read", &path))?;
            if ids.len() > 1 || snapshot.searcher.segment_readers().iter().any(|s| s.has_deletes()) {
                writer.store.merge(&ids).wait().map_err(Error::store("merge", &path))?;
            }
            if snapshot.segments.len() <= 1 && snapshot.segments().all(|s| s.len() == snapshot.len()) {
                return Ok(());
            }
            writer.manifest.segments.clear();
            writer.copy(&snapshot)?;
            writer.flush()?;
            writer.publish()
        })
    }

    /// Pushes every live row, in the order of addition.
    fn copy(&mut self, snapshot: &Snapshot) -> Result<()> {
        for (segment, live) in snapshot.segments().zip(&snapshot.live) {
            for (sequence, row) in segment.sequence().iter().zip(segment.rows_by_rank()?) {
                if live[row as usize / 64] >> (row % 64) & 1 == 1 {
                    self.push(*sequence, &segment.row(row as usize)?)?;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, sequence: u64, row: &[f32]) -> Result<()> {
        self.rows.extend_from_slice(row);
        self.sequence.push(sequence);
        if self.rows.len() >= PENDING { self.flush() } else { Ok(()) }
    }

    fn delete_id(&self, id: &str) {
        self.store.delete_term(Term::from_field_text(self.index.fields().id, id));
    }

    /// Writes the rows in memory as a segment, which the next commit will name.
    fn flush(&mut self) -> Result<()> {
        if self.sequence.is_empty() {
            return Ok(());
        }
        let name = format!("{:010}.segment", self.manifest.next_segment);
        let input = Input { shape: self.manifest.shape, rows: &self.rows, sequence: &self.sequence };
        build(&self.index.assignments().join(&name), input, Durability::Synced)?;
        self.manifest.next_segment += 1;
        self.manifest.segments.push(name);
        self.rows.clear();
        self.sequence.clear();
        Ok(())
    }

    fn publish(&mut self) -> Result<()> {
        let assignments = self.index.assignments();
        let synced = fs::File::open(&assignments).and_then(|dir| dir.sync_all());
        synced.map_err(Error::io("write to the disk", &assignments))?;
        let path = self.index.documents();
        let failed = || Error::store("commit", &path);
        let mut commit = self.store.prepare_commit().map_err(failed())?;
        let payload = serde_json::to_string(&self.manifest).expect("a manifest is JSON");
        commit.set_payload(&payload);
        commit.commit().map_err(failed())?;
        self.sweep();
        Ok(())
    }

    /// Removes segment files that the last commit does not name. Readers that have them open keep them.
    fn sweep(&self) {
        let named = |name: &str| self.manifest.segments.iter().any(|segment| segment == name);
        let Ok(entries) = fs::read_dir(self.index.assignments()) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if (name.ends_with(".segment") || name.ends_with(".partial")) && !named(&name) {
                // One that stays is swept by the next writer.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// After a failure nobody knows what the store has taken: only a new writer starts from the last commit.
    fn attempt(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.failed {
            return Err(Error::GivenUp);
        }
        let result = work(self);
        self.failed = result.is_err();
        result
    }
}
