//! Sums of table look-ups over four-bit codes, 64 rows at a time.
//!
//! Rows lie in blocks of 64. A block holds, for every two columns, 64 bytes: of row `r` the code of the earlier
//! column in the low half of byte `r`, that of the later one in the high half. Each column has a table of 16 bytes;
//! a row's sum is that of the entries its codes choose, one shuffle of a register for 64 rows.

use crate::simd::simd;

/// Rows of a block.
pub const BLOCK_ROWS: usize = 64;

/// The sum of each row's entries into `out`, the last block filled up with rows of whatever its codes say.
///
/// # Panics
/// If columns are odd or so many that sums could overflow, or codes and results do not fit together.
pub fn look_up(tables: &[[u8; 16]], codes: &[u8], out: &mut [u16]) {
    let block = tables.len() / 2 * BLOCK_ROWS;
    assert!(tables.len().is_multiple_of(2), "two columns a byte");
    assert!(tables.len() * 255 <= usize::from(u16::MAX), "sums that fit 16 bits");
    assert_eq!(out.len() % BLOCK_ROWS, 0, "whole blocks");
    assert_eq!(codes.len(), out.len() / BLOCK_ROWS * block, "codes of another width");
    if block == 0 {
        out.fill(0);
        return;
    }
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512f") {
            // SAFETY: the machine has these extensions; lengths were checked above.
            return unsafe { look_up_avx512(tables, codes, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2; lengths were checked above.
            return unsafe { look_up_avx2(tables, codes, out) };
        }
    }
    look_up_scalar(tables, codes, out);
}

fn look_up_scalar(tables: &[[u8; 16]], codes: &[u8], out: &mut [u16]) {
    let block = tables.len() / 2 * BLOCK_ROWS;
    for (codes, out) in codes.chunks_exact(block).zip(out.chunks_exact_mut(BLOCK_ROWS)) {
        out.fill(0);
        for (pair, bytes) in tables.as_chunks::<2>().0.iter().zip(codes.chunks_exact(BLOCK_ROWS)) {
            for (out, byte) in out.iter_mut().zip(bytes) {
                *out +=
                    u16::from(pair[0][usize::from(byte & 15)]) + u16::from(pair[1][usize::from(byte >> 4)]);
            }
        }
    }
}

simd! {
    /// Appends the numbers of the sums that are at most `limit`, counted from `first`.
    pub fn rows_within(sums: &[u16], limit: u16, first: u32, out: &mut Vec<u32>) {
        for (number, run) in sums.chunks(BLOCK_ROWS).enumerate() {
            let mut inside = 0u16;
            for sum in run {
                inside |= u16::from(*sum <= limit);
            }
            if inside == 0 {
                continue;
            }
            let from = first + (number * BLOCK_ROWS) as u32;
            out.extend(run.iter().zip(from..).filter(|(sum, _)| **sum <= limit).map(|(_, row)| row));
        }
    }
}

simd! {
    /// Writes the code of each number of a row: how many of its column's 15 `bounds`, rising, are not above it.
    /// `bounds` come bound by bound, each over all columns. `codes` is a block of 64 rows, of which this is `place`.
    pub fn write_row(row: &[f32], bounds: &[f32], place: usize, codes: &mut [u8]) {
        assert_eq!(bounds.len(), 15 * row.len(), "fifteen bounds a column");
        assert!(place < BLOCK_ROWS && codes.len() == row.len() / 2 * BLOCK_ROWS, "a block of 64 rows");
        for (column, pair) in row.as_chunks::<COLUMNS>().0.iter().enumerate() {
            let mut code = [0u32; COLUMNS];
            for bounds in bounds.chunks_exact(row.len()) {
                for (i, bound) in bounds[column * COLUMNS..][..COLUMNS].iter().enumerate() {
                    code[i] += u32::from(pair[i] >= *bound);
                }
            }
            for (i, pair) in code.as_chunks::<2>().0.iter().enumerate() {
                codes[(column * COLUMNS / 2 + i) * BLOCK_ROWS + place] = (pair[0] | pair[1] << 4) as u8;
            }
        }
        for column in row.len() / COLUMNS * COLUMNS..row.len() {
            let code = bounds.iter().skip(column).step_by(row.len()).filter(|bound| row[column] >= **bound).count();
            codes[column / 2 * BLOCK_ROWS + place] |= (code as u8) << (column % 2 * 4);
        }
    }
}

/// Columns coded together.
const COLUMNS: usize = 16;

/// How far ahead memory is asked for: the hardware stops at the end of a page.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 8192;

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn look_up_avx512(tables: &[[u8; 16]], codes: &[u8], out: &mut [u16]) {
    use std::arch::x86_64::{
        _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm512_add_epi16, _mm512_and_si512,
        _mm512_broadcast_i32x4, _mm512_loadu_si512, _mm512_permutex2var_epi64, _mm512_set1_epi8,
        _mm512_setr_epi64, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_slli_epi16, _mm512_srli_epi16,
        _mm512_storeu_si512, _mm512_sub_epi16, _mm512_unpackhi_epi16, _mm512_unpacklo_epi16,
    };
    let block = tables.len() / 2 * BLOCK_ROWS;
    let nibble = _mm512_set1_epi8(15);
    let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (codes, out) in codes.chunks_exact(block).zip(out.chunks_exact_mut(BLOCK_ROWS)) {
        // `all` sums pairs of rows as one 16-bit number, `odd` the later of each pair: sums are below 2^16, so the
        // earlier one is what is left when the later is taken away.
        let (mut all, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
        for (pair, bytes) in tables.as_chunks::<2>().0.iter().zip(codes.chunks_exact(BLOCK_ROWS)) {
            // SAFETY: 64 bytes of codes and two tables of 16. A prefetch may point anywhere.
            let (bytes, low, high) = unsafe {
                _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(AHEAD).cast());
                (
                    _mm512_loadu_si512(bytes.as_ptr().cast()),
                    _mm512_broadcast_i32x4(_mm_loadu_si128(pair[0].as_ptr().cast())),
                    _mm512_broadcast_i32x4(_mm_loadu_si128(pair[1].as_ptr().cast())),
                )
            };
            let low = _mm512_shuffle_epi8(low, _mm512_and_si512(bytes, nibble));
            let high = _mm512_shuffle_epi8(high, _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), nibble));
            all = _mm512_add_epi16(all, _mm512_add_epi16(low, high));
            odd = _mm512_add_epi16(
                odd,
                _mm512_add_epi16(_mm512_srli_epi16::<8>(low), _mm512_srli_epi16::<8>(high)),
            );
        }
        let even = _mm512_sub_epi16(all, _mm512_slli_epi16::<8>(odd));
        let (low, high) = (_mm512_unpacklo_epi16(even, odd), _mm512_unpackhi_epi16(even, odd));
        // SAFETY: 64 results, half of them in each register.
        unsafe {
            _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_permutex2var_epi64(low, first, high));
            _mm512_storeu_si512(
                out.as_mut_ptr().add(32).cast(),
                _mm512_permutex2var_epi64(low, second, high),
            );
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn look_up_avx2(tables: &[[u8; 16]], codes: &[u8], out: &mut [u16]) {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm256_add_epi16, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_loadu_si256,
        _mm256_permute2x128_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_slli_epi16, _mm256_srli_epi16, _mm256_storeu_si256, _mm256_sub_epi16, _mm256_unpackhi_epi16,
        _mm256_unpacklo_epi16,
    };
    let block = tables.len() / 2 * BLOCK_ROWS;
    let nibble = _mm256_set1_epi8(15);
    for (codes, out) in codes.chunks_exact(block).zip(out.chunks_exact_mut(BLOCK_ROWS)) {
        for half in [0, 32] {
            // As with 512 bits.
            let (mut all, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for (pair, bytes) in tables.as_chunks::<2>().0.iter().zip(codes.chunks_exact(BLOCK_ROWS)) {
                // SAFETY: half of 64 bytes of codes and two tables of 16.
                let (bytes, low, high) = unsafe {
                    (
                        _mm256_loadu_si256(bytes.as_ptr().add(half).cast()),
                        _mm256_broadcastsi128_si256(_mm_loadu_si128(pair[0].as_ptr().cast())),
                        _mm256_broadcastsi128_si256(_mm_loadu_si128(pair[1].as_ptr().cast())),
                    )
                };
                let low = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, nibble));
                let high = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble));
                all = _mm256_add_epi16(all, _mm256_add_epi16(low, high));
                odd = _mm256_add_epi16(
                    odd,
                    _mm256_add_epi16(_mm256_srli_epi16::<8>(low), _mm256_srli_epi16::<8>(high)),
                );
            }
            let even = _mm256_sub_epi16(all, _mm256_slli_epi16::<8>(odd));
            let (low, high) = (_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd));
            // SAFETY: 32 of 64 results start at `half`.
            unsafe {
                let out = out.as_mut_ptr().add(half);
                _mm256_storeu_si256(out.cast(), _mm256_permute2x128_si256::<0x20>(low, high));
                _mm256_storeu_si256(out.add(16).cast(), _mm256_permute2x128_si256::<0x31>(low, high));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_instruction_set_agrees(pairs in 0usize..40, blocks in 0usize..4, seed in any::<u64>()) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            };
            let tables: Vec<[u8; 16]> = (0..2 * pairs).map(|_| std::array::from_fn(|_| next())).collect();
            let codes: Vec<u8> = (0..blocks * pairs * BLOCK_ROWS).map(|_| next()).collect();
            let mut expected = vec![0; blocks * BLOCK_ROWS];
            for (row, sum) in expected.iter_mut().enumerate() {
                for column in 0..2 * pairs {
                    let byte = codes[(row / 64 * pairs + column / 2) * 64 + row % 64];
                    *sum += u16::from(tables[column][usize::from(byte >> (column % 2 * 4) & 15)]);
                }
            }
            let mut out = vec![1; expected.len()];
            look_up(&tables, &codes, &mut out);
            prop_assert_eq!(&out, &expected);
            let mut within = Vec::new();
            super::rows_within(&expected, 3000, 5, &mut within);
            let chosen: Vec<u32> = (5..).zip(&expected).filter(|(_, sum)| **sum <= 3000).map(|(row, _)| row).collect();
            prop_assert_eq!(within, chosen);
            if pairs > 0 {
                look_up_scalar(&tables, &codes, &mut out);
                prop_assert_eq!(&out, &expected);
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the machine has AVX2 and the lengths fit.
                    unsafe { look_up_avx2(&tables, &codes, &mut out) };
                    prop_assert_eq!(&out, &expected);
                }
            }
        }

        #[test]
        fn codes_count_the_bounds_below(half in 1usize..30, place in 0usize..64, seed in any::<u64>()) {
            let columns = 2 * half;
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 57) as f32
            };
            let row: Vec<f32> = (0..columns).map(|_| next()).collect();
            let bounds: Vec<f32> = (0..15 * columns).map(|_| next()).collect();
            let (mut codes, mut twin) = (vec![0; half * 64], vec![0; half * 64]);
            super::write_row(&row, &bounds, place, &mut codes);
            write_row::scalar(&row, &bounds, place, &mut twin);
            prop_assert_eq!(&codes, &twin);
            for column in 0..columns {
                let below = (0..15).filter(|b| row[column] >= bounds[b * columns + column]).count();
                prop_assert_eq!(usize::from(codes[column / 2 * 64 + place] >> (column % 2 * 4) & 15), below);
            }
        }
    }
}
