//! Products of few rows: the columns of `B` are shared out among the threads, since reading `B` is most of the work.

use super::{Mat, MatMut, Packed, Path, Write, check, gemm_packed, line, portable};
use rayon::prelude::*;
use std::cell::RefCell;

/// Threads are given a multiple of so many columns: a panel of tiles.
const SHARE: usize = 32;

/// As [`gemm_packed`], to the same bits, with the columns of `B` shared out among the threads.
///
/// # Panics
/// If the shapes do not fit.
pub fn par_gemm_packed_columns(a: Mat<'_>, b: &Packed, c: MatMut<'_>, write: Write) {
    thread_local!(static PARTS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) });
    check(&a, b.rows, b.cols, &c);
    let width = b.cols.div_ceil(rayon::current_num_threads()).next_multiple_of(SHARE);
    if width >= b.cols || a.rows() == 0 || a.cols() == 0 {
        return gemm_packed(a, b, c, write);
    }
    // Taken out while it is used: this thread may do other work of the same kind while it waits.
    let mut parts = PARTS.take();
    parts.resize(a.rows() * b.cols, 0.0);
    parts.par_chunks_mut(a.rows() * width).with_max_len(1).enumerate().for_each(|(part, out)| {
        let first = part * width;
        let cols = width.min(b.cols - first);
        product(a, b, first, MatMut::new(out, a.rows(), cols));
    });
    for (part, from) in parts.chunks(a.rows() * width).enumerate() {
        let cols = from.len() / a.rows();
        for (row, from) in from.chunks_exact(cols).enumerate() {
            let to = &mut c.data[row * c.row_stride + part * width..][..cols];
            match write {
                Write::Set => to.copy_from_slice(from),
                Write::Add => to.iter_mut().zip(from).for_each(|(to, from)| *to += from),
            }
        }
    }
    PARTS.set(parts);
}

/// `C = A B` for as many columns of `B` as `C` has, from `first` on, which is a multiple of [`SHARE`].
fn product(a: Mat<'_>, b: &Packed, first: usize, c: MatMut<'_>) {
    match b.path {
        #[cfg(target_arch = "x86_64")]
        Path::Amx => {
            let panel = super::tiles::panel_len(b.rows) / line::Line::LEN;
            super::amx::product(a, &b.lines[first / SHARE * panel..], c, Write::Set);
        }
        Path::Portable => {
            let flat = &line::flat(&b.lines)[first..b.rows * b.cols];
            portable(a, Mat::strided(flat, b.rows, c.cols(), b.cols), c, Write::Set);
        }
    }
}
