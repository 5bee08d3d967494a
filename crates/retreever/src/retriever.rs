//! The retriever: an encoder, a tree and an index that belong together.
//!
//! On disk it is the index's directory with the tree's directory inside, `tree/`.

use crate::{CachedEncoder, EncoderRecord, Error, refresh_notes};
use retreever_data::{Corpus, Document as Item, Embeddings, Ragged};
use retreever_encoder::{EmbedProgress, Role};
use retreever_index::{Document, Index, Shape, Snapshot};
use retreever_model::{SavedTree, Tree};
use retreever_tree::Assignments;
use std::fs;
use std::path::{Path, PathBuf};

/// Documents encoded and routed at a time.
const CHUNK: usize = 4096;

/// An encoder, a tree and an index.
pub struct Retriever {
    encoder: Option<CachedEncoder>,
    tree: Tree,
    index: Index,
}

/// What is reported while documents are indexed.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// Texts are being encoded.
    Encoding(EmbedProgress),
    /// So many documents are in.
    Indexed {
        /// Documents in the index so far.
        done: usize,
        /// Documents in all.
        of: usize,
    },
}

impl Retriever {
    /// Builds an index of `corpus` in `directory`, which must not be there yet, with the tree saved in `tree`.
    pub fn build(
        directory: &Path,
        tree: &Path,
        encoder: CachedEncoder,
        corpus: &Corpus,
        observer: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        if corpus.is_empty() {
            return Err(Error::NoDocuments);
        }
        Self::write_beside(directory, tree, Some(encoder), |retriever| {
            retriever.write(corpus.items(), observer)
        })
    }

    /// Builds an index of embeddings made elsewhere; each item gets the id at its place.
    pub fn build_from(
        directory: &Path,
        tree: &Path,
        ids: &[String],
        items: &dyn Embeddings,
        observer: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        if ids.len() != items.len() {
            return Err(Error::Count { ids: ids.len(), embeddings: items.len() });
        }
        Self::write_beside(directory, tree, None, |retriever| {
            let assigned =
                retriever.tree.assign(items, |done| observer(Progress::Indexed { done, of: ids.len() }));
            let documents: Vec<Document> = ids.iter().map(|id| Document::new(id.clone(), "")).collect();
            let mut writer = retriever.index.writer()?;
            writer.add(&documents, &assigned)?;
            Ok(writer.commit()?)
        })
    }

    /// Writes a whole index beside its place, then puts it there.
    fn write_beside(
        directory: &Path,
        tree: &Path,
        encoder: Option<CachedEncoder>,
        fill: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        if directory.exists() {
            return Err(Error::Exists(directory.to_owned()));
        }
        let mut name = directory.file_name().unwrap_or_default().to_owned();
        name.push(".writing");
        let beside = directory.with_file_name(name);
        let _ = fs::remove_dir_all(&beside);
        let write = || {
            copy_files(tree, &beside.join("tree"))?;
            let saved = SavedTree::open(&beside.join("tree"))?;
            let config = saved.tree.config();
            let shape = Shape { depth: config.depth, nesting: config.propagation.nesting() };
            if let Some(encoder) = &encoder {
                EncoderRecord::parse(&saved.encoder, &beside.join("tree"))?.check(encoder.encoder())?;
            }
            let index = Index::create(&beside, shape, saved.tree.routing())?;
            let mut retriever = Self { encoder, tree: saved.tree, index };
            fill(&mut retriever)?;
            refresh_notes(&retriever.index)?;
            fs::rename(&beside, directory).map_err(io(directory))?;
            retriever.index = Index::open(directory)?;
            Ok(retriever)
        };
        write().inspect_err(|_: &Error| {
            let _ = fs::remove_dir_all(&beside);
        })
    }

    /// The encoder that the tree saved in `tree` was trained on, fetched first if need be.
    pub fn encoder_of(
        tree: &Path,
        progress: &mut dyn FnMut(retreever_fetch::Progress<'_>),
    ) -> Result<CachedEncoder, Error> {
        let saved = SavedTree::open(tree)?;
        EncoderRecord::parse(&saved.encoder, tree)?.open(progress)?.ok_or(Error::NoEncoder)
    }

    /// Opens an index with the encoder that its tree was trained on, fetching that first if need be.
    pub fn open(
        directory: &Path,
        progress: &mut dyn FnMut(retreever_fetch::Progress<'_>),
    ) -> Result<Self, Error> {
        let index = Index::open(directory)?;
        let saved = SavedTree::open(&directory.join("tree"))?;
        let encoder = EncoderRecord::parse(&saved.encoder, &directory.join("tree"))?.open(progress)?;
        Ok(Self { encoder, tree: saved.tree, index })
    }

    /// Opens an index with an encoder at hand, which must be the one its tree was trained on.
    pub fn open_with(directory: &Path, encoder: CachedEncoder) -> Result<Self, Error> {
        let index = Index::open(directory)?;
        let saved = SavedTree::open(&directory.join("tree"))?;
        EncoderRecord::parse(&saved.encoder, &directory.join("tree"))?.check(encoder.encoder())?;
        Ok(Self { encoder: Some(encoder), tree: saved.tree, index })
    }

    /// The encoder; nothing for embeddings made elsewhere.
    pub fn encoder(&self) -> Option<&CachedEncoder> {
        self.encoder.as_ref()
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The index.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The last committed state of the index, for searching.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(self.index.snapshot()?)
    }

    /// How texts spread over the tree.
    pub fn assign(&self, texts: &[&str], role: Role) -> Result<Assignments, Error> {
        let encoder = self.encoder.as_ref().ok_or(Error::NoEncoder)?.encoder();
        let mut batch = Ragged::new(encoder.width());
        encoder.encode(texts, role, &mut batch)?;
        Ok(self.tree.assign(&batch, |_| ()))
    }

    /// How one query spreads over the tree; the only row is its.
    pub fn route(&self, query: &str) -> Result<Assignments, Error> {
        self.assign(&[query], Role::Query)
    }

    /// Adds documents in one commit; an id that is there already is replaced. Labels are made anew where
    /// the number of documents has changed by more than a tenth.
    pub fn add(&mut self, items: &[Item], observer: &mut dyn FnMut(Progress)) -> Result<(), Error> {
        self.write(items, observer)?;
        refresh_notes(&self.index)
    }

    fn write(&self, items: &[Item], observer: &mut dyn FnMut(Progress)) -> Result<(), Error> {
        let encoder = self.encoder.as_ref().ok_or(Error::NoEncoder)?;
        let mut writer = self.index.writer()?;
        let mut done = 0;
        for some in items.chunks(CHUNK) {
            let texts: Vec<_> = some.iter().map(Item::encoded).collect();
            let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
            let embedded = encoder.embed(&texts, Role::Document, &mut |p| observer(Progress::Encoding(p)))?;
            let assigned = self.tree.assign(&embedded, |_| ());
            let documents: Vec<Document> = some.iter().map(document).collect();
            writer.add(&documents, &assigned)?;
            done += some.len();
            observer(Progress::Indexed { done, of: items.len() });
        }
        Ok(writer.commit()?)
    }

    /// Deletes documents by id in one commit. Labels are made anew where the number of documents has
    /// changed by more than a tenth.
    pub fn delete(&mut self, ids: &[&str]) -> Result<(), Error> {
        let mut writer = self.index.writer()?;
        writer.delete(ids.iter().copied())?;
        writer.commit()?;
        drop(writer);
        refresh_notes(&self.index)
    }
}

/// A document as the index keeps it.
fn document(item: &Item) -> Document {
    Document {
        id: item.id.clone(),
        title: item.title.clone(),
        text: item.text.clone(),
        metadata: item.metadata.clone(),
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(io(to))?;
    for entry in fs::read_dir(from).map_err(io(from))? {
        let path = entry.map_err(io(from))?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            fs::copy(&path, to.join(name)).map_err(io(&path))?;
        }
    }
    Ok(())
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path: PathBuf = path.to_owned();
    move |source| Error::Io { path, source }
}
