//! Single rows of probabilities: the largest number, and the level above.

use crate::lanes::lane_max;
use crate::simd::simd;

simd! {
    /// The largest number of a row, 0 if there is none above.
    pub fn largest(row: &[f32]) -> f32 {
        lane_max(row).max(0.0)
    }
}

simd! {
    /// Sums of neighbours: `coarse_i = fine_2i + fine_(2i+1)`, the level above in a tree.
    pub fn pair_sums(fine: &[f32], coarse: &mut [f32]) {
        assert_eq!(fine.len(), 2 * coarse.len(), "two children a parent");
        for (parent, [left, right]) in coarse.iter_mut().zip(fine.as_chunks::<2>().0) {
            *parent = left + right;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wide_code_agrees_with_its_twin(row in prop::collection::vec(0u8..20, 1..200)) {
            let mut row: Vec<f32> = row.into_iter().map(f32::from).collect();
            prop_assert_eq!(super::largest(&row), largest::scalar(&row));
            row.resize(row.len().next_multiple_of(2), 0.5);
            let (mut wide, mut twin) = (vec![0.0; row.len() / 2], vec![0.0; row.len() / 2]);
            super::pair_sums(&row, &mut wide);
            pair_sums::scalar(&row, &mut twin);
            prop_assert_eq!(wide, twin);
        }
    }
}
