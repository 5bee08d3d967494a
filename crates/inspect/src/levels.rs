//! Balance and sharpness of each level, by places and by the routing reading.

use crate::census::{Census, entropy};
use retreever_tree::Level;
use serde::Serialize;

/// One level, judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelReport {
    /// The level.
    pub level: Level,
    /// Entropy of the documents' counts over the nodes, 1 if all nodes hold equally many.
    pub balance: f64,
    /// The same of their mass.
    pub mass_balance: f64,
    /// Nodes without a document.
    pub empty: usize,
    /// The share of documents in the fullest node.
    pub largest: f64,
    /// The mean routing probability of a document's likeliest node: 1 if every document is in one place.
    pub sharpness: f64,
    /// Over how many nodes a document spreads, on average: two to the power of its entropy.
    pub spread: f64,
}

/// Judges levels 1 to the leaves.
pub fn of_tree(census: &Census) -> Vec<LevelReport> {
    census.depth().levels().map(|level| report(census, level)).collect()
}

fn report(census: &Census, level: Level) -> LevelReport {
    let counts: Vec<usize> = level.nodes().map(|node| census.count(node)).collect();
    let masses: Vec<f64> = level.nodes().map(|node| census.mass(node)).collect();
    let bits = level.get() as f64;
    let certainty = census.certainty(level);
    LevelReport {
        level,
        balance: entropy(counts.iter().map(|n| *n as f64)) / bits,
        mass_balance: entropy(masses.iter().copied()) / bits,
        empty: counts.iter().filter(|n| **n == 0).count(),
        largest: counts.iter().copied().max().unwrap_or(0) as f64 / census.len().max(1) as f64,
        sharpness: certainty.sharpness,
        spread: certainty.spread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retreever_tree::{Assignments, Depth, Routing};

    #[test]
    fn two_items_by_hand() {
        let items = Assignments::nested(Depth::new(2).unwrap(), vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5])
            .unwrap();
        let census = Census::new(&items, &Routing::same());
        let reports = of_tree(&census);
        assert_eq!((reports[0].balance, reports[0].sharpness, reports[0].spread), (1.0, 1.0, 1.0));
        assert_eq!((reports[1].balance, reports[1].empty, reports[1].largest), (0.5, 2, 0.5));
        assert_eq!((reports[1].sharpness, reports[1].spread), (0.75, 1.5));
        assert_eq!(reports[1].mass_balance, 0.75);
        assert_eq!(census.leaves_for_most(), 1.5);
    }
}
