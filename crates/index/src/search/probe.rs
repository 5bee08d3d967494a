//! A query made ready for a level: its numbers, and its codes at every scale a document may have.
//!
//! Coded at scale `s`, a number `q` becomes a byte of `255 q / s`, at most 255. What exceeds `s` is no error:
//! no document at that scale reaches beyond it, so `|q - d| = (q - s) + |s - d|` there. With `x` the sum of
//! those excesses and `e` the rounding error of the rest, the distance to a document's bytes, times `s / 255`,
//! plus `x`, is within `e` of the distance of the query to what the bytes stand for.

use super::View;
use crate::Result;
use crate::segment::{CLASSES, Codes, Segment, scale};
use retreever_kernels::bounds::{Classes, Sums, within};
use retreever_kernels::codes::{decode_cells, l1_coded, query_bytes};
use retreever_kernels::l1::l1;
use retreever_kernels::sad::{Rows, sad_cells, sad_picked, sad_rows};
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
    /// Offsets are the excess less the error.
    classes: Classes,
    errors: [f32; CLASSES],
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
    /// The query at a level, coded at the scales that rows of these views have there.
    pub(crate) fn new(query: Assignment<'_>, level: Level, views: &[View<'_>]) -> Self {
        let used = views.iter().fold(0, |all, view| all | view.segment.classes(level));
        let numbers = query.at(level).into_owned();
        let mut bytes = vec![0; CLASSES * numbers.len()];
        let mut classes = Classes { steps: [0.0; CLASSES], offsets: [0.0; CLASSES] };
        let mut errors = [0.0; CLASSES];
        for (number, bytes) in bytes.chunks_exact_mut(numbers.len()).enumerate() {
            if used >> number & 1 == 0 {
                continue;
            }
            let scale = scale(number as u8);
            let rest = query_bytes(&numbers, scale, bytes);
            errors[number] = rest.error + ROUNDING;
            classes.steps[number] = scale / 255.0;
            classes.offsets[number] = rest.excess - errors[number];
        }
        let leaf_level = query.depth().leaf_level();
        Self { level, leaf_level, nesting: query.nesting(), numbers, bytes, classes, errors }
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    fn rows<'a>(&self, scales: &'a [u8], bytes: &'a [u8]) -> Rows<'a> {
        Rows { scales, bytes, width: self.level.width() }
    }

    /// Byte differences to rows of cells.
    pub(crate) fn sums(&self, segment: &Segment, codes: Codes<'_>, out: &mut [u32]) {
        let values = &segment.book(self.level).values;
        sad_cells(&self.bytes, self.rows(codes.scales, codes.cells), values, out);
    }

    /// Byte differences to some of the rows of cells.
    pub(crate) fn sums_of(&self, segment: &Segment, codes: Codes<'_>, picks: &[u32], out: &mut [u32]) {
        let values = &segment.book(self.level).values;
        sad_picked(&self.bytes, self.rows(codes.scales, codes.cells), values, picks, out);
    }

    /// Byte differences to rows decoded before with [`decode`].
    pub(crate) fn sums_decoded(&self, scales: &[u8], decoded: &[u8], out: &mut [u32]) {
        sad_rows(&self.bytes, self.rows(scales, decoded), out);
    }

    /// The distance to what row `row` of `codes` stands for.
    #[inline(always)]
    pub(crate) fn read(&self, codes: Codes<'_>, row: usize, sum: u32) -> f32 {
        let class = usize::from(codes.scales[row]);
        sum as f32 * self.classes.steps[class] + self.classes.offsets[class] + self.errors[class]
    }

    /// What a sum of byte differences says about the distance to row `row` of `codes`.
    #[inline(always)]
    pub(crate) fn bounds(&self, codes: Codes<'_>, row: usize, sum: u32) -> Bounds {
        let distance = self.read(codes, row, sum);
        let error = self.errors[usize::from(codes.scales[row])] + codes.error(row);
        Bounds { low: distance - error, high: distance + error }
    }

    /// Appends the numbers of the rows of a run that may be no farther than `limit`. `errors` are those of `codes`.
    pub(crate) fn within(
        &self,
        codes: Codes<'_>,
        (sums, errors): (&[u32], &[f32]),
        limit: f32,
        out: &mut Vec<u32>,
    ) {
        within(Sums { sums, classes: codes.scales, errors }, &self.classes, limit, out);
    }

    /// The distance cannot be below this, by all the codes of the row.
    pub(crate) fn at_least(&self, segment: &Segment, row: usize) -> Result<f32> {
        if let Some(fine) = segment.fine(self.level, row)? {
            let distance = l1_coded(&self.numbers, fine.coded, segment.book(self.level));
            return Ok(distance - fine.error - ROUNDING);
        }
        let codes = segment.codes(self.level, row..row + 1)?;
        let mut sum = [0];
        self.sums(segment, codes, &mut sum);
        Ok(self.bounds(codes, 0, sum[0]).low)
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
