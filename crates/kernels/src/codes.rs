//! Four-bit codes of probabilities in two planes, with the error of each row known exactly.
//!
//! A number `p` of a row whose largest is at most `scale` is written as `v = p / scale` in `[0, 1]`. The
//! first plane says in which of 16 cells of a [`Codebook`] `v` lies, and stands for the cell's one byte
//! `value / 255 * scale`; the second plane says in which sixteenth of that cell. Two numbers share a byte,
//! the earlier in the low half. [`encode`] returns the summed error of either reading, so that a distance to
//! the codes bounds the distance to the row from both sides.

/// Sixteen cells of `[0, 1]`, narrow where numbers are dense.
#[derive(Clone, Debug, PartialEq)]
pub struct Codebook {
    /// Where each cell starts, rising from 0, and the end of the last, 1.
    pub bounds: [f32; 17],
    /// What the first plane alone stands for, in 255ths.
    pub values: [u8; 16],
}

/// How far the numbers read from the codes are from those of the row: sums of absolute differences, rounded
/// up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CodeError {
    /// Of the first plane alone.
    pub cells: f32,
    /// Of both planes together.
    pub both: f32,
}

/// Covers the rounding of single-precision sums over a row of mass 1.
const ROUNDING: f32 = 4e-6;

/// Writes the codes of `row`, whose numbers are between 0 and `scale`.
///
/// # Panics
/// If the row is odd or the planes are not half as many bytes.
pub fn encode(row: &[f32], scale: f32, book: &Codebook, cells: &mut [u8], parts: &mut [u8]) -> CodeError {
    assert!(row.len().is_multiple_of(2), "two numbers a byte");
    assert_eq!((cells.len() * 2, parts.len() * 2), (row.len(), row.len()), "half a byte a number");
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the machine has these extensions.
            return unsafe { encode_avx512(row, scale, book, cells, parts) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2.
            return unsafe { encode_avx2(row, scale, book, cells, parts) };
        }
    }
    encode_scalar(row, scale, book, cells, parts)
}

/// What the loops of [`encode`] look up by cell.
struct Tables {
    start: [f32; 16],
    /// Sixteenths a unit.
    per: [f32; 16],
    /// The width of a sixteenth.
    width: [f32; 16],
    value: [f32; 16],
}

impl Tables {
    fn new(book: &Codebook) -> Self {
        let span = |i: usize| book.bounds[i + 1] - book.bounds[i];
        Self {
            start: std::array::from_fn(|i| book.bounds[i]),
            per: std::array::from_fn(|i| 16.0 / span(i)),
            width: std::array::from_fn(|i| span(i) * 0.0625),
            value: std::array::from_fn(|i| f32::from(book.values[i])),
        }
    }
}

/// The sums of absolute errors in lanes (`i mod 32`), rounded up.
fn summed(sums: [[f32; RUN]; 2]) -> CodeError {
    let up = |sums: [f32; RUN]| sums.iter().sum::<f32>() * (1.0 + ROUNDING) + ROUNDING;
    CodeError { cells: up(sums[0]), both: up(sums[1]) }
}

/// Numbers that are coded together.
const RUN: usize = 32;

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn encode_avx512(row: &[f32], scale: f32, book: &Codebook, cells: &mut [u8], parts: &mut [u8]) -> CodeError {
    use std::arch::x86_64::{
        __m512, __m512i, _CMP_GE_OQ, _mm_storel_epi64, _mm512_abs_ps, _mm512_add_ps, _mm512_cmp_ps_mask,
        _mm512_cvtepi32_ps, _mm512_cvtepi64_epi8, _mm512_cvttps_epi32, _mm512_loadu_ps,
        _mm512_mask_add_epi32, _mm512_min_ps, _mm512_mul_ps, _mm512_or_si512, _mm512_permutexvar_ps,
        _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_srli_epi64,
        _mm512_storeu_ps, _mm512_sub_ps,
    };
    if !row.len().is_multiple_of(RUN) {
        return encode_scalar(row, scale, book, cells, parts);
    }
    let tables = Tables::new(book);
    // SAFETY: each table holds 16 numbers.
    let load = |table: &[f32; 16]| unsafe { _mm512_loadu_ps(table.as_ptr()) };
    let (start, per, width, value) =
        (load(&tables.start), load(&tables.per), load(&tables.width), load(&tables.value));
    let (all, inverse) = (_mm512_set1_ps(scale), _mm512_set1_ps(1.0 / scale));
    let step = _mm512_set1_ps(scale * (1.0 / 255.0));
    // Two numbers lie in the halves of a 64-bit lane: the later one's nibble moves up next to the earlier's.
    let pack =
        |numbers: __m512i| _mm512_cvtepi64_epi8(_mm512_or_si512(numbers, _mm512_srli_epi64::<28>(numbers)));
    let mut sums: [[__m512; 2]; 2] = [[_mm512_setzero_ps(); 2]; 2];
    for at in (0..row.len()).step_by(RUN) {
        for half in 0..2 {
            let here = at + 16 * half;
            // SAFETY: the row is a multiple of 32 long and `here + 16 <= at + 32`.
            let p = unsafe { _mm512_loadu_ps(row.as_ptr().add(here)) };
            let v = _mm512_mul_ps(p, inverse);
            // Four halvings find the last cell that starts at or below `v`; every cell of the way is known to.
            let mut cell = _mm512_setzero_si512();
            for jump in [8, 4, 2, 1] {
                let next = _mm512_mask_add_epi32(cell, u16::MAX, cell, _mm512_set1_epi32(jump));
                let inside = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(v, _mm512_permutexvar_ps(next, start));
                cell = _mm512_mask_add_epi32(cell, inside, cell, _mm512_set1_epi32(jump));
            }
            let start = _mm512_permutexvar_ps(cell, start);
            let sixteenth = _mm512_mul_ps(_mm512_sub_ps(v, start), _mm512_permutexvar_ps(cell, per));
            let part = _mm512_cvttps_epi32(_mm512_min_ps(sixteenth, _mm512_set1_ps(15.0)));
            let middle = _mm512_add_ps(_mm512_cvtepi32_ps(part), _mm512_set1_ps(0.5));
            let inner = _mm512_mul_ps(middle, _mm512_permutexvar_ps(cell, width));
            let read = _mm512_mul_ps(all, _mm512_add_ps(start, inner));
            let first = _mm512_mul_ps(_mm512_permutexvar_ps(cell, value), step);
            sums[0][half] = _mm512_add_ps(sums[0][half], _mm512_abs_ps(_mm512_sub_ps(p, first)));
            sums[1][half] = _mm512_add_ps(sums[1][half], _mm512_abs_ps(_mm512_sub_ps(p, read)));
            // SAFETY: 8 bytes of each plane, which are half as long as the row, start at `here / 2`.
            unsafe {
                _mm_storel_epi64(cells.as_mut_ptr().add(here / 2).cast(), pack(cell));
                _mm_storel_epi64(parts.as_mut_ptr().add(here / 2).cast(), pack(part));
            }
        }
    }
    let mut lanes = [[0.0; RUN]; 2];
    for (lanes, sums) in lanes.iter_mut().zip(sums) {
        for (half, sum) in sums.into_iter().enumerate() {
            // SAFETY: 16 of the 32 numbers start at `16 * half`.
            unsafe { _mm512_storeu_ps(lanes.as_mut_ptr().add(16 * half), sum) };
        }
    }
    summed(lanes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn encode_avx2(row: &[f32], scale: f32, book: &Codebook, cells: &mut [u8], parts: &mut [u8]) -> CodeError {
    encode_scalar(row, scale, book, cells, parts)
}

/// Runs of 32 numbers, each step over the whole run, so that the compiler can use whatever width it is given.
#[inline(always)]
fn encode_scalar(row: &[f32], scale: f32, book: &Codebook, cells: &mut [u8], parts: &mut [u8]) -> CodeError {
    let tables = Tables::new(book);
    let inverse = 1.0 / scale;
    let mut sums = [[0.0f32; RUN]; 2];
    for ((run, cells), parts) in row.chunks(RUN).zip(cells.chunks_mut(RUN / 2)).zip(parts.chunks_mut(RUN / 2))
    {
        let mut p = [0.0f32; RUN];
        p[..run.len()].copy_from_slice(run);
        let mut cell = [0i32; RUN];
        let mut start = [tables.start[0]; RUN];
        let mut per = [tables.per[0]; RUN];
        let mut width = [tables.width[0]; RUN];
        let mut value = [tables.value[0]; RUN];
        for next in 1..16 {
            for i in 0..RUN {
                let inside = p[i] * inverse >= tables.start[next];
                cell[i] = if inside { next as i32 } else { cell[i] };
                start[i] = if inside { tables.start[next] } else { start[i] };
                per[i] = if inside { tables.per[next] } else { per[i] };
                width[i] = if inside { tables.width[next] } else { width[i] };
                value[i] = if inside { tables.value[next] } else { value[i] };
            }
        }
        let mut part = [0i32; RUN];
        for i in 0..RUN {
            let sixteenth = (p[i] * inverse - start[i]) * per[i];
            let sixteenth = if sixteenth < 15.0 { sixteenth } else { 15.0 };
            part[i] = sixteenth as i32;
            let read = scale * (start[i] + (part[i] as f32 + 0.5) * width[i]);
            if i < run.len() {
                sums[0][i] += (p[i] - value[i] * (scale * (1.0 / 255.0))).abs();
                sums[1][i] += (p[i] - read).abs();
            }
        }
        for j in 0..run.len() / 2 {
            cells[j] = (cell[2 * j] | cell[2 * j + 1] << 4) as u8;
            parts[j] = (part[2 * j] | part[2 * j + 1] << 4) as u8;
        }
    }
    summed(sums)
}

/// Reads the first plane: one byte a number, in 255ths of the row's scale.
///
/// # Panics
/// If `out` is not twice as long as `cells`.
pub fn decode_cells(cells: &[u8], book: &Codebook, out: &mut [u8]) {
    assert_eq!(out.len(), cells.len() * 2, "two numbers a byte");
    for (cell, out) in cells.iter().zip(out.as_chunks_mut::<2>().0) {
        *out = [book.values[usize::from(cell & 15)], book.values[usize::from(cell >> 4)]];
    }
}

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
    if query.len().is_multiple_of(16) && is_x86_feature_detected!("avx512f") {
        // SAFETY: the machine has AVX-512F; lengths are equal and a multiple of 16.
        return unsafe { l1_coded_avx512(query, row, book) };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::l1::l1;
    use proptest::prelude::*;

    fn book() -> Codebook {
        let mut bounds = [0.0; 17];
        for i in 1..=16 {
            bounds[i] = (i as f32 / 16.0).powi(2);
        }
        bounds[16] = 1.0;
        let values = std::array::from_fn(|i| ((bounds[i] + bounds[i + 1]) * 127.5) as u8);
        Codebook { bounds, values }
    }

    proptest! {
        #[test]
        fn errors_are_certified(row in prop::collection::vec(0f32..1.0, 1..200), scale in 0.9f32..1.1, seed in any::<u32>()) {
            let scale = scale.max(row.iter().copied().fold(0.0, f32::max));
            let mut row = row;
            if row.len() % 2 == 1 { row.push(0.0); }
            let total: f32 = row.iter().sum::<f32>().max(1.0);
            let (row, scale): (Vec<f32>, f32) = (row.iter().map(|p| p / total).collect(), scale / total);
            let book = book();
            let (mut cells, mut parts) = (vec![0; row.len() / 2], vec![0; row.len() / 2]);
            let error = encode(&row, scale, &book, &mut cells, &mut parts);
            let mut twin = (vec![0; row.len() / 2], vec![0; row.len() / 2]);
            let twin_error = encode_scalar(&row, scale, &book, &mut twin.0, &mut twin.1);
            prop_assert_eq!((&cells, &parts), (&twin.0, &twin.1));
            prop_assert_eq!(error, twin_error);
            let mut bytes = vec![0; row.len()];
            decode_cells(&cells, &book, &mut bytes);
            let read: Vec<f32> = bytes.iter().map(|b| f32::from(*b) * scale / 255.0).collect();
            prop_assert!(l1(&row, &read) <= f64::from(error.cells));
            let coded = Coded { cells: &cells, parts: &parts, scale };
            prop_assert!(f64::from(l1_coded_scalar(&row, coded, &book)) <= f64::from(error.both) + 1e-6);
            let mut state = seed;
            let query: Vec<f32> = row.iter().map(|p| { state = state.wrapping_mul(747796405).wrapping_add(1); p * (state >> 16) as f32 / 32768.0 }).collect();
            let exact = l1(&query, &row);
            let near = f64::from(l1_coded(&query, coded, &book));
            prop_assert!((near - exact).abs() <= f64::from(error.both) + 4e-6);
            prop_assert!((near - f64::from(l1_coded_scalar(&query, coded, &book))).abs() <= 4e-6);
        }
    }
}
