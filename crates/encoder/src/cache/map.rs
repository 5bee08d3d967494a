//! Files mapped into memory: the one place outside the kernels with `unsafe` code.
#![allow(unsafe_code)]

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::ops::Deref;

/// The bytes of a file as they were when it was mapped.
///
/// Everything that is mapped here is written once: fetched files are renamed into place when they are whole,
/// and cache files only grow. Who shortens such a file while it is mapped ends the process with a signal, as
/// with any mapped file.
#[derive(Debug)]
pub(crate) struct Map(Option<Mmap>);

impl Map {
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // An empty file cannot be mapped.
        if file.metadata()?.len() == 0 {
            return Ok(Self(None));
        }
        // SAFETY: the bytes are only ever read as bytes and checked before they mean anything; files that are
        // mapped here are not changed in place (see above).
        Ok(Self(Some(unsafe { Mmap::map(file)? })))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
