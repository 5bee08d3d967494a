//! Sums of absolute differences of bytes: the distance of a query to rows of codes.
//!
//! `psadbw` takes 64 differences an instruction with AVX-512BW, 32 with AVX2. Rows are coded at different
//! scales; the query is given once a scale (one row of `queries` each), and every document names the one it
//! is read against. Rows come as the bytes themselves, or as four-bit cells (see [`crate::codes`]) that a
//! table of 16 bytes turns into bytes on the way.

/// Rows of documents, and the scale each was coded at.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Which row of the queries each document is read against.
    pub scales: &'a [u8],
    /// The documents, one after another.
    pub bytes: &'a [u8],
}

/// The distance of each row of bytes from its query, into `out`.
///
/// # Panics
/// If rows, queries and results do not fit together at this width.
pub fn sad_rows(queries: &[u8], rows: Rows<'_>, width: usize, out: &mut [u32]) {
    check(queries, rows, width, width, out);
    match Width::detected() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detected` says that the machine has AVX-512BW; the lengths were checked above.
        Width::Avx512 => unsafe { sad_rows_avx512(queries, rows, width, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detected` says that the machine has AVX2; the lengths were checked above.
        Width::Avx2 => unsafe { sad_rows_avx2(queries, rows, width, out) },
        Width::Scalar => each_row(queries, rows, [width, width], out, sad_scalar),
    }
}

/// The distance of each row of cells, two numbers a byte, from its query, into `out`. `values` says which
/// byte each cell stands for.
///
/// # Panics
/// If rows, queries and results do not fit together at this width, or the width is odd.
pub fn sad_cells(queries: &[u8], rows: Rows<'_>, values: &[u8; 16], width: usize, out: &mut [u32]) {
    assert!(width.is_multiple_of(2), "two numbers a byte");
    check(queries, rows, width, width / 2, out);
    match Width::detected() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detected` says that the machine has AVX-512BW; the lengths were checked above.
        Width::Avx512 => unsafe { sad_cells_avx512(queries, rows, values, width, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detected` says that the machine has AVX2; the lengths were checked above.
        Width::Avx2 => unsafe { sad_cells_avx2(queries, rows, values, width, out) },
        Width::Scalar => {
            each_row(queries, rows, [width, width / 2], out, |query, row| cells_scalar(query, row, values))
        }
    }
}

fn check(queries: &[u8], rows: Rows<'_>, width: usize, stride: usize, out: &[u32]) {
    assert_eq!(rows.scales.len() * stride, rows.bytes.len(), "rows of another width");
    assert_eq!(rows.scales.len(), out.len(), "as many results as rows");
    let known = queries.len() / width;
    let highest = rows.scales.iter().copied().max().unwrap_or(0);
    assert!(rows.scales.is_empty() || usize::from(highest) < known, "a scale the query was not coded at");
}

/// How far ahead of the row being read memory is asked for: the hardware stops at the end of a page.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 4096;

/// How many bytes the machine compares at once.
enum Width {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Scalar,
}

impl Width {
    fn detected() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        Self::Scalar
    }
}

/// Calls `sad` with the query and the bytes of each row; `sizes` are their lengths.
#[inline(always)]
fn each_row(
    queries: &[u8],
    rows: Rows<'_>,
    [width, stride]: [usize; 2],
    out: &mut [u32],
    sad: impl Fn(&[u8], &[u8]) -> u32,
) {
    for ((scale, row), out) in rows.scales.iter().zip(rows.bytes.chunks_exact(stride)).zip(out) {
        *out = sad(&queries[usize::from(*scale) * width..][..width], row);
    }
}

#[inline(always)]
fn sad_scalar(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(x, y)| u32::from(x.abs_diff(*y))).sum()
}

#[inline(always)]
fn cells_scalar(query: &[u8], cells: &[u8], values: &[u8; 16]) -> u32 {
    let mut sum = 0;
    for (q, cell) in query.as_chunks::<2>().0.iter().zip(cells) {
        sum += u32::from(q[0].abs_diff(values[usize::from(cell & 15)]));
        sum += u32::from(q[1].abs_diff(values[usize::from(cell >> 4)]));
    }
    sum
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn sad_rows_avx512(queries: &[u8], rows: Rows<'_>, width: usize, out: &mut [u32]) {
    use std::arch::x86_64::{
        _mm512_add_epi64, _mm512_loadu_si512, _mm512_maskz_loadu_epi8, _mm512_reduce_add_epi64,
        _mm512_sad_epu8, _mm512_setzero_si512,
    };
    each_row(queries, rows, [width, width], out, |query, row| {
        let whole = |at: usize| {
            // SAFETY: `at + 64 <= width` bytes are in both rows.
            unsafe {
                let query = _mm512_loadu_si512(query.as_ptr().add(at).cast());
                _mm512_sad_epu8(query, _mm512_loadu_si512(row.as_ptr().add(at).cast()))
            }
        };
        let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        let mut at = 0;
        while at + 128 <= width {
            even = _mm512_add_epi64(even, whole(at));
            odd = _mm512_add_epi64(odd, whole(at + 64));
            at += 128;
        }
        while at < width {
            let mask = lanes(width - at);
            // SAFETY: the mask keeps the loads inside both rows, which are `width` long.
            let (x, y) = unsafe {
                (
                    _mm512_maskz_loadu_epi8(mask, query.as_ptr().add(at).cast()),
                    _mm512_maskz_loadu_epi8(mask, row.as_ptr().add(at).cast()),
                )
            };
            even = _mm512_add_epi64(even, _mm512_sad_epu8(x, y));
            at += 64;
        }
        _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd)) as u32
    });
}

/// A mask of the first `left` bytes of 64.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn lanes(left: usize) -> u64 {
    if left >= 64 { u64::MAX } else { (1 << left) - 1 }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn sad_cells_avx512(queries: &[u8], rows: Rows<'_>, values: &[u8; 16], width: usize, out: &mut [u32]) {
    use std::arch::x86_64::{
        _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm256_loadu_si256, _mm256_maskz_loadu_epi8,
        _mm512_add_epi64, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_cvtepu8_epi16, _mm512_loadu_si512,
        _mm512_maskz_loadu_epi8, _mm512_maskz_mov_epi8, _mm512_or_si512, _mm512_reduce_add_epi64,
        _mm512_sad_epu8, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_slli_epi16,
    };
    // SAFETY: the table holds 16 bytes.
    let table = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(values.as_ptr().cast()) });
    let nibble = _mm512_set1_epi8(15);
    each_row(queries, rows, [width, width / 2], out, |query, row| {
        let bytes = |cells| {
            let words = _mm512_cvtepu8_epi16(cells);
            let cells = _mm512_and_si512(_mm512_or_si512(words, _mm512_slli_epi16::<4>(words)), nibble);
            _mm512_shuffle_epi8(table, cells)
        };
        let whole = |at: usize| {
            // SAFETY: `at + 64 <= width` bytes are in the query, half as many in the row. A prefetch may
            // point anywhere.
            unsafe {
                let cells = row.as_ptr().add(at / 2);
                _mm_prefetch::<_MM_HINT_T0>(cells.wrapping_add(AHEAD).cast());
                let query = _mm512_loadu_si512(query.as_ptr().add(at).cast());
                _mm512_sad_epu8(query, bytes(_mm256_loadu_si256(cells.cast())))
            }
        };
        let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        let mut at = 0;
        while at + 128 <= width {
            even = _mm512_add_epi64(even, whole(at));
            odd = _mm512_add_epi64(odd, whole(at + 64));
            at += 128;
        }
        while at < width {
            let mask = lanes(width - at);
            // SAFETY: the masks keep the loads inside the query (`width` bytes) and the row (half as many).
            let (query, cells) = unsafe {
                (
                    _mm512_maskz_loadu_epi8(mask, query.as_ptr().add(at).cast()),
                    _mm256_maskz_loadu_epi8(lanes((width - at) / 2) as u32, row.as_ptr().add(at / 2).cast()),
                )
            };
            // Lanes beyond the row would stand for the first cell: the mask makes them 0, as the query's are.
            even = _mm512_add_epi64(even, _mm512_sad_epu8(query, _mm512_maskz_mov_epi8(mask, bytes(cells))));
            at += 64;
        }
        _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd)) as u32
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sad_rows_avx2(queries: &[u8], rows: Rows<'_>, width: usize, out: &mut [u32]) {
    use std::arch::x86_64::{_mm256_add_epi64, _mm256_loadu_si256, _mm256_sad_epu8, _mm256_setzero_si256};
    each_row(queries, rows, [width, width], out, |query, row| {
        let mut sum = _mm256_setzero_si256();
        let whole = width / 32 * 32;
        for at in (0..whole).step_by(32) {
            // SAFETY: `at + 32 <= width` bytes are in both rows.
            let (x, y) = unsafe {
                (
                    _mm256_loadu_si256(query.as_ptr().add(at).cast()),
                    _mm256_loadu_si256(row.as_ptr().add(at).cast()),
                )
            };
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(x, y));
        }
        total(sum) + sad_scalar(&query[whole..], &row[whole..])
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sad_cells_avx2(queries: &[u8], rows: Rows<'_>, values: &[u8; 16], width: usize, out: &mut [u32]) {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_broadcastsi128_si256,
        _mm256_cvtepu8_epi16, _mm256_loadu_si256, _mm256_or_si256, _mm256_sad_epu8, _mm256_set1_epi8,
        _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi16,
    };
    // SAFETY: the table holds 16 bytes.
    let table = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(values.as_ptr().cast()) });
    let nibble = _mm256_set1_epi8(15);
    each_row(queries, rows, [width, width / 2], out, |query, row| {
        let mut sum = _mm256_setzero_si256();
        let whole = width / 32 * 32;
        for at in (0..whole).step_by(32) {
            // SAFETY: `at + 32 <= width` bytes are in the query, half as many in the row.
            let (x, cells) = unsafe {
                (
                    _mm256_loadu_si256(query.as_ptr().add(at).cast()),
                    _mm_loadu_si128(row.as_ptr().add(at / 2).cast()),
                )
            };
            let words = _mm256_cvtepu8_epi16(cells);
            let cells = _mm256_and_si256(_mm256_or_si256(words, _mm256_slli_epi16::<4>(words)), nibble);
            sum = _mm256_add_epi64(sum, _mm256_sad_epu8(x, _mm256_shuffle_epi8(table, cells)));
        }
        total(sum) + cells_scalar(&query[whole..], &row[whole / 2..], values)
    });
}

/// The sum of the four 64-bit lanes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn total(sum: std::arch::x86_64::__m256i) -> u32 {
    use std::arch::x86_64::{
        _mm_add_epi64, _mm_cvtsi128_si64, _mm_unpackhi_epi64, _mm256_castsi256_si128,
        _mm256_extracti128_si256,
    };
    let half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    _mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(n: usize, mut state: u64) -> Vec<u8> {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..n).map(|_| next()).collect()
    }

    proptest! {
        #[test]
        fn every_instruction_set_agrees(
            half in 1usize..150,
            scales in prop::collection::vec(0u8..4, 0..20),
            seed in any::<u64>(),
        ) {
            let width = 2 * half;
            let queries = bytes(4 * width, seed);
            let values: [u8; 16] = bytes(16, !seed).try_into().unwrap();
            let cells = bytes(scales.len() * half, seed ^ 1);
            let whole: Vec<u8> =
                cells.iter().flat_map(|c| [values[usize::from(c & 15)], values[usize::from(c >> 4)]]).collect();
            let coded = Rows { scales: &scales, bytes: &cells };
            let plain = Rows { scales: &scales, bytes: &whole };
            let mut expected = vec![0; scales.len()];
            each_row(&queries, plain, [width, width], &mut expected, sad_scalar);
            let mut out = vec![0; scales.len()];
            sad_rows(&queries, plain, width, &mut out);
            prop_assert_eq!(&out, &expected);
            sad_cells(&queries, coded, &values, width, &mut out);
            prop_assert_eq!(&out, &expected);
            each_row(&queries, coded, [width, half], &mut out, |q, row| cells_scalar(q, row, &values));
            prop_assert_eq!(&out, &expected);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has AVX2 and the lengths fit.
                unsafe { sad_rows_avx2(&queries, plain, width, &mut out) };
                prop_assert_eq!(&out, &expected);
                // SAFETY: as above.
                unsafe { sad_cells_avx2(&queries, coded, &values, width, &mut out) };
                prop_assert_eq!(&out, &expected);
            }
        }
    }
}
