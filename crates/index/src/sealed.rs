//! Sealed files: a checksum for every block of 4 KiB behind the payload, checked when a block is first read.
//!
//! ```text
//! payload | CRC-32 of each 4096-byte block of it | payload length u64 | block u32 | CRC-32 u32 | "RTSEALv1"
//! ```
//! The last checksum covers the table and the 12 bytes before it. Opening a file checks the table; every
//! block is checked once, before anything in it is believed. So damage is an error where it is met, and an
//! open costs nothing that grows with the payload but the table, a thousandth of it.

use crate::positioned::read_exact_at;
use crate::{Error, Result};
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes a checksum covers.
pub(crate) const BLOCK: usize = 4096;
/// The bytes behind the table.
const TRAILER: usize = 24;
const MAGIC: &[u8; 8] = b"RTSEALv1";

/// The checksums of a payload that is written front to back.
#[derive(Default)]
pub(crate) struct Sealer {
    length: u64,
    open: crc32fast::Hasher,
    table: Vec<u8>,
}

impl Sealer {
    /// Takes the next bytes of the payload.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = BLOCK - (self.length % BLOCK as u64) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.open.update(now);
            self.length += now.len() as u64;
            if self.length.is_multiple_of(BLOCK as u64) {
                self.close_block();
            }
            bytes = later;
        }
    }

    /// What to write behind the payload.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if !self.length.is_multiple_of(BLOCK as u64) {
            self.close_block();
        }
        seal(self.table, self.length)
    }

    fn close_block(&mut self) {
        let crc = std::mem::take(&mut self.open).finalize();
        self.table.extend_from_slice(&crc.to_le_bytes());
    }
}

/// Has a file written under another name, `path` with the extension `partial`, then renames it. Whatever fails, no file of
/// either name is left behind.
pub(crate) fn in_place(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let partial = path.with_extension("partial");
    let written =
        write(&partial).and_then(|()| fs::rename(&partial, path).map_err(Error::io("rename to", path)));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

/// The table and the trailer of a payload of this length.
pub(crate) fn seal(mut table: Vec<u8>, length: u64) -> Vec<u8> {
    table.extend_from_slice(&length.to_le_bytes());
    table.extend_from_slice(&(BLOCK as u32).to_le_bytes());
    let crc = crc32fast::hash(&table);
    table.extend_from_slice(&crc.to_le_bytes());
    table.extend_from_slice(MAGIC);
    table
}

/// The seal of a file: how long the payload is, its checksums, and which blocks have been checked.
#[derive(Debug)]
pub(crate) struct Seal {
    path: PathBuf,
    length: usize,
    checked: Vec<AtomicU64>,
}

impl Seal {
    /// Checks the trailer and the table of a whole file.
    pub(crate) fn open(path: &Path, file: &[u8]) -> Result<Self> {
        let damaged = |what: &str| Error::damaged(path, file.len() as u64, what);
        let trailer = file.len().checked_sub(TRAILER).ok_or_else(|| damaged("too short to be sealed"))?;
        if &file[file.len() - MAGIC.len()..] != MAGIC {
            return Err(damaged("the seal at the end is missing (was the file cut off?)"));
        }
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
        let length = u64::from_le_bytes(file[trailer..trailer + 8].try_into().expect("eight bytes"));
        let blocks = length.div_ceil(BLOCK as u64);
        if length.checked_add(4 * blocks) != Some(trailer as u64) || word(trailer + 8) != BLOCK as u32 {
            return Err(damaged("the sealed length does not fit the file"));
        }
        if crc32fast::hash(&file[length as usize..trailer + 12]) != word(trailer + 12) {
            return Err(damaged("the table of checksums is damaged"));
        }
        let checked = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { path: path.to_owned(), length: length as usize, checked })
    }

    /// The length of the payload.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The bytes at `range` of the payload, every block of them checked now or before.
    pub(crate) fn read<'a>(&self, file: &'a [u8], range: Range<usize>) -> Result<&'a [u8]> {
        if range.start > range.end || range.end > self.length {
            return Err(Error::damaged(&self.path, range.end as u64, "something lies beyond the end"));
        }
        if !range.is_empty() {
            for block in range.start / BLOCK..=(range.end - 1) / BLOCK {
                let (word, bit) = (&self.checked[block / 64], 1 << (block % 64));
                if word.load(Ordering::Relaxed) & bit == 0 {
                    self.check(file, block)?;
                    word.fetch_or(bit, Ordering::Relaxed);
                }
            }
        }
        Ok(&file[range])
    }

    /// As [`Seal::read`], but through the file: what is read once in a while need not stay mapped.
    pub(crate) fn read_apart(&self, map: &[u8], file: &File, range: Range<usize>) -> Result<Vec<u8>> {
        if range.start > range.end || range.end > self.length {
            return Err(Error::damaged(&self.path, range.end as u64, "something lies beyond the end"));
        }
        let start = range.start / BLOCK * BLOCK;
        let end = range.end.next_multiple_of(BLOCK).min(self.length);
        let mut bytes = vec![0; end - start];
        read_exact_at(file, &mut bytes, start as u64).map_err(Error::io("read", &self.path))?;
        for (number, block) in bytes.chunks(BLOCK).enumerate() {
            self.compare(map, start / BLOCK + number, block)?;
        }
        bytes.truncate(range.end - start);
        bytes.drain(..range.start - start);
        Ok(bytes)
    }

    fn check(&self, file: &[u8], block: usize) -> Result<()> {
        let start = block * BLOCK;
        self.compare(file, block, &file[start..self.length.min(start + BLOCK)])
    }

    /// Compares the bytes of a block with its checksum in the table.
    fn compare(&self, file: &[u8], block: usize, bytes: &[u8]) -> Result<()> {
        let entry = self.length + 4 * block;
        if crc32fast::hash(bytes).to_le_bytes() != file[entry..entry + 4] {
            let at = (block * BLOCK) as u64;
            return Err(Error::damaged(&self.path, at, "a block does not match its checksum"));
        }
        Ok(())
    }

    /// Checks every block, whether it was read before or not.
    pub(crate) fn verify(&self, file: &[u8]) -> Result<()> {
        (0..self.length.div_ceil(BLOCK)).try_for_each(|block| self.check(file, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_and_any_cut_is_noticed() {
        for length in [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 17] {
            let payload: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
            let mut sealer = Sealer::default();
            payload.chunks(1000).for_each(|part| sealer.update(part));
            let mut file = payload.clone();
            file.extend(sealer.finish());
            let path = Path::new("x");
            let read = |file: &[u8]| {
                let seal = Seal::open(path, file)?;
                seal.verify(file)?;
                seal.read(file, 0..seal.length()).map(<[u8]>::to_vec)
            };
            assert_eq!(read(&file).unwrap(), payload);
            for at in (0..file.len()).step_by(7).chain(file.len().saturating_sub(60)..file.len()) {
                let mut bad = file.clone();
                bad[at] ^= 0x40;
                assert!(matches!(read(&bad), Err(Error::Damaged { .. })), "byte {at} of {length}");
                assert!(read(&file[..at]).is_err(), "cut at {at} of {length}");
            }
        }
    }
}
