//! The two files of a cache: opening, reading what others wrote, appending, and verifying.

use super::embeddings::CachedEmbeddings;
use super::map::Map;
use super::record::{BLOCK, Entry, Key, checksum, texts_header, tokens_header, write_record};
use crate::EncoderError;
use crate::error::io;
use rayon::prelude::*;
use retreever_data::Ragged;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

pub(super) struct Store {
    dir: PathBuf,
    width: usize,
    tokens: File,
    texts: File,
    map: Arc<Map>,
    entries: HashMap<Key, Entry>,
    /// Records whose checksum this process has seen to be right.
    sound: HashSet<Key>,
    /// How much of `texts.bin` has been read.
    read: u64,
    /// Where in `texts.bin` entries stand whose checksum is wrong.
    damaged: Vec<u64>,
}

/// Held while writing; the system frees it when the process ends, however it ends.
pub(super) struct WriteLock {
    _file: File,
}

impl Store {
    pub(super) fn open(dir: PathBuf, width: usize) -> Result<Self, EncoderError> {
        fs::create_dir_all(&dir).map_err(io("make", &dir))?;
        let open = |name: &str| {
            let path = dir.join(name);
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            options.open(&path).map_err(io("open", &path))
        };
        let (tokens, texts) = (open("tokens.bin")?, open("texts.bin")?);
        let map = Arc::new(Map::new(&tokens).map_err(io("map", &dir))?);
        let (entries, sound) = (HashMap::new(), HashSet::new());
        let mut store = Self { dir, width, tokens, texts, map, entries, sound, read: 0, damaged: Vec::new() };
        store.refresh()?;
        Ok(store)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.sound.contains(key)
    }

    /// Reads the entries that were written since, by this process or another.
    pub(super) fn refresh(&mut self) -> Result<(), EncoderError> {
        self.map = Arc::new(Map::new(&self.tokens).map_err(io("map", &self.dir))?);
        let path = self.dir.join("texts.bin");
        let from = self.read.max(BLOCK as u64);
        let mut bytes = Vec::new();
        self.texts.seek(SeekFrom::Start(from)).map_err(io("read", &path))?;
        self.texts.read_to_end(&mut bytes).map_err(io("read", &path))?;
        let (blocks, _) = bytes.as_chunks::<BLOCK>();
        for (number, block) in blocks.iter().enumerate() {
            let Some((key, entry)) = Entry::read(block) else {
                if *block != [0; BLOCK] {
                    self.damaged.push(from + (number * BLOCK) as u64);
                }
                continue;
            };
            let fits = entry.tokens > 0
                && entry.start.is_multiple_of(BLOCK as u64)
                && entry
                    .start
                    .checked_add(entry.record_len(self.width))
                    .is_some_and(|end| end <= self.map.len() as u64);
            if fits {
                self.sound.remove(&key);
                self.entries.insert(key, entry);
            }
        }
        self.read = from + (blocks.len() * BLOCK) as u64;
        Ok(())
    }

    /// Waits until no other process writes; `waiting` is called first if one does.
    pub(super) fn lock(&self, waiting: &mut dyn FnMut()) -> Result<WriteLock, EncoderError> {
        let path = self.dir.join("lock");
        let file = File::create(&path).map_err(io("make", &path))?;
        if file.try_lock().is_err() {
            waiting();
            file.lock().map_err(io("lock", &path))?;
        }
        Ok(WriteLock { _file: file })
    }

    /// Makes both files ready to be appended to, whatever a killed writer or a failing disk left: a part of an entry is
    /// cut off, damaged entries become zeros, and bytes that no entry names are skipped. (`tokens.bin` is never made
    /// shorter: others may have it mapped.) To be called by the writer, after [`Store::refresh`]. Returns how many
    /// entries were damaged.
    pub(super) fn drop_torn_tail(&mut self) -> Result<usize, EncoderError> {
        let (texts_path, tokens_path) = (self.dir.join("texts.bin"), self.dir.join("tokens.bin"));
        self.texts.set_len(self.read).map_err(io("write", &texts_path))?;
        let end = self.tokens.metadata().map_err(io("read", &tokens_path))?.len().max(BLOCK as u64);
        self.tokens.set_len(end.next_multiple_of(BLOCK as u64)).map_err(io("write", &tokens_path))?;
        for (file, header, path) in [
            (&mut self.texts, texts_header(), &texts_path),
            (&mut self.tokens, tokens_header(self.width), &tokens_path),
        ] {
            let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&header));
            written.map_err(io("write", path))?;
        }
        let damaged = std::mem::take(&mut self.damaged);
        for &at in &damaged {
            let erased = self.texts.seek(SeekFrom::Start(at)).and_then(|_| self.texts.write_all(&[0; BLOCK]));
            erased.map_err(io("write", &texts_path))?;
        }
        Ok(damaged.len())
    }

    /// Checks the records of these keys that have not been checked, and forgets those that are damaged; returns how
    /// many were.
    pub(super) fn verify(&mut self, keys: &[Key]) -> usize {
        let new = |key: &&Key| !self.sound.contains(*key) && self.entries.contains_key(*key);
        let unchecked: HashSet<Key> = keys.iter().filter(new).copied().collect();
        let verdicts: Vec<(Key, bool)> = unchecked
            .into_par_iter()
            .map(|key| {
                (key, self.record(&self.entries[&key]).is_some_and(|record| self.is_sound(&key, record)))
            })
            .collect();
        let mut damaged = 0;
        for (key, sound) in verdicts {
            if sound {
                self.sound.insert(key);
            } else {
                self.entries.remove(&key);
                damaged += 1;
            }
        }
        damaged
    }

    fn is_sound(&self, key: &Key, record: &[u8]) -> bool {
        checksum(key, record) == self.entries[key].checksum
    }

    fn record(&self, entry: &Entry) -> Option<&[u8]> {
        let start = usize::try_from(entry.start).ok()?;
        self.map.get(start..start.checked_add(usize::try_from(entry.record_len(self.width)).ok()?)?)
    }

    /// Writes the records of a batch, and then their entries.
    pub(super) fn append(
        &mut self,
        keys: impl Iterator<Item = Key>,
        batch: &Ragged,
    ) -> Result<(), EncoderError> {
        let (texts_path, tokens_path) = (self.dir.join("texts.bin"), self.dir.join("tokens.bin"));
        let start = self.tokens.seek(SeekFrom::End(0)).map_err(io("write", &tokens_path))?;
        let (mut records, mut entries) = (Vec::new(), Vec::new());
        for (item, key) in keys.enumerate() {
            let from = records.len();
            let tokens = batch.item(item);
            write_record(&batch.pooled()[item * self.width..][..self.width], tokens, &mut records);
            let mut entry =
                Entry { start: start + from as u64, tokens: (tokens.len() / self.width) as u32, checksum: 0 };
            let len = entry.record_len(self.width) as usize;
            entry.checksum = checksum(&key, &records[from..][..len]);
            entry.write(&key, &mut entries);
        }
        self.tokens.write_all(&records).map_err(io("write", &tokens_path))?;
        self.texts.seek(SeekFrom::End(0)).map_err(io("write", &texts_path))?;
        self.texts.write_all(&entries).map_err(io("write", &texts_path))
    }

    /// The embeddings of these keys, all of which are there.
    pub(super) fn embeddings(&mut self, keys: &[Key]) -> Result<CachedEmbeddings, EncoderError> {
        self.verify(keys);
        let mut items = Vec::with_capacity(keys.len());
        for key in keys {
            // Written by this process a moment ago, or verified: damage in between is the disk's.
            let entry = self.entries.get(key).ok_or_else(|| EncoderError::Malformed {
                path: self.dir.join("tokens.bin"),
                reason:
                    "what was just written reads back differently: the disk is failing, or another program \
                         writes to this file"
                        .into(),
            })?;
            items.push((entry.start as usize, entry.tokens as usize));
        }
        Ok(CachedEmbeddings::new(Arc::clone(&self.map), self.width, items))
    }
}
