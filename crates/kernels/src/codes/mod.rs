//! Four-bit codes of probabilities in two planes, with the error of each row known exactly.
//!
//! A number `p` of a row whose largest is at most `scale` is written as `v = p / scale` in `[0, 1]`. The
//! first plane says in which of 16 cells of a [`Codebook`] `v` lies, and stands for the cell's one byte
//! `value / 255 * scale`; the second plane says in which sixteenth of that cell. Two numbers share a byte,
//! the earlier in the low half. A [`Coder`] returns the summed error of either reading, so that a distance to
//! the codes bounds the distance to the row from both sides.

mod encode;
mod l1_coded;
mod query;

pub use encode::{CodeError, Coder};
pub use l1_coded::{Coded, l1_coded};
pub use query::{Remainder, query_bytes};

/// Sixteen cells of `[0, 1]`, narrow where numbers are dense.
#[derive(Clone, Debug, PartialEq)]
pub struct Codebook {
    /// Where each cell starts, rising from 0, and the end of the last, 1.
    pub bounds: [f32; 17],
    /// What the first plane alone stands for, in 255ths.
    pub values: [u8; 16],
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) fn book() -> Codebook {
        let mut bounds = [0.0; 17];
        for i in 1..=16 {
            bounds[i] = (i as f32 / 16.0).powi(2);
        }
        bounds[16] = 1.0;
        let values = std::array::from_fn(|i| ((bounds[i] + bounds[i + 1]) * 127.5) as u8);
        Codebook { bounds, values }
    }

    /// A row of an even number of probabilities, and a scale that none exceeds.
    pub(super) fn row() -> impl Strategy<Value = (Vec<f32>, f32)> {
        (prop::collection::vec(0f32..1.0, 1..200), 0.9f32..1.1, any::<bool>()).prop_map(
            |(mut row, scale, round)| {
                // Half of the rows are as long as the widest loops like.
                row.resize(
                    if round { row.len().next_multiple_of(32) } else { row.len().next_multiple_of(2) },
                    0.0,
                );
                let total: f32 = row.iter().sum::<f32>().max(1.0);
                let scale = scale.max(row.iter().copied().fold(0.0, f32::max));
                (row.iter().map(|p| p / total).collect(), scale / total)
            },
        )
    }
}
