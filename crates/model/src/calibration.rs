//! Calibration: routing temperatures such that the probability of a node is the chance that the answer lies below it.
//!
//! Held-out pairs say where answers are: in the likeliest leaf of each answering document. At every node on the way to it the
//! query's split should have sent the query the same way, with the probability that it claims. For each level of splits one
//! factor is fitted by maximum likelihood, `sum log sigmoid(+- factor * logit)`, which is concave in the factor. Places depend on
//! the factors, so this is repeated. In the end the curve of cover is measured: how much probability the leaves that are opened
//! before the answer's hold together, leaf included.

use rayon::prelude::*;
use retreever_data::Pair;
use retreever_tree::{Assignments, CoverPoint, LeafId, Nesting, NodeId, Routed, Routing};

/// Fewer pairs than this calibrate nothing.
pub(crate) const FEW: usize = 50;
/// Rounds of placing and fitting.
const ROUNDS: usize = 3;
/// The range in which a factor is looked for, beside the one before.
const RANGE: (f64, f64) = (0.05, 20.0);
/// Answers with which the factor before counts: a level of which pairs tell little keeps it.
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
        let places = places(&routing, documents);
        let leanings = leanings(queries, &places, pairs);
        for (factor, leanings) in routing.sharpening.iter_mut().zip(&leanings) {
            *factor = fit(f64::from(*factor), leanings) as f32;
        }
    }
    routing.cover = cover(&routing, queries, &places(&routing, documents), pairs);
    routing
}

fn places(routing: &Routing, documents: &Assignments) -> Vec<LeafId> {
    (0..documents.len()).into_par_iter().map(|item| routing.read(documents.row(item)).leaf()).collect()
}

/// For each level of splits: how far each pair's query leans, in comparing logits, to the side of its answer, at the node
/// on the answer's way.
fn leanings(queries: &Assignments, places: &[LeafId], pairs: &[Pair]) -> Vec<Vec<f32>> {
    let depth = queries.depth();
    let of_pair = |pair: &Pair| -> Vec<f32> {
        let nodes = queries.row(pair.query as usize).nodes();
        let way: Vec<NodeId> = places[pair.document as usize].node(depth).path().collect();
        way.windows(2).map(|step| leaning(&nodes, step[0], step[1])).collect()
    };
    let by_pair: Vec<Vec<f32>> = pairs.par_iter().map(of_pair).collect();
    (0..depth.get()).map(|level| by_pair.iter().map(|way| way[level]).collect()).collect()
}

fn leaning(nodes: &[f32], node: NodeId, child: NodeId) -> f32 {
    let share = |node: NodeId| nodes[node.index()].max(f32::MIN_POSITIVE).ln();
    let logit = share(node.left()) - share(node.right());
    if child == node.left() { logit } else { -logit }
}

/// The factor of greatest likelihood: of `log sigmoid(factor x)`, whose slope `x sigmoid(-factor x)` falls in the factor. The factor
/// before counts as [`PRIOR`] further answers that it fits.
fn fit(before: f64, leanings: &[f32]) -> f64 {
    let slope = |factor: f64| {
        let of_answers: f64 =
            leanings.iter().map(|x| f64::from(*x) / (1.0 + (factor * f64::from(*x)).exp())).sum();
        of_answers - PRIOR * (factor / before).ln() / before
    };
    let (mut low, mut high) = (before * RANGE.0, before * RANGE.1);
    for _ in 0..50 {
        let middle = (low * high).sqrt();
        if slope(middle) > 0.0 { low = middle } else { high = middle }
    }
    (low * high).sqrt()
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
