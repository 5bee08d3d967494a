//! Where users ask: queries beside documents, and how the questions drift.
//!
//! Gaps are told twice: by the places of queries and documents, and by their mass, which a soft tree evens
//! out. Drift is told by mass alone, because that varies less from one sample of queries to the next.

use crate::census::Census;
use retreever_tree::{Level, NodeId};
use serde::Serialize;

/// What is asked and what there is to read at one node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// The node.
    pub node: NodeId,
    /// The share of all queries that come by.
    pub queries: f64,
    /// The share of all documents that come by.
    pub documents: f64,
    /// The first minus the second: above 0, users ask for more than the corpus has.
    pub gap: f64,
    /// Query mass minus document mass.
    pub mass_gap: f64,
}

/// The gap at every node of `level`, the most wanted first.
pub fn gaps(documents: &Census, queries: &Census, level: Level) -> Vec<Gap> {
    let mut out: Vec<Gap> = level
        .nodes()
        .map(|node| {
            let part = |census: &Census| census.count(node) as f64 / census.len().max(1) as f64;
            let (asked, held) = (part(queries), part(documents));
            let mass_gap = queries.share(node) - documents.share(node);
            Gap { node, queries: asked, documents: held, gap: asked - held, mass_gap }
        })
        .collect();
    out.sort_by(|a, b| b.gap.total_cmp(&a.gap).then(a.node.cmp(&b.node)));
    out
}

/// How a later set of queries differs from an earlier one at one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// The level.
    pub level: Level,
    /// Half the L1 distance of the mean routing probabilities: 0 unchanged, 1 entirely elsewhere.
    pub distance: f64,
    /// Jensen-Shannon divergence of the same, in bits.
    pub divergence: f64,
    /// Every node, by how much it changed.
    pub nodes: Vec<Shift>,
}

/// The change at one node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shift {
    /// The node.
    pub node: NodeId,
    /// The share of the earlier queries.
    pub before: f64,
    /// The share of the later ones.
    pub after: f64,
}

/// The drift between two sets of queries at `level`.
pub fn drift(before: &Census, after: &Census, level: Level) -> Drift {
    let mut nodes: Vec<Shift> = level
        .nodes()
        .map(|node| Shift { node, before: before.share(node), after: after.share(node) })
        .collect();
    let distance = nodes.iter().map(|shift| (shift.before - shift.after).abs()).sum::<f64>() / 2.0;
    let half = |p: f64, m: f64| if p > 0.0 { p * (p / m).log2() / 2.0 } else { 0.0 };
    let divergence = nodes
        .iter()
        .map(|shift| {
            let mean = (shift.before + shift.after) / 2.0;
            half(shift.before, mean) + half(shift.after, mean)
        })
        .sum();
    nodes.sort_by(|a, b| {
        (b.after - b.before).abs().total_cmp(&(a.after - a.before).abs()).then(a.node.cmp(&b.node))
    });
    Drift { level, distance, divergence, nodes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::{Assignments, Depth, Routing};

    fn census(rows: Vec<f32>) -> Census {
        let depth = Depth::new(1).unwrap();
        Census::new(&Assignments::nested(depth, rows).unwrap(), &Routing::same())
    }

    #[test]
    fn two_questions_by_hand() {
        let level = Depth::new(1).unwrap().leaf_level();
        let (documents, queries) = (census(vec![1.0, 0.0, 0.5, 0.5]), census(vec![0.25, 0.75]));
        let gaps = gaps(&documents, &queries, level);
        assert_eq!((gaps[0].node, gaps[0].gap, gaps[0].mass_gap), (NodeId::new(2), 1.0, 0.5));
        let same = drift(&queries, &queries, level);
        assert_eq!((same.distance, same.divergence), (0.0, 0.0));
        let opposite = drift(&census(vec![1.0, 0.0]), &census(vec![0.0, 1.0]), level);
        assert_eq!((opposite.distance, opposite.divergence), (1.0, 1.0));
        assert_eq!(opposite.nodes[0].node, NodeId::new(1));
    }
}
