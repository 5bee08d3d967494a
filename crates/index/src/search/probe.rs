//! A query made ready for a level: its numbers, and its codes at every scale a document may have.
//!
//! Coded at scale `s`, a number `q` becomes a byte of `255 q / s`, at most 255. What exceeds `s` is no error:
//! no document at that scale reaches beyond it, so `|q - d| = (q - s) + |s - d|` there. With `x` the sum of
//! those excesses and `e` the rounding error of the rest, the distance to a document's bytes, times `s / 255`,
//! plus `x`, is within `e` of the distance of the query to what the bytes stand for.

use super::View;
use crate::Result;
use crate::segment::{CLASSES, Codes, Segment, error_at, scale};
use retreever_kernels::codes::{Coded, decode_cells, l1_coded};
use retreever_kernels::l1::l1;
use retreever_kernels::sad::{Rows, sad_cells, sad_rows};
use retreever_tree::{Assignment, Level, Nesting, coarsen};

/// Covers the rounding of single-precision arithmetic on distances, which are at most a little over 2.
const ROUNDING: f32 = 1e-5;

/// A query at one level.
pub(crate) struct Probe {
    level: Level,
    leaf_level: Level,
    nesting: Nesting,
    numbers: Vec<f32>,
    bytes: Vec<u8>, // [CLASSES, width]
    classes: [Class; CLASSES],
}

/// What turns a sum of byte differences at a scale into a distance, and how far off that can be.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    step: f32,
    excess: f32,
    error: f32,
}

/// Distances to a run of rows and how far off they can be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// No row is nearer.
    pub(crate) low: f32,
    /// No row is farther.
    pub(crate) high: f32,
}

impl Probe {
    pub(crate) fn new(query: Assignment<'_>, level: Level) -> Self {
        let numbers = query.at(level).into_owned();
        let mut bytes = vec![0; CLASSES * numbers.len()];
        let mut classes = [Class::default(); CLASSES];
        for (number, (class, bytes)) in
            classes.iter_mut().zip(bytes.chunks_exact_mut(numbers.len())).enumerate()
        {
            let scale = scale(number as u8);
            let (step, inverse) = (scale / 255.0, 255.0 / scale);
            let (mut excess, mut error) = (0.0f64, 0.0f64);
            for (byte, q) in bytes.iter_mut().zip(&numbers) {
                *byte = (q * inverse + 0.5).min(255.0) as u8;
                let inside = q.min(scale);
                excess += f64::from(q - inside);
                error += (f64::from(inside) - f64::from(*byte) * f64::from(step)).abs();
            }
            *class = Class { step, excess: excess as f32, error: error as f32 + ROUNDING };
        }
        let leaf_level = query.depth().leaf_level();
        Self { level, leaf_level, nesting: query.nesting(), numbers, bytes, classes }
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Byte differences to rows of cells.
    pub(crate) fn sums(&self, segment: &Segment, codes: Codes<'_>, out: &mut [u32]) {
        let rows = Rows { scales: codes.scales, bytes: codes.cells };
        sad_cells(&self.bytes, rows, &segment.book(self.level).values, self.level.width(), out);
    }

    /// Byte differences to rows decoded before with [`decode`].
    pub(crate) fn sums_decoded(&self, scales: &[u8], decoded: &[u8], out: &mut [u32]) {
        sad_rows(&self.bytes, Rows { scales, bytes: decoded }, self.level.width(), out);
    }

    /// The distance to what row `row` of `codes` stands for.
    #[inline(always)]
    pub(crate) fn read(&self, codes: Codes<'_>, row: usize, sum: u32) -> f32 {
        let class = self.classes[usize::from(codes.scales[row])];
        sum as f32 * class.step + class.excess
    }

    /// What a sum of byte differences says about the distance to row `row` of `codes`.
    #[inline(always)]
    pub(crate) fn bounds(&self, codes: Codes<'_>, row: usize, sum: u32) -> Bounds {
        let class = self.classes[usize::from(codes.scales[row])];
        let distance = self.read(codes, row, sum);
        let error = class.error + error_at(codes.errors, 2 * row);
        Bounds { low: distance - error, high: distance + error }
    }

    /// The distance cannot be below this, by both planes of codes.
    pub(crate) fn at_least(&self, segment: &Segment, row: usize) -> Result<f32> {
        let codes = segment.codes(self.level, row..row + 1)?;
        let parts = segment.parts(self.level, row)?;
        let coded = Coded { cells: codes.cells, parts, scale: scale(codes.scales[0]) };
        let distance = l1_coded(&self.numbers, coded, segment.book(self.level));
        Ok(distance - error_at(codes.errors, 1) - ROUNDING)
    }

    /// The distance by definition: [`l1`] of the query and the row at the level.
    pub(crate) fn distance(&self, view: &View<'_>, row: usize) -> Result<f64> {
        let numbers = view.segment.row(row)?;
        Ok(match self.nesting {
            Nesting::Nested if self.level == self.leaf_level => l1(&self.numbers, &numbers),
            Nesting::Nested => {
                let mut coarse = vec![0.0; self.level.width()];
                coarsen(&numbers, &mut coarse);
                l1(&self.numbers, &coarse)
            }
            Nesting::PerLevel => l1(&self.numbers, &numbers[self.level.start() - 1..][..self.level.width()]),
        })
    }
}

/// The bytes that rows of cells stand for.
pub(crate) fn decode(segment: &Segment, level: Level, codes: Codes<'_>, out: &mut Vec<u8>) {
    out.resize(codes.cells.len() * 2, 0);
    decode_cells(codes.cells, segment.book(level), out);
}
