//! Half precision, as embeddings are stored, to single precision.

use half::f16;

/// Numbers of half precision, two little-endian bytes each, into `out`.
///
/// # Panics
/// If there are not two bytes per number.
pub fn widen(bytes: &[u8], out: &mut [f32]) {
    assert_eq!(bytes.len(), 2 * out.len(), "two bytes a number");
    #[cfg(target_arch = "x86_64")]
    {
        if crate::simd::has_avx512() {
            // SAFETY: the machine has the instructions.
            return unsafe { avx512(bytes, out) };
        }
        if is_x86_feature_detected!("avx") && is_x86_feature_detected!("f16c") {
            // SAFETY: the machine has the instructions.
            return unsafe { f16c(bytes, out) };
        }
    }
    scalar(bytes, out);
}

fn scalar(bytes: &[u8], out: &mut [f32]) {
    for (bytes, out) in bytes.as_chunks::<2>().0.iter().zip(out) {
        *out = f16::from_le_bytes(*bytes).to_f32();
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(bytes: &[u8], out: &mut [f32]) {
    use std::arch::x86_64::*;
    let (blocks, rest) = bytes.as_chunks::<32>();
    let (wide, narrow) = out.split_at_mut(blocks.len() * 16);
    for (block, out) in blocks.iter().zip(wide.as_chunks_mut::<16>().0) {
        // SAFETY: both blocks are as long as the registers, which may lie anywhere.
        unsafe {
            let halves = _mm256_loadu_si256(block.as_ptr().cast());
            _mm512_storeu_ps(out.as_mut_ptr(), _mm512_cvtph_ps(halves));
        }
    }
    scalar(rest, narrow);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,f16c")]
fn f16c(bytes: &[u8], out: &mut [f32]) {
    use std::arch::x86_64::*;
    let (blocks, rest) = bytes.as_chunks::<16>();
    let (wide, narrow) = out.split_at_mut(blocks.len() * 8);
    for (block, out) in blocks.iter().zip(wide.as_chunks_mut::<8>().0) {
        // SAFETY: both blocks are as long as the registers, which may lie anywhere.
        unsafe {
            let halves = _mm_loadu_si128(block.as_ptr().cast());
            _mm256_storeu_ps(out.as_mut_ptr(), _mm256_cvtph_ps(halves));
        }
    }
    scalar(rest, narrow);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_half_precision_widens_alike() {
        let bytes: Vec<u8> = (0..=u16::MAX)
            .filter(|&bits| !f16::from_bits(bits).is_nan())
            .flat_map(u16::to_le_bytes)
            .collect();
        for cut in [0, 2, 14, 30] {
            let bytes = &bytes[cut..];
            let (mut wide, mut twin) = (vec![0.0; bytes.len() / 2], vec![0.0; bytes.len() / 2]);
            widen(bytes, &mut wide);
            scalar(bytes, &mut twin);
            assert!(wide == twin);
        }
    }
}
