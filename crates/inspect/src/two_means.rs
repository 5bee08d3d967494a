//! Plain hierarchical 2-means: a rival tree that needs no training.
//!
//! Every node is split in two by Lloyd's k-means with `k = 2`, down to the leaves: of a few random starts the one with the
//! least squared error. The rows of a node follow the nearer of its two centres, queries too. Nothing keeps the halves
//! balanced. A node whose documents are all the same sends everything to the left.

use crate::congruence::Vectors;
use rayon::prelude::*;
use retreever_tree::{Depth, LeafId, NodeId};

/// Rows of a node that move its centres, at most.
const SAMPLE: usize = 5000;
/// Starts that are tried, and rounds of each at most.
const STARTS: usize = 3;
const ROUNDS: usize = 15;

/// The leaves of the documents and of the queries. The same for the same seed.
///
/// # Panics
/// If queries are of another width.
pub fn places(
    documents: Vectors<'_>,
    queries: Vectors<'_>,
    depth: Depth,
    seed: u64,
) -> (Vec<LeafId>, Vec<LeafId>) {
    assert_eq!(documents.width, queries.width, "queries of another width");
    let tree = TwoMeans { documents, queries, depth, seed };
    let all = |rows: Vectors<'_>| (0..(rows.values.len() / rows.width.max(1)) as u32).collect::<Vec<_>>();
    let root = Members { documents: all(documents), queries: all(queries) };
    let mut leaves = (vec![LeafId::new(0); root.documents.len()], vec![LeafId::new(0); root.queries.len()]);
    for (leaf, members) in tree.descend(NodeId::ROOT, root) {
        members.documents.iter().for_each(|row| leaves.0[*row as usize] = leaf);
        members.queries.iter().for_each(|row| leaves.1[*row as usize] = leaf);
    }
    leaves
}

struct TwoMeans<'a> {
    documents: Vectors<'a>,
    queries: Vectors<'a>,
    depth: Depth,
    seed: u64,
}

/// The rows under a node.
struct Members {
    documents: Vec<u32>,
    queries: Vec<u32>,
}

impl TwoMeans<'_> {
    /// The leaves under `node`, and what they hold.
    fn descend(&self, node: NodeId, members: Members) -> Vec<(LeafId, Members)> {
        let split = match node.level() == self.depth.leaf_level() {
            false => self.split(node, &members.documents),
            true => None,
        };
        let Some(split) = split else {
            let leaf = LeafId::new(node.leaves(self.depth).start as u32);
            return vec![(leaf, members)];
        };
        let part = |rows: Vectors<'_>, members: Vec<u32>| -> (Vec<u32>, Vec<u32>) {
            members.into_iter().partition(|member| split.is_left(row(rows, *member)))
        };
        let (documents, queries) =
            (part(self.documents, members.documents), part(self.queries, members.queries));
        let (mut left, right) = rayon::join(
            || self.descend(node.left(), Members { documents: documents.0, queries: queries.0 }),
            || self.descend(node.right(), Members { documents: documents.1, queries: queries.1 }),
        );
        left.extend(right);
        left
    }

    /// The best of a few starts; none if all rows are the same.
    fn split(&self, node: NodeId, members: &[u32]) -> Option<Split> {
        let first = row(self.documents, *members.first()?);
        let other = *members.iter().find(|member| row(self.documents, **member) != first)?;
        let mut random = fastrand::Rng::with_seed(self.seed ^ (node.index() as u64).wrapping_mul(ODD));
        let mut sample = members.to_vec();
        if members.len() > SAMPLE {
            sample = random.choose_multiple(members.iter().copied(), SAMPLE - 2);
            sample.extend([members[0], other]); // two rows of the sample differ
        }
        let rows: Vec<f32> = sample.iter().flat_map(|member| row(self.documents, *member)).copied().collect();
        let rows = Vectors { width: self.documents.width, values: &rows };
        let starts: Vec<[u32; 2]> = (0..STARTS).map(|_| start(rows, &mut random)).collect();
        starts
            .into_par_iter()
            .map(|start| lloyd(rows, start))
            .reduce_with(|a, b| if b.error < a.error { b } else { a })
            .map(|best| best.split)
    }
}

/// Spreads the numbers of nodes over all seeds.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The half space on the side of the left centre: `x . (right - left) <= at`.
#[derive(Clone)]
struct Split {
    direction: Vec<f32>,
    at: f32,
}

impl Split {
    fn between(left: &[f32], right: &[f32]) -> Self {
        let direction: Vec<f32> = left.iter().zip(right).map(|(left, right)| right - left).collect();
        Self { at: (dot(right, right) - dot(left, left)) / 2.0, direction }
    }

    fn is_left(&self, row: &[f32]) -> bool {
        dot(row, &self.direction) <= self.at
    }
}

/// What one start came to.
struct Halves {
    split: Split,
    error: f64,
}

/// Two rows: any one, and another drawn in proportion to its squared distance from that (k-means++).
fn start(rows: Vectors<'_>, random: &mut fastrand::Rng) -> [u32; 2] {
    let count = rows.values.len() / rows.width;
    let first = random.u32(..count as u32);
    let centre = row(rows, first);
    let distance =
        |a: &[f32]| -> f64 { a.iter().zip(centre).map(|(a, b)| f64::from((a - b) * (a - b))).sum() };
    let mut sum = 0.0;
    let ends: Vec<f64> = rows
        .values
        .chunks_exact(rows.width)
        .map(|row| {
            sum += distance(row);
            sum
        })
        .collect();
    let drawn = random.f64() * sum;
    let second = ends.partition_point(|end| *end <= drawn).min(count - 1);
    [first, second as u32]
}

/// Moves two centres to the means of their rows, until no row changes sides.
fn lloyd(rows: Vectors<'_>, start: [u32; 2]) -> Halves {
    let [left, right] = start.map(|start| row(rows, start));
    let mut split = Split::between(left, right);
    let mut sides: Vec<bool> = Vec::new();
    let mut error = f64::INFINITY;
    for _ in 0..ROUNDS {
        let now: Vec<bool> = rows.values.chunks_exact(rows.width).map(|row| split.is_left(row)).collect();
        if now == sides {
            break;
        }
        sides = now;
        let mut sums = [vec![0.0f32; rows.width], vec![0.0f32; rows.width]];
        let mut counts = [0usize; 2];
        for (row, left) in rows.values.chunks_exact(rows.width).zip(&sides) {
            let side = usize::from(!left);
            counts[side] += 1;
            sums[side].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        if counts.contains(&0) {
            break;
        }
        // The squared error is `sum |x|^2` less what the means explain; the first part is the same for all starts.
        error = 0.0;
        for (sum, count) in sums.iter_mut().zip(counts) {
            sum.iter_mut().for_each(|x| *x /= count as f32);
            error -= count as f64 * f64::from(dot(sum, sum));
        }
        split = Split::between(&sums[0], &sums[1]);
    }
    Halves { split, error }
}

fn row(rows: Vectors<'_>, member: u32) -> &[f32] {
    &rows.values[member as usize * rows.width..][..rows.width]
}

/// The inner product, in eight sums that the compiler keeps in one register.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0f32; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[f32], width: usize) -> Vectors<'_> {
        Vectors { width, values }
    }

    #[test]
    fn clusters_part_and_queries_follow() {
        // Four clusters on a line, two and two near each other.
        let centres = [0.0f32, 1.0, 10.0, 11.0];
        let values: Vec<f32> =
            (0..200).flat_map(|i| [centres[i % 4] + 0.001 * (i / 4) as f32, 1.0]).collect();
        let queries = [0.02, 1.0, 10.9, 1.0];
        let depth = Depth::new(2).unwrap();
        let (documents, asked) = places(rows(&values, 2), rows(&queries, 2), depth, 1);
        for (i, leaf) in documents.iter().enumerate() {
            assert_eq!(*leaf, documents[i % 4], "one cluster, one leaf");
        }
        let half = |leaf: LeafId| leaf.index() / 2;
        assert_eq!(half(documents[0]), half(documents[1]));
        assert_ne!(half(documents[0]), half(documents[2]));
        assert_ne!(documents[0], documents[1]);
        assert_eq!(asked, [documents[0], documents[3]]);
        assert_eq!(places(rows(&values, 2), rows(&queries, 2), depth, 1).0, documents);
    }

    #[test]
    fn equal_documents_stay_together_on_the_left() {
        let depth = Depth::new(3).unwrap();
        let (documents, asked) = places(rows(&[1.0; 20], 2), rows(&[5.0, -5.0], 2), depth, 1);
        assert!(documents.iter().chain(&asked).all(|leaf| *leaf == LeafId::new(0)));
        let (documents, asked) = places(rows(&[], 2), rows(&[5.0, -5.0], 2), depth, 1);
        assert_eq!((documents.len(), asked), (0, vec![LeafId::new(0)]));
    }
}
