//! Single-precision matrix products: `C = A B` or `C += A B`.
//!
//! Two ways to the same product, chosen once by what the machine has: AMX tiles, where each number is a sum of
//! two bfloat16 and three tile products keep 16 bits of mantissa, or the `sgemm` of `matrixmultiply`
//! (AVX-512, AVX2, NEON, ...). `retreever-bench gemm` measures them side by side: the tiles are why the first
//! is written here.
//!
//! A row of `C` depends only on that row of `A` and on `B`: the same row gives the same bits in a product of
//! any height.

#[cfg(target_arch = "x86_64")]
mod amx;
mod columns;
mod line;
#[cfg(target_arch = "x86_64")]
mod tiles;
mod view;

pub use columns::par_gemm_packed_columns;
use line::Line;
use rayon::prelude::*;
use std::cell::RefCell;
use std::sync::OnceLock;
pub use view::{Mat, MatMut, Write};

/// How many rows of `A` are worked on at a time.
const ROW_BLOCK: usize = 192;

/// Threads are given a multiple of so many rows.
const SHARE: usize = 32;

/// How many numbers a `B` must have to be laid out in tiles.
const SMALL: usize = 256 * 256;

/// A way to multiply matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Path {
    /// Pairs of bfloat16 on AMX tiles.
    #[cfg(target_arch = "x86_64")]
    Amx,
    /// Single precision through `matrixmultiply`.
    #[default]
    Portable,
}

impl Path {
    /// The ways this machine has, the fastest first.
    pub fn available() -> &'static [Self] {
        static AVAILABLE: OnceLock<Vec<Path>> = OnceLock::new();
        AVAILABLE.get_or_init(|| {
            let mut paths = Vec::new();
            #[cfg(target_arch = "x86_64")]
            if amx::available() {
                paths.push(Self::Amx);
            }
            paths.push(Self::Portable);
            paths
        })
    }

    /// The fastest way this machine has for a `B` of this size. Small ones are left to `matrixmultiply`: they
    /// gain little from tiles, and short sums do not average the tiles' rounding out.
    pub fn best(rows: usize, cols: usize) -> Self {
        if rows * cols < SMALL { Self::Portable } else { Self::available()[0] }
    }
}

/// A right-hand side `B` laid out once for many products, as weights are.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    path: Path,
    rows: usize,
    cols: usize,
    lines: Vec<Line>,
}

impl Packed {
    /// Lays out `b` for the fastest way this machine has.
    pub fn new(b: Mat<'_>) -> Self {
        Self::for_path(Path::best(b.rows(), b.cols()), b)
    }

    /// Lays out `b` for one of the [available](Path::available) ways.
    pub fn for_path(path: Path, b: Mat<'_>) -> Self {
        assert!(Path::available().contains(&path), "this machine has no {path:?}");
        let mut packed = Self { path, ..Self::default() };
        packed.fill(b);
        packed
    }

    /// Lays out another `b` in the same memory.
    pub fn pack(&mut self, b: Mat<'_>) {
        self.path = Path::best(b.rows(), b.cols());
        self.fill(b);
    }

    /// Lays out another `b` in the same memory, for a product in full single precision.
    pub fn pack_single(&mut self, b: Mat<'_>) {
        self.path = Path::Portable;
        self.fill(b);
    }

    fn fill(&mut self, b: Mat<'_>) {
        (self.rows, self.cols) = (b.rows(), b.cols());
        match self.path {
            #[cfg(target_arch = "x86_64")]
            Path::Amx => amx::pack_b(b, &mut self.lines),
            Path::Portable => {
                self.lines.resize((self.rows * self.cols).div_ceil(Line::LEN), Line::ZERO);
                let flat = line::flat_mut(&mut self.lines);
                for row in 0..b.rows() {
                    for col in 0..b.cols() {
                        flat[row * b.cols() + col] = b.get(row, col);
                    }
                }
            }
        }
    }

    /// The height of `B`, which is the width of `A`.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The width of `B`, which is the width of `C`.
    pub fn cols(&self) -> usize {
        self.cols
    }
}

/// `C = A B` or `C += A B` on this thread.
///
/// # Panics
/// If the shapes do not fit.
pub fn gemm(a: Mat<'_>, b: Mat<'_>, c: MatMut<'_>, write: Write) {
    thread_local!(static PACKED: RefCell<Packed> = RefCell::default());
    if Path::best(b.rows(), b.cols()) == Path::Portable {
        check(&a, b.rows(), b.cols(), &c);
        return portable(a, b, c, write);
    }
    PACKED.with_borrow_mut(|packed| {
        packed.pack(b);
        gemm_packed(a, packed, c, write);
    });
}

/// As [`gemm()`], with the rows of `A` shared out among the threads.
///
/// # Panics
/// If the shapes do not fit.
pub fn par_gemm(a: Mat<'_>, b: Mat<'_>, c: MatMut<'_>, write: Write) {
    thread_local!(static PACKED: RefCell<Packed> = RefCell::default());
    if Path::best(b.rows(), b.cols()) == Path::Portable {
        return par_gemm_single(a, b, c, write);
    }
    // Taken out while it is used: this thread may do other work of the same kind while it waits.
    let mut packed = PACKED.take();
    packed.pack(b);
    par_gemm_packed(a, &packed, c, write);
    PACKED.set(packed);
}

/// As [`gemm()`], in full single precision whatever the size.
///
/// # Panics
/// If the shapes do not fit.
pub fn gemm_single(a: Mat<'_>, b: Mat<'_>, c: MatMut<'_>, write: Write) {
    check(&a, b.rows(), b.cols(), &c);
    portable(a, b, c, write);
}

/// As [`gemm()`], with `B` laid out beforehand.
///
/// # Panics
/// If the shapes do not fit.
pub fn gemm_packed(a: Mat<'_>, b: &Packed, c: MatMut<'_>, write: Write) {
    check(&a, b.rows, b.cols, &c);
    match b.path {
        #[cfg(target_arch = "x86_64")]
        Path::Amx => amx::product(a, &b.lines, c, write),
        Path::Portable => {
            let b = Mat::new(&line::flat(&b.lines)[..b.rows * b.cols], b.rows, b.cols);
            portable(a, b, c, write);
        }
    }
}

/// As [`gemm_packed`], with the rows of `A` shared out among the threads.
///
/// # Panics
/// If the shapes do not fit.
pub fn par_gemm_packed(a: Mat<'_>, b: &Packed, c: MatMut<'_>, write: Write) {
    check(&a, b.rows, b.cols, &c);
    share_out(a, c, |a, c| gemm_packed(a, b, c, write));
}

/// As [`gemm_single`], with the rows of `A` shared out among the threads.
///
/// # Panics
/// If the shapes do not fit.
pub fn par_gemm_single(a: Mat<'_>, b: Mat<'_>, c: MatMut<'_>, write: Write) {
    check(&a, b.rows(), b.cols(), &c);
    share_out(a, c, |a, c| portable(a, b, c, write));
}

fn share_out(a: Mat<'_>, c: MatMut<'_>, product: impl Fn(Mat<'_>, MatMut<'_>) + Sync) {
    let height = a.rows().div_ceil(rayon::current_num_threads()).next_multiple_of(SHARE);
    let (cols, stride) = (c.cols, c.row_stride);
    c.data.par_chunks_mut((height * stride).max(1)).enumerate().for_each(|(chunk, data)| {
        let first = chunk * height;
        if first < a.rows() {
            let rows = height.min(a.rows() - first);
            product(a.rows_from(first, rows), MatMut::strided(data, rows, cols, stride));
        }
    });
}

fn check(a: &Mat<'_>, b_rows: usize, b_cols: usize, c: &MatMut<'_>) {
    assert_eq!(a.cols(), b_rows, "inner sizes of a product");
    assert_eq!((a.rows(), b_cols), (c.rows, c.cols), "outer sizes of a product");
}

fn portable(a: Mat<'_>, b: Mat<'_>, c: MatMut<'_>, write: Write) {
    let beta = match write {
        Write::Set => 0.0,
        Write::Add => 1.0,
    };
    // SAFETY: the views have checked that their slices hold every element at these sizes and strides.
    unsafe {
        matrixmultiply::sgemm(
            a.rows(),
            a.cols(),
            b.cols(),
            1.0,
            a.data().as_ptr(),
            a.row_stride() as isize,
            a.col_stride() as isize,
            b.data().as_ptr(),
            b.row_stride() as isize,
            b.col_stride() as isize,
            beta,
            c.data.as_mut_ptr(),
            c.row_stride as isize,
            1,
        );
    }
}

#[cfg(test)]
mod tests;
