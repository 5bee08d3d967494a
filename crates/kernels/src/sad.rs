//! Sums of absolute differences of bytes: the distance of a query to rows of codes.
//!
//! `psadbw` takes 64 differences an instruction with AVX-512BW, 32 with AVX2. Rows are coded at different
//! scales; the query is given once a scale (one row of `queries` each), and every document names the one it
//! is read against. Rows come as the bytes themselves, or as four-bit cells (see [`crate::codes`]) that a
//! table of 16 bytes turns into bytes on the way; all of them one after another, or some of them by number.

/// Rows of documents, and the scale each was coded at.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Which row of the queries each document is read against.
    pub scales: &'a [u8],
    /// The documents, one after another.
    pub bytes: &'a [u8],
    /// Numbers of a row.
    pub width: usize,
}

/// The distance of each row of bytes from its query, into `out`.
///
/// # Panics
/// If rows, queries and results do not fit together at this width.
pub fn sad_rows(queries: &[u8], rows: Rows<'_>, out: &mut [u32]) {
    let all = Walk::all(queries, rows, rows.width, out);
    match Width::detected() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detected` says that the machine has AVX-512BW; the walk has checked the lengths.
        Width::Avx512 => unsafe { avx512::rows(all, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detected` says that the machine has AVX2; the walk has checked the lengths.
        Width::Avx2 => unsafe { avx2::rows(all, out) },
        Width::Scalar => all.each(out, sad_scalar),
    }
}

/// The distance of each row of cells, two numbers a byte, from its query, into `out`. `values` says which
/// byte each cell stands for.
///
/// # Panics
/// If rows, queries and results do not fit together at this width, or the width is odd.
pub fn sad_cells(queries: &[u8], rows: Rows<'_>, values: &[u8; 16], out: &mut [u32]) {
    assert!(rows.width.is_multiple_of(2), "two numbers a byte");
    cells(Walk::all(queries, rows, rows.width / 2, out), values, out);
}

/// As [`sad_cells`], but of the rows that `picks` names alone.
///
/// # Panics
/// As [`sad_cells`], or if there is no such row.
pub fn sad_picked(queries: &[u8], rows: Rows<'_>, values: &[u8; 16], picks: &[u32], out: &mut [u32]) {
    assert!(rows.width.is_multiple_of(2), "two numbers a byte");
    cells(Walk::picked(queries, rows, picks, out), values, out);
}

fn cells<P: Path>(walk: Walk<'_, P>, values: &[u8; 16], out: &mut [u32]) {
    match Width::detected() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detected` says that the machine has AVX-512BW; the walk has checked the lengths.
        Width::Avx512 => unsafe { avx512::cells(walk, values, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detected` says that the machine has AVX2; the walk has checked the lengths.
        Width::Avx2 => unsafe { avx2::cells(walk, values, out) },
        Width::Scalar => walk.each(out, |query, row| cells_scalar(query, row, values)),
    }
}

/// Which rows are visited.
trait Path {
    /// Whether they lie one after another: what is needed next then follows from where we are.
    const IN_ORDER: bool;
    /// The row at a step.
    fn row(&self, step: usize) -> usize;
}

struct Every;
impl Path for Every {
    const IN_ORDER: bool = true;
    #[inline(always)]
    fn row(&self, step: usize) -> usize {
        step
    }
}

impl Path for &[u32] {
    const IN_ORDER: bool = false;
    #[inline(always)]
    fn row(&self, step: usize) -> usize {
        self[step] as usize
    }
}

/// How many picks ahead of the row being read memory is asked for.
const PICKS_AHEAD: usize = 6;

/// A query beside rows, their lengths checked.
struct Walk<'a, P> {
    queries: &'a [u8],
    rows: Rows<'a>,
    stride: usize,
    path: P,
}

impl<'a> Walk<'a, Every> {
    fn all(queries: &'a [u8], rows: Rows<'a>, stride: usize, out: &[u32]) -> Self {
        assert_eq!(rows.scales.len(), out.len(), "as many results as rows");
        assert_eq!(rows.scales.len() * stride, rows.bytes.len(), "rows of another width");
        let highest = rows.scales.iter().copied().max().unwrap_or(0);
        let known = queries.len() / rows.width;
        assert!(rows.scales.is_empty() || usize::from(highest) < known, "a scale the query was not coded at");
        Self { queries, rows, stride, path: Every }
    }
}

impl<'a, 'p> Walk<'a, &'p [u32]> {
    fn picked(queries: &'a [u8], rows: Rows<'a>, picks: &'p [u32], out: &[u32]) -> Self {
        let stride = rows.width / 2;
        assert_eq!(picks.len(), out.len(), "as many results as picks");
        assert_eq!(rows.scales.len() * stride, rows.bytes.len(), "rows of another width");
        let known = queries.len() / rows.width;
        let fits =
            |row: &u32| rows.scales.get(*row as usize).is_some_and(|scale| usize::from(*scale) < known);
        assert!(picks.iter().all(fits), "no such row, or a scale the query was not coded at");
        Self { queries, rows, stride, path: picks }
    }
}

impl<P: Path> Walk<'_, P> {
    /// Asks for the memory of a row that is read later.
    #[inline(always)]
    fn ask_for(&self, row: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in self.rows.bytes[row * self.stride..][..self.stride].chunks(64) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: every x86-64 machine has the instruction, and it may point anywhere.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = row;
    }

    /// Calls `sad` with the query and the bytes of each row.
    #[inline(always)]
    fn each(&self, out: &mut [u32], sad: impl Fn(&[u8], &[u8]) -> u32) {
        let Rows { scales, bytes, width } = self.rows;
        let steps = out.len();
        for (step, out) in out.iter_mut().enumerate() {
            if !P::IN_ORDER {
                self.ask_for(self.path.row((step + PICKS_AHEAD).min(steps - 1)));
            }
            let row = self.path.row(step);
            let query = &self.queries[usize::from(scales[row]) * width..][..width];
            *out = sad(query, &bytes[row * self.stride..][..self.stride]);
        }
    }
}

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

/// 64 bytes at once.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{Every, Path, Walk};
    use std::arch::x86_64::*;

    /// How far ahead of the row being read memory is asked for: the hardware stops at the end of a page.
    const AHEAD: usize = 4096;

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) fn rows(walk: Walk<'_, Every>, out: &mut [u32]) {
        walk.each(out, |query, row| {
            summed(
                query.len(),
                |at| {
                    // SAFETY: `at + 64 <= width` bytes are in both rows.
                    unsafe {
                        let query = _mm512_loadu_si512(query.as_ptr().add(at).cast());
                        _mm512_sad_epu8(query, _mm512_loadu_si512(row.as_ptr().add(at).cast()))
                    }
                },
                |at, mask| {
                    // SAFETY: the mask keeps the loads inside both rows, which are `width` long.
                    unsafe {
                        let query = _mm512_maskz_loadu_epi8(mask, query.as_ptr().add(at).cast());
                        _mm512_sad_epu8(query, _mm512_maskz_loadu_epi8(mask, row.as_ptr().add(at).cast()))
                    }
                },
            )
        });
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) fn cells<P: Path>(walk: Walk<'_, P>, values: &[u8; 16], out: &mut [u32]) {
        // SAFETY: the table holds 16 bytes.
        let table = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(values.as_ptr().cast()) });
        let nibble = _mm512_set1_epi8(15);
        walk.each(out, |query, row| {
            let bytes = |cells| {
                let words = _mm512_cvtepu8_epi16(cells);
                let cells = _mm512_and_si512(_mm512_or_si512(words, _mm512_slli_epi16::<4>(words)), nibble);
                _mm512_shuffle_epi8(table, cells)
            };
            summed(
                query.len(),
                |at| {
                    // SAFETY: `at + 64 <= width` bytes are in the query, half as many in the row. A prefetch may
                    // point anywhere.
                    unsafe {
                        let cells = row.as_ptr().add(at / 2);
                        if P::IN_ORDER {
                            _mm_prefetch::<_MM_HINT_T0>(cells.wrapping_add(AHEAD).cast());
                        }
                        let query = _mm512_loadu_si512(query.as_ptr().add(at).cast());
                        _mm512_sad_epu8(query, bytes(_mm256_loadu_si256(cells.cast())))
                    }
                },
                |at, mask| {
                    let half = (mask.count_ones() / 2).min(31);
                    // SAFETY: the masks keep the loads inside the query and the row, half as long.
                    let (query, cells) = unsafe {
                        (
                            _mm512_maskz_loadu_epi8(mask, query.as_ptr().add(at).cast()),
                            _mm256_maskz_loadu_epi8((1 << half) - 1, row.as_ptr().add(at / 2).cast()),
                        )
                    };
                    // Lanes beyond the row would stand for the first cell: the mask makes them 0, as the query's are.
                    _mm512_sad_epu8(query, _mm512_maskz_mov_epi8(mask, bytes(cells)))
                },
            )
        });
    }

    /// Sums `whole` over runs of 64 bytes, and `rest` over what is left, of which it is told the lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn summed(width: usize, whole: impl Fn(usize) -> __m512i, rest: impl Fn(usize, u64) -> __m512i) -> u32 {
        let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        let mut at = 0;
        while at + 128 <= width {
            even = _mm512_add_epi64(even, whole(at));
            odd = _mm512_add_epi64(odd, whole(at + 64));
            at += 128;
        }
        if at + 64 <= width {
            even = _mm512_add_epi64(even, whole(at));
            at += 64;
        }
        if at < width {
            odd = _mm512_add_epi64(odd, rest(at, (1 << (width - at)) - 1));
        }
        _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd)) as u32
    }
}

/// 32 bytes at once.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Every, Path, Walk, cells_scalar, sad_scalar};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2")]
    pub(super) fn rows(walk: Walk<'_, Every>, out: &mut [u32]) {
        walk.each(out, |query, row| {
            let whole = query.len() / 32 * 32;
            let sum = summed(whole, |at| {
                // SAFETY: `at + 32 <= width` bytes are in both rows.
                unsafe {
                    let query = _mm256_loadu_si256(query.as_ptr().add(at).cast());
                    _mm256_sad_epu8(query, _mm256_loadu_si256(row.as_ptr().add(at).cast()))
                }
            });
            sum + sad_scalar(&query[whole..], &row[whole..])
        });
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn cells<P: Path>(walk: Walk<'_, P>, values: &[u8; 16], out: &mut [u32]) {
        // SAFETY: the table holds 16 bytes.
        let table = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(values.as_ptr().cast()) });
        let nibble = _mm256_set1_epi8(15);
        walk.each(out, |query, row| {
            let whole = query.len() / 32 * 32;
            let sum = summed(whole, |at| {
                // SAFETY: `at + 32 <= width` bytes are in the query, half as many in the row.
                let (query, cells) = unsafe {
                    (
                        _mm256_loadu_si256(query.as_ptr().add(at).cast()),
                        _mm_loadu_si128(row.as_ptr().add(at / 2).cast()),
                    )
                };
                let words = _mm256_cvtepu8_epi16(cells);
                let cells = _mm256_and_si256(_mm256_or_si256(words, _mm256_slli_epi16::<4>(words)), nibble);
                _mm256_sad_epu8(query, _mm256_shuffle_epi8(table, cells))
            });
            sum + cells_scalar(&query[whole..], &row[whole / 2..], values)
        });
    }

    /// Sums `part` over runs of 32 bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn summed(width: usize, part: impl Fn(usize) -> __m256i) -> u32 {
        let mut sum = _mm256_setzero_si256();
        for at in (0..width).step_by(32) {
            sum = _mm256_add_epi64(sum, part(at));
        }
        let half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        _mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half))) as u32
    }
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
            let coded = Rows { scales: &scales, bytes: &cells, width };
            let plain = Rows { scales: &scales, bytes: &whole, width };
            let mut expected = vec![0; scales.len()];
            let mut out = expected.clone();
            Walk::all(&queries, plain, width, &out).each(&mut expected, sad_scalar);
            sad_rows(&queries, plain, &mut out);
            prop_assert_eq!(&out, &expected);
            sad_cells(&queries, coded, &values, &mut out);
            prop_assert_eq!(&out, &expected);
            Walk::all(&queries, coded, half, &out).each(&mut out, |q, row| cells_scalar(q, row, &values));
            prop_assert_eq!(&out, &expected);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has AVX2 and the walk checks the lengths.
                unsafe { avx2::rows(Walk::all(&queries, plain, width, &out), &mut out) };
                prop_assert_eq!(&out, &expected);
                // SAFETY: as above.
                unsafe { avx2::cells(Walk::all(&queries, coded, half, &out), &values, &mut out) };
                prop_assert_eq!(&out, &expected);
            }
            let picks: Vec<u32> = (0..scales.len() as u32).rev().step_by(2).collect();
            let mut picked = vec![0; picks.len()];
            sad_picked(&queries, coded, &values, &picks, &mut picked);
            let chosen: Vec<u32> = picks.iter().map(|row| expected[*row as usize]).collect();
            prop_assert_eq!(picked, chosen);
        }
    }
}
