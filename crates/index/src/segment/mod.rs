//! Segments: the assignments of many documents in one immutable file, with codes at every level.
//!
//! Rows lie in the order of their leaf, so the documents of a leaf are neighbours. Each level has four-bit
//! codes with certified errors, the leaves a second plane of them ([`retreever_kernels::codes`]); a sketch of a coarse
//! level serves the approximate search. The rows themselves, in single precision, are read only for the few
//! documents that the codes cannot rule out.

mod build;
mod chunk;
mod codebook;
mod layout;
mod levels;
mod order;
mod scale;
mod sketch;

pub use build::{Durability, Input, build};
pub(crate) use layout::{envelope_level, sketch_level};
pub(crate) use scale::{CLASSES, scale};
pub(crate) use sketch::SketchBook;

use crate::map::Map;
use crate::sealed::Seal;
use crate::{Error, Result};
use layout::{Kind, Layout};
use retreever_kernels::codes::{Codebook, Coded};
use retreever_tree::{Depth, LeafId, Level, Nesting};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What kind of tree the rows are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// How deep it is.
    pub depth: Depth,
    /// Whether coarse levels follow from the leaves.
    pub nesting: Nesting,
}

impl Shape {
    /// How many numbers a row has.
    pub fn width(self) -> usize {
        self.nesting.row_width(self.depth)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nesting = match self.nesting {
            Nesting::Nested => "nested levels",
            Nesting::PerLevel => "levels of their own",
        };
        write!(f, "depth {} and {nesting}", self.depth)
    }
}

/// An open segment.
#[derive(Debug)]
pub struct Segment {
    path: PathBuf,
    map: Map,
    file: File,
    seal: Seal,
    layout: Layout,
    books: Vec<Codebook>,
    /// Which scale classes rows have at each level, one bit each.
    classes: Vec<u64>,
    sketch: SketchBook,
    leaves: Vec<u32>,
    sequence: Vec<u64>,
}

/// The codes of a run of rows at one level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes<'a> {
    pub(crate) scales: &'a [u8],
    errors: &'a [u8],
    /// Errors of a row: two where the level has a second plane.
    stride: usize,
    pub(crate) cells: &'a [u8],
}

impl Codes<'_> {
    /// The error of the first plane of a row.
    #[inline(always)]
    pub(crate) fn error(&self, row: usize) -> f32 {
        error_at(self.errors, row * self.stride)
    }

    /// The errors of the first plane of all rows.
    pub(crate) fn errors(&self, out: &mut Vec<f32>) {
        out.clear();
        let units = self.errors.as_chunks::<2>().0.iter().step_by(self.stride);
        out.extend(units.map(|bytes| error_of(u16::from_le_bytes(*bytes))));
    }
}

/// Both planes of one row, and the error of reading them together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fine<'a> {
    pub(crate) coded: Coded<'a>,
    pub(crate) error: f32,
}

/// An error read back: infinite for the largest unit.
#[inline(always)]
fn error_at(errors: &[u8], index: usize) -> f32 {
    error_of(u16::from_le_bytes([errors[2 * index], errors[2 * index + 1]]))
}

#[inline(always)]
fn error_of(units: u16) -> f32 {
    if units == u16::MAX { f32::INFINITY } else { f32::from(units) / 32768.0 }
}

impl Segment {
    /// Opens a segment: checks the seal, the header and the small tables, and leaves the rest until it is read.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        let map = Map::new(&file, path)?;
        let seal = Seal::open(path, &map)?;
        let header = seal.read(&map, 0..crate::sealed::BLOCK.min(seal.length()))?;
        let layout = Layout::read(path, header)?;
        if layout.end != seal.length() as u64 {
            return Err(Error::damaged(path, layout.end, "the file ends elsewhere than its sections"));
        }
        let mut segment = Self {
            path: path.to_owned(),
            map,
            file,
            seal,
            layout,
            books: Vec::new(),
            classes: Vec::new(),
            sketch: SketchBook::from_numbers(&[]),
            leaves: Vec::new(),
            sequence: Vec::new(),
        };
        for level in segment.layout.shape.depth.levels() {
            let (book, classes) = segment.read_book(level)?;
            segment.books.push(book);
            segment.classes.push(classes);
        }
        let depth = segment.layout.shape.depth;
        let parts = segment.layout.section(Kind::Parts, depth.leaf_level().get() as u8);
        segment.map.scattered(parts.offset as usize, parts.length as usize);
        segment.sketch = SketchBook::from_numbers(&numbers(segment.whole(Kind::SketchBook, 0)?));
        segment.leaves = segment.words(Kind::Leaves)?;
        let sequence = segment.section(Kind::Sequence, 0, 0..segment.len(), 8)?;
        segment.sequence =
            sequence.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        segment.check()?;
        Ok(segment)
    }

    /// Refuses tables that would lead elsewhere than into the segment.
    fn check(&self) -> Result<()> {
        let damaged = |what: &str| Err(Error::damaged(&self.path, 0, what));
        if !self.leaves.is_sorted() || self.leaves.last() != Some(&(self.len() as u32)) {
            return damaged("the rows of the leaves do not add up");
        }
        if !self.sequence.is_sorted_by(|a, b| a < b) {
            return damaged("the sequence numbers do not rise");
        }
        Ok(())
    }

    /// The tree.
    pub fn shape(&self) -> Shape {
        self.layout.shape
    }

    /// How many rows there are, deleted ones too.
    pub fn len(&self) -> usize {
        self.layout.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads and checks every byte.
    pub fn verify(&self) -> Result<()> {
        self.seal.verify(&self.map)
    }

    /// The sequence numbers, rising.
    pub(crate) fn sequence(&self) -> &[u64] {
        &self.sequence
    }

    /// The rank of a sequence number among those of the segment.
    pub(crate) fn rank(&self, sequence: u64) -> Option<usize> {
        let first = *self.sequence.first()?;
        let guess = usize::try_from(sequence.checked_sub(first)?).ok()?;
        if self.sequence.get(guess) == Some(&sequence) {
            return Some(guess);
        }
        self.sequence.binary_search(&sequence).ok()
    }

    /// The row of each rank.
    pub(crate) fn rows_by_rank(&self) -> Result<Vec<u32>> {
        let rows = self.words(Kind::RowOf)?;
        match rows.iter().all(|row| (*row as usize) < self.len()) {
            true => Ok(rows),
            false => Err(Error::damaged(&self.path, 0, "a rank leads to no row")),
        }
    }

    /// The row of a rank.
    pub(crate) fn row_at(&self, rank: usize) -> Result<usize> {
        let bytes = self.section(Kind::RowOf, 0, rank..rank + 1, 4)?;
        let row = u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize;
        match row < self.len() {
            true => Ok(row),
            false => Err(Error::damaged(&self.path, 0, "a rank leads to no row")),
        }
    }

    /// The rank of a row: the order in which rows were added.
    pub(crate) fn rank_of(&self, row: usize) -> Result<usize> {
        let bytes = self.section(Kind::RankOf, 0, row..row + 1, 4)?;
        let rank = u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize;
        match rank < self.len() {
            true => Ok(rank),
            false => Err(Error::damaged(&self.path, 0, "a row has no rank")),
        }
    }

    /// The rows of a leaf.
    pub fn leaf(&self, leaf: LeafId) -> Range<usize> {
        self.leaves[leaf.index()] as usize..self.leaves[leaf.index() + 1] as usize
    }

    /// The leaf of a row.
    pub(crate) fn leaf_of(&self, row: usize) -> LeafId {
        LeafId::new(self.leaves.partition_point(|start| *start as usize <= row) as u32 - 1)
    }

    /// The sum of all rows, number by number; rows of deleted documents count.
    pub(crate) fn sums(&self) -> Result<Vec<f64>> {
        let bytes = self.whole(Kind::Sums, 0)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// For every leaf with rows: the largest number of each node of [`envelope_level`] among them.
    pub(crate) fn envelopes(&self) -> Result<Vec<(LeafId, Vec<f32>)>> {
        let width = envelope_level(self.layout.shape.depth).width();
        let mut out = Vec::with_capacity(self.layout.occupied);
        for leaf in 0..self.leaves.len() - 1 {
            if self.leaves[leaf] < self.leaves[leaf + 1] {
                let bytes = self.section(Kind::Envelope, 0, out.len()..out.len() + 1, 4 * width)?;
                out.push((LeafId::new(leaf as u32), numbers(bytes)));
            }
        }
        Ok(out)
    }

    /// The codebook of a level.
    pub(crate) fn book(&self, level: Level) -> &Codebook {
        &self.books[level.get() - 1]
    }

    /// Which scale classes rows have at a level, one bit each.
    pub(crate) fn classes(&self, level: Level) -> u64 {
        self.classes[level.get() - 1]
    }

    /// The sketch and what its codes stand for.
    pub(crate) fn sketch(&self) -> Result<(&SketchBook, &[u8])> {
        Ok((&self.sketch, self.whole(Kind::Sketch, 0)?))
    }

    /// The first plane of a run of rows.
    pub(crate) fn codes(&self, level: Level, rows: Range<usize>) -> Result<Codes<'_>> {
        let codes = self.codes_of(level, rows.clone(), &[])?;
        self.section(Kind::Cells, level.get() as u8, rows, level.width() / 2)?;
        Ok(codes)
    }

    /// The first plane of a run of rows, of which only `picks`, counted from the first, may be looked at.
    pub(crate) fn codes_of(&self, level: Level, rows: Range<usize>, picks: &[u32]) -> Result<Codes<'_>> {
        let (number, plane) = (level.get() as u8, level.width() / 2);
        let cells = self.layout.section(Kind::Cells, number).offset as usize;
        for pick in picks {
            let start = cells + (rows.start + *pick as usize) * plane;
            self.seal.read(&self.map, start..start + plane)?;
        }
        let stride = 1 + usize::from(self.has_parts(level));
        Ok(Codes {
            scales: self.section(Kind::Scales, number, rows.clone(), 1)?,
            errors: self.section(Kind::Errors, number, rows.clone(), 2 * stride)?,
            stride,
            cells: &self.map[cells + rows.start * plane..cells + rows.end * plane],
        })
    }

    /// Whether the level has a second plane.
    fn has_parts(&self, level: Level) -> bool {
        level == self.layout.shape.depth.leaf_level()
    }

    /// Both planes of a row, where the level has two.
    pub(crate) fn fine(&self, level: Level, row: usize) -> Result<Option<Fine<'_>>> {
        let number = level.get() as u8;
        if !self.has_parts(level) {
            return Ok(None);
        }
        let codes = self.codes(level, row..row + 1)?;
        let parts = self.section(Kind::Parts, number, row..row + 1, level.width() / 2)?;
        let coded = Coded { cells: codes.cells, parts, scale: scale(codes.scales[0]) };
        Ok(Some(Fine { coded, error: error_at(codes.errors, 1) }))
    }

    /// The numbers of a row as they were given. They are read from the file, not mapped: rows are wanted one
    /// in a thousand, and a mapped page brings its neighbours into memory.
    pub fn row(&self, row: usize) -> Result<Vec<f32>> {
        let (start, each) =
            (self.layout.section(Kind::Rows, 0).offset as usize, 4 * self.layout.shape.width());
        let range = start + row * each..start + (row + 1) * each;
        self.seal.read_apart(&self.map, &self.file, range).map(|bytes| numbers(&bytes))
    }

    fn section(&self, kind: Kind, level: u8, items: Range<usize>, each: usize) -> Result<&[u8]> {
        let section = self.layout.section(kind, level);
        let start = section.offset as usize;
        debug_assert!(items.end * each <= section.length as usize);
        self.seal.read(&self.map, start + items.start * each..start + items.end * each)
    }

    fn whole(&self, kind: Kind, level: u8) -> Result<&[u8]> {
        self.section(kind, level, 0..1, self.layout.section(kind, level).length as usize)
    }

    fn words(&self, kind: Kind) -> Result<Vec<u32>> {
        let bytes = self.whole(kind, 0)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }

    /// The codebook of a level, and which scale classes rows have there.
    fn read_book(&self, level: Level) -> Result<(Codebook, u64)> {
        let (bounds, rest) = self.whole(Kind::Book, level.get() as u8)?.split_at(17 * 4);
        let (values, classes) = rest.split_at(16);
        let bounds = numbers(bounds).try_into().expect("seventeen numbers");
        let values = values.try_into().expect("sixteen bytes");
        Ok((Codebook { bounds, values }, u64::from_le_bytes(classes.try_into().expect("eight bytes"))))
    }
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
