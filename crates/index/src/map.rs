//! Memory-mapped files: the one place outside the kernels that needs `unsafe`.
#![allow(unsafe_code)]

use crate::{Error, Result};
use std::fs::File;
use std::path::Path;

/// A file mapped for reading.
#[derive(Debug)]
pub(crate) struct Map(memmap2::Mmap);

impl Map {
    /// Maps the whole file.
    pub(crate) fn new(file: &File, path: &Path) -> Result<Self> {
        // SAFETY: files of an index are written under another name, renamed when complete and never changed
        // afterwards; deleting one leaves the mapping intact. Who edits them in place while they are open
        // breaks the contract of the format.
        let map = unsafe { memmap2::Mmap::map(file) }.map_err(Error::io("map", path))?;
        Ok(Self(map))
    }

    /// Says that a range is read here and there: its neighbours need not come into memory. A hint, no more.
    pub(crate) fn scattered(&self, start: usize, length: usize) {
        #[cfg(unix)]
        let _ = self.0.advise_range(memmap2::Advice::Random, start, length);
        #[cfg(not(unix))]
        let _ = (start, length);
    }
}

impl std::ops::Deref for Map {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
