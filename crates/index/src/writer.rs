//! Adding, replacing, deleting, compacting: everything that makes a new generation.
//!
//! Rows and notes are written to files first, under names that no commit mentions; then one commit of the
//! document store, whose payload names the live files, makes documents, rows and notes visible together. A writer
//! that is killed leaves files that the next one sweeps away. After a commit the writer merges what [`plan`] says: a
//! little at once, much in the background, to be adopted by a later commit.

use crate::compaction::{Merge, Size, live_rows, plan};
use crate::documents::Document;
use crate::manifest::Manifest;
use crate::segment::{Durability, Input, Segment, build};
use crate::snapshot::Index;
use crate::{Error, Result, Shape, notes};
use retreever_tree::Assignments;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tantivy::directory::error::LockError;
use tantivy::index::SegmentId;
use tantivy::indexer::NoMergePolicy;
use tantivy::{IndexWriter, TantivyError, Term};

/// Numbers of rows kept in memory before they become a segment: 1 GiB.
const PENDING: usize = 1 << 28;
/// Numbers of rows that are merged at once, before a commit returns: a fraction of a second.
const AT_ONCE: usize = 1 << 24;
/// Documents of the store that are merged at once.
const STORE_AT_ONCE: usize = 20_000;
/// With so many segments a commit waits for a merge, however large it is.
const TOO_MANY: usize = 48;
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
    merge: Option<Merge>,
    /// See [`AT_ONCE`].
    at_once: usize,
    /// Segments of the store that are being merged, or were.
    merging: Vec<SegmentId>,
    /// The segments of the last commit, so that they are not opened for each.
    held: Vec<Arc<Segment>>,
    failed: bool,
}

/// Takes the lock of an index. A process that is just being started may hold what its parent has given back already, so a
/// lock counts as taken only if it stays so.
fn lock(index: &Index) -> Result<IndexWriter> {
    let mut attempts = 0;
    loop {
        match index.store().writer_with_num_threads(1, ARENA) {
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) if attempts < 10 => {
                attempts += 1;
                thread::sleep(Duration::from_millis(20));
            }
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => {
                return Err(Error::Locked(index.dir().to_owned()));
            }
            opened => return opened.map_err(Error::store("open for writing", &index.documents())),
        }
    }
}

impl Writer {
    /// Takes the lock. `first` is the manifest of an index without a commit.
    pub(crate) fn open(index: Index, first: Manifest) -> Result<Self> {
        let store = lock(&index)?;
        store.set_merge_policy(Box::new(NoMergePolicy));
        let manifest = match index.manifest() {
            Ok((manifest, _)) => manifest,
            Err(Error::NotAnIndex(_)) => first,
            Err(error) => return Err(error),
        };
        let writer = Self {
            index,
            store,
            manifest,
            rows: Vec::new(),
            sequence: Vec::new(),
            merge: None,
            at_once: AT_ONCE,
            merging: Vec::new(),
            held: Vec::new(),
            failed: false,
        };
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

    /// Sets the notes of the next commit: bytes that the index keeps and does not look into. Later commits keep them until
    /// others are set.
    pub fn set_notes(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.attempt(|writer| {
            let name = writer.next_file("notes");
            notes::write(&writer.index.assignments().join(&name), &bytes)?;
            writer.manifest.notes = Some(name);
            Ok(())
        })
    }

    /// Makes everything since the last commit visible at once, and safe on the disk. Then merges segments where
    /// there are too many of them, or too many rows of deleted documents.
    pub fn commit(&mut self) -> Result<()> {
        self.attempt(|writer| {
            writer.flush()?;
            if writer.merge.as_ref().is_some_and(Merge::is_finished) {
                writer.adopt();
            }
            writer.publish()
        })?;
        // The commit stands, whatever comes of this; after a failure only a new writer knows where it is.
        self.failed = self.tidy().is_err();
        Ok(())
    }

    /// Commits, then rewrites all segments as few, without the rows of deleted documents.
    pub fn compact(&mut self) -> Result<()> {
        self.attempt(|writer| {
            writer.flush()?;
            writer.adopt();
            writer.publish()?;
            let snapshot = writer.index.snapshot()?;
            let ids: Vec<_> = snapshot.searcher.segment_readers().iter().map(|s| s.segment_id()).collect();
            if ids.len() > 1 || snapshot.searcher.segment_readers().iter().any(|s| s.has_deletes()) {
                let path = writer.index.documents();
                writer.store.merge(&ids).wait().map_err(Error::store("merge", &path))?;
            }
            if snapshot.segments.len() <= 1 && snapshot.segments().all(|s| s.len() == snapshot.len()) {
                return Ok(());
            }
            writer.manifest.segments.clear();
            let all: Vec<usize> = (0..snapshot.segments.len()).collect();
            for (sequence, segment, row) in live_rows(&snapshot, &all)? {
                writer.push(sequence, &snapshot.segments[segment].row(row)?)?;
            }
            writer.flush()?;
            writer.publish()
        })
    }

    /// Merges what is worth it, by the policy of [`plan`].
    fn tidy(&mut self) -> Result<()> {
        let live = self.tidy_store()?;
        while self.merge.is_none() || self.manifest.segments.len() > TOO_MANY {
            if self.adopt() {
                self.publish()?;
            }
            if !self.merge_some(live)? {
                break;
            }
        }
        Ok(())
    }

    /// The same for the document store, which has threads of its own; returns how many documents there are.
    fn tidy_store(&mut self) -> Result<usize> {
        let path = self.index.documents();
        let metas = self.index.store().load_metas().map_err(Error::store("read", &path))?.segments;
        let sizes: Vec<Size> = metas
            .iter()
            .map(|meta| Size { rows: meta.max_doc() as usize, live: meta.num_docs() as usize })
            .collect();
        let busy = metas.iter().any(|meta| self.merging.contains(&meta.id()));
        let chosen = if busy { Vec::new() } else { plan(&sizes, usize::MAX) };
        if !chosen.is_empty() {
            self.merging = chosen.iter().map(|place| metas[*place].id()).collect();
            let merge = self.store.merge(&self.merging);
            if chosen.iter().map(|place| sizes[*place].live).sum::<usize>() <= STORE_AT_ONCE {
                merge.wait().map_err(Error::store("merge", &path))?;
            }
        }
        Ok(sizes.iter().map(|size| size.live).sum())
    }

    /// Begins a merge, or makes a small one, if one is worth it. `live` is how many documents there are.
    fn merge_some(&mut self, live: usize) -> Result<bool> {
        let width = self.manifest.shape.width();
        self.held = self.index.held(&self.manifest.segments)?;
        let rows: Vec<usize> = self.held.iter().map(|segment| segment.len()).collect();
        // Which rows are dead is looked up only when that may matter.
        let total: usize = rows.iter().sum();
        let roughly = |rows: &usize| Size { rows: *rows, live: *rows };
        if 3 * total.saturating_sub(live) <= total
            && plan(&rows.iter().map(roughly).collect::<Vec<_>>(), PENDING / width).is_empty()
        {
            return Ok(false);
        }
        let snapshot = self.index.snapshot()?;
        let count = |live: &Vec<u64>| live.iter().map(|word| word.count_ones() as usize).sum();
        let sizes: Vec<Size> = rows
            .iter()
            .zip(&snapshot.live)
            .map(|(rows, live)| Size { rows: *rows, live: count(live) })
            .collect();
        let places = plan(&sizes, PENDING / width);
        if places.is_empty() {
            return Ok(false);
        }
        let inputs = places.iter().map(|place| self.manifest.segments[*place].clone()).collect();
        let path = self.index.assignments().join(self.next_file("segment"));
        let size: usize = places.iter().map(|place| sizes[*place].live * width).sum();
        self.merge = Some(Merge::start(snapshot, places, inputs, path));
        if size > self.at_once || !self.adopt() {
            return Ok(false);
        }
        self.publish()?;
        Ok(true)
    }

    /// Waits for the merge in the background, if there is one; the next commit names what came of it. Whether there
    /// is anything to name.
    fn adopt(&mut self) -> bool {
        let Some((inputs, name)) = self.merge.take().and_then(Merge::finish) else { return false };
        let segments = &mut self.manifest.segments;
        let at = segments.iter().position(|segment| inputs.contains(segment)).unwrap_or(segments.len());
        segments.retain(|segment| !inputs.contains(segment));
        segments.insert(at, name);
        true
    }

    fn next_file(&mut self, extension: &str) -> String {
        self.manifest.next_file += 1;
        format!("{:010}.{extension}", self.manifest.next_file - 1)
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
        let name = self.next_file("segment");
        let Manifest { shape, routing, .. } = &self.manifest;
        let input = Input { shape: *shape, routing, rows: &self.rows, sequence: &self.sequence };
        build(&self.index.assignments().join(&name), input, Durability::Synced)?;
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
        commit.set_payload(&self.manifest.payload());
        commit.commit().map_err(failed())?;
        self.sweep();
        Ok(())
    }

    /// Removes files of segments and notes that the last commit does not name. Readers that have them open keep them.
    fn sweep(&self) {
        let merged = self.merge.as_ref().map(|merge| merge.name.trim_end_matches(".segment"));
        let named = |name: &str| {
            let being_made = merged.is_some_and(|merged| name.starts_with(merged));
            let Manifest { segments, notes, .. } = &self.manifest;
            being_made || segments.iter().chain(notes).any(|named| named == name)
        };
        let Ok(entries) = fs::read_dir(self.index.assignments()) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let ours = [".segment", ".notes", ".partial"].iter().any(|end| name.ends_with(end));
            if ours && !named(&name) {
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

impl Drop for Writer {
    /// A merge must not outlive the lock: the next writer may use its name.
    fn drop(&mut self) {
        if let Some(merge) = self.merge.take() {
            merge.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Query;
    use retreever_tree::{Depth, Nesting, Routing};

    /// Document `n` of 0 to 9, and its row.
    fn document(n: usize) -> (Document, Assignments) {
        let p = n as f32 / 10.0;
        let rows = Assignments::nested(Depth::new(1).unwrap(), vec![p, 1.0 - p]).unwrap();
        (Document::new(format!("d{n}"), format!("text {n}")), rows)
    }

    #[test]
    fn merges_in_the_background_change_nothing_but_files() {
        let dir = tempfile::tempdir().unwrap();
        let shape = Shape { depth: Depth::new(1).unwrap(), nesting: Nesting::Nested };
        let index = Index::create(dir.path(), shape, Routing::same()).unwrap();
        let mut writer = index.writer().unwrap();
        writer.at_once = 0;
        let mut begun = 0;
        for round in 0..40 {
            let (document, row) = document(round % 10);
            writer.add(&[document], &row).unwrap();
            writer.commit().unwrap();
            begun += usize::from(writer.merge.is_some());
            let snapshot = index.snapshot().unwrap();
            assert_eq!(snapshot.len(), 10.min(round + 1));
            let query = document_query();
            let answer = snapshot.search(&Query::new(query.row(0), 1)).unwrap();
            assert_eq!(snapshot.document(&answer.hits[0]).unwrap().id, "d0");
        }
        assert!(begun > 0);
        // What runs is finished by the next commit, or given up with the writer.
        while writer.merge.as_ref().is_some_and(|merge| !merge.is_finished()) {
            std::thread::yield_now();
        }
        writer.commit().unwrap();
        assert!(index.snapshot().unwrap().segments().len() < 20);
        drop(writer);
        assert_eq!(index.verify().unwrap().documents, 10);
        drop(index.writer().unwrap());
        let files = fs::read_dir(dir.path().join("assignments")).unwrap().count();
        assert_eq!(files, index.snapshot().unwrap().segments().len(), "nothing is left behind");
    }

    fn document_query() -> Assignments {
        Assignments::nested(Depth::new(1).unwrap(), vec![0.0, 1.0]).unwrap()
    }
}
