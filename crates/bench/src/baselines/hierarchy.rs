//! Hierarchical clustering, top-down: every node splits its documents in two, to the depth of the tree, by k-means
//! or by a mixture of two Gaussians. Search is global: a query scores ALL leaves, opens the best, and ranks what
//! they hold by inner product.
//!
//! A k-means leaf is scored by how near its centre is; a mixture's leaf by the probability of its path, the sum of
//! the log-responsibilities from the root.

use super::gmm::{Gmm, GmmConfig, features};
use super::kmeans::{KMeans, KMeansConfig, half_squares};
use super::lists::{Lists, Measure};
use super::matrix::{Rows, map_products};
use super::{Budget, Ranking, Searcher};
use retreever_kernels::gemm::Packed;
use retreever_tree::Depth;

/// How a node splits its documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bisection {
    /// Two centres.
    KMeans,
    /// Two Gaussians with diagonal covariances.
    Gmm,
}

/// How a hierarchy is built.
#[derive(Clone, Copy, Debug)]
pub struct HierarchyConfig {
    /// At most this many splits on a path; a node that cannot be split is a leaf earlier.
    pub depth: Depth,
    /// The split.
    pub bisection: Bisection,
    /// Decides the clustering.
    pub seed: u64,
}

/// Variances are kept above this share of the corpus's mean variance: a node of a few documents has none.
const FLOOR: f32 = 0.01;

/// Documents in the leaves of a binary hierarchy. [`Budget::Parts`] is the number of leaves opened.
pub struct Hierarchy {
    scorer: LeafScorer,
    leaves: Lists,
}

/// How a query scores all leaves.
enum LeafScorer {
    /// `x . c - |c|^2 / 2`: the order of Euclidean distance.
    Centres { centres: Packed, halves: Vec<f32> },
    /// The log-odds of every split from `[x^2, x]`, added up along the paths.
    Paths { odds: Packed, constants: Vec<f32>, splits: Vec<[Child; 2]> },
}

/// Where a side of a split leads. Splits stand before those below them.
#[derive(Clone, Copy)]
enum Child {
    Split(usize),
    Leaf(usize),
}

impl Hierarchy {
    /// Splits the documents down to the leaves.
    pub fn build(documents: Rows<'_>, config: HierarchyConfig) -> Self {
        let floor = FLOOR * mean_variance(documents).max(1e-12);
        let all = (0..documents.len() as u32).collect();
        let builder = Builder { documents, config, floor };
        let root = builder.grow(all, config.depth.get(), config.seed);
        let mut flat = Flattened::default();
        flat.add(root);
        let scorer = match config.bisection {
            Bisection::KMeans => {
                let means: Vec<f32> = (flat.leaves.iter())
                    .flat_map(|docs| Rows::new(&documents.gather(docs), documents.width()).mean())
                    .collect();
                let means = Rows::new(&means, documents.width());
                LeafScorer::Centres { centres: means.pack(), halves: half_squares(means) }
            }
            Bisection::Gmm => LeafScorer::Paths {
                odds: Rows::new(&flat.odds, 2 * documents.width()).pack(),
                constants: flat.constants,
                splits: flat.splits,
            },
        };
        Self { scorer, leaves: Lists::new(documents, flat.leaves, Measure::Product) }
    }
}

impl LeafScorer {
    /// For each query the leaves that it opens.
    fn open(&self, queries: Rows<'_>, leaves: &Lists, budget: Budget) -> Vec<Vec<u32>> {
        match self {
            Self::Centres { centres, halves } => map_products(queries, centres, |_, products| {
                let scores: Vec<f32> = products.iter().zip(halves).map(|(x, half)| x - half).collect();
                leaves.choose(&scores, budget)
            }),
            // A root that is a leaf: there is no split to score.
            Self::Paths { splits, .. } if splits.is_empty() => vec![vec![0]; queries.len()],
            Self::Paths { odds, constants, splits } => {
                let features = features(queries);
                map_products(Rows::new(&features, 2 * queries.width()), odds, |_, products| {
                    let logits: Vec<f32> = products.iter().zip(constants).map(|(x, c)| x + c).collect();
                    leaves.choose(&path_scores(&logits, splits), budget)
                })
            }
        }
    }
}

/// The log-probability of each leaf's path.
fn path_scores(logits: &[f32], splits: &[[Child; 2]]) -> Vec<f32> {
    let mut reached = vec![0.0; splits.len()];
    let mut scores = vec![0.0; splits.len() + 1];
    for (split, children) in splits.iter().enumerate() {
        for (child, logit) in children.iter().zip([logits[split], -logits[split]]) {
            // log sigmoid(logit), without overflow on either side.
            let score = reached[split] + logit.min(0.0) - (-logit.abs()).exp().ln_1p();
            match *child {
                Child::Split(split) => reached[split] = score,
                Child::Leaf(leaf) => scores[leaf] = score,
            }
        }
    }
    scores
}

enum Subtree {
    Leaf(Vec<u32>),
    Split { odds: Vec<f32>, constant: f32, children: Box<[Subtree; 2]> },
}

struct Builder<'a> {
    documents: Rows<'a>,
    config: HierarchyConfig,
    floor: f32,
}

struct Halves {
    odds: Vec<f32>,
    constant: f32,
    docs: [Vec<u32>; 2],
}

impl Builder<'_> {
    fn grow(&self, docs: Vec<u32>, levels: usize, seed: u64) -> Subtree {
        if levels == 0 || docs.len() < 2 {
            return Subtree::Leaf(docs);
        }
        let halves = self.halve(&docs, seed);
        if halves.docs.iter().any(Vec::is_empty) {
            return Subtree::Leaf(docs);
        }
        let [left, right] = halves.docs;
        // Each node has its own seed, so that threads cannot change what it draws.
        let mut rng = fastrand::Rng::with_seed(seed);
        let (left_seed, right_seed) = (rng.u64(..), rng.u64(..));
        let (left, right) = rayon::join(
            || self.grow(left, levels - 1, left_seed),
            || self.grow(right, levels - 1, right_seed),
        );
        Subtree::Split { odds: halves.odds, constant: halves.constant, children: Box::new([left, right]) }
    }

    fn halve(&self, docs: &[u32], seed: u64) -> Halves {
        let width = self.documents.width();
        let gathered = self.documents.gather(docs);
        let rows = Rows::new(&gathered, width);
        let (odds, constant, sides): (_, _, Vec<bool>) = match self.config.bisection {
            Bisection::KMeans => {
                let config = KMeansConfig { sample: usize::MAX, ..KMeansConfig::new(2, seed) };
                let fit = KMeans::fit(rows, config);
                (Vec::new(), 0.0, fit.assignment.iter().map(|&centre| centre == 0).collect())
            }
            Bisection::Gmm => {
                let config = GmmConfig { components: 2, iterations: 30, floor: self.floor, seed };
                let fit = Gmm::fit(rows, config);
                let sides = fit.responsibilities(rows).iter().map(|p| p[0] >= 0.5).collect();
                let (odds, constant) = fit.log_odds().unwrap_or_default();
                (odds, constant, sides)
            }
        };
        let mut halves = Halves { odds, constant, docs: [Vec::new(), Vec::new()] };
        for (&doc, first) in docs.iter().zip(sides) {
            halves.docs[usize::from(!first)].push(doc);
        }
        halves
    }
}

/// The subtree as flat lists, parents before children, leaves from left to right.
#[derive(Default)]
struct Flattened {
    splits: Vec<[Child; 2]>,
    odds: Vec<f32>,
    constants: Vec<f32>,
    leaves: Vec<Vec<u32>>,
}

impl Flattened {
    fn add(&mut self, subtree: Subtree) -> Child {
        match subtree {
            Subtree::Leaf(docs) => {
                self.leaves.push(docs);
                Child::Leaf(self.leaves.len() - 1)
            }
            Subtree::Split { odds, constant, children } => {
                let split = self.splits.len();
                self.splits.push([Child::Leaf(0); 2]);
                self.odds.extend(odds);
                self.constants.push(constant);
                self.splits[split] = children.map(|child| self.add(child));
                Child::Split(split)
            }
        }
    }
}

fn mean_variance(rows: Rows<'_>) -> f32 {
    let mean = rows.mean();
    let squares: f64 = rows.as_slice().iter().map(|&x| f64::from(x * x)).sum();
    let count = rows.len().max(1) as f64;
    let around: f64 = squares / count - mean.iter().map(|&m| f64::from(m * m)).sum::<f64>();
    (around / rows.width() as f64) as f32
}

impl Searcher for Hierarchy {
    fn len(&self) -> usize {
        self.leaves.len()
    }

    fn search(&self, queries: Rows<'_>, k: usize, budget: Budget) -> Vec<Ranking> {
        let opened = self.scorer.open(queries, &self.leaves, budget);
        self.leaves.search(queries, &opened, k)
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{self, Cloud};
    use super::*;

    fn config(depth: u8, bisection: Bisection) -> HierarchyConfig {
        HierarchyConfig { depth: Depth::new(depth).unwrap(), bisection, seed: 3 }
    }

    #[test]
    fn both_splits_conform() {
        for bisection in [Bisection::KMeans, Bisection::Gmm] {
            conformance::check(|documents| Box::new(Hierarchy::build(documents, config(6, bisection))));
        }
    }

    #[test]
    fn a_tenth_of_clustered_data_holds_most_neighbours() {
        let cloud = Cloud::clustered(2000, 32, 20, 5);
        for bisection in [Bisection::KMeans, Bisection::Gmm] {
            let tree = Hierarchy::build(cloud.documents(), config(5, bisection));
            let recall = conformance::recall(&tree, &cloud, 10, Budget::Share(0.1));
            assert!(recall > 0.8, "{bisection:?}: {recall}");
        }
    }

    #[test]
    fn the_probabilities_of_all_paths_sum_to_one() {
        let splits = [[Child::Split(1), Child::Leaf(2)], [Child::Leaf(0), Child::Leaf(1)]];
        let scores = path_scores(&[0.3, -2.0], &splits);
        assert!((scores.iter().map(|score| score.exp()).sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(path_scores(&[200.0, -300.0], &splits).iter().all(|score| score.is_finite()));
    }
}
