//! A chunk of rows on its way into a segment: coded at every level while it is in the cache.
//!
//! The memory serves chunk after chunk. A chunk is so many rows that the large sections' shares of it are whole
//! blocks, which can be summed and written at once; what is small is handed back and gathered.

use super::build::{Books, Input};
use super::layout::{Kind, envelope_level, sketch_level};
use super::levels::each_level;
use super::order::Order;
use super::scale::{class_of, scale};
use super::{Shape, sketch::SketchBook};
use crate::sealed::BLOCK;
use retreever_kernels::codes::Coder;
use retreever_kernels::rows::largest;
use retreever_kernels::sketch::{BLOCK_ROWS, write_row};
use retreever_tree::{Level, Nesting};

/// How many rows are coded together: each section's share is then a whole number of blocks, or small.
pub(super) fn chunk_rows(shape: Shape) -> usize {
    if (4 * shape.width()).is_multiple_of(BLOCK / 256) { 256 } else { 512 }
}

/// A section's share of a chunk.
pub(super) struct Share<'a> {
    pub(super) kind: Kind,
    pub(super) level: u8,
    /// Bytes of a row.
    pub(super) each: usize,
    pub(super) bytes: &'a [u8],
}

/// The largest numbers of a leaf's rows at the envelope level.
pub(super) struct Envelope {
    pub(super) leaf: usize,
    pub(super) most: Vec<f32>,
}

/// What codes the rows of a segment.
pub(super) struct Coders {
    levels: Vec<Coder>,
    sketch_bounds: Vec<f32>,
}

impl Coders {
    pub(super) fn new(books: &Books) -> Self {
        let sketch_bounds = SketchBook::bounds(&books.sketch);
        Self { levels: books.levels.iter().map(Coder::new).collect(), sketch_bounds }
    }
}

pub(super) struct Chunk {
    shape: Shape,
    levels: Vec<LevelCodes>,
    sketch: Vec<u8>,
    numbers: Vec<u8>,
    space: Vec<f32>,
    /// The sum of the rows.
    pub(super) sums: Vec<f64>,
    pub(super) envelopes: Vec<Envelope>,
}

#[derive(Clone)]
struct LevelCodes {
    level: Level,
    /// Whether there is a second plane.
    fine: bool,
    classes: u64,
    scales: Vec<u8>,
    errors: Vec<u8>,
    cells: Vec<u8>,
    parts: Vec<u8>,
}

impl LevelCodes {
    fn clear(&mut self, rows: usize) {
        let plane = self.level.width() / 2;
        self.classes = 0;
        self.scales.clear();
        self.errors.clear();
        self.cells.resize(rows * plane, 0);
        self.parts.resize(if self.fine { rows * plane } else { 0 }, 0);
    }

    /// Codes a row; `rounding` is how far its numbers may be from those that a search compares.
    fn push(&mut self, numbers: &[f32], coder: &Coder, rounding: f32) {
        let (at, plane) = (self.scales.len(), numbers.len() / 2);
        let class = class_of(largest(numbers));
        let here = at * plane..(at + 1) * plane;
        let cells = &mut self.cells[here.clone()];
        if self.fine {
            let error = coder.both(numbers, scale(class), cells, &mut self.parts[here]);
            self.errors.extend_from_slice(&error_units(error.cells + rounding).to_le_bytes());
            self.errors.extend_from_slice(&error_units(error.both + rounding).to_le_bytes());
        } else {
            let error = coder.cells(numbers, scale(class), cells);
            self.errors.extend_from_slice(&error_units(error + rounding).to_le_bytes());
        }
        self.classes |= 1 << class;
        self.scales.push(class);
    }
}

impl Chunk {
    pub(super) fn new(shape: Shape) -> Self {
        let levels = shape.depth.levels().map(|level| LevelCodes {
            level,
            fine: level == shape.depth.leaf_level(),
            classes: 0,
            scales: Vec::new(),
            errors: Vec::new(),
            cells: Vec::new(),
            parts: Vec::new(),
        });
        Self {
            shape,
            levels: levels.collect(),
            sketch: Vec::new(),
            numbers: Vec::new(),
            space: vec![0.0; shape.depth.leaves()],
            sums: vec![0.0; shape.width()],
            envelopes: Vec::new(),
        }
    }

    /// Codes rows `first` and on of the segment.
    pub(super) fn encode(&mut self, input: &Input<'_>, coders: &Coders, order: &Order, first: usize) {
        let rows = &order.rows[first..(first + chunk_rows(self.shape)).min(order.rows.len())];
        let blocks = rows.len().div_ceil(BLOCK_ROWS);
        self.sketch.clear();
        self.sketch.resize(blocks * BLOCK_ROWS * sketch_level(self.shape.depth).width() / 2, 0);
        self.levels.iter_mut().for_each(|level| level.clear(rows.len()));
        self.numbers.resize(rows.len() * 4 * self.shape.width(), 0);
        self.envelopes.clear();
        self.sums.fill(0.0);
        let mut leaf = order.leaf(first);
        for (at, &from) in rows.iter().enumerate() {
            while order.leaves[leaf + 1] as usize <= first + at {
                leaf += 1;
            }
            self.push(at, leaf, input.row(from as usize), coders);
        }
    }

    fn push(&mut self, at: usize, leaf: usize, row: &[f32], coders: &Coders) {
        let bytes = &mut self.numbers[4 * row.len() * at..][..4 * row.len()];
        bytes.as_chunks_mut::<4>().0.iter_mut().zip(row).for_each(|(bytes, p)| *bytes = p.to_le_bytes());
        self.sums.iter_mut().zip(row).for_each(|(sum, p)| *sum += f64::from(*p));
        let Self { shape, levels, sketch, envelopes, space, .. } = self;
        let depth = shape.depth;
        let block = BLOCK_ROWS * sketch_level(depth).width() / 2;
        each_level(*shape, row, space, |level, numbers| {
            let rounding = summing_error(*shape, numbers.len());
            levels[level.get() - 1].push(numbers, &coders.levels[level.get() - 1], rounding);
            if level == sketch_level(depth) {
                let block = &mut sketch[at / BLOCK_ROWS * block..][..block];
                write_row(numbers, &coders.sketch_bounds, at % BLOCK_ROWS, block);
            }
            if shape.nesting == Nesting::Nested && level == envelope_level(depth) {
                widen(envelopes, leaf, numbers);
            }
        });
    }

    /// Which scale classes the rows have, level by level.
    pub(super) fn classes(&self) -> impl Iterator<Item = u64> {
        self.levels.iter().map(|level| level.classes)
    }

    /// What the chunk adds to each section.
    pub(super) fn shares(&self) -> impl Iterator<Item = Share<'_>> {
        let share = |kind, level, each, bytes| Share { kind, level, each, bytes };
        let sketched = sketch_level(self.shape.depth).width() / 2;
        let whole = [
            share(Kind::Rows, 0, 4 * self.shape.width(), &self.numbers[..]),
            share(Kind::Sketch, 0, sketched, &self.sketch[..]),
        ];
        let levels = self.levels.iter().flat_map(move |codes| {
            let (level, plane) = (codes.level.get() as u8, codes.level.width() / 2);
            let mut shares = vec![
                share(Kind::Scales, level, 1, &codes.scales[..]),
                share(Kind::Errors, level, if codes.fine { 4 } else { 2 }, &codes.errors[..]),
                share(Kind::Cells, level, plane, &codes.cells[..]),
            ];
            if codes.fine {
                shares.push(share(Kind::Parts, level, plane, &codes.parts[..]));
            }
            shares
        });
        whole.into_iter().chain(levels)
    }
}

/// Lets the envelope of a leaf, the last one begun or a new one, reach these numbers.
fn widen(envelopes: &mut Vec<Envelope>, leaf: usize, numbers: &[f32]) {
    match envelopes.last_mut() {
        Some(last) if last.leaf == leaf => {
            last.most.iter_mut().zip(numbers).for_each(|(most, p)| *most = if p > most { *p } else { *most });
        }
        _ => envelopes.push(Envelope { leaf, most: numbers.to_vec() }),
    }
}

/// What the two ways to sum the leaves under a node, in pairs here and one by one in a search, can differ.
fn summing_error(shape: Shape, width: usize) -> f32 {
    match shape.nesting {
        Nesting::PerLevel => 0.0,
        Nesting::Nested => (shape.depth.leaves() / width) as f32 * f32::EPSILON,
    }
}

/// An error in 32,768ths, rounded up; the largest unit stands for no bound at all.
fn error_units(error: f32) -> u16 {
    (error * 32768.0).ceil().min(f32::from(u16::MAX)) as u16
}
