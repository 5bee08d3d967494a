//! A dense layer `y = x W^T + b` over many rows, and its way back.

use rayon::prelude::*;
use retreever_kernels::gemm::{self, Mat, MatMut, Write, gemm_single};

/// `y = x W^T + b`, where `weight` is `[out, in]`.
pub(crate) fn forward(x: Mat<'_>, weight: &[f32], bias: &[f32], y: &mut [f32]) {
    let out = bias.len();
    let weight = Mat::new(weight, out, x.cols()).t();
    gemm::par_gemm(x, weight, MatMut::new(y, x.rows(), out), Write::Set);
    y.chunks_exact_mut(out.max(1)).for_each(|row| row.iter_mut().zip(bias).for_each(|(y, b)| *y += b));
}

/// `dx = dy W`.
pub(crate) fn backward_input(grad: &[f32], weight: &[f32], width: usize, grad_x: &mut [f32]) {
    let out = weight.len() / width;
    let rows = grad.len() / out;
    let weight = Mat::new(weight, out, width);
    gemm::par_gemm(Mat::new(grad, rows, out), weight, MatMut::new(grad_x, rows, width), Write::Set);
}

/// `c += a b`, the rows of `c` shared out among the threads.
pub(crate) fn par_gemm(a: Mat<'_>, b: Mat<'_>, c: &mut [f32]) {
    gemm::par_gemm(a, b, MatMut::new(c, a.rows(), b.cols()), Write::Add);
}

/// Adds up the rows of `rows` into `sums`.
pub(crate) fn add_columns(rows: &[f32], sums: &mut [f32]) {
    for row in rows.chunks_exact(sums.len().max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
}

/// Runs small independent products in parallel, one for each index below `count`, each writing its own chunk of
/// `out`: chunk `i` is `a(i) b(i)` added to it or put in its place.
pub(crate) fn par_chunks<'a>(
    out: &mut [f32],
    count: usize,
    write: Write,
    product: impl Fn(usize) -> (Mat<'a>, Mat<'a>) + Sync,
) {
    let len = out.len() / count;
    out.par_chunks_exact_mut(len).enumerate().for_each(|(index, out)| {
        let (a, b) = product(index);
        gemm_single(a, b, MatMut::new(out, a.rows(), b.cols()), write);
    });
}
