//! Every way against plain double-precision loops, on awkward shapes, strides and both writes.

use super::*;
use proptest::prelude::*;

/// A reproducible number in -1..1 for each position.
fn number(seed: u64, at: usize) -> f32 {
    let mut x = seed ^ (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 40) as f32) / (1u64 << 23) as f32 - 1.0
}

fn numbers(seed: u64, len: usize) -> Vec<f32> {
    (0..len).map(|at| number(seed, at)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn all_ways_agree(m in 1usize..80, k in 0usize..100, n in 1usize..80, flip in 0u8..4, gap in 0usize..5,
                      add in any::<bool>(), seed in any::<u64>()) {
        let (flip_a, flip_b) = (flip & 1 == 1, flip & 2 == 2);
        let width = |flip: bool, rows, cols| if flip { (cols, rows) } else { (rows, cols) };
        let (ar, ac) = width(flip_a, m, k);
        let (br, bc) = width(flip_b, k, n);
        let (a, b) = (numbers(seed, ar * (ac + gap)), numbers(!seed, br * (bc + gap)));
        let start = numbers(seed.rotate_left(9), m * (n + gap));
        let view = |data, rows, cols, flip| {
            let view = Mat::strided(data, rows, cols, cols + gap);
            if flip { view.t() } else { view }
        };
        let (a, b) = (view(&a, ar, ac, flip_a), view(&b, br, bc, flip_b));
        let write = if add { Write::Add } else { Write::Set };
        for &path in Path::available() {
            let mut c = start.clone();
            gemm_packed(a, &Packed::for_path(path, b), MatMut::strided(&mut c, m, n, n + gap), write);
            for row in 0..m {
                for col in 0..n + gap {
                    let at = row * (n + gap) + col;
                    let mut expected = if add || col >= n { f64::from(start[at]) } else { 0.0 };
                    if col < n {
                        expected += (0..k).map(|i| f64::from(a.get(row, i)) * f64::from(b.get(i, col))).sum::<f64>();
                    }
                    let error = (f64::from(c[at]) - expected).abs();
                    prop_assert!(error <= 2e-5 * (k as f64).sqrt().max(1.0),
                                 "{path:?} ({row}, {col}): {} for {expected}", c[at]);
                }
            }
        }
    }
}

#[test]
fn a_row_gives_the_same_bits_at_any_height() {
    let (k, n) = (270, 245);
    let (a, b) = (numbers(1, 203 * k), numbers(2, k * n));
    let packed = Packed::new(Mat::new(&b, k, n));
    let mut all = vec![0.0; 203 * n];
    par_gemm_packed(Mat::new(&a, 203, k), &packed, MatMut::new(&mut all, 203, n), Write::Set);
    for row in [0, 31, 100, 202] {
        let mut one = vec![0.0; n];
        gemm_packed(Mat::new(&a[row * k..][..k], 1, k), &packed, MatMut::new(&mut one, 1, n), Write::Set);
        assert_eq!(one, all[row * n..][..n]);
    }
}

#[test]
fn columns_shared_out_give_the_same_bits() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for (m, k, n) in [(1, 33, 300), (13, 270, 245), (40, 64, 31), (5, 100, 97), (0, 8, 70), (3, 0, 70)] {
        let (a, b, start) = (numbers(1, m * k), numbers(2, k * n), numbers(3, m * (n + 2)));
        for &path in Path::available() {
            let packed = Packed::for_path(path, Mat::new(&b, k, n));
            for write in [Write::Set, Write::Add] {
                let (mut whole, mut shared) = (start.clone(), start.clone());
                let a = Mat::new(&a, m, k);
                gemm_packed(a, &packed, MatMut::strided(&mut whole, m, n, n + 2), write);
                let c = MatMut::strided(&mut shared, m, n, n + 2);
                pool.install(|| par_gemm_packed_columns(a, &packed, c, write));
                let close =
                    |(a, b): (&f32, &f32)| (a - b).abs() <= if write == Write::Set { 0.0 } else { 1e-5 };
                assert!(whole.iter().zip(&shared).all(close), "{path:?} {m} x {k} x {n} {write:?}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "inner sizes")]
fn shapes_must_fit() {
    gemm(Mat::new(&[0.0; 6], 2, 3), Mat::new(&[0.0; 4], 2, 2), MatMut::new(&mut [0.0; 4], 2, 2), Write::Set);
}
