//! Least squares: the linear map that predicts some numbers of each item from others.

use crate::dense;
use retreever_kernels::gemm::Mat;

/// How much is added to the diagonal, beside its mean: numbers that hardly vary tell nothing.
const RIDGE: f64 = 1e-4;

/// The rows `A`, `[out, width]`, with which `told = seen A^T` comes nearest; both have a mean of zero.
pub(crate) fn map(seen: &[f32], width: usize, told: &[f32], out: usize) -> Vec<f32> {
    let items = seen.len() / width;
    let (seen, told) = (Mat::new(seen, items, width), Mat::new(told, items, out));
    let (mut gram, mut cross) = (vec![0.0; width * width], vec![0.0; out * width]);
    dense::par_gemm(seen.t(), seen, &mut gram);
    dense::par_gemm(told.t(), seen, &mut cross);
    let root = cholesky(&gram, width);
    let mut rows = Vec::with_capacity(cross.len());
    for row in cross.chunks_exact(width) {
        let mut x: Vec<f64> = row.iter().copied().map(f64::from).collect();
        for i in 0..width {
            let known: f64 = (0..i).map(|j| root[i * width + j] * x[j]).sum();
            x[i] = (x[i] - known) / root[i * width + i];
        }
        for i in (0..width).rev() {
            let known: f64 = (i + 1..width).map(|j| root[j * width + i] * x[j]).sum();
            x[i] = (x[i] - known) / root[i * width + i];
        }
        rows.extend(x.into_iter().map(|x| x as f32));
    }
    rows
}

/// The lower triangle `L` of `L L^T`, which is the matrix with a little more on its diagonal.
fn cholesky(matrix: &[f32], width: usize) -> Vec<f64> {
    let trace: f64 = matrix.iter().step_by(width + 1).copied().map(f64::from).sum();
    let ridge = RIDGE * trace / width as f64 + f64::MIN_POSITIVE;
    let mut root = vec![0.0f64; width * width];
    for i in 0..width {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| root[i * width + k] * root[j * width + k]).sum();
            let rest = f64::from(matrix[i * width + j]) - known;
            root[i * width + j] =
                if i == j { (rest + ridge).max(ridge).sqrt() } else { rest / root[j * width + j] };
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_linear_map_is_found_again() {
        let (items, width, out) = (200, 5, 3);
        let mut random = Random::new(1, 1);
        let mut draw = |count: usize| (0..count).map(|_| random.normal() as f32).collect::<Vec<f32>>();
        let (seen, rows) = (draw(items * width), draw(out * width));
        let mut told = vec![0.0; items * out];
        dense::par_gemm(Mat::new(&seen, items, width), Mat::new(&rows, out, width).t(), &mut told);
        let found = map(&seen, width, &told, out);
        assert!(found.iter().zip(&rows).all(|(a, b)| (a - b).abs() < 1e-2), "{found:?} {rows:?}");
        assert!(map(&[0.0; 20], 5, &[0.0; 12], 3).iter().all(|x| *x == 0.0), "nothing to tell");
    }
}
