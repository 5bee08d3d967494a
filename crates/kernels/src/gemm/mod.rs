//! Single-precision matrix products: `C = A B` or `C += A B`.
//!
//! A row of `C` depends only on that row of `A` and on `B`: the same row gives the same bits in a product of
//! any height.

mod view;

pub use view::{Mat, MatMut, Write};

/// A right-hand side `B` laid out once for many products, as weights are.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    rows: usize,
    cols: usize,
    data: Vec<f32>,
}

impl Packed {
    /// Lays out `b`.
    pub fn new(b: Mat<'_>) -> Self {
        let mut packed = Self::default();
        packed.pack(b);
        packed
    }

    /// Lays out another `b` in the same memory.
    pub fn pack(&mut self, b: Mat<'_>) {
        (self.rows, self.cols) = (b.rows(), b.cols());
        self.data.clear();
        for row in 0..b.rows() {
            self.data.extend((0..b.cols()).map(|col| b.get(row, col)));
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
    gemm_packed(a, &Packed::new(b), c, write);
}

/// As [`gemm()`], with `B` laid out beforehand.
///
/// # Panics
/// If the shapes do not fit.
pub fn gemm_packed(a: Mat<'_>, b: &Packed, c: MatMut<'_>, write: Write) {
    assert_eq!(a.cols(), b.rows, "inner sizes of a product");
    assert_eq!((a.rows(), b.cols), (c.rows(), c.cols()), "outer sizes of a product");
    let beta = match write {
        Write::Set => 0.0,
        Write::Add => 1.0,
    };
    let (rows, cols, inner) = (a.rows(), b.cols, a.cols());
    // SAFETY: the views have checked that their slices hold every element at these sizes and strides.
    unsafe {
        matrixmultiply::sgemm(
            rows,
            inner,
            cols,
            1.0,
            a.data().as_ptr(),
            a.row_stride() as isize,
            a.col_stride() as isize,
            b.data.as_ptr(),
            cols as isize,
            1,
            beta,
            c.data.as_mut_ptr(),
            c.row_stride as isize,
            1,
        );
    }
}
