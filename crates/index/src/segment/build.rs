//! Writing a segment: one pass over the rows in the order of their leaves, codes and checksums along the way.
//!
//! Chunks of rows are coded, summed and written independently, on as many threads as there are ([`super::chunk`]).
//! Sections with a few bytes a row are gathered and written at the end.

use super::chunk::{Chunk, Coders, Envelope, chunk_rows};
use super::layout::{Kind, Layout, envelope_level, sketch_level};
use super::levels::each_level;
use super::order::Order;
use super::sketch::SketchBook;
use super::{Shape, codebook};
use crate::positioned::write_all_at;
use crate::sealed::{BLOCK, in_place, seal};
use crate::{Error, Result};
use rayon::prelude::*;
use retreever_kernels::codes::Codebook;
use retreever_tree::{Assignment, Assignments, LeafId, Nesting, Routing};
use std::fs::File;
use std::path::Path;

/// Numbers of a level that its codebook is fitted to, and rows that the sketch is.
const SAMPLE: usize = 1 << 16;
const SKETCH_SAMPLE: usize = 2048;

/// What a segment is made of: rows in the layout of `shape`, and their sequence numbers, rising.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The tree.
    pub shape: Shape,
    /// The rule that places a row in a leaf; of the same depth.
    pub routing: &'a Routing,
    /// The numbers, row after row.
    pub rows: &'a [f32],
    /// One number a row, rising: ties are settled in this order.
    pub sequence: &'a [u64],
}

impl<'a> Input<'a> {
    /// The rows of `assignments`, placed by `routing` and numbered by `sequence`.
    pub fn new(assignments: &'a Assignments, routing: &'a Routing, sequence: &'a [u64]) -> Self {
        let shape = Shape { depth: assignments.depth(), nesting: assignments.nesting() };
        Self { shape, routing, rows: assignments.as_slice(), sequence }
    }

    /// The leaf that a row is placed in.
    pub(super) fn leaf(&self, row: usize) -> LeafId {
        self.routing.leaf(Assignment::new(self.shape.depth, self.shape.nesting, self.row(row)))
    }

    pub(super) fn row(&self, row: usize) -> &'a [f32] {
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
/// If rows and sequence numbers differ in number, or the routing is of a tree of another depth.
pub fn build(path: &Path, input: Input<'_>, durability: Durability) -> Result<()> {
    assert_eq!(input.rows.len(), input.sequence.len() * input.shape.width(), "a sequence number a row");
    in_place(path, |partial| write(partial, input, durability))
}

fn write(path: &Path, input: Input<'_>, durability: Durability) -> Result<()> {
    let order = Order::new(&input);
    let layout = Layout::new(input.shape, input.sequence.len(), order.occupied());
    let books = Books::fit(&input);
    let file = File::create(path).map_err(Error::io("create", path))?;
    let out = Out { file: &file, path };
    let step = chunk_rows(input.shape);
    let coders = Coders::new(&books);
    let done: Vec<Done> = (0..input.sequence.len().div_ceil(step))
        .into_par_iter()
        .map_init(
            || Chunk::new(input.shape),
            |chunk, number| {
                chunk.encode(&input, &coders, &order, number * step);
                Done::new(chunk, &out, &layout, number * step)
            },
        )
        .collect::<Result<_>>()?;
    let mut table = vec![0u8; 4 * (layout.end / BLOCK as u64) as usize];
    let mut enter = |checksums: Vec<(u64, u32)>| {
        for (block, crc) in checksums {
            table[4 * block as usize..][..4].copy_from_slice(&crc.to_le_bytes());
        }
    };
    enter(out.write(0, &layout.header())?);
    let mut put = |kind, level, bytes: &[u8]| -> Result<()> {
        enter(out.write(layout.section(kind, level).offset, bytes)?);
        Ok(())
    };
    for (kind, bytes) in order.sections(&input) {
        put(kind, 0, &bytes)?;
    }
    if input.shape.nesting == Nesting::Nested {
        put(Kind::Envelope, 0, &envelopes(&done, envelope_level(input.shape.depth).width()))?;
    }
    put(Kind::Sums, 0, &sums(&done, input.shape))?;
    put(Kind::SketchBook, 0, &bytes(books.sketch.numbers()))?;
    for (level, book) in input.shape.depth.levels().zip(&books.levels) {
        let classes = done.iter().fold(0, |all, chunk| all | chunk.classes[level.get() - 1]);
        let mut section = bytes(&book.bounds);
        section.extend_from_slice(&book.values);
        section.extend_from_slice(&u64::to_le_bytes(classes));
        put(Kind::Book, level.get() as u8, &section)?;
    }
    for ((kind, level), bytes) in gathered(&done) {
        put(kind, level, &bytes)?;
    }
    done.into_iter().for_each(|chunk| enter(chunk.checksums));
    write_all_at(&file, &seal(table, layout.end), layout.end).map_err(Error::io("write", path))?;
    if durability == Durability::Synced {
        file.sync_all().map_err(Error::io("write to the disk", path))?;
    }
    Ok(())
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|p| p.to_le_bytes()).collect()
}

/// What is left of a chunk when its large shares are written.
struct Done {
    /// The number and checksum of each block written.
    checksums: Vec<(u64, u32)>,
    /// The sum of the rows.
    sums: Vec<f64>,
    small: Vec<((Kind, u8), Vec<u8>)>,
    envelopes: Vec<Envelope>,
    classes: Vec<u64>,
}

impl Done {
    fn new(chunk: &mut Chunk, out: &Out<'_>, layout: &Layout, first: usize) -> Result<Self> {
        let (mut checksums, mut small) = (Vec::new(), Vec::new());
        for share in chunk.shares() {
            if (share.each * chunk_rows(layout.shape)).is_multiple_of(BLOCK) {
                let offset = layout.section(share.kind, share.level).offset + (first * share.each) as u64;
                checksums.extend(out.write(offset, share.bytes)?);
            } else {
                small.push(((share.kind, share.level), share.bytes.to_vec()));
            }
        }
        let classes = chunk.classes().collect();
        let (sums, envelopes) = (chunk.sums.clone(), std::mem::take(&mut chunk.envelopes));
        Ok(Self { checksums, sums, small, envelopes, classes })
    }
}

/// The small sections, put together from the chunks.
fn gathered(done: &[Done]) -> Vec<((Kind, u8), Vec<u8>)> {
    let kinds = done.first().map_or(0, |chunk| chunk.small.len());
    let whole = |i: usize| done.iter().map(|chunk| &chunk.small[i].1[..]).collect::<Vec<_>>().concat();
    (0..kinds).map(|i| (done[0].small[i].0, whole(i))).collect()
}

/// The sum of all rows: chunk by chunk, so that it is the same whatever the number of threads.
fn sums(done: &[Done], shape: Shape) -> Vec<u8> {
    let mut all = vec![0.0; shape.width()];
    for chunk in done {
        all.iter_mut().zip(&chunk.sums).for_each(|(sum, more)| *sum += more);
    }
    all.into_iter().flat_map(f64::to_le_bytes).collect()
}

/// The envelopes of the leaves with rows; a leaf may go on from one chunk to the next.
fn envelopes(done: &[Done], width: usize) -> Vec<u8> {
    let mut all: Vec<f32> = Vec::new();
    let mut last = None;
    for envelope in done.iter().flat_map(|chunk| &chunk.envelopes) {
        if last == Some(envelope.leaf) {
            let from = all.len() - width;
            all[from..].iter_mut().zip(&envelope.most).for_each(|(most, p)| *most = most.max(*p));
        } else {
            all.extend_from_slice(&envelope.most);
        }
        last = Some(envelope.leaf);
    }
    bytes(&all)
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
        write_all_at(self.file, &bytes[..whole], offset).map_err(&failed)?;
        let first = offset / BLOCK as u64;
        let mut checksums: Vec<(u64, u32)> = bytes[..whole]
            .chunks_exact(BLOCK)
            .enumerate()
            .map(|(i, block)| (first + i as u64, crc32fast::hash(block)))
            .collect();
        if whole < bytes.len() {
            let mut last = [0; BLOCK];
            last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
            write_all_at(self.file, &last, offset + whole as u64).map_err(&failed)?;
            checksums.push((first + (whole / BLOCK) as u64, crc32fast::hash(&last)));
        }
        Ok(checksums)
    }
}

/// What codes stand for: fitted to rows spread over the input.
pub(super) struct Books {
    pub(super) levels: Vec<Codebook>,
    pub(super) sketch: SketchBook,
}

impl Books {
    fn fit(input: &Input<'_>) -> Self {
        let (depth, count) = (input.shape.depth, input.sequence.len());
        let mut levels: Vec<Vec<f32>> = vec![Vec::new(); depth.get()];
        let mut sketched = Vec::new();
        let mut space = vec![0.0; depth.leaves()];
        for (number, row) in (0..count).step_by(count.div_ceil(SKETCH_SAMPLE).max(1)).enumerate() {
            each_level(input.shape, input.row(row), &mut space, |level, numbers| {
                // Rows evenly spread, as many as the sample has room for.
                if number.is_multiple_of((SKETCH_SAMPLE * numbers.len() / SAMPLE).max(1)) {
                    levels[level.get() - 1].extend_from_slice(numbers);
                }
                if level == sketch_level(depth) {
                    sketched.extend_from_slice(numbers);
                }
            });
        }
        let levels: Vec<_> = depth.levels().zip(levels).collect();
        let (levels, sketch) = rayon::join(
            || {
                levels
                    .par_iter()
                    .map(|(level, rows)| codebook::fit(rows.chunks_exact(level.width())))
                    .collect()
            },
            || SketchBook::fit(&sketched, sketch_level(depth).width()),
        );
        Self { levels, sketch }
    }
}
