//! Where everything is in a segment: the header, and the sections it lists. Drawn in `docs/format.md`.

use super::Shape;
use crate::sealed::BLOCK;
use crate::{Error, Result};
use retreever_kernels::sketch::BLOCK_ROWS;
use retreever_tree::{Depth, Level, MAX_DEPTH, Nesting};
use std::path::Path;

const MAGIC: &[u8; 8] = b"RTSEGMNT";
/// The one version that is written and read.
const VERSION: u32 = 3;
/// Bytes of an entry of the section table.
const ENTRY: usize = 24;
/// Where the section table starts.
const TABLE: usize = 32;

/// What a section holds. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// The sequence numbers, rising: `u64` each.
    Sequence = 1,
    /// The row of each sequence number: `u32` each.
    RowOf = 2,
    /// The rank of each row's sequence number: `u32` each.
    RankOf = 3,
    /// Where the rows of each leaf start, and the end of the last: `u32` each.
    Leaves = 4,
    /// The largest number of each node among the rows of a leaf, for leaves with rows: `f32` each.
    Envelope = 5,
    /// The assignments: `f32` each.
    Rows = 6,
    /// The codebook of a level: 17 bounds `f32`, 16 bytes, and which scale classes rows have, one bit each.
    Book = 7,
    /// The scale class of each row: `u8` each.
    Scales = 8,
    /// The errors of each row: of the cells and, at the leaves, of both planes; `u16` each in 32,768ths, rounded up.
    Errors = 9,
    /// The first plane of codes.
    Cells = 10,
    /// The second plane of codes, of the leaves only.
    Parts = 11,
    /// What the sixteen codes of each column of the sketch stand for: `f32` each.
    SketchBook = 12,
    /// The sketch: blocks of 64 rows, the last filled up with zeros.
    Sketch = 13,
    /// The sum of all rows, number by number: `f64` each.
    Sums = 14,
}

/// One more than the largest number of a [`Kind`].
const KINDS: usize = 15;

/// Levels a section can be of, 0 for none.
const LEVELS: usize = MAX_DEPTH as usize + 1;

/// One section: what, of which level (0 for none), and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) kind: Kind,
    pub(crate) level: u8,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// The plan of a segment: it follows from the shape and two counts alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    pub(crate) shape: Shape,
    pub(crate) rows: usize,
    /// How many leaves have rows.
    pub(crate) occupied: usize,
    sections: Vec<Section>,
    /// Which section a kind and level is, by `kind * (MAX_DEPTH + 1) + level`.
    places: Vec<u8>,
    pub(crate) end: u64,
}

/// The level of the envelopes: coarse enough to be small, fine enough to tell leaves apart.
pub(crate) fn envelope_level(depth: Depth) -> Level {
    depth.levels().nth(5).unwrap_or(depth.leaf_level())
}

/// The level of the sketch: 16 bytes a row, read for every row by the approximate search.
pub(crate) fn sketch_level(depth: Depth) -> Level {
    depth.levels().nth(4).unwrap_or(depth.leaf_level())
}

impl Layout {
    /// The plan for so many rows, in so many leaves.
    pub(crate) fn new(shape: Shape, rows: usize, occupied: usize) -> Self {
        let mut sections = Vec::new();
        let mut end = BLOCK as u64;
        let mut place = |kind, level: u8, each: usize, count: usize| {
            let length = (each * count) as u64;
            sections.push(Section { kind, level, offset: end, length });
            end += length.next_multiple_of(BLOCK as u64);
        };
        place(Kind::Sequence, 0, 8, rows);
        place(Kind::RowOf, 0, 4, rows);
        place(Kind::RankOf, 0, 4, rows);
        place(Kind::Leaves, 0, 4, shape.depth.leaves() + 1);
        if shape.nesting == Nesting::Nested {
            place(Kind::Envelope, 0, 4 * envelope_level(shape.depth).width(), occupied);
        }
        place(Kind::Sums, 0, 8, shape.width());
        let sketched = sketch_level(shape.depth).width();
        place(Kind::SketchBook, 0, 4 * 16, sketched);
        place(Kind::Sketch, 0, sketched / 2, rows.next_multiple_of(BLOCK_ROWS));
        for level in shape.depth.levels() {
            let (number, plane) = (level.get() as u8, level.width() / 2);
            let fine = level == shape.depth.leaf_level();
            place(Kind::Book, number, 92, 1);
            place(Kind::Scales, number, 1, rows);
            place(Kind::Errors, number, if fine { 4 } else { 2 }, rows);
            place(Kind::Cells, number, plane, rows);
            if fine {
                place(Kind::Parts, number, plane, rows);
            }
        }
        place(Kind::Rows, 0, 4 * shape.width(), rows);
        let mut places = vec![u8::MAX; KINDS * LEVELS];
        for (number, section) in sections.iter().enumerate() {
            places[section.kind as usize * LEVELS + usize::from(section.level)] = number as u8;
        }
        Self { shape, rows, occupied, sections, places, end }
    }

    /// The section of this kind and level.
    ///
    /// # Panics
    /// If a segment of the shape has no such section.
    #[inline]
    pub(crate) fn section(&self, kind: Kind, level: u8) -> Section {
        self.sections[usize::from(self.places[kind as usize * LEVELS + usize::from(level)])]
    }

    /// The first block of the file.
    pub(crate) fn header(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BLOCK);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        let nesting = match self.shape.nesting {
            Nesting::Nested => 0,
            Nesting::PerLevel => 1,
        };
        out.extend_from_slice(&[self.shape.depth.get() as u8, nesting, 0, 0]);
        out.extend_from_slice(&(self.rows as u64).to_le_bytes());
        out.extend_from_slice(&(self.occupied as u32).to_le_bytes());
        out.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());
        debug_assert_eq!(out.len(), TABLE);
        for section in &self.sections {
            out.extend_from_slice(&(section.kind as u32).to_le_bytes());
            out.extend_from_slice(&u32::from(section.level).to_le_bytes());
            out.extend_from_slice(&section.offset.to_le_bytes());
            out.extend_from_slice(&section.length.to_le_bytes());
        }
        out.resize(BLOCK, 0);
        out
    }

    /// Reads a header back, and refuses one whose sections are not where its shape puts them.
    pub(crate) fn read(path: &Path, header: &[u8]) -> Result<Self> {
        let damaged = |at: usize, what: &str| Error::damaged(path, at as u64, what);
        if header.len() < BLOCK || &header[..8] != MAGIC {
            return Err(damaged(0, "this is not a segment"));
        }
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let version = word(8);
        if version < VERSION {
            return Err(Error::Outdated(path.to_owned()));
        }
        if version > VERSION {
            return Err(Error::Format { path: path.to_owned(), found: version, known: VERSION });
        }
        let depth = Depth::new(header[12]).ok_or_else(|| damaged(12, "no tree is that deep"))?;
        let nesting = match header[13] {
            0 => Nesting::Nested,
            1 => Nesting::PerLevel,
            _ => return Err(damaged(13, "an unknown kind of rows")),
        };
        let rows = u64::from_le_bytes(header[16..24].try_into().expect("eight bytes"));
        if rows > u64::from(u32::MAX) {
            return Err(damaged(16, "more rows than a segment can have"));
        }
        let layout = Self::new(Shape { depth, nesting }, rows as usize, word(24) as usize);
        if layout.header() != header[..BLOCK] {
            return Err(damaged(TABLE, "the sections do not lie where they should"));
        }
        debug_assert!(TABLE + ENTRY * layout.sections.len() <= BLOCK);
        Ok(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back() {
        for (depth, nesting) in [(1, Nesting::Nested), (MAX_DEPTH, Nesting::PerLevel)] {
            let shape = Shape { depth: Depth::new(depth).unwrap(), nesting };
            let layout = Layout::new(shape, 5, 3);
            assert!(TABLE + ENTRY * layout.sections.len() <= BLOCK);
            assert_eq!(Layout::read(Path::new("x"), &layout.header()).unwrap(), layout);
        }
    }

    #[test]
    fn other_versions_are_refused() {
        let shape = Shape { depth: Depth::new(2).unwrap(), nesting: Nesting::Nested };
        let mut header = Layout::new(shape, 5, 3).header();
        let mut read = |version: u32| {
            header[8..12].copy_from_slice(&version.to_le_bytes());
            Layout::read(Path::new("x"), &header)
        };
        for version in 0..VERSION {
            assert!(matches!(read(version), Err(Error::Outdated(_))));
        }
        assert!(matches!(read(VERSION + 1), Err(Error::Format { found, .. }) if found == VERSION + 1));
    }
}
