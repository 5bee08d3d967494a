//! The bytes of a cache, all little-endian.
//!
//! `tokens.bin`: 64 bytes of header (8 bytes `RTVTOK01`, 4 bytes width, zeros), then records, each from a multiple
//! of 64 bytes on:
//!
//! | bytes             | what                                        |
//! |-------------------|---------------------------------------------|
//! | 4 * width         | the pooled embedding, single precision      |
//! | 2 * width * count | the token embeddings, half precision        |
//! | to 64             | zeros                                       |
//!
//! `texts.bin`: 64 bytes of header (8 bytes `RTVTXT01`, zeros), then entries of 64 bytes:
//!
//! | bytes | what                                                                |
//! |-------|---------------------------------------------------------------------|
//! | 32    | SHA-256 of the role (`q` or `d`) and the text                       |
//! | 8     | where the record starts in `tokens.bin`                             |
//! | 4     | count of tokens                                                     |
//! | 4     | CRC-32 of the 32 bytes of the key and of the record without padding |
//! | 12    | zeros                                                               |
//! | 4     | CRC-32 of the 60 bytes before                                       |
//!
//! Of two entries for the same text the later counts. The headers are for people: what is used is decided by the
//! checksums.

use crate::Role;
use half::f16;
use sha2::{Digest, Sha256};

/// Records and entries start at multiples of this.
pub(super) const BLOCK: usize = 64;

/// What a text is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn of(text: &str, role: Role) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(match role {
            Role::Query => b"q",
            Role::Document => b"d",
        });
        hasher.update(text.as_bytes());
        Self(hasher.finalize().into())
    }
}

/// Where a text's embeddings lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) start: u64,
    pub(super) tokens: u32,
    pub(super) checksum: u32,
}

impl Entry {
    /// The length of the record, without padding.
    pub(super) fn record_len(&self, width: usize) -> u64 {
        (4 + 2 * u64::from(self.tokens)) * width as u64
    }

    pub(super) fn write(&self, key: &Key, out: &mut Vec<u8>) {
        let from = out.len();
        out.extend(key.0);
        out.extend(self.start.to_le_bytes());
        out.extend(self.tokens.to_le_bytes());
        out.extend(self.checksum.to_le_bytes());
        out.extend([0; 12]);
        let checksum = crc32fast::hash(&out[from..]);
        out.extend(checksum.to_le_bytes());
    }

    /// An entry, unless it is damaged.
    pub(super) fn read(bytes: &[u8; BLOCK]) -> Option<(Key, Self)> {
        let (front, checksum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(front) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let (key, rest) = front.split_first_chunk::<32>()?;
        let (start, rest) = rest.split_first_chunk::<8>()?;
        let (tokens, rest) = rest.split_first_chunk::<4>()?;
        let (checksum, _) = rest.split_first_chunk::<4>()?;
        let entry = Self {
            start: u64::from_le_bytes(*start),
            tokens: u32::from_le_bytes(*tokens),
            checksum: u32::from_le_bytes(*checksum),
        };
        Some((Key(*key), entry))
    }
}

/// Appends a record and its padding.
pub(super) fn write_record(pooled: &[f32], tokens: &[f32], out: &mut Vec<u8>) {
    out.extend(pooled.iter().flat_map(|x| x.to_le_bytes()));
    // A number beyond half precision becomes its largest: embeddings stay finite.
    let (low, high) = (f16::MIN.to_f32(), f16::MAX.to_f32());
    out.extend(tokens.iter().flat_map(|x| f16::from_f32(x.clamp(low, high)).to_le_bytes()));
    out.resize(out.len().next_multiple_of(BLOCK), 0);
}

pub(super) fn checksum(key: &Key, record: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&key.0);
    hasher.update(record);
    hasher.finalize()
}

pub(super) fn tokens_header(width: usize) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    header[..8].copy_from_slice(b"RTVTOK01");
    header[8..12].copy_from_slice(&(width as u32).to_le_bytes());
    header
}

pub(super) fn texts_header() -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    header[..8].copy_from_slice(b"RTVTXT01");
    header
}
