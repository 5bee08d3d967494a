//! Tree congruence: documents that part late should be alike.
//!
//! For each level, the mean cosine of pairs of documents whose ways have their lowest common
//! ancestor there, beside the mean of all pairs. Pairs are sampled, each level as often as the others, with
//! 95 % confidence intervals of the mean. In a congruent tree the mean rises with the level.

use crate::places::Places;
use retreever_tree::{Depth, Level, NodeId};
use serde::{Deserialize, Serialize};

/// One vector an item.
#[derive(Clone, Copy, Debug)]
pub struct Vectors<'a> {
    /// Numbers in a vector.
    pub width: usize,
    /// Row after row; need not be normalised.
    pub values: &'a [f32],
}

impl Vectors<'_> {
    /// The cosine of two items, 0 if one has no direction.
    pub fn cosine(&self, a: u32, b: u32) -> f64 {
        let row = |item: u32| &self.values[item as usize * self.width..][..self.width];
        let (a, b) = (row(a), row(b));
        let dot = |x: &[f32], y: &[f32]| -> f64 { x.iter().zip(y).map(|(x, y)| f64::from(x * y)).sum() };
        let norms = (dot(a, a) * dot(b, b)).sqrt();
        if norms > 0.0 { dot(a, b) / norms } else { 0.0 }
    }
}

/// A mean of sampled pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The mean cosine.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval.
    pub half_width: f64,
    /// How many pairs were drawn.
    pub pairs: usize,
}

impl Mean {
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        if values.is_empty() {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        Self { mean, half_width: 1.96 * (variance / n).sqrt(), pairs: values.len() }
    }
}

/// The mean cosine of the pairs that part at one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Congruence {
    /// The level of the lowest common ancestor.
    pub level: Level,
    /// Of the pairs that part there; of the leaves, the pairs that share one.
    pub cosine: Mean,
}

/// What the sampled pairs say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeCongruence {
    /// Any two documents.
    pub all: Mean,
    /// From the root to the leaves; levels without pairs are left out.
    pub levels: Vec<Congruence>,
}

/// Draws `pairs` pairs a level, always the same ones for the same `seed`.
pub fn congruence(places: &Places, vectors: Vectors<'_>, pairs: usize, seed: u64) -> TreeCongruence {
    let mut random = fastrand::Rng::with_seed(seed);
    let items = places.items(NodeId::ROOT);
    let mut all = Vec::new();
    if items.len() > 1 {
        all.extend((0..pairs).map(|_| {
            let (a, b) = two(items, &mut random);
            vectors.cosine(a, b)
        }));
    }
    let depth = places.depth();
    let levels = std::iter::once(Level::ROOT).chain(depth.levels());
    let levels = levels
        .filter_map(|level| {
            let cosines = at_level(places, vectors, (level, pairs), &mut random);
            (!cosines.is_empty()).then(|| Congruence { level, cosine: Mean::of(&cosines) })
        })
        .collect();
    TreeCongruence { all: Mean::of(&all), levels }
}

/// Cosines of pairs that part at `level`, each such pair equally likely.
fn at_level(
    places: &Places,
    vectors: Vectors<'_>,
    (level, pairs): (Level, usize),
    random: &mut fastrand::Rng,
) -> Vec<f64> {
    let depth: Depth = places.depth();
    let leaf = level == depth.leaf_level();
    let mut ends = Vec::with_capacity(level.width());
    let mut total = 0u64;
    for node in level.nodes() {
        total += if leaf {
            let n = places.count(node) as u64;
            n * n.saturating_sub(1) / 2
        } else {
            places.count(node.left()) as u64 * places.count(node.right()) as u64
        };
        ends.push(total);
    }
    if total == 0 {
        return Vec::new();
    }
    (0..pairs)
        .map(|_| {
            let at = random.u64(0..total);
            let node = NodeId::at(level, ends.partition_point(|end| *end <= at));
            let (a, b) = if leaf {
                two(places.items(node), random)
            } else {
                let (left, right) = (places.items(node.left()), places.items(node.right()));
                (left[random.usize(0..left.len())], right[random.usize(0..right.len())])
            };
            vectors.cosine(a, b)
        })
        .collect()
}

fn two(items: &[u32], random: &mut fastrand::Rng) -> (u32, u32) {
    let a = random.usize(0..items.len());
    let b = random.usize(0..items.len() - 1);
    (items[a], items[b + usize::from(b >= a)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::LeafId;

    #[test]
    fn pairs_that_part_late_are_alike() {
        // Two leaves a side; the vectors of a leaf are equal, those of a side at 60 degrees, sides at 90.
        let h = 0.5 * 3f32.sqrt();
        let directions = [[1.0, 0.0, 0.0, 0.0], [0.5, h, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.5, h]];
        let (mut leaves, mut values) = (Vec::new(), Vec::new());
        for (leaf, direction) in directions.iter().enumerate() {
            for scale in [1.0, 2.0] {
                leaves.push(LeafId::new(leaf as u32));
                values.extend(direction.map(|x| x * scale));
            }
        }
        let places = Places::new(Depth::new(2).unwrap(), leaves);
        let result = congruence(&places, Vectors { width: 4, values: &values }, 50, 7);
        let means: Vec<f64> = result.levels.iter().map(|l| l.cosine.mean).collect();
        for (mean, expected) in means.iter().zip([0.0, 0.5, 1.0]) {
            assert!((mean - expected).abs() < 1e-6, "{means:?}");
        }
        assert_eq!(result.levels[2].cosine.pairs, 50);
        assert!(result.all.half_width > 0.0);
    }

    #[test]
    fn one_document_has_no_pairs() {
        let places = Places::new(Depth::new(1).unwrap(), vec![LeafId::new(0)]);
        let result = congruence(&places, Vectors { width: 1, values: &[1.0] }, 10, 1);
        assert_eq!((result.all.pairs, result.levels.len()), (0, 0));
    }
}
