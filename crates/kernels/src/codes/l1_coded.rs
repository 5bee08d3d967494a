//! The distance of a query to a row read from both planes.

use super::Codebook;

/// A row as both planes tell it.
#[derive(Clone, Copy, Debug)]
pub struct Coded<'a> {
    /// The first plane.
    pub cells: &'a [u8],
    /// The second plane.
    pub parts: &'a [u8],
    /// The scale the row was written at.
    pub scale: f32,
}

/// `sum_i |query_i - row_i|` with the row read from both planes; right to single precision.
///
/// # Panics
/// If the query is not twice as long as either plane.
pub fn l1_coded(query: &[f32], row: Coded<'_>, book: &Codebook) -> f32 {
    assert_eq!((row.cells.len() * 2, row.parts.len() * 2), (query.len(), query.len()), "another width");
    #[cfg(target_arch = "x86_64")]
    {
        if query.len().is_multiple_of(16) && is_x86_feature_detected!("avx512f") {
            // SAFETY: the machine has AVX-512F; lengths are equal and a multiple of 16.
            return unsafe { l1_coded_avx512(query, row, book) };
        }
        if query.len().is_multiple_of(8) && crate::simd::has_avx2() {
            // SAFETY: the machine has AVX2 and FMA; lengths are equal and a multiple of 8.
            return unsafe { l1_coded_avx2(query, row, book) };
        }
    }
    l1_coded_scalar(query, row, book)
}

/// Where each sixteenth of a cell begins and how wide it is, at a scale: the number read is
/// `start + part * width`.
fn readings(book: &Codebook, scale: f32) -> ([f32; 16], [f32; 16]) {
    let width: [f32; 16] = std::array::from_fn(|i| (book.bounds[i + 1] - book.bounds[i]) * 0.0625 * scale);
    let start = std::array::from_fn(|i| book.bounds[i] * scale + 0.5 * width[i]);
    (start, width)
}

fn l1_coded_scalar(query: &[f32], row: Coded<'_>, book: &Codebook) -> f32 {
    let (start, width) = readings(book, row.scale);
    let mut sums = [0.0f32; 2];
    for ((q, cell), part) in query.as_chunks::<2>().0.iter().zip(row.cells).zip(row.parts) {
        for (half, shift) in [(0, 0), (1, 4)] {
            let (cell, part) = (usize::from(cell >> shift & 15), f32::from(part >> shift & 15));
            sums[half] += (q[half] - (start[cell] + part * width[cell])).abs();
        }
    }
    sums[0] + sums[1]
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn l1_coded_avx512(query: &[f32], row: Coded<'_>, book: &Codebook) -> f32 {
    use std::arch::x86_64::{
        __m512i, _mm_loadl_epi64, _mm512_abs_ps, _mm512_add_ps, _mm512_and_si512, _mm512_cvtepi32_ps,
        _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_permutexvar_ps, _mm512_reduce_add_ps, _mm512_set1_epi32,
        _mm512_setr_epi32, _mm512_setzero_ps, _mm512_srlv_epi32, _mm512_sub_ps,
    };
    use std::arch::x86_64::{_mm256_cvtepu8_epi32, _mm512_castsi256_si512, _mm512_permutexvar_epi32};
    let (start, width) = readings(book, row.scale);
    // SAFETY: both tables hold 16 numbers.
    let (start, width) = unsafe { (_mm512_loadu_ps(start.as_ptr()), _mm512_loadu_ps(width.as_ptr())) };
    let pairs = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    let shifts = _mm512_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4);
    let nibble = _mm512_set1_epi32(15);
    let mut sum = _mm512_setzero_ps();
    for at in (0..query.len()).step_by(16) {
        // SAFETY: 8 bytes of each plane and 16 numbers of the query start here: lengths were checked.
        let (q, cells, parts) = unsafe {
            (
                _mm512_loadu_ps(query.as_ptr().add(at)),
                _mm_loadl_epi64(row.cells.as_ptr().add(at / 2).cast()),
                _mm_loadl_epi64(row.parts.as_ptr().add(at / 2).cast()),
            )
        };
        let spread = |bytes| -> __m512i {
            let words = _mm512_castsi256_si512(_mm256_cvtepu8_epi32(bytes));
            _mm512_and_si512(_mm512_srlv_epi32(_mm512_permutexvar_epi32(pairs, words), shifts), nibble)
        };
        let (cells, parts) = (spread(cells), _mm512_cvtepi32_ps(spread(parts)));
        let (start, width) = (_mm512_permutexvar_ps(cells, start), _mm512_permutexvar_ps(cells, width));
        let read = _mm512_fmadd_ps(parts, width, start);
        sum = _mm512_add_ps(sum, _mm512_abs_ps(_mm512_sub_ps(q, read)));
    }
    _mm512_reduce_add_ps(sum)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn l1_coded_avx2(query: &[f32], row: Coded<'_>, book: &Codebook) -> f32 {
    use std::arch::x86_64::{
        __m256, __m256i, _mm256_add_ps, _mm256_and_ps, _mm256_and_si256, _mm256_blendv_ps,
        _mm256_castsi256_ps, _mm256_cvtepi32_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_permutevar8x32_ps,
        _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_ps, _mm256_slli_epi32, _mm256_srlv_epi32,
        _mm256_storeu_ps, _mm256_sub_ps,
    };
    let (start, width) = readings(book, row.scale);
    // SAFETY: a table holds 16 numbers, half of them in each register.
    let load = |table: &[f32; 16]| unsafe {
        (_mm256_loadu_ps(table.as_ptr()), _mm256_loadu_ps(table.as_ptr().add(8)))
    };
    let (start, width) = (load(&start), load(&width));
    // A permutation looks at three bits of the cell; the fourth, moved up to the sign, chooses the half.
    let look = |(low, high): (__m256, __m256), cells: __m256i| {
        let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(cells));
        _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, cells), _mm256_permutevar8x32_ps(high, cells), upper)
    };
    let shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    let nibble = _mm256_set1_epi32(15);
    let positive = _mm256_castsi256_ps(_mm256_set1_epi32(i32::MAX));
    let mut sum = _mm256_setzero_ps();
    let planes = row.cells.as_chunks::<4>().0.iter().zip(row.parts.as_chunks::<4>().0);
    for (q, (cells, parts)) in query.as_chunks::<8>().0.iter().zip(planes) {
        let spread = |bytes: [u8; 4]| {
            let word = _mm256_set1_epi32(i32::from_le_bytes(bytes));
            _mm256_and_si256(_mm256_srlv_epi32(word, shifts), nibble)
        };
        let (cells, parts) = (spread(*cells), _mm256_cvtepi32_ps(spread(*parts)));
        // SAFETY: 8 numbers of the query.
        let q = unsafe { _mm256_loadu_ps(q.as_ptr()) };
        let read = _mm256_fmadd_ps(parts, look(width, cells), look(start, cells));
        sum = _mm256_add_ps(sum, _mm256_and_ps(_mm256_sub_ps(q, read), positive));
    }
    let mut lanes = [0.0; 8];
    // SAFETY: the array holds the 8 numbers of the register.
    unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), sum) };
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::super::Coder;
    use super::super::tests::{book, row};
    use super::*;
    use crate::l1::l1;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_instruction_set_is_within_the_error((row, scale) in row(), seed in any::<u32>()) {
            let (book, half) = (book(), row.len() / 2);
            let (mut cells, mut parts) = (vec![0; half], vec![0; half]);
            let error = Coder::new(&book).both(&row, scale, &mut cells, &mut parts);
            let coded = Coded { cells: &cells, parts: &parts, scale };
            let mut state = seed;
            let mut share = || {
                state = state.wrapping_mul(747_796_405).wrapping_add(1);
                (state >> 16) as f32 / 32768.0
            };
            let query: Vec<f32> = row.iter().map(|p| p * share()).collect();
            let (exact, twin) = (l1(&query, &row), f64::from(l1_coded_scalar(&query, coded, &book)));
            let near = f64::from(l1_coded(&query, coded, &book));
            prop_assert!((near - exact).abs() <= f64::from(error.both) + 4e-6);
            prop_assert!((near - twin).abs() <= 4e-6);
            #[cfg(target_arch = "x86_64")]
            if crate::simd::has_avx2() && query.len().is_multiple_of(8) {
                // SAFETY: the machine has AVX2 and FMA; lengths are equal and a multiple of 8.
                let narrow = f64::from(unsafe { l1_coded_avx2(&query, coded, &book) });
                prop_assert!((narrow - twin).abs() <= 4e-6);
            }
        }
    }
}
