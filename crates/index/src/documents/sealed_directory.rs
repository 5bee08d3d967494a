//! A tantivy directory whose files are sealed: no byte is believed before its block was checked.
//!
//! Files that tantivy writes once carry the table of [`crate::sealed`] behind their payload; the two small
//! files it replaces atomically are sealed in the same way and checked whole when read. Locks, watching and
//! mapping are left to tantivy's own directory underneath.

use crate::sealed::{Seal, Sealer};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

/// Tantivy's own directory of mapped files, with a seal on each file.
#[derive(Clone, Debug)]
pub(crate) struct SealedDirectory {
    inner: MmapDirectory,
    root: PathBuf,
}

impl SealedDirectory {
    pub(crate) fn open(root: &Path) -> Result<Self, tantivy::directory::error::OpenDirectoryError> {
        Ok(Self { inner: MmapDirectory::open(root)?, root: root.to_owned() })
    }
}

/// An error of ours in the shape tantivy passes on.
fn damaged(error: crate::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// A sealed file open for reading.
#[derive(Debug)]
struct Sealed {
    bytes: OwnedBytes,
    seal: Seal,
}

impl HasLen for Sealed {
    fn len(&self) -> usize {
        self.seal.length()
    }
}

impl FileHandle for Sealed {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        self.seal.read(&self.bytes, range.clone()).map_err(damaged)?;
        Ok(self.bytes.slice(range))
    }
}

/// A file that is sealed when tantivy is done with it.
struct SealingWriter {
    inner: WritePtr,
    sealer: Sealer,
}

impl Write for SealingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sealer.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl TerminatingWrite for SealingWriter {
    fn terminate_ref(&mut self, token: AntiCallToken) -> io::Result<()> {
        self.inner.write_all(&std::mem::take(&mut self.sealer).finish())?;
        self.inner.terminate_ref(token)
    }
}

impl Directory for SealedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let failed = |error| OpenReadError::wrap_io_error(error, path.to_owned());
        let handle = self.inner.get_file_handle(path)?;
        let bytes = handle.read_bytes(0..handle.len()).map_err(failed)?;
        let seal = Seal::open(&self.root.join(path), &bytes).map_err(damaged).map_err(failed)?;
        Ok(Arc::new(Sealed { bytes, seal }))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let inner = self.inner.open_write(path)?;
        Ok(io::BufWriter::new(Box::new(SealingWriter { inner, sealer: Sealer::default() })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let failed = |error| OpenReadError::wrap_io_error(error, path.to_owned());
        let bytes = self.inner.atomic_read(path)?;
        let seal = Seal::open(&self.root.join(path), &bytes).map_err(damaged).map_err(failed)?;
        let payload = seal.read(&bytes, 0..seal.length()).map_err(damaged).map_err(failed)?;
        Ok(payload.to_vec())
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let mut sealer = Sealer::default();
        sealer.update(data);
        let mut sealed = data.to_vec();
        sealed.extend(sealer.finish());
        self.inner.atomic_write(path, &sealed)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.inner.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}
