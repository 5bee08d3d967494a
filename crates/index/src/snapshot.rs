//! An index, and the snapshots that readers search: a generation of documents and segments that stays as it
//! was, whatever writers do meanwhile.

use crate::documents::{Document, Fields, SealedDirectory};
use crate::manifest::Manifest;
use crate::notes::Notes;
use crate::segment::{Segment, Shape};
use crate::writer::Writer;
use crate::{Error, Hit, Result};
use retreever_tree::Routing;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use tantivy::{DocAddress, ReloadPolicy, Searcher};

/// An index: a directory of documents and segments.
#[derive(Clone)]
pub struct Index {
    dir: PathBuf,
    store: tantivy::Index,
    fields: Fields,
    shape: Shape,
    routing: Routing,
    open: Arc<Mutex<HashMap<String, Weak<Segment>>>>,
}

impl Index {
    /// Makes an empty index for assignments of this shape. `routing` places every document that is ever added, and opens
    /// leaves for queries; it cannot be changed later. The directory may exist, but hold no index.
    pub fn create(dir: &Path, shape: Shape, routing: Routing) -> Result<Self> {
        routing.check(shape.depth).map_err(Error::Routing)?;
        let documents = dir.join("documents");
        match Self::open(dir) {
            Ok(_) => return Err(Error::Exists(dir.to_owned())),
            // What an interrupted `create` left: a store without a first commit.
            Err(Error::NotAnIndex(_)) if documents.exists() => {
                fs::remove_dir_all(&documents).map_err(Error::io("remove", &documents))?;
            }
            Err(Error::NotAnIndex(_)) => {}
            Err(error) => return Err(error),
        }
        for path in [&documents, &dir.join("assignments")] {
            fs::create_dir_all(path).map_err(Error::io("create", path))?;
        }
        let (schema, fields) = Fields::schema();
        let directory =
            SealedDirectory::open(&documents).map_err(|e| Error::store("open", &documents)(e.into()))?;
        let store = tantivy::Index::create(directory, schema, tantivy::IndexSettings::default())
            .map_err(Error::store("create", &documents))?;
        let index = Self { dir: dir.to_owned(), store, fields, shape, routing, open: Arc::default() };
        index.writer()?.commit()?;
        Ok(index)
    }

    /// Opens an index as its last commit left it.
    pub fn open(dir: &Path) -> Result<Self> {
        let documents = dir.join("documents");
        if !documents.join("meta.json").exists() {
            return Err(Error::NotAnIndex(dir.to_owned()));
        }
        let directory =
            SealedDirectory::open(&documents).map_err(|e| Error::store("open", &documents)(e.into()))?;
        let store = tantivy::Index::open(directory).map_err(Error::store("open", &documents))?;
        let damaged = |what: &str| Error::damaged(&documents.join("meta.json"), 0, what);
        let fields =
            Fields::of(&store.schema()).ok_or_else(|| damaged("the fields are not those of an index"))?;
        let meta = store.load_metas().map_err(Error::store("open", &documents))?;
        let payload = meta.payload.ok_or_else(|| Error::NotAnIndex(dir.to_owned()))?;
        let Manifest { shape, routing, .. } = Manifest::read(dir, &payload)?;
        Ok(Self { dir: dir.to_owned(), store, fields, shape, routing, open: Arc::default() })
    }

    /// What kind of tree the index is of.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How documents are placed and leaves are opened.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Takes the right to write; another writer, here or in another process, is refused meanwhile.
    pub fn writer(&self) -> Result<Writer> {
        Writer::open(self.clone(), Manifest::new(self.shape, self.routing.clone()))
    }

    /// The last committed generation, for searching.
    pub fn snapshot(&self) -> Result<Snapshot> {
        // A writer may replace files between two looks at them; a quiet moment comes soon.
        let mut attempts = 0;
        loop {
            match self.try_snapshot() {
                Ok(Some(snapshot)) => return Ok(snapshot),
                Err(error) if attempts >= 10 => return Err(error),
                Ok(None) | Err(Error::Io { .. }) => attempts += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads every byte of the last committed generation; returns what was read.
    pub fn verify(&self) -> Result<Verified> {
        let snapshot = self.snapshot()?;
        snapshot.segments.iter().try_for_each(|segment| segment.verify())?;
        snapshot.notes()?;
        let documents = self.documents();
        let damaged = self.store.validate_checksum().map_err(Error::store("check", &documents))?;
        match damaged.iter().min() {
            Some(file) => Err(Error::damaged(&documents.join(file), 0, "the checksum does not match")),
            None => Ok(Verified { documents: snapshot.len(), segments: snapshot.segments.len() }),
        }
    }

    /// Nothing if a commit came in between.
    fn try_snapshot(&self) -> Result<Option<Snapshot>> {
        let documents = self.documents();
        let failed = |action| Error::store(action, &documents);
        let (manifest, before) = self.manifest()?;
        let reader = self.store.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        let reader: tantivy::IndexReader = reader.map_err(failed("open"))?;
        let segments = self.held(&manifest.segments)?;
        let notes =
            manifest.notes.as_ref().map(|name| Notes::open(self.assignments().join(name))).transpose()?;
        let (_, after) = self.manifest()?;
        if before != after {
            return Ok(None);
        }
        let index = Self { routing: manifest.routing, ..self.clone() };
        Snapshot::new(index, segments, notes, reader.searcher()).map(Some)
    }

    /// The manifest of the last commit, and the commit's number.
    pub(crate) fn manifest(&self) -> Result<(Manifest, u64)> {
        let documents = self.documents();
        let meta = self.store.load_metas().map_err(Error::store("read the last commit", &documents))?;
        let payload = meta.payload.ok_or_else(|| Error::NotAnIndex(self.dir.clone()))?;
        Ok((Manifest::read(&self.dir, &payload)?, meta.opstamp))
    }

    fn segment(&self, name: &str) -> Result<Arc<Segment>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(segment) = open.get(name).and_then(Weak::upgrade) {
            return Ok(segment);
        }
        let path = self.assignments().join(name);
        let segment = Arc::new(Segment::open(&path)?);
        if segment.shape() != self.shape {
            return Err(Error::damaged(&path, 12, format!("a tree with {}", segment.shape())));
        }
        open.retain(|_, segment| segment.strong_count() > 0);
        open.insert(name.to_owned(), Arc::downgrade(&segment));
        Ok(segment)
    }

    /// These segments, open.
    pub(crate) fn held(&self, segments: &[String]) -> Result<Vec<Arc<Segment>>> {
        segments.iter().map(|name| self.segment(name)).collect()
    }

    pub(crate) fn documents(&self) -> PathBuf {
        self.dir.join("documents")
    }

    pub(crate) fn assignments(&self) -> PathBuf {
        self.dir.join("assignments")
    }

    pub(crate) fn store(&self) -> &tantivy::Index {
        &self.store
    }

    pub(crate) fn fields(&self) -> Fields {
        self.fields
    }
}

/// What [`Index::verify`] has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Live documents.
    pub documents: usize,
    /// Segments of assignments.
    pub segments: usize,
}

/// One generation of an index, for searching.
pub struct Snapshot {
    pub(crate) index: Index,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) searcher: Searcher,
    /// One bit a row of each segment: whether its document is there.
    pub(crate) live: Vec<Vec<u64>>,
    /// The document of each row, as [`pack`]ed addresses; meaningless where there is none.
    addresses: Vec<Vec<u64>>,
    /// The segment and row of each document of each tantivy segment, packed alike.
    places: Vec<Vec<u64>>,
    count: usize,
    notes: Option<Notes>,
    /// See [`Snapshot::count`].
    pub(crate) before: OnceLock<Vec<usize>>,
    /// See [`Snapshot::average`].
    pub(crate) average: OnceLock<Vec<f32>>,
}

const NOWHERE: u64 = u64::MAX;

fn pack(high: usize, low: usize) -> u64 {
    (high as u64) << 32 | low as u64
}

fn unpack(packed: u64) -> (usize, usize) {
    ((packed >> 32) as usize, (packed & u64::from(u32::MAX)) as usize)
}

impl Snapshot {
    fn new(
        index: Index,
        segments: Vec<Arc<Segment>>,
        notes: Option<Notes>,
        searcher: Searcher,
    ) -> Result<Self> {
        let documents = index.documents();
        let mut live: Vec<Vec<u64>> = segments.iter().map(|s| vec![0; s.len().div_ceil(64)]).collect();
        let mut addresses: Vec<Vec<u64>> = segments.iter().map(|s| vec![NOWHERE; s.len()]).collect();
        let rows: Vec<Vec<u32>> = segments.iter().map(|s| s.rows_by_rank()).collect::<Result<_>>()?;
        let (mut places, mut count) = (Vec::new(), 0);
        for (number, reader) in searcher.segment_readers().iter().enumerate() {
            let mut here = vec![NOWHERE; reader.max_doc() as usize];
            let column = reader.fast_fields().u64("sequence").map_err(Error::store("read", &documents))?;
            let column = column.first_or_default_col(u64::MAX);
            let mut likely = 0;
            for doc in reader.doc_ids_alive() {
                let sequence = column.get_val(doc);
                let find = |segment: usize| Some((segment, segments.get(segment)?.rank(sequence)?));
                let (segment, rank) =
                    find(likely).or_else(|| (0..segments.len()).find_map(find)).ok_or_else(|| {
                        Error::damaged(&documents, 0, format!("document {sequence} has no assignment"))
                    })?;
                likely = segment;
                let row = rows[segment][rank] as usize;
                live[segment][row / 64] |= 1 << (row % 64);
                addresses[segment][row] = pack(number, doc as usize);
                here[doc as usize] = pack(segment, row);
                count += 1;
            }
            places.push(here);
        }
        Ok(Self {
            index,
            segments,
            searcher,
            live,
            addresses,
            places,
            count,
            notes,
            before: OnceLock::new(),
            average: OnceLock::new(),
        })
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What kind of tree the index is of.
    pub fn shape(&self) -> Shape {
        self.index.shape()
    }

    /// How documents are placed and leaves are opened.
    pub fn routing(&self) -> &Routing {
        self.index.routing()
    }

    /// The notes of this generation, if any were ever set: see [`Writer::set_notes`]. Reads and checks the file each time.
    pub fn notes(&self) -> Result<Option<Vec<u8>>> {
        self.notes.as_ref().map(Notes::read).transpose()
    }

    /// The segments of this generation.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &Segment> {
        self.segments.iter().map(|segment| &**segment)
    }

    /// Every document, in no order of fit: segment by segment, leaf by leaf. Their scores say nothing.
    pub fn hits(&self) -> impl Iterator<Item = Hit> {
        self.segments().enumerate().flat_map(move |(number, segment)| {
            let rows = (0..segment.len()).filter(move |row| self.is_live(number, *row));
            rows.map(move |row| Hit::at(0.0, number, row))
        })
    }

    /// The document of a hit.
    pub fn document(&self, hit: &Hit) -> Result<Document> {
        let (number, doc) = unpack(self.addresses[hit.segment][hit.row]);
        let document = self.searcher.doc(DocAddress::new(number as u32, doc as u32));
        let document = document.map_err(Error::store("read a document", &self.index.documents()))?;
        Ok(self.index.fields().unpack(&document))
    }

    /// Whether the document of a row is there.
    pub(crate) fn is_live(&self, segment: usize, row: usize) -> bool {
        self.live[segment][row / 64] >> (row % 64) & 1 == 1
    }

    /// The segment and row of a document of the store, if it is there.
    pub(crate) fn row_of(&self, address: DocAddress) -> Option<(usize, usize)> {
        let packed = self.places[address.segment_ord as usize][address.doc_id as usize];
        (packed != NOWHERE).then(|| unpack(packed))
    }
}
