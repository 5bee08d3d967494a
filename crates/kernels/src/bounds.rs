//! From sums of byte differences to rows that a limit does not rule out.
//!
//! A row of class `c` with the sum `s` and the error `e` is at least `s * step_c + offset_c - e` away.

use crate::simd::simd;

/// How many classes there are.
pub const CLASSES: usize = 64;

/// What turns the sum of a row into a distance, class by class.
#[derive(Clone, Debug)]
pub struct Classes {
    /// The distance of a unit.
    pub steps: [f32; CLASSES],
    /// What is added for all rows of the class, less what is uncertain.
    pub offsets: [f32; CLASSES],
}

/// Rows by their sums.
#[derive(Clone, Copy, Debug)]
pub struct Sums<'a> {
    /// Byte differences to the query.
    pub sums: &'a [u32],
    /// The class of each row.
    pub classes: &'a [u8],
    /// The error of each row.
    pub errors: &'a [f32],
}

/// Rows looked at together.
const RUN: usize = 64;

simd! {
    /// Appends the numbers of the rows that may be no farther away than `limit`.
    ///
    /// # Panics
    /// If there is not one class and one error for each sum.
    pub fn within(rows: Sums<'_>, classes: &Classes, limit: f32, out: &mut Vec<u32>) {
        assert_eq!((rows.classes.len(), rows.errors.len()), (rows.sums.len(), rows.sums.len()), "one each");
        for from in (0..rows.sums.len()).step_by(RUN) {
            let to = (from + RUN).min(rows.sums.len());
            let here = (&rows.sums[from..to], &rows.classes[from..to], &rows.errors[from..to]);
            let mut inside = [0u8; RUN];
            for i in 0..to - from {
                let class = usize::from(here.1[i]) % CLASSES;
                let low = here.0[i] as f32 * classes.steps[class] + classes.offsets[class] - here.2[i];
                inside[i] = u8::from(low <= limit);
            }
            let any = inside.iter().fold(0, |any, here| any | here);
            if any != 0 {
                let rows = inside[..to - from].iter().zip(from as u32..).filter(|(here, _)| **here != 0);
                out.extend(rows.map(|(_, row)| row));
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
        fn no_row_within_the_limit_is_left_out(
            rows in prop::collection::vec((0u32..1000, 0u8..64, 0u8..100), 0..300),
            limit in 0f32..500.0,
        ) {
            let classes = Classes {
                steps: std::array::from_fn(|c| 1.0 / (1 + c) as f32),
                offsets: std::array::from_fn(|c| c as f32),
            };
            let sums: Vec<u32> = rows.iter().map(|row| row.0).collect();
            let class: Vec<u8> = rows.iter().map(|row| row.1).collect();
            let errors: Vec<f32> = rows.iter().map(|row| f32::from(row.2)).collect();
            let (mut wide, mut twin) = (Vec::new(), Vec::new());
            let all = Sums { sums: &sums, classes: &class, errors: &errors };
            super::within(all, &classes, limit, &mut wide);
            within::scalar(all, &classes, limit, &mut twin);
            prop_assert_eq!(&wide, &twin);
            for (row, (sum, class, error)) in rows.iter().enumerate() {
                let low = f64::from(*sum) / f64::from(1 + class) + f64::from(*class) - f64::from(*error);
                if (low - f64::from(limit)).abs() > 1e-3 {
                    prop_assert_eq!(wide.contains(&(row as u32)), low < f64::from(limit));
                }
            }
            prop_assert!(wide.is_sorted_by(|a, b| a < b));
        }
    }
}
