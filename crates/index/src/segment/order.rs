//! The order of rows in a segment: by their leaf, equals as they came.

use super::build::Input;
use super::layout::Kind;
use rayon::prelude::*;

/// Rows sorted by their leaf, equals as they came.
pub(super) struct Order {
    /// Which row of the input each row of the segment is.
    pub(super) rows: Vec<u32>,
    /// Where each leaf starts, and the end.
    pub(super) leaves: Vec<u32>,
}

impl Order {
    pub(super) fn new(input: &Input<'_>) -> Self {
        let leaves = input.shape.depth.leaves();
        let home: Vec<u32> = (0..input.sequence.len())
            .into_par_iter()
            .with_min_len(256)
            .map(|row| input.leaf(row).index() as u32)
            .collect();
        let mut starts = vec![0u32; leaves + 1];
        home.iter().for_each(|leaf| starts[*leaf as usize + 1] += 1);
        for leaf in 0..leaves {
            starts[leaf + 1] += starts[leaf];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; home.len()];
        for (row, leaf) in home.iter().enumerate() {
            rows[next[*leaf as usize] as usize] = row as u32;
            next[*leaf as usize] += 1;
        }
        Self { rows, leaves: starts }
    }

    /// How many leaves have rows.
    pub(super) fn occupied(&self) -> usize {
        self.leaves.windows(2).filter(|pair| pair[0] < pair[1]).count()
    }

    /// The leaf of a row of the segment.
    pub(super) fn leaf(&self, row: usize) -> usize {
        self.leaves.partition_point(|start| *start as usize <= row) - 1
    }

    /// The sections that follow from the order alone.
    pub(super) fn sections(&self, input: &Input<'_>) -> [(Kind, Vec<u8>); 4] {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let mut row_of = vec![0u32; self.rows.len()];
        for (row, rank) in self.rows.iter().enumerate() {
            row_of[*rank as usize] = row as u32;
        }
        let sequence = input.sequence.iter().flat_map(|number| number.to_le_bytes()).collect();
        [
            (Kind::Sequence, sequence),
            (Kind::RowOf, words(&row_of)),
            (Kind::RankOf, words(&self.rows)),
            (Kind::Leaves, words(&self.leaves)),
        ]
    }
}
