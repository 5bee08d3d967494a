//! How well the nodes of a level agree with known classes: normalised mutual information and purity.
//!
//! NMI is `2 I(N; C) / (H(N) + H(C))`, purity the share of documents whose class is the commonest of their
//! node. Both go by the place of each document; documents without a class are left out.

use crate::census::Census;
use crate::places::Places;
use retreever_tree::{Level, NodeId};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// The class of each document, as numbers below `classes`.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// What the classes are called, the commonest first.
    pub names: Vec<String>,
    /// The class of each document, if it has one.
    pub of: Vec<Option<u16>>,
}

/// More classes than this do not sort a corpus but name its documents.
pub const MOST_CLASSES: usize = 200;

impl Classes {
    /// Numbers the values of one metadata field; nothing if there are fewer than 2 of them, or too many to be
    /// classes.
    pub fn new<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Option<Self> {
        let values: Vec<Option<&str>> = values.collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for value in values.iter().flatten() {
            *counts.entry(value).or_default() += 1;
            if counts.len() > MOST_CLASSES {
                return None;
            }
        }
        let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
        let singles = names.iter().filter(|(_, count)| *count == 1).count();
        if names.len() < 2 || singles * 2 > names.len() && names.len() > 10 {
            return None;
        }
        names.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let numbers: HashMap<&str, u16> =
            names.iter().enumerate().map(|(n, (name, _))| (*name, n as u16)).collect();
        Some(Self {
            of: values.iter().map(|value| value.map(|value| numbers[value])).collect(),
            names: names.into_iter().map(|(name, _)| name.to_owned()).collect(),
        })
    }

    /// The fields of the metadata that sort documents into classes, by name.
    pub fn of_metadata(metadata: &[Map<String, Value>]) -> Vec<(String, Self)> {
        let names: BTreeSet<&String> = metadata.iter().flat_map(Map::keys).collect();
        let scalar = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(yes) => Some(yes.to_string()),
            _ => None,
        };
        names
            .into_iter()
            .filter_map(|name| {
                let values: Vec<Option<String>> =
                    metadata.iter().map(|fields| fields.get(name).and_then(scalar)).collect();
                Some((name.clone(), Self::new(values.iter().map(Option::as_deref))?))
            })
            .collect()
    }

    /// How many documents under `node` have each class.
    pub fn counts(&self, census: &Census, node: NodeId) -> Vec<u32> {
        self.counts_of(census.items(node))
    }

    /// How many of some documents have each class.
    fn counts_of(&self, items: &[u32]) -> Vec<u32> {
        let mut out = vec![0; self.names.len()];
        for item in items {
            if let Some(class) = self.of[*item as usize] {
                out[class as usize] += 1;
            }
        }
        out
    }
}

/// How the nodes of a level agree with the classes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// The level.
    pub level: Level,
    /// Normalised mutual information, arithmetic mean: 0 for chance-like, 1 for the same partition.
    pub nmi: f64,
    /// The share of documents in the commonest class of their node.
    pub purity: f64,
}

/// The agreement of `level` with `classes`.
pub fn agreement(places: &Places, level: Level, classes: &Classes) -> Agreement {
    let table: Vec<Vec<u32>> = level.nodes().map(|node| classes.counts_of(places.items(node))).collect();
    Agreement { level, nmi: nmi(&table), purity: purity(&table) }
}

/// Normalised mutual information of a contingency table, `[nodes][classes]`.
pub fn nmi(table: &[Vec<u32>]) -> f64 {
    let total: f64 = table.iter().flatten().map(|n| f64::from(*n)).sum();
    if total == 0.0 {
        return 0.0;
    }
    let rows: Vec<f64> = table.iter().map(|row| row.iter().map(|n| f64::from(*n)).sum()).collect();
    let width = table.iter().map(Vec::len).max().unwrap_or(0);
    let columns: Vec<f64> =
        (0..width).map(|c| table.iter().map(|row| row.get(c).map_or(0.0, |n| f64::from(*n))).sum()).collect();
    let entropy = |sums: &[f64]| -> f64 {
        sums.iter().filter(|n| **n > 0.0).map(|n| -(n / total) * (n / total).ln()).sum()
    };
    let (h_rows, h_columns) = (entropy(&rows), entropy(&columns));
    if h_rows + h_columns == 0.0 {
        return 1.0; // one node, one class: the same partition
    }
    let mut information = 0.0;
    for (row, sum) in table.iter().zip(&rows) {
        for (n, column) in row.iter().zip(&columns).filter(|(n, _)| **n > 0) {
            let n = f64::from(*n);
            information += n / total * (n * total / (sum * column)).ln();
        }
    }
    (2.0 * information / (h_rows + h_columns)).clamp(0.0, 1.0)
}

/// Purity of a contingency table, `[nodes][classes]`.
pub fn purity(table: &[Vec<u32>]) -> f64 {
    let total: u32 = table.iter().flatten().sum();
    let best: u32 = table.iter().filter_map(|row| row.iter().max()).sum();
    if total == 0 { 0.0 } else { f64::from(best) / f64::from(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sklearn.metrics.normalized_mutual_info_score([0,0,0,1,1,1,2,2], [0,0,1,1,1,0,2,2])` and
    /// `([0,0,1,1], [0,1,0,1])`, scikit-learn 1.5; purity by hand.
    #[test]
    fn agrees_with_scikit_learn() {
        let table = [vec![2, 1, 0], vec![1, 2, 0], vec![0, 0, 2]];
        assert!((nmi(&table) - SKLEARN_NMI).abs() < 1e-12, "{}", nmi(&table));
        assert_eq!(purity(&table), 0.75);
        assert!(nmi(&[vec![1, 1], vec![1, 1]]).abs() < 1e-12);
        assert!((nmi(&[vec![3, 0], vec![0, 4]]) - 1.0).abs() < 1e-12);
    }

    const SKLEARN_NMI: f64 = 0.5588730382170323;

    #[test]
    fn names_of_documents_are_no_classes() {
        let ids: Vec<String> = (0..500).map(|id| id.to_string()).collect();
        assert_eq!(Classes::new(ids.iter().map(|id| Some(id.as_str()))), None);
        assert_eq!(Classes::new(["a", "a"].into_iter().map(Some)), None);
        let classes = Classes::new([Some("b"), None, Some("a"), Some("b")].into_iter()).unwrap();
        assert_eq!(classes.names, ["b", "a"]);
        assert_eq!(classes.of, [Some(0), None, Some(1), Some(0)]);
    }
}
