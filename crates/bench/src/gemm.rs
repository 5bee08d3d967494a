//! `retreever-bench gemm`: our matrix products beside `matrixmultiply`, on one thread.
//!
//! The shapes are those that training and encoding spend their time in. All ways are compared with each other
//! in the same run: the largest difference, relative to the size of the products, is printed.

use crate::measurement::{Measurement, Unit, shortest, times};
use anyhow::Result;
use retreever_kernels::gemm::{Mat, MatMut, Packed, Path, Write, gemm_packed};

/// What a shape stands for: rows of `A`, the inner size, columns of `B`.
const SHAPES: [(&str, usize, usize, usize); 4] = [
    ("attention scores, 128 tokens", 128, 384, 1280),
    ("attention scores, 1024 tokens", 1024, 384, 1280),
    ("feed-forward, 512 tokens", 512, 384, 1536),
    ("one query of 16 tokens", 16, 384, 384),
];

/// How far two ways may differ, relative to the root of the inner size (numbers are about 1).
const TOLERANCE: f32 = 2e-5;

/// Measures every way this machine has.
pub fn run() -> Result<()> {
    for (case, m, k, n) in SHAPES {
        let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.37).sin()).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i as f32 * 0.61).cos()).collect();
        let measure = |path| {
            let packed = Packed::for_path(path, Mat::new(&b, k, n));
            let mut c = vec![0.0; m * n];
            let repeat = 1 + 2_000_000_000 / (m * k * n) / 40;
            let time = shortest(&times(12, || {
                for _ in 0..repeat {
                    gemm_packed(Mat::new(&a, m, k), &packed, MatMut::new(&mut c, m, n), Write::Set);
                }
            }));
            ((2 * m * k * n * repeat) as f64 / time / 1e9, c)
        };
        let (theirs, expected) = measure(Path::Portable);
        for &path in Path::available().iter().filter(|path| **path != Path::Portable) {
            let (ours, c) = measure(path);
            let error =
                c.iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max) / (k as f32).sqrt();
            Measurement::new("gemm", format!("{case}, {path:?}"), "matrixmultiply", Unit::Gflops)
                .figures(ours, theirs)
                .checked(error < TOLERANCE)
                .with("max_error", error.into())
                .print();
        }
    }
    Ok(())
}
