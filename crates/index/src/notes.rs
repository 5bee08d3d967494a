//! Notes: bytes that belong to a commit, such as what was found out about its documents. The index does not look inside.
//!
//! They are a sealed file beside the segments, named by the manifest. A snapshot holds its file open, so later commits do
//! not take it away.

use crate::positioned::read_exact_at;
use crate::sealed::{Seal, Sealer, in_place};
use crate::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes notes, on the disk when the call returns. Whatever fails, no file of that name is left behind.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    in_place(path, |partial| {
        let mut sealer = Sealer::default();
        sealer.update(bytes);
        let mut file = File::create(partial).map_err(Error::io("create", partial))?;
        let written = file.write_all(bytes).and_then(|()| file.write_all(&sealer.finish()));
        written.map_err(Error::io("write", partial))?;
        file.sync_all().map_err(Error::io("write to the disk", partial))
    })
}

/// An open file of notes.
#[derive(Debug)]
pub(crate) struct Notes {
    path: PathBuf,
    file: File,
}

impl Notes {
    /// Opens the file; nothing is checked yet.
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let file = File::open(&path).map_err(Error::io("open", &path))?;
        Ok(Self { path, file })
    }

    /// The bytes, all of them checked.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        let failed = Error::io("read", &self.path);
        let length = self.file.metadata().map_err(&failed)?.len();
        let mut bytes = vec![0; length as usize];
        read_exact_at(&self.file, &mut bytes, 0).map_err(&failed)?;
        let seal = Seal::open(&self.path, &bytes)?;
        seal.verify(&bytes)?;
        bytes.truncate(seal.length());
        Ok(bytes)
    }
}
