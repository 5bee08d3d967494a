//! The levels of a row, from the leaves up.

use super::Shape;
use retreever_kernels::rows::pair_sums;
use retreever_tree::{Level, Nesting};

/// Calls `each` with the numbers of every level of a row, the leaves first. `space` has room for as many numbers as
/// there are leaves.
pub(super) fn each_level(shape: Shape, row: &[f32], space: &mut [f32], mut each: impl FnMut(Level, &[f32])) {
    let levels = shape.depth.levels().rev();
    match shape.nesting {
        Nesting::PerLevel => levels.for_each(|level| each(level, &row[level.start() - 1..][..level.width()])),
        Nesting::Nested => {
            let (mut below, mut rest) = (row, space);
            for level in levels {
                if level.width() < row.len() {
                    let (here, above) = rest.split_at_mut(level.width());
                    pair_sums(below, here);
                    (below, rest) = (here, above);
                }
                each(level, below);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::{Assignments, Depth};

    #[test]
    fn levels_are_those_of_the_assignment() {
        let depth = Depth::new(3).unwrap();
        let nested = vec![0.5, 0.125, 0.0, 0.125, 0.0625, 0.0625, 0.125, 0.0];
        let own = [&[0.25, 0.75][..], &[0.5, 0.0, 0.5, 0.0], &nested].concat();
        for (nesting, row) in [(Nesting::Nested, nested.clone()), (Nesting::PerLevel, own)] {
            let items = Assignments::new(depth, nesting, row).unwrap();
            let mut seen = Vec::new();
            each_level(Shape { depth, nesting }, items.as_slice(), &mut [0.0; 8], |level, numbers| {
                assert_eq!(numbers, &items.row(0).at(level)[..]);
                seen.push(level.get());
            });
            assert_eq!(seen, [3, 2, 1]);
        }
    }
}
