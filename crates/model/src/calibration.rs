//! Calibration: routing temperatures such that the probability of a node is the chance that the answer lies below it.
//!
//! Held-out pairs say where answers are: in the likeliest leaf of each answering document. One factor for each level of splits is
//! fitted by maximum likelihood of those leaves, given the queries. The likelihood of a softmax over leaves whose scores are
//! linear in the factors is concave; its gradient for level `l` is the mean difference between the answer's leaning at level `l` and
//! the leaning that the query's routing probabilities expect there. Places depend on the factors, so this is repeated. In the end the
//! curve of cover is measured: how much probability the leaves that are opened before the answer's hold together, leaf included.

use rayon::prelude::*;
use retreever_data::Pair;
use retreever_tree::{Assignments, CoverPoint, FLUSH, LeafId, Routed, Routing};

/// Fewer pairs than this calibrate nothing.
pub(crate) const FEW: usize = 50;
/// Rounds of placing documents and fitting factors.
const ROUNDS: usize = 3;
/// Steps of gradient ascent in each round.
const STEPS: usize = 20;
/// Pairs with which the factors before count: a level of which pairs tell little keeps about its factor.
const PRIOR: f64 = 5.0;
/// Points of the curve of cover.
const CHANCES: [f64; 14] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99];

/// The routing reading that `pairs` of queries and documents calibrate, from `start` on; `start` itself for pairs that are too
/// few, or a tree with one temperature.
pub(crate) fn calibrate(
    start: &Routing,
    queries: &Assignments,
    documents: &Assignments,
    pairs: &[Pair],
) -> Routing {
    if pairs.len() < FEW || start.sharpening.is_empty() {
        return start.clone();
    }
    let mut routing = Routing { cover: Vec::new(), ..start.clone() };
    for _ in 0..ROUNDS {
        let places = places(&routing, documents);
        fit(&mut routing, start, &Likelihood { queries, places: &places, pairs });
    }
    routing.cover = cover(&routing, queries, &places(&routing, documents), pairs);
    routing
}

fn places(routing: &Routing, documents: &Assignments) -> Vec<LeafId> {
    (0..documents.len()).into_par_iter().map(|item| routing.leaf(documents.row(item))).collect()
}

/// Gradient ascent in the logarithms of the factors, with a step that grows while it helps.
fn fit(routing: &mut Routing, start: &Routing, likelihood: &Likelihood<'_>) {
    let mut rate = 0.5;
    let mut now = likelihood.at(routing, start);
    for _ in 0..STEPS {
        let step = |(factor, slope): (&f32, &f64)| factor * (rate * slope).clamp(-0.5, 0.5).exp() as f32;
        let sharpening = routing.sharpening.iter().zip(&now.slopes).map(step).collect();
        let next = Routing { sharpening, cover: Vec::new() };
        let there = likelihood.at(&next, start);
        if there.value > now.value {
            (*routing, now, rate) = (next, there, 1.5 * rate);
        } else {
            rate *= 0.4;
        }
    }
}

/// The likelihood of the answers' leaves.
struct Likelihood<'a> {
    queries: &'a Assignments,
    places: &'a [LeafId],
    pairs: &'a [Pair],
}

/// Its mean logarithm, and the slopes of that in the logarithms of the factors.
struct Fit {
    value: f64,
    slopes: Vec<f64>,
}

impl Likelihood<'_> {
    fn at(&self, routing: &Routing, start: &Routing) -> Fit {
        let parts: Vec<Fit> = self.pairs.par_iter().map(|pair| self.of_pair(routing, pair)).collect();
        let count = parts.len() as f64;
        let mut fit = Fit { value: 0.0, slopes: vec![0.0; routing.sharpening.len()] };
        for part in parts {
            fit.value += part.value / count;
            fit.slopes.iter_mut().zip(part.slopes).for_each(|(sum, slope)| *sum += slope / count);
        }
        for ((slope, factor), before) in fit.slopes.iter_mut().zip(&routing.sharpening).zip(&start.sharpening)
        {
            let moved = f64::from(factor / before).ln();
            fit.value -= 0.5 * PRIOR / count * moved * moved;
            *slope -= PRIOR / count * moved;
        }
        fit
    }

    fn of_pair(&self, routing: &Routing, pair: &Pair) -> Fit {
        let query = self.queries.row(pair.query as usize);
        let (masses, routed) = (query.nodes(), routing.read(query));
        let place = self.places[pair.document as usize].node(query.depth());
        let value = f64::from(routed.chance(place).max(f32::MIN_POSITIVE)).ln();
        let slopes = query.depth().levels().zip(&routing.sharpening).map(|(below, factor)| {
            let children = masses[below.start()..].as_chunks::<2>().0.iter();
            let chances = routed.at(below).as_chunks::<2>().0.iter();
            let leaning = |[left, right]: &[f32; 2]| 0.5 * factor * (left.max(FLUSH) / right.max(FLUSH)).ln();
            let expected: f32 = children.zip(chances).map(|(mass, [l, r])| leaning(mass) * (l - r)).sum();
            let side = place.ancestor(below).expect("a level of this tree").rank();
            let own = leaning(&masses[below.start()..].as_chunks::<2>().0[side / 2]);
            f64::from(if side.is_multiple_of(2) { own } else { -own } - expected)
        });
        Fit { value, slopes: slopes.collect() }
    }
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
    use crate::random::Random;
    use retreever_tree::Depth;

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

    fn start(depth: Depth) -> Routing {
        Routing { sharpening: vec![1.0; depth.get()], cover: Vec::new() }
    }

    /// Documents that are sure of their leaf, and queries whose answers follow a softmax over sums of their logits.
    fn corpus(depth: Depth, count: usize, seed: u64) -> (Assignments, Assignments, Vec<Pair>) {
        let mut random = Random::new(seed, 1);
        let logits: Vec<Vec<f32>> =
            (0..count).map(|_| (0..depth.splits()).map(|_| 2.0 * random.normal() as f32).collect()).collect();
        let queries = items(depth, &logits);
        // They are compared at half their logits.
        let truth = Routing { sharpening: vec![2.0; depth.get()], cover: Vec::new() };
        let document = |query| -> Vec<f32> {
            let mut left = random.uniform() as f32;
            let drawn = truth.read(query).leaves().iter().position(|chance| {
                left -= chance;
                left < 0.0
            });
            let place = LeafId::new(drawn.unwrap_or(0) as u32).node(depth);
            let mut logits = vec![0.0; depth.splits()];
            let way: Vec<_> = place.path().collect();
            way.windows(2).for_each(|w| logits[w[0].index()] = if w[1] == w[0].left() { 8.0 } else { -8.0 });
            logits
        };
        let documents = items(depth, &queries.iter().map(document).collect::<Vec<_>>());
        (queries, documents, (0..count as u32).map(|n| Pair { query: n, document: n }).collect())
    }

    #[test]
    fn what_is_claimed_is_found_and_cover_is_reached() {
        let depth = Depth::new(4).unwrap();
        let (queries, documents, pairs) = corpus(depth, 4000, 3);
        let routing = calibrate(&start(depth), &queries, &documents, &pairs);
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
        // Other pairs of the same kind are found as often as is asked.
        let (queries, documents, pairs) = corpus(depth, 4000, 4);
        for point in cover(&routing, &queries, &places(&routing, &documents), &pairs) {
            let asked = routing.chance_of(point.opened);
            assert!((asked - point.chance).abs() < 0.05, "{point:?} was asked as {asked}");
        }
    }

    #[test]
    fn few_pairs_change_nothing() {
        let depth = Depth::new(3).unwrap();
        let (queries, documents, pairs) = corpus(depth, FEW - 1, 3);
        assert_eq!(calibrate(&start(depth), &queries, &documents, &pairs), start(depth));
    }
}
