//! Calibration: routing temperatures such that the probability of a node is the chance that the answer lies below it.
//!
//! Held-out pairs say where answers are: in the likeliest leaf of each answering document. From the root on, the factor of each
//! level of splits is chosen so that the likeliest nodes of the queries claim on average what is found: the share of pairs whose
//! document lies below the query's likeliest node of the next level. A larger factor claims more. Places depend on the factors,
//! so this is repeated. In the end the curve of cover is measured: how much probability the leaves that are opened before the
//! answer's hold together, leaf included.

use rayon::prelude::*;
use retreever_data::Pair;
use retreever_tree::{Assignments, CoverPoint, LeafId, Level, Nesting, NodeId, Routed, Routing};
use std::collections::BTreeMap;

/// Fewer pairs than this calibrate nothing.
pub(crate) const FEW: usize = 50;
/// Rounds of placing and choosing factors.
const ROUNDS: usize = 3;
/// The range in which a factor is looked for, beside the one before.
const RANGE: (f64, f64) = (0.02, 50.0);
/// Halvings of that range, as a ratio.
const HALVINGS: usize = 20;
/// Pairs for which the factor before claims what is found: a level of which pairs tell little keeps about its factor.
const PRIOR: f64 = 5.0;
/// Points of the curve of cover.
const CHANCES: [f64; 14] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99];

/// The routing reading that `pairs` of queries and documents calibrate, from `start` on; `start` itself for pairs that are too
/// few, or levels that are not nested.
pub(crate) fn calibrate(
    start: &Routing,
    queries: &Assignments,
    documents: &Assignments,
    pairs: &[Pair],
) -> Routing {
    if pairs.len() < FEW || queries.nesting() != Nesting::Nested {
        return start.clone();
    }
    let mut routing = Routing { cover: Vec::new(), ..start.clone() };
    for _ in 0..ROUNDS {
        let mut queries = Queries::new(queries, &places(&routing, documents), pairs);
        routing.sharpening.iter_mut().for_each(|factor| *factor = queries.descend(*factor));
    }
    routing.cover = cover(&routing, queries, &places(&routing, documents), pairs);
    routing
}

fn places(routing: &Routing, documents: &Assignments) -> Vec<LeafId> {
    (0..documents.len()).into_par_iter().map(|item| routing.leaf(documents.row(item))).collect()
}

/// Queries on their way down the tree.
struct Queries {
    level: Level,
    queries: Vec<Asked>,
}

/// A query whose answers are known.
struct Asked {
    /// Comparing logits of all splits.
    logits: Vec<f32>,
    /// Routing probabilities of the nodes of the present level.
    chances: Vec<f32>,
    /// The leaves of its answers.
    answers: Vec<NodeId>,
}

/// What likeliest nodes claim and what is found below them, summed over pairs.
#[derive(Clone, Copy, Default)]
struct Sums {
    claimed: f64,
    found: f64,
    pairs: f64,
}

impl Queries {
    fn new(queries: &Assignments, places: &[LeafId], pairs: &[Pair]) -> Self {
        let depth = queries.depth();
        let mut answers: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
        for pair in pairs {
            let place = places[pair.document as usize].node(depth);
            answers.entry(pair.query as usize).or_default().push(place);
        }
        let answers: Vec<_> = answers.into_iter().collect();
        let asked = |(query, answers): (usize, Vec<NodeId>)| {
            let nodes = queries.row(query).nodes();
            let mass = |node: NodeId| nodes[node.index()].max(f32::MIN_POSITIVE).ln();
            let splits = (0..depth.splits() as u32).map(NodeId::new);
            let logits = splits.map(|node| mass(node.left()) - mass(node.right())).collect();
            Asked { logits, chances: vec![1.0], answers }
        };
        Self { level: Level::ROOT, queries: answers.into_par_iter().map(asked).collect() }
    }

    /// Chooses the factor of the present level and goes down to the next one.
    fn descend(&mut self, before: f32) -> f32 {
        let prior = self.sums(before);
        let wanting = |factor: f64| {
            let Sums { claimed, found, pairs } = self.sums(factor as f32);
            let claimed = claimed / pairs;
            claimed * (pairs + PRIOR) < found + PRIOR * prior.claimed / pairs
        };
        let (mut low, mut high) = (f64::from(before) * RANGE.0, f64::from(before) * RANGE.1);
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            if wanting(middle) { low = middle } else { high = middle }
        }
        let factor = (low * high).sqrt() as f32;
        let level = self.level;
        self.queries.par_iter_mut().for_each(|query| query.chances = query.below(level, factor));
        self.level = level.below();
        factor
    }

    /// Claims and finds at the next level, with this factor at the present one.
    fn sums(&self, factor: f32) -> Sums {
        let of_query = |query: &Asked| {
            let (chance, node) = query.likeliest(self.level, factor);
            let found = query.answers.iter().filter(|answer| answer.is_under(node)).count();
            let pairs = query.answers.len() as f64;
            Sums { claimed: f64::from(chance) * pairs, found: found as f64, pairs }
        };
        let all: Vec<Sums> = self.queries.par_iter().map(of_query).collect();
        all.into_iter().fold(Sums::default(), |a, b| Sums {
            claimed: a.claimed + b.claimed,
            found: a.found + b.found,
            pairs: a.pairs + b.pairs,
        })
    }
}

impl Asked {
    /// The likeliest node of the level below `level`, and its probability.
    fn likeliest(&self, level: Level, factor: f32) -> (f32, NodeId) {
        let mut best = (-1.0, NodeId::ROOT);
        for ((node, chance), logit) in level.nodes().zip(&self.chances).zip(&self.logits[level.start()..]) {
            // A node is never less likely than its children.
            if *chance > best.0 {
                let here = chance * sigmoid(factor * logit.abs());
                if here > best.0 {
                    best = (here, if *logit >= 0.0 { node.left() } else { node.right() });
                }
            }
        }
        best
    }

    /// The probabilities of the level below `level`.
    fn below(&self, level: Level, factor: f32) -> Vec<f32> {
        let splits = self.chances.iter().zip(&self.logits[level.start()..]);
        splits.flat_map(|(chance, logit)| [factor, -factor].map(|f| chance * sigmoid(f * logit))).collect()
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The curve of cover.
fn cover(routing: &Routing, queries: &Assignments, places: &[LeafId], pairs: &[Pair]) -> Vec<CoverPoint> {
    let opened = |pair: &Pair| {
        opened_before(&routing.read(queries.row(pair.query as usize)), places[pair.document as usize])
    };
    let mut opened: Vec<f64> = pairs.par_iter().map(opened).collect();
    opened.sort_unstable_by(f64::total_cmp);
    // Of n + 1 queries that are alike, the new one is any of them: the quantile is that of n + 1.
    let quantile = |chance: f64| ((opened.len() + 1) as f64 * chance).ceil() as usize;
    let points = CHANCES.iter().filter(|chance| quantile(**chance) <= opened.len());
    points
        .map(|chance| CoverPoint { chance: *chance, opened: opened[quantile(*chance) - 1].min(1.0) })
        .collect()
}

/// The probability of all leaves that are opened up to this one, itself included.
fn opened_before(query: &Routed, leaf: LeafId) -> f64 {
    let mut opened = 0.0;
    for other in query.order() {
        opened += f64::from(query.leaves()[other.index()]);
        if other == leaf {
            break;
        }
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::Depth;
    use crate::random::Random;

    /// Assignments with these split logits, compared at half of them.
    fn items(depth: Depth, logits: &[Vec<f32>]) -> Assignments {
        let mut rows = Vec::new();
        for logits in logits {
            let mut nodes = vec![1.0f32; depth.nodes()];
            for (node, logit) in logits.iter().enumerate() {
                let share = 1.0 / (1.0 + (-0.5 * logit).exp());
                nodes[2 * node + 1] = nodes[node] * share;
                nodes[2 * node + 2] = nodes[node] * (1.0 - share);
            }
            rows.extend(nodes.split_off(depth.splits()));
        }
        Assignments::nested(depth, rows).unwrap()
    }

    /// Documents that are sure of their leaf, and queries whose answers follow their logits' own probabilities.
    fn corpus(depth: Depth, count: usize) -> (Assignments, Assignments, Vec<Pair>) {
        let mut random = Random::new(3, 1);
        let (mut queries, mut documents) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let query: Vec<f32> = (0..depth.splits()).map(|_| 2.0 * random.normal() as f32).collect();
            let goes_left =
                |logit: &f32, random: &mut Random| random.uniform() < f64::from(1.0 / (1.0 + (-logit).exp()));
            let document =
                query.iter().map(|logit| if goes_left(logit, &mut random) { 8.0 } else { -8.0 }).collect();
            queries.push(query);
            documents.push(document);
        }
        let pairs = (0..count as u32).map(|n| Pair { query: n, document: n }).collect();
        (items(depth, &queries), items(depth, &documents), pairs)
    }

    #[test]
    fn what_is_claimed_is_found_and_cover_is_reached() {
        let depth = Depth::new(4).unwrap();
        let (queries, documents, pairs) = corpus(depth, 4000);
        let routing = calibrate(&Routing::same(depth), &queries, &documents, &pairs);
        // They were compared at half their logits.
        assert!(
            routing.sharpening.iter().all(|factor| (factor - 2.0).abs() < 0.25),
            "{:?}",
            routing.sharpening
        );
        for level in depth.levels() {
            let (mut claimed, mut found) = (0.0, 0.0);
            for pair in &pairs {
                let query = routing.read(queries.row(pair.query as usize));
                let place = routing.read(documents.row(pair.document as usize)).leaf().node(depth);
                let node = query.likeliest(level);
                claimed += f64::from(query.chance(node)) / pairs.len() as f64;
                found += f64::from(u8::from(place.is_under(node))) / pairs.len() as f64;
            }
            assert!((claimed - found).abs() < 0.03, "level {level}: {claimed} claimed, {found} found");
        }
        assert_eq!(routing.check(depth), Ok(()));
        for point in &routing.cover {
            assert!((point.opened - point.chance).abs() < 0.15, "{point:?}");
        }
    }

    #[test]
    fn few_pairs_change_nothing() {
        let depth = Depth::new(3).unwrap();
        let (queries, documents, pairs) = corpus(depth, FEW - 1);
        assert_eq!(calibrate(&Routing::same(depth), &queries, &documents, &pairs), Routing::same(depth));
    }
}
