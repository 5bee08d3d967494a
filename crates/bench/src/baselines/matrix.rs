//! Rows of one width, and the few products that every baseline needs, in parallel over blocks of rows.

use rayon::prelude::*;
use retreever_kernels::gemm::{Mat, MatMut, Packed, Write, gemm_packed};
use std::ops::Range;

/// Rows that one task multiplies. Fixed, so that results do not depend on the number of threads.
const BLOCK: usize = 256;

/// A row-major matrix that someone else owns: documents or queries, one a row.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    data: &'a [f32],
    width: usize,
}

impl<'a> Rows<'a> {
    /// Rows of `width` numbers.
    ///
    /// # Panics
    /// If the width is 0, or the numbers do not fill whole rows.
    pub fn new(data: &'a [f32], width: usize) -> Self {
        assert!(width > 0 && data.len().is_multiple_of(width), "{} numbers in rows of {width}", data.len());
        Self { data, width }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.data.len() / self.width
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// How many numbers a row has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.data[row * self.width..][..self.width]
    }

    /// The rows of a range.
    ///
    /// # Panics
    /// If the range leaves the matrix.
    pub fn slice(&self, rows: Range<usize>) -> Self {
        Self { data: &self.data[rows.start * self.width..rows.end * self.width], width: self.width }
    }

    /// All numbers.
    pub fn as_slice(&self) -> &'a [f32] {
        self.data
    }

    /// The named rows, copied in that order.
    pub(super) fn gather(&self, rows: &[u32]) -> Vec<f32> {
        let mut gathered = Vec::with_capacity(rows.len() * self.width);
        for &row in rows {
            gathered.extend_from_slice(self.row(row as usize));
        }
        gathered
    }

    /// The mean row; zero for no rows.
    pub(super) fn mean(&self) -> Vec<f32> {
        let mut sum = vec![0.0f64; self.width];
        for row in self.data.chunks_exact(self.width) {
            sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        sum.iter().map(|sum| (sum / self.len().max(1) as f64) as f32).collect()
    }

    fn mat(&self) -> Mat<'a> {
        Mat::new(self.data, self.len(), self.width)
    }

    /// These rows as the right-hand side of [`products`]: laid out once for many products.
    pub(super) fn pack(&self) -> Packed {
        Packed::new(self.mat().t())
    }
}

/// Scales each row to length 1; a row of zeros stays.
///
/// # Panics
/// If the numbers do not fill whole rows.
pub fn normalise(rows: &mut [f32], width: usize) {
    assert!(rows.len().is_multiple_of(width), "{} numbers in rows of {width}", rows.len());
    for row in rows.chunks_exact_mut(width) {
        let norm = dot(row, row).sqrt();
        if norm > 0.0 {
            row.iter_mut().for_each(|x| *x /= norm);
        }
    }
}

/// The inner product, summed in sixteen lanes.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    let (a_chunks, b_chunks) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..16 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    rest + lanes.iter().sum::<f32>()
}

/// `rows . others`: inner products `[rows, others]` on this thread.
pub(super) fn products(rows: Rows<'_>, others: &Packed, out: &mut Vec<f32>) {
    out.clear();
    out.resize(rows.len() * others.cols(), 0.0);
    gemm_packed(rows.mat(), others, MatMut::new(out, rows.len(), others.cols()), Write::Set);
}

/// Calls `each(row, products of that row with others)` for every row, blocks of rows in parallel, and returns
/// what it returned in the order of the rows.
pub(super) fn map_products<T: Send>(
    rows: Rows<'_>,
    others: &Packed,
    each: impl Fn(usize, &[f32]) -> T + Sync,
) -> Vec<T> {
    let blocks: Vec<Vec<T>> = (0..rows.len().div_ceil(BLOCK))
        .into_par_iter()
        .map_init(Vec::new, |out, block| {
            let range = block * BLOCK..rows.len().min((block + 1) * BLOCK);
            products(rows.slice(range.clone()), others, out);
            range.zip(out.chunks_exact(others.cols())).map(|(row, out)| each(row, out)).collect()
        })
        .collect();
    blocks.into_iter().flatten().collect()
}

/// `weightsᵀ . rows`: weighted sums of rows, `[weights per row, width]`; blocks of rows in parallel, added in
/// the order of the blocks.
pub(super) fn weighted_sums(weights: Rows<'_>, rows: Rows<'_>) -> Vec<f32> {
    assert_eq!(weights.len(), rows.len(), "one row of weights a row");
    let (count, width) = (weights.width(), rows.width());
    let blocks: Vec<Vec<f32>> = (0..rows.len().div_ceil(8 * BLOCK))
        .into_par_iter()
        .map(|block| {
            let range = block * 8 * BLOCK..rows.len().min((block + 1) * 8 * BLOCK);
            let (w, x) = (weights.slice(range.clone()), rows.slice(range));
            let mut sums = vec![0.0; count * width];
            gemm_packed(w.mat().t(), &Packed::new(x.mat()), MatMut::new(&mut sums, count, width), Write::Set);
            sums
        })
        .collect();
    let mut total = vec![0.0; count * width];
    for block in blocks {
        total.iter_mut().zip(block).for_each(|(total, sum)| *total += sum);
    }
    total
}
