//! Products on AMX tiles in pairs of bfloat16.
//!
//! A number is written as `x = hi + lo`, both bfloat16, which keeps 16 bits of mantissa (an error of at most
//! 2^-17 of the number). Then `a b = a_hi b_hi + a_hi b_lo + a_lo b_hi`; what is left out is below 2^-16 of
//! the product, and the sums are single precision.
//!
//! `B` is laid out in panels of 32 columns, `A` in panels of 32 rows (see [`super::tiles`]), each over the
//! whole inner size. [`ROW_BLOCK`] rows of `A` stay in the second-level cache while the panels of `B` pass by.

use super::line::{Line, flat, flat_mut};
use super::tiles::{HALF, Layout, SIDE, pack, panel_len};
use super::{Mat, MatMut, ROW_BLOCK, Write};
use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::cell::RefCell;
use std::sync::OnceLock;

/// Whether the machine has AMX and the system lets this process use it.
pub(super) fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| cfg!(target_os = "linux") && has_instructions() && may_use_tiles())
}

fn has_instructions() -> bool {
    if !(is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512bf16"))
    {
        return false;
    }
    const AMX_BF16: u32 = 1 << 22;
    const AMX_TILE: u32 = 1 << 24;
    // Leaf 7 exists on every machine with AVX-512.
    let edx = __cpuid_count(7, 0).edx;
    edx & AMX_BF16 != 0 && edx & AMX_TILE != 0
}

/// Asks Linux for the tile registers, which a process has only after asking (`arch_prctl`).
fn may_use_tiles() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XFEATURE_XTILEDATA: i64 = 18;
    let result: i64;
    // SAFETY: this system call reads no memory; it changes only what registers the process may use.
    unsafe {
        asm!("syscall", inlateout("rax") ARCH_PRCTL => result, in("rdi") ARCH_REQ_XCOMP_PERM,
             in("rsi") XFEATURE_XTILEDATA, out("rcx") _, out("r11") _, options(nostack));
    }
    result == 0
}

/// Eight tiles of 16 rows of 64 bytes.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

static CONFIG: TileConfig = TileConfig {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// Lays out all of `b`. Only where AMX is [`available`].
pub(super) fn pack_b(b: Mat<'_>, lines: &mut Vec<Line>) {
    let len = panel_len(b.rows());
    let panels = b.cols().div_ceil(SIDE);
    lines.resize((panels * len).div_ceil(Line::LEN), Line::ZERO);
    for (panel, out) in flat_mut(lines).chunks_exact_mut(len.max(1)).enumerate().take(panels) {
        // SAFETY: who packs for AMX has asked whether it is available.
        unsafe { pack(&b.t(), panel * SIDE, out, Layout::PairsOfLines) };
    }
}

/// `C = A B` or `C += A B`, where `b` was laid out by [`pack_b`]. Only where AMX is [`available`].
pub(super) fn product(a: Mat<'_>, b: &[Line], c: MatMut<'_>, write: Write) {
    thread_local!(static SCRATCH: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) });
    let (inner, rows, cols, stride) = (a.cols(), c.rows, c.cols, c.row_stride);
    if inner == 0 || rows == 0 || cols == 0 {
        if write == Write::Set {
            c.data.chunks_mut(stride.max(1)).take(rows).for_each(|row| row[..cols].fill(0.0));
        }
        return;
    }
    let len = panel_len(inner);
    let block_rows = ROW_BLOCK.min(rows.next_multiple_of(SIDE));
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.resize((SIDE * SIDE + block_rows / SIDE * len) / Line::LEN, Line::ZERO);
        let (corner, packed) = flat_mut(scratch).split_at_mut(SIDE * SIDE);
        let _tiles = Tiles::configure();
        for first in (0..rows).step_by(block_rows) {
            let rows_here = block_rows.min(rows - first);
            for (row, panel) in (0..rows_here).step_by(SIDE).zip(packed.chunks_exact_mut(len)) {
                // SAFETY: who multiplies with AMX has asked whether it is available.
                unsafe { pack(&a, first + row, panel, Layout::LinesOfPairs) };
            }
            for (col, panel_b) in (0..cols).step_by(SIDE).zip(flat(b).chunks_exact(len)) {
                for (row, panel_a) in (0..rows_here).step_by(SIDE).zip(packed.chunks_exact(len)) {
                    let (height, width) = (SIDE.min(rows_here - row), SIDE.min(cols - col));
                    let out = &mut c.data[(first + row) * stride + col..];
                    if (height, width) == (SIDE, SIDE) {
                        assert!(out.len() >= (SIDE - 1) * stride + SIDE);
                        // SAFETY: the block lies in `out`; tiles are configured; the panels fit.
                        unsafe { block(panel_a, panel_b, out.as_mut_ptr(), stride, write) };
                    } else {
                        // SAFETY: `corner` holds one block; otherwise as above.
                        unsafe {
                            if height <= HALF {
                                upper_block(panel_a, panel_b, corner);
                            } else {
                                block(panel_a, panel_b, corner.as_mut_ptr(), SIDE, Write::Set);
                            }
                        }
                        for (from, to) in corner.chunks_exact(SIDE).zip(out.chunks_mut(stride)).take(height) {
                            merge(&from[..width], &mut to[..width], write);
                        }
                    }
                }
            }
        }
    });
}

fn merge(from: &[f32], to: &mut [f32], write: Write) {
    match write {
        Write::Set => to.copy_from_slice(from),
        Write::Add => to.iter_mut().zip(from).for_each(|(to, from)| *to += from),
    }
}

/// The tile registers of this thread, configured while this lives.
struct Tiles;

impl Tiles {
    fn configure() -> Self {
        // SAFETY: the configuration is valid for palette 1.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &CONFIG, options(nostack)) }
        Self
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: nothing is kept in tiles between blocks.
        unsafe { asm!("tilerelease", options(nostack)) }
    }
}

/// Multiplies a panel of `A` with one of `B` into 32 x 32 numbers at `c`, rows `stride` apart.
///
/// # Safety
/// `c` is valid for that block, the panels are of one inner size, the tiles are configured.
unsafe fn block(a: &[f32], b: &[f32], c: *mut f32, stride: usize, write: Write) {
    debug_assert!(a.len() == b.len());
    let steps = a.len() / (SIDE * SIDE);
    // SAFETY: `c` holds 32 rows of 32 numbers, `stride` apart, as the caller vouches; each panel holds
    // `steps` times 4 KiB; the tiles are configured.
    unsafe {
        asm!(
            "test {add}, {add}",
            "jz 3f",
            "tileloadd tmm0, [{upper} + {stride}]",
            "tileloadd tmm1, [{upper} + {stride} + 64]",
            "tileloadd tmm2, [{lower} + {stride}]",
            "tileloadd tmm3, [{lower} + {stride} + 64]",
            "jmp 2f",
            "3:",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            // a_hi b_hi
            "tileloadd tmm4, [{a} + {row}]",
            "tileloadd tmm6, [{b} + {row}]",
            "tileloadd tmm7, [{b} + {row} + 1024]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{a} + {row} + 1024]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            // a_hi b_lo
            "tileloadd tmm6, [{b} + {row} + 2048]",
            "tileloadd tmm7, [{b} + {row} + 3072]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            // a_lo b_hi
            "tileloadd tmm4, [{a} + {row} + 2048]",
            "tileloadd tmm6, [{b} + {row}]",
            "tileloadd tmm7, [{b} + {row} + 1024]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{a} + {row} + 3072]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a}, 4096",
            "add {b}, 4096",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{upper} + {stride}], tmm0",
            "tilestored [{upper} + {stride} + 64], tmm1",
            "tilestored [{lower} + {stride}], tmm2",
            "tilestored [{lower} + {stride} + 64], tmm3",
            a = inout(reg) a.as_ptr() => _,
            b = inout(reg) b.as_ptr() => _,
            steps = inout(reg) steps => _,
            row = in(reg) 64usize,
            upper = in(reg) c,
            lower = in(reg) c.add(16 * stride),
            stride = in(reg) stride * 4,
            add = in(reg) usize::from(write == Write::Add),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// As [`block`], to the same bits, the first 16 rows alone: half the products, and no tile of `B` is read twice. Writes
/// them to `corner`, rows of 32.
///
/// # Safety
/// The panels are of one inner size, the tiles are configured.
unsafe fn upper_block(a: &[f32], b: &[f32], corner: &mut [f32]) {
    debug_assert!(a.len() == b.len());
    assert!(corner.len() >= HALF * SIDE);
    let steps = a.len() / (SIDE * SIDE);
    // SAFETY: `corner` holds 16 rows of 32 numbers; each panel holds `steps` times 4 KiB; the tiles are configured.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "2:",
            "tileloadd tmm4, [{a} + {row}]",
            "tileloadd tmm6, [{b} + {row}]",
            "tileloadd tmm7, [{b} + {row} + 1024]",
            "tileloadd tmm2, [{b} + {row} + 2048]",
            "tileloadd tmm3, [{b} + {row} + 3072]",
            "tileloadd tmm5, [{a} + {row} + 2048]",
            // a_hi b_hi, a_hi b_lo, a_lo b_hi
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm0, tmm4, tmm2",
            "tdpbf16ps tmm1, tmm4, tmm3",
            "tdpbf16ps tmm0, tmm5, tmm6",
            "tdpbf16ps tmm1, tmm5, tmm7",
            "add {a}, 4096",
            "add {b}, 4096",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{c} + {stride}], tmm0",
            "tilestored [{c} + {stride} + 64], tmm1",
            a = inout(reg) a.as_ptr() => _,
            b = inout(reg) b.as_ptr() => _,
            steps = inout(reg) steps => _,
            row = in(reg) 64usize,
            c = in(reg) corner.as_mut_ptr(),
            stride = in(reg) SIDE * 4,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}
