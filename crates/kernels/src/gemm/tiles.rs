//! Panels of tiles: single-precision matrices written as pairs of bfloat16 in the order AMX reads them.
//!
//! A line is a row of `A` or a column of `B`. A panel is [`SIDE`] lines; for every [`SIDE`] inner indices it
//! holds four tiles of 1 KiB: hi of the first 16 lines, hi of the second 16, and the two lo. A tile of `A` is 16
//! lines of 16 inner pairs; a tile of `B` is 16 inner pairs of 16 lines.

use super::Mat;
use std::arch::x86_64::*;

/// Lines in a panel, and inner indices in a step.
pub(super) const SIDE: usize = 32;
/// Lines in a tile.
pub(super) const HALF: usize = SIDE / 2;
/// 32-bit words in a tile, each a pair of bfloat16.
const TILE: usize = 256;

/// The numbers (in units of f32) that a panel takes.
pub(super) fn panel_len(inner: usize) -> usize {
    SIDE * inner.next_multiple_of(SIDE)
}

/// How the words of a tile are ordered. A line is a row of `A` or a column of `B`.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Layout {
    /// 16 lines of 16 inner pairs: a tile of `A`.
    LinesOfPairs,
    /// 16 inner pairs of 16 lines: a tile of `B`.
    PairsOfLines,
}

/// Lays out lines `first..first + SIDE` of `m` (`[lines, inner]`), zero beyond the last line and index.
///
/// # Safety
/// The machine has these instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn pack(m: &Mat<'_>, first: usize, panel: &mut [f32], layout: Layout) {
    let inner = m.cols();
    assert!(panel.len() >= panel_len(inner), "a panel for another inner size");
    for step in 0..inner.div_ceil(SIDE) {
        for half in 0..2 {
            let line = first + half * 16;
            let part = Part {
                data: m.data().get(line * m.row_stride() + step * SIDE * m.col_stride()..).unwrap_or(&[]),
                lines: m.rows().saturating_sub(line).min(16),
                inner: (inner - step * SIDE).min(SIDE),
            };
            let at = step * SIDE * SIDE + half * TILE;
            let (hi, lo) = panel[at..].split_at_mut(2 * TILE);
            let (hi, lo) = (hi[..TILE].as_mut_ptr().cast(), lo[..TILE].as_mut_ptr().cast());
            // SAFETY: each pointer is good for one tile of words.
            unsafe {
                let made = if m.col_stride() == 1 {
                    part.lines_of_pairs(m.row_stride(), hi, lo);
                    Layout::LinesOfPairs
                } else {
                    part.pairs_of_lines(m.col_stride(), hi, lo);
                    Layout::PairsOfLines
                };
                if made != layout {
                    transpose(hi);
                    transpose(lo);
                }
            }
        }
    }
}

/// Up to 16 lines of up to 32 inner indices of a matrix.
struct Part<'a> {
    data: &'a [f32],
    lines: usize,
    inner: usize,
}

impl Part<'_> {
    /// The tile where the inner index is contiguous and lines are `stride` apart.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn lines_of_pairs(&self, stride: usize, hi: *mut u32, lo: *mut u32) {
        let mask = u32::MAX >> (32 - self.inner);
        for line in 0..16 {
            let (mut x, mut y) = (_mm512_setzero_ps(), _mm512_setzero_ps());
            if line < self.lines {
                let row = &self.data[line * stride..][..self.inner];
                // SAFETY: the mask admits `inner` numbers, all in `row`; masked lanes are not touched.
                unsafe {
                    x = _mm512_maskz_loadu_ps(mask as u16, row.as_ptr());
                    y = _mm512_maskz_loadu_ps((mask >> 16) as u16, row.as_ptr().wrapping_add(16));
                }
            }
            let ((xh, xl), (yh, yl)) = (split(x), split(y));
            // SAFETY: line < 16, so 16 words remain of the tile.
            unsafe {
                _mm512_storeu_si512(hi.add(line * 16).cast(), join(xh, yh));
                _mm512_storeu_si512(lo.add(line * 16).cast(), join(xl, yl));
            }
        }
    }

    /// The tile where lines are contiguous and inner indices are `stride` apart.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn pairs_of_lines(&self, stride: usize, hi: *mut u32, lo: *mut u32) {
        let mask = (u32::MAX >> (32 - self.lines.max(1))) as u16;
        let load = |inner: usize| {
            if self.lines == 0 || inner >= self.inner {
                return _mm512_setzero_ps();
            }
            let row = &self.data[inner * stride..][..self.lines];
            // SAFETY: the mask admits `lines` numbers, all in `row`.
            unsafe { _mm512_maskz_loadu_ps(mask, row.as_ptr()) }
        };
        for pair in 0..16 {
            let ((xh, xl), (yh, yl)) = (split(load(2 * pair)), split(load(2 * pair + 1)));
            // SAFETY: pair < 16, so 16 words remain of the tile.
            unsafe {
                _mm512_storeu_si512(hi.add(pair * 16).cast(), interleave(xh, yh));
                _mm512_storeu_si512(lo.add(pair * 16).cast(), interleave(xl, yl));
            }
        }
    }
}

/// The two bfloat16 of 16 numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn split(x: __m512) -> (__m256i, __m256i) {
    // SAFETY: a vector of 16 bfloat16 is 256 bits without padding.
    let bits = |x| unsafe { std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(x)) };
    let hi = bits(x);
    let back = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(hi), 16));
    (hi, bits(_mm512_sub_ps(x, back)))
}

/// The 16 halves of `x`, then those of `y`: neighbours become pairs.
#[inline]
#[target_feature(enable = "avx512f")]
fn join(x: __m256i, y: __m256i) -> __m512i {
    _mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1)
}

/// A half of `x` and the same half of `y` as a pair.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interleave(x: __m256i, y: __m256i) -> __m512i {
    _mm512_or_si512(_mm512_cvtepu16_epi32(x), _mm512_slli_epi32(_mm512_cvtepu16_epi32(y), 16))
}

/// Transposes a tile of 16 x 16 words in place.
#[target_feature(enable = "avx512f")]
unsafe fn transpose(tile: *mut u32) {
    let mut r = [_mm512_setzero_si512(); 16];
    for (i, r) in r.iter_mut().enumerate() {
        // SAFETY: the tile has 16 rows of 16 words.
        *r = unsafe { _mm512_loadu_si512(tile.add(i * 16).cast()) };
    }
    let mut t = r;
    for i in 0..8 {
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    // Now each 128-bit lane of r[4i + j] is column 4 * lane + j of rows 4i..4i + 4.
    for i in 0..4 {
        r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for j in 0..4 {
        let even =
            [_mm512_shuffle_i32x4(r[j], r[j + 4], 0x88), _mm512_shuffle_i32x4(r[j + 8], r[j + 12], 0x88)];
        let odd =
            [_mm512_shuffle_i32x4(r[j], r[j + 4], 0xdd), _mm512_shuffle_i32x4(r[j + 8], r[j + 12], 0xdd)];
        t[j] = _mm512_shuffle_i32x4(even[0], even[1], 0x88);
        t[j + 8] = _mm512_shuffle_i32x4(even[0], even[1], 0xdd);
        t[j + 4] = _mm512_shuffle_i32x4(odd[0], odd[1], 0x88);
        t[j + 12] = _mm512_shuffle_i32x4(odd[0], odd[1], 0xdd);
    }
    for (i, t) in t.into_iter().enumerate() {
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(tile.add(i * 16).cast(), t) };
    }
}
