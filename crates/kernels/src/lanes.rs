//! Reductions in blocks of numbers, so that the compiler turns them into vector code.

/// How many numbers a block has: one register of AVX-512, two of AVX2, four of SSE or NEON.
pub(crate) const LANES: usize = 16;

/// The sum of a slice in [`LANES`] running sums: the order, and so the bits, depend on the length alone.
#[inline(always)]
pub(crate) fn lane_sum(x: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (blocks, rest) = x.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            sums[lane] += term(block[lane]);
        }
    }
    for (sum, &value) in sums.iter_mut().zip(rest) {
        *sum += term(value);
    }
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
    }
    sums[0]
}

/// The largest of a slice, `-inf` when it is empty.
#[inline(always)]
pub(crate) fn lane_max(x: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let mut maxima = [f32::NEG_INFINITY; LANES];
    let (blocks, rest) = x.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            maxima[lane] = larger(block[lane], maxima[lane]);
        }
    }
    for (maximum, &value) in maxima.iter_mut().zip(rest) {
        *maximum = larger(value, *maximum);
    }
    maxima.into_iter().fold(f32::NEG_INFINITY, larger)
}
