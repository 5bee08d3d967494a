//! Numbers that start on cache lines.

/// One cache line of numbers, so that panels start on cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line([f32; Line::LEN]);

impl Line {
    pub(super) const LEN: usize = 16;
    pub(super) const ZERO: Self = Self([0.0; Self::LEN]);
}

pub(super) fn flat(lines: &[Line]) -> &[f32] {
    // SAFETY: a `Line` is exactly 16 f32 without padding.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * Line::LEN) }
}

pub(super) fn flat_mut(lines: &mut [Line]) -> &mut [f32] {
    // SAFETY: as in `flat`, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * Line::LEN) }
}
