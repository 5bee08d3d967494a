//! Writing codes: which cell, which sixteenth of it, and the error of either reading.

use super::Codebook;

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
/// Numbers that are coded together.
const RUN: usize = 32;

/// Writes codes of one book.
#[derive(Clone, Debug)]
pub struct Coder {
    start: [f32; 16],
    /// Sixteenths a unit.
    per: [f32; 16],
    /// The width of a sixteenth.
    width: [f32; 16],
    value: [f32; 16],
}

/// Which planes are written: the loops are compiled for each.
trait Planes {
    const BOTH: bool;
}
struct CellsAlone;
struct CellsAndParts;
impl Planes for CellsAlone {
    const BOTH: bool = false;
}
impl Planes for CellsAndParts {
    const BOTH: bool = true;
}

impl Coder {
    /// A coder for this book.
    pub fn new(book: &Codebook) -> Self {
        let span = |i: usize| book.bounds[i + 1] - book.bounds[i];
        Self {
            start: std::array::from_fn(|i| book.bounds[i]),
            per: std::array::from_fn(|i| 16.0 / span(i)),
            width: std::array::from_fn(|i| span(i) * 0.0625),
            value: std::array::from_fn(|i| f32::from(book.values[i])),
        }
    }

    /// Writes both planes of `row`, whose numbers are between 0 and `scale`.
    ///
    /// # Panics
    /// If the row is odd or the planes are not half as many bytes.
    pub fn both(&self, row: &[f32], scale: f32, cells: &mut [u8], parts: &mut [u8]) -> CodeError {
        assert_eq!(parts.len() * 2, row.len(), "half a byte a number");
        self.encode::<CellsAndParts>(row, scale, cells, parts)
    }

    /// Writes the first plane alone; returns its error.
    ///
    /// # Panics
    /// If the row is odd or the plane is not half as many bytes.
    pub fn cells(&self, row: &[f32], scale: f32, cells: &mut [u8]) -> f32 {
        self.encode::<CellsAlone>(row, scale, cells, &mut []).cells
    }

    fn encode<P: Planes>(&self, row: &[f32], scale: f32, cells: &mut [u8], parts: &mut [u8]) -> CodeError {
        assert_eq!(cells.len() * 2, row.len(), "half a byte a number");
        #[cfg(target_arch = "x86_64")]
        {
            if crate::simd::has_avx512() {
                // SAFETY: the machine has these extensions; the planes are half as long as the row.
                return unsafe { self.encode_avx512::<P>(row, scale, cells, parts) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has AVX2.
                return unsafe { self.encode_avx2::<P>(row, scale, cells, parts) };
            }
        }
        self.encode_scalar::<P>(row, scale, cells, parts)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    fn encode_avx512<P: Planes>(
        &self,
        row: &[f32],
        scale: f32,
        cells: &mut [u8],
        parts: &mut [u8],
    ) -> CodeError {
        use std::arch::x86_64::{
            __m512, __m512i, _CMP_GE_OQ, _mm_mask_storeu_epi8, _mm512_abs_ps, _mm512_add_epi32,
            _mm512_add_ps, _mm512_cmp_ps_mask, _mm512_cvtepi32_ps, _mm512_cvtepi64_epi8, _mm512_cvttps_epi32,
            _mm512_loadu_ps, _mm512_mask_add_epi32, _mm512_mask_add_ps, _mm512_maskz_loadu_ps, _mm512_min_ps,
            _mm512_mul_ps, _mm512_or_si512, _mm512_permutexvar_ps, _mm512_set1_epi32, _mm512_set1_ps,
            _mm512_setzero_ps, _mm512_setzero_si512, _mm512_srli_epi64, _mm512_storeu_ps, _mm512_sub_ps,
        };
        // SAFETY: each table holds 16 numbers.
        let load = |table: &[f32; 16]| unsafe { _mm512_loadu_ps(table.as_ptr()) };
        let (start, per, width, value) =
            (load(&self.start), load(&self.per), load(&self.width), load(&self.value));
        let (all, inverse) = (_mm512_set1_ps(scale), _mm512_set1_ps(1.0 / scale));
        let step = _mm512_set1_ps(scale * (1.0 / 255.0));
        // Two numbers lie in the halves of a 64-bit lane: the later one's nibble moves up next to the earlier's.
        let pack = |numbers: __m512i| {
            _mm512_cvtepi64_epi8(_mm512_or_si512(numbers, _mm512_srli_epi64::<28>(numbers)))
        };
        let mut sums: [[__m512; 2]; 2] = [[_mm512_setzero_ps(); 2]; 2];
        for here in (0..row.len()).step_by(16) {
            let half = here / 16 % 2;
            let left = (row.len() - here).min(16);
            let (lanes, bytes) = (((1u32 << left) - 1) as u16, ((1u32 << (left / 2)) - 1) as u16);
            // SAFETY: the mask keeps the load inside the row.
            let p = unsafe { _mm512_maskz_loadu_ps(lanes, row.as_ptr().add(here)) };
            let v = _mm512_mul_ps(p, inverse);
            // Four halvings find the last cell that starts at or below `v`; every cell of the way is known to.
            let mut cell = _mm512_setzero_si512();
            for jump in [8, 4, 2, 1] {
                let next = _mm512_add_epi32(cell, _mm512_set1_epi32(jump));
                let inside = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(v, _mm512_permutexvar_ps(next, start));
                cell = _mm512_mask_add_epi32(cell, inside, cell, _mm512_set1_epi32(jump));
            }
            let first = _mm512_mul_ps(_mm512_permutexvar_ps(cell, value), step);
            let off = _mm512_abs_ps(_mm512_sub_ps(p, first));
            sums[0][half] = _mm512_mask_add_ps(sums[0][half], lanes, sums[0][half], off);
            // SAFETY: the mask keeps the bytes inside the plane, which is half as long as the row.
            unsafe { _mm_mask_storeu_epi8(cells.as_mut_ptr().add(here / 2).cast(), bytes, pack(cell)) };
            if !P::BOTH {
                continue;
            }
            let start = _mm512_permutexvar_ps(cell, start);
            let sixteenth = _mm512_mul_ps(_mm512_sub_ps(v, start), _mm512_permutexvar_ps(cell, per));
            let part = _mm512_cvttps_epi32(_mm512_min_ps(sixteenth, _mm512_set1_ps(15.0)));
            let middle = _mm512_add_ps(_mm512_cvtepi32_ps(part), _mm512_set1_ps(0.5));
            let inner = _mm512_mul_ps(middle, _mm512_permutexvar_ps(cell, width));
            let off = _mm512_abs_ps(_mm512_sub_ps(p, _mm512_mul_ps(all, _mm512_add_ps(start, inner))));
            sums[1][half] = _mm512_mask_add_ps(sums[1][half], lanes, sums[1][half], off);
            // SAFETY: as above; `both` has checked that the second plane is as long as the first.
            unsafe { _mm_mask_storeu_epi8(parts.as_mut_ptr().add(here / 2).cast(), bytes, pack(part)) };
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
    fn encode_avx2<P: Planes>(
        &self,
        row: &[f32],
        scale: f32,
        cells: &mut [u8],
        parts: &mut [u8],
    ) -> CodeError {
        self.encode_scalar::<P>(row, scale, cells, parts)
    }

    /// Runs of 32 numbers, each step over the whole run, so that the compiler can use whatever width it is given.
    #[inline(always)]
    fn encode_scalar<P: Planes>(
        &self,
        row: &[f32],
        scale: f32,
        cells: &mut [u8],
        parts: &mut [u8],
    ) -> CodeError {
        let inverse = 1.0 / scale;
        let mut sums = [[0.0f32; RUN]; 2];
        for (number, (run, cells)) in row.chunks(RUN).zip(cells.chunks_mut(RUN / 2)).enumerate() {
            let mut p = [0.0f32; RUN];
            p[..run.len()].copy_from_slice(run);
            let mut cell = [0i32; RUN];
            let mut start = [self.start[0]; RUN];
            let mut per = [self.per[0]; RUN];
            let mut width = [self.width[0]; RUN];
            let mut value = [self.value[0]; RUN];
            for next in 1..16 {
                for i in 0..RUN {
                    let inside = p[i] * inverse >= self.start[next];
                    cell[i] = if inside { next as i32 } else { cell[i] };
                    start[i] = if inside { self.start[next] } else { start[i] };
                    per[i] = if inside { self.per[next] } else { per[i] };
                    width[i] = if inside { self.width[next] } else { width[i] };
                    value[i] = if inside { self.value[next] } else { value[i] };
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
                if P::BOTH {
                    parts[number * RUN / 2 + j] = (part[2 * j] | part[2 * j + 1] << 4) as u8;
                }
            }
        }
        summed(sums)
    }
}

/// The sums of absolute errors in lanes (`i mod 32`), rounded up.
fn summed(sums: [[f32; RUN]; 2]) -> CodeError {
    let up = |sums: [f32; RUN]| sums.iter().sum::<f32>() * (1.0 + ROUNDING) + ROUNDING;
    CodeError { cells: up(sums[0]), both: up(sums[1]) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{book, row};
    use super::super::{Coded, decode_cells, l1_coded};
    use super::*;
    use crate::l1::l1;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn errors_are_certified((row, scale) in row()) {
            let (book, half) = (book(), row.len() / 2);
            let coder = Coder::new(&book);
            let (mut cells, mut parts) = (vec![0; half], vec![0; half]);
            let error = coder.both(&row, scale, &mut cells, &mut parts);
            let mut twin = (vec![0; half], vec![0; half]);
            let twin_error = coder.encode_scalar::<CellsAndParts>(&row, scale, &mut twin.0, &mut twin.1);
            prop_assert_eq!((&cells, &parts), (&twin.0, &twin.1));
            prop_assert_eq!(error, twin_error);
            let mut alone = vec![0; half];
            prop_assert_eq!(coder.cells(&row, scale, &mut alone), error.cells);
            prop_assert_eq!(&alone, &cells);
            prop_assert_eq!(coder.encode_scalar::<CellsAlone>(&row, scale, &mut alone, &mut []).cells, error.cells);
            let mut bytes = vec![0; row.len()];
            decode_cells(&cells, &book, &mut bytes);
            let read: Vec<f32> = bytes.iter().map(|b| f32::from(*b) * scale / 255.0).collect();
            prop_assert!(l1(&row, &read) <= f64::from(error.cells));
            let coded = Coded { cells: &cells, parts: &parts, scale };
            prop_assert!(f64::from(l1_coded(&row, coded, &book)) <= f64::from(error.both) + 1e-6);
        }
    }
}
