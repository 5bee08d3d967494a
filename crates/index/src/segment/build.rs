//! Writing a segment: rows in the order of their leaves, codes at every level, checksums along the way.
//!
//! Rows are taken 4,096 at a time, which makes every section's share a whole number of blocks: shares are
//! coded, summed and written independently, on as many threads as there are.

use super::layout::{Kind, Layout, envelope_level};
use super::scale::{class_of, scale};
use super::{Shape, codebook};
use crate::sealed::{BLOCK, seal};
use crate::{Error, Result};
use rayon::prelude::*;
use retreever_kernels::codes::{Codebook, encode};
use retreever_tree::{Assignments, Level, Nesting, coarsen};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Rows coded and written together.
const CHUNK: usize = 4096;
/// Rows that a codebook is fitted to.
const SAMPLE: usize = 256;

/// What a segment is made of: rows in the layout of `shape`, and their sequence numbers, rising.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The tree.
    pub shape: Shape,
    /// The numbers, row after row.
    pub rows: &'a [f32],
    /// One number a row, rising: ties are settled in this order.
    pub sequence: &'a [u64],
}

impl<'a> Input<'a> {
    /// The rows of `assignments`, numbered by `sequence`.
    pub fn new(assignments: &'a Assignments, sequence: &'a [u64]) -> Self {
        let shape = Shape { depth: assignments.depth(), nesting: assignments.nesting() };
        Self { shape, rows: assignments.as_slice(), sequence }
    }

    fn row(&self, row: usize) -> &'a [f32] {
        let width = self.shape.width();
        &self.rows[row * width..][..width]
    }
}

/// Whether a file must outlive a power failure before the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Handed to the operating system.
    Written,
    /// On the disk.
    Synced,
}

/// Writes a segment. Whatever fails, no file of that name is left behind.
///
/// # Panics
/// If rows and sequence numbers differ in number.
pub fn build(path: &Path, input: Input<'_>, durability: Durability) -> Result<()> {
    assert_eq!(input.rows.len(), input.sequence.len() * input.shape.width(), "a sequence number a row");
    let partial = path.with_extension("partial");
    let written = write(&partial, input, durability)
        .and_then(|()| fs::rename(&partial, path).map_err(Error::io("rename to", path)));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

fn write(path: &Path, input: Input<'_>, durability: Durability) -> Result<()> {
    let order = Order::new(&input);
    let layout = Layout::new(input.shape, input.sequence.len(), order.occupied());
    let file = File::create(path).map_err(Error::io("create", path))?;
    let out = Out { file: &file, path };
    let mut shares = out.write(0, &layout.header())?;
    for (kind, bytes) in order.sections(&input) {
        shares.extend(out.write(layout.section(kind, 0).offset, &bytes)?);
    }
    let books = books(&input);
    for (level, book) in input.shape.depth.levels().zip(&books) {
        let bytes: Vec<u8> =
            book.bounds.iter().flat_map(|b| b.to_le_bytes()).chain(book.values.iter().copied()).collect();
        shares.extend(out.write(layout.section(Kind::Book, level.get() as u8).offset, &bytes)?);
    }
    let chunks: Vec<Vec<(u64, u32)>> = order
        .rows
        .par_chunks(CHUNK)
        .enumerate()
        .map_init(
            || Space::new(input.shape),
            |space, (chunk, rows)| {
                space.encode(&input, &books, rows);
                space.write(&out, &layout, chunk)
            },
        )
        .collect::<Result<_>>()?;
    let mut table = vec![0u8; 4 * (layout.end / BLOCK as u64) as usize];
    for (block, crc) in shares.into_iter().chain(chunks.into_iter().flatten()) {
        table[4 * block as usize..][..4].copy_from_slice(&crc.to_le_bytes());
    }
    file.write_all_at(&seal(table, layout.end), layout.end).map_err(Error::io("write", path))?;
    if durability == Durability::Synced {
        file.sync_all().map_err(Error::io("write to the disk", path))?;
    }
    Ok(())
}

/// The file, and what each write adds to the table of checksums.
struct Out<'a> {
    file: &'a File,
    path: &'a Path,
}

impl Out<'_> {
    /// Writes whole blocks, the last filled up with zeros; returns the number and checksum of each.
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<Vec<(u64, u32)>> {
        let failed = Error::io("write", self.path);
        let whole = bytes.len() / BLOCK * BLOCK;
        self.file.write_all_at(&bytes[..whole], offset).map_err(&failed)?;
        let first = offset / BLOCK as u64;
        let mut sums: Vec<(u64, u32)> = bytes[..whole]
            .chunks_exact(BLOCK)
            .enumerate()
            .map(|(i, block)| (first + i as u64, crc32fast::hash(block)))
            .collect();
        if whole < bytes.len() {
            let mut last = [0; BLOCK];
            last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
            self.file.write_all_at(&last, offset + whole as u64).map_err(&failed)?;
            sums.push((first + (whole / BLOCK) as u64, crc32fast::hash(&last)));
        }
        Ok(sums)
    }
}

/// Rows sorted by their likeliest leaf, equals as they came.
struct Order {
    rows: Vec<u32>,
    leaves: Vec<u32>, // where each leaf starts, and the end
}

impl Order {
    fn new(input: &Input<'_>) -> Self {
        let leaves = input.shape.depth.leaves();
        let home: Vec<u32> = (0..input.sequence.len())
            .into_par_iter()
            .map(|row| {
                let row = input.row(row);
                let row = &row[row.len() - leaves..];
                let most = largest(row);
                row.iter().position(|p| *p == most).unwrap_or(0) as u32
            })
            .collect();
        let mut starts = vec![0u32; leaves + 1];
        home.iter().for_each(|leaf| starts[*leaf as usize + 1] += 1);
        for leaf in 0..leaves {
            starts[leaf + 1] += starts[leaf];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; home.len()];
        for (row, leaf) in home.iter().enumerate() {
            rows[next[*leaf as usize] as usize] = row as u32;
            next[*leaf as usize] += 1;
        }
        Self { rows, leaves: starts }
    }

    fn occupied(&self) -> usize {
        self.leaves.windows(2).filter(|pair| pair[0] < pair[1]).count()
    }

    /// The sections that do not depend on codes.
    fn sections(&self, input: &Input<'_>) -> Vec<(Kind, Vec<u8>)> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let mut row_of = vec![0u32; self.rows.len()];
        for (row, rank) in self.rows.iter().enumerate() {
            row_of[*rank as usize] = row as u32;
        }
        let sequence = input.sequence.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut sections = vec![
            (Kind::Sequence, sequence),
            (Kind::RowOf, words(&row_of)),
            (Kind::RankOf, words(&self.rows)),
            (Kind::Leaves, words(&self.leaves)),
        ];
        if input.shape.nesting == Nesting::Nested {
            sections.push((Kind::Envelope, self.envelopes(input)));
        }
        sections
    }

    fn envelopes(&self, input: &Input<'_>) -> Vec<u8> {
        let width = envelope_level(input.shape.depth).width();
        let occupied: Vec<_> = self.leaves.windows(2).filter(|pair| pair[0] < pair[1]).collect();
        let rows: Vec<Vec<f32>> = occupied
            .par_iter()
            .map(|pair| {
                let (mut most, mut row) = (vec![0.0f32; width], vec![0.0; width]);
                for &from in &self.rows[pair[0] as usize..pair[1] as usize] {
                    coarsen(input.row(from as usize), &mut row);
                    most.iter_mut().zip(&row).for_each(|(most, p)| *most = most.max(*p));
                }
                most
            })
            .collect();
        rows.iter().flatten().flat_map(|p| p.to_le_bytes()).collect()
    }
}

/// A codebook for each level, fitted to rows spread over the input.
fn books(input: &Input<'_>) -> Vec<Codebook> {
    let count = input.sequence.len();
    let step = count.div_ceil(SAMPLE).max(1);
    let mut levels: Vec<Vec<f32>> = vec![Vec::new(); input.shape.depth.get()];
    for row in (0..count).step_by(step) {
        each_level(input.shape, input.row(row), &mut Vec::new(), |level, numbers| {
            levels[level.get() - 1].extend_from_slice(numbers);
        });
    }
    let levels: Vec<_> = input.shape.depth.levels().zip(levels).collect();
    levels.par_iter().map(|(level, rows)| codebook::fit(rows.chunks_exact(level.width()))).collect()
}

/// Calls `each` with the numbers of every level of a row, the leaves first.
fn each_level(shape: Shape, row: &[f32], space: &mut Vec<f32>, mut each: impl FnMut(Level, &[f32])) {
    match shape.nesting {
        Nesting::PerLevel => {
            for level in shape.depth.levels().rev() {
                each(level, &row[level.start() - 1..][..level.width()]);
            }
        }
        Nesting::Nested => {
            space.clear();
            space.extend_from_slice(row);
            for level in shape.depth.levels().rev() {
                space.truncate(level.width());
                each(level, space);
                for parent in 0..level.width() / 2 {
                    space[parent] = space[2 * parent] + space[2 * parent + 1];
                }
            }
        }
    }
}

/// What the two ways to sum the leaves under a node, in pairs here and one by one in a search, can differ.
fn summing_error(shape: Shape, level: Level) -> f32 {
    match shape.nesting {
        Nesting::PerLevel => 0.0,
        Nesting::Nested => (shape.depth.leaves() / level.width()) as f32 * f32::EPSILON,
    }
}

/// The codes and numbers of a chunk of rows; the memory serves chunk after chunk.
struct Space {
    shape: Shape,
    levels: Vec<Codes>,
    numbers: Vec<u8>,
    row: Vec<f32>,
}

#[derive(Clone, Default)]
struct Codes {
    scales: Vec<u8>,
    errors: Vec<u8>,
    cells: Vec<u8>,
    parts: Vec<u8>,
}

impl Space {
    fn new(shape: Shape) -> Self {
        let levels = vec![Codes::default(); shape.depth.get()];
        Self { shape, levels, numbers: Vec::new(), row: Vec::new() }
    }

    fn encode(&mut self, input: &Input<'_>, books: &[Codebook], rows: &[u32]) {
        let Self { shape, levels, numbers, row: space } = self;
        for (level, codes) in shape.depth.levels().zip(&mut *levels) {
            codes.scales.clear();
            codes.errors.clear();
            codes.cells.resize(rows.len() * level.width() / 2, 0);
            codes.parts.resize(rows.len() * level.width() / 2, 0);
        }
        numbers.resize(rows.len() * 4 * shape.width(), 0);
        for (at, &from) in rows.iter().enumerate() {
            let row = input.row(from as usize);
            let bytes = &mut numbers[4 * row.len() * at..][..4 * row.len()];
            bytes.as_chunks_mut::<4>().0.iter_mut().zip(row).for_each(|(bytes, p)| *bytes = p.to_le_bytes());
            each_level(*shape, row, space, |level, row| {
                let (codes, plane) = (&mut levels[level.get() - 1], level.width() / 2);
                let class = class_of(largest(row));
                let here = at * plane..(at + 1) * plane;
                let (cells, parts) = (&mut codes.cells[here.clone()], &mut codes.parts[here]);
                let error = encode(row, scale(class), &books[level.get() - 1], cells, parts);
                let summing = summing_error(*shape, level);
                codes.scales.push(class);
                codes.errors.extend_from_slice(&error_units(error.cells + summing).to_le_bytes());
                codes.errors.extend_from_slice(&error_units(error.both + summing).to_le_bytes());
            });
        }
    }

    fn write(&self, out: &Out<'_>, layout: &Layout, chunk: usize) -> Result<Vec<(u64, u32)>> {
        let mut sums = Vec::new();
        let mut put = |kind, level, each: usize, bytes: &[u8]| -> Result<()> {
            let offset = layout.section(kind, level).offset + (chunk * CHUNK * each) as u64;
            sums.extend(out.write(offset, bytes)?);
            Ok(())
        };
        for (level, codes) in self.shape.depth.levels().zip(&self.levels) {
            let (number, plane) = (level.get() as u8, level.width() / 2);
            put(Kind::Scales, number, 1, &codes.scales)?;
            put(Kind::Errors, number, 4, &codes.errors)?;
            put(Kind::Cells, number, plane, &codes.cells)?;
            put(Kind::Parts, number, plane, &codes.parts)?;
        }
        put(Kind::Rows, 0, 4 * self.shape.width(), &self.numbers)?;
        Ok(sums)
    }
}

/// The largest of non-negative numbers, sixteen at a time.
fn largest(row: &[f32]) -> f32 {
    let mut most = [0.0f32; 16];
    for run in row.chunks(16) {
        most.iter_mut().zip(run).for_each(|(most, p)| *most = if *p > *most { *p } else { *most });
    }
    most.into_iter().fold(0.0, f32::max)
}

/// An error in 32,768ths, rounded up; the largest unit stands for no bound at all.
fn error_units(error: f32) -> u16 {
    (error * 32768.0).ceil().min(f32::from(u16::MAX)) as u16
}
