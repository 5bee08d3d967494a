//! How far queries and their documents go the same way down the tree, on held-out pairs.
//!
//! A pair is a query `q` and a document `d` that answers it; there are `n` pairs. `place(x)` is the one leaf of an item, its
//! likeliest by the routing reading, and `up(leaf, l)` the ancestor of a leaf at level `l`. For each level `l` from 1 to the
//! leaves:
//!
//! ```text
//! together = 1/n  sum over pairs of [up(place(q), l) = up(place(d), l)]
//! chance   = sum over nodes v of level l of  p_q(v) p_d(v)
//!            p_q(v) = 1/n  sum over pairs of [up(place(q), l) = v]    p_d(v) the same with d
//! ```
//!
//! These need places alone ([`of_places`]), so other trees have them too. A calibrated tree also says how sure it is
//! ([`of_routed`]). With `P_q(v)` the routing probability of node `v`, and `best(q)` the node of level `l` with the largest
//! `P_q`, the leftmost of equals:
//!
//! ```text
//! claimed = 1/n  sum over pairs of P_q(best(q))
//! found   = 1/n  sum over pairs of [up(place(d), l) = best(q)]
//! error   = sum over bins b of  |b|/n  | found in b - claimed in b |
//! ```
//!
//! `error` is the expected calibration error. A pair is in bin `min(floor(10 P_q(best(q))), 9)`; "in b" are the means over
//! the pairs of that bin. `best(q)` need not be above `place(q)`: the likeliest leaf may be under another node.
//! Without pairs all figures are 0.

use retreever_tree::{Depth, LeafId, Level, NodeId, Routed};
use serde::Serialize;
use std::borrow::Borrow;

/// Bins of the calibration error.
pub const BINS: usize = 10;

/// A query and a document that answers it, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The number of the query.
    pub query: u32,
    /// The number of the document.
    pub document: u32,
}

/// How often pairs are in the same node of a level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlaceAgreement {
    /// The level.
    pub level: Level,
    /// The share of pairs in the same node.
    pub together: f64,
    /// The share if queries and documents were paired at random.
    pub chance: f64,
}

/// How often pairs are in the same node of a level, and how often the tree says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoutedAgreement {
    /// By places alone.
    #[serde(flatten)]
    pub places: PlaceAgreement,
    /// The mean probability of a query's likeliest node.
    pub claimed: f64,
    /// The share of pairs whose document is under that node.
    pub found: f64,
    /// The expected calibration error of `claimed`.
    pub error: f64,
}

/// The agreement of places at levels 1 to the leaves.
///
/// # Panics
/// If a pair names a query or document that is not there.
pub fn of_places(
    depth: Depth,
    queries: &[LeafId],
    documents: &[LeafId],
    pairs: &[Pair],
) -> Vec<PlaceAgreement> {
    let placed = Placed { depth, queries, documents, pairs };
    depth.levels().map(|level| placed.at(level)).collect()
}

/// The agreement of routed queries with the documents' places, at levels 1 to the leaves. A query is read once and not kept.
///
/// # Panics
/// If a pair names a query or document that is not there, or a query is of a tree of another depth.
pub fn of_routed(
    depth: Depth,
    queries: impl IntoIterator<Item = impl Borrow<Routed>>,
    documents: &[LeafId],
    pairs: &[Pair],
) -> Vec<RoutedAgreement> {
    let (mut places, mut claims) = (Vec::new(), Vec::new());
    for query in queries {
        let query = query.borrow();
        assert_eq!(query.depth(), depth, "a query of another tree");
        places.push(query.leaf());
        claims.extend(depth.levels().map(|level| {
            let node = query.likeliest(level);
            Claim { node, chance: f64::from(query.chance(node)) }
        }));
    }
    let placed = Placed { depth, queries: &places, documents, pairs };
    depth
        .levels()
        .enumerate()
        .map(|(column, level)| {
            let claims = pairs.iter().map(|pair| {
                let claim = claims[pair.query as usize * depth.get() + column];
                (claim.chance, above(depth, documents[pair.document as usize], level) == claim.node)
            });
            let bins = Bins::of(claims);
            RoutedAgreement {
                places: placed.at(level),
                claimed: bins.claimed(),
                found: bins.found(),
                error: bins.error(),
            }
        })
        .collect()
}

/// A query's likeliest node of a level.
#[derive(Clone, Copy)]
struct Claim {
    node: NodeId,
    chance: f64,
}

fn above(depth: Depth, leaf: LeafId, level: Level) -> NodeId {
    leaf.node(depth).ancestor(level).expect("a level of this tree")
}

/// Pairs whose queries and documents have places.
struct Placed<'a> {
    depth: Depth,
    queries: &'a [LeafId],
    documents: &'a [LeafId],
    pairs: &'a [Pair],
}

impl Placed<'_> {
    fn at(&self, level: Level) -> PlaceAgreement {
        let (mut asked, mut held) = (vec![0u64; level.width()], vec![0u64; level.width()]);
        let mut together = 0;
        for pair in self.pairs {
            let query = above(self.depth, self.queries[pair.query as usize], level).rank();
            let document = above(self.depth, self.documents[pair.document as usize], level).rank();
            asked[query] += 1;
            held[document] += 1;
            together += usize::from(query == document);
        }
        let n = self.pairs.len().max(1) as f64;
        let chance = asked.iter().zip(&held).map(|(q, d)| (*q as f64 / n) * (*d as f64 / n)).sum();
        PlaceAgreement { level, together: together as f64 / n, chance }
    }
}

/// Sums over the pairs of each bin.
#[derive(Default)]
struct Bins {
    claimed: [f64; BINS],
    found: [f64; BINS],
    pairs: usize,
}

impl Bins {
    fn of(claims: impl Iterator<Item = (f64, bool)>) -> Self {
        let mut bins = Self::default();
        for (chance, found) in claims {
            let bin = ((BINS as f64 * chance) as usize).min(BINS - 1);
            bins.claimed[bin] += chance;
            bins.found[bin] += f64::from(u8::from(found));
            bins.pairs += 1;
        }
        bins
    }

    fn n(&self) -> f64 {
        self.pairs.max(1) as f64
    }

    fn claimed(&self) -> f64 {
        self.claimed.iter().sum::<f64>() / self.n()
    }

    fn found(&self) -> f64 {
        self.found.iter().sum::<f64>() / self.n()
    }

    /// The weight `|b|/n` of a bin cancels the `1/|b|` of its means.
    fn error(&self) -> f64 {
        let gaps = self.claimed.iter().zip(&self.found).map(|(claimed, found)| (found - claimed).abs());
        gaps.sum::<f64>() / self.n()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::{Assignments, Routing};

    fn pair(query: u32, document: u32) -> Pair {
        Pair { query, document }
    }

    #[test]
    fn four_pairs_by_hand() {
        let depth = Depth::new(2).unwrap();
        let leaves = |leaves: &[u32]| leaves.iter().copied().map(LeafId::new).collect::<Vec<_>>();
        let pairs = [pair(0, 0), pair(0, 1), pair(1, 2), pair(2, 2)];
        let found = of_places(depth, &leaves(&[0, 1, 3]), &leaves(&[0, 2, 1]), &pairs);
        // Queries at 0 0 1 3, documents at 0 2 1 1.
        assert_eq!((found[0].together, found[1].together), (0.5, 0.5));
        assert_eq!(found[0].chance, 0.75 * 0.75 + 0.25 * 0.25);
        assert_eq!(found[1].chance, 0.5 * 0.25 + 0.25 * 0.5);
    }

    #[test]
    fn claims_are_held_against_what_is_found() {
        let depth = Depth::new(1).unwrap();
        let queries = Assignments::nested(depth, vec![0.75, 0.25, 0.75, 0.25, 0.125, 0.875]).unwrap();
        let routing = Routing::same();
        let documents = [LeafId::new(0), LeafId::new(1)];
        let pairs = [pair(0, 0), pair(1, 1), pair(2, 1)];
        let found = of_routed(depth, queries.iter().map(|query| routing.read(query)), &documents, &pairs)[0];
        assert!((found.claimed - (0.75 + 0.75 + 0.875) / 3.0).abs() < 1e-12);
        assert!((found.found - 2.0 / 3.0).abs() < 1e-12);
        // Bin 7: claimed 0.75, found 0.5, two pairs; bin 8: claimed 0.875, found 1, one pair.
        assert!((found.error - (2.0 * 0.25 + 0.125) / 3.0).abs() < 1e-12);
        assert_eq!(found.places.together, found.found);
    }

    #[test]
    fn no_pairs_agree_on_nothing() {
        let depth = Depth::new(1).unwrap();
        let found = of_routed(depth, [] as [Routed; 0], &[], &[])[0];
        assert_eq!((found.claimed, found.found, found.error, found.places.chance), (0.0, 0.0, 0.0, 0.0));
    }
}
