//! Rows that differ in their seed alone, as one: mean and spread.

use super::row::{Method, Row, Search, Variant};
use std::collections::BTreeMap;

/// What the rows of a group share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) variant: Option<Variant>,
    pub(super) method: Method,
    pub(super) search: Search,
    pub(super) size: Option<usize>,
    pub(super) budget_permille: Option<u32>,
}

/// A number over several seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stat {
    pub(super) mean: f64,
    /// Sample standard deviation; nothing for one seed.
    pub(super) spread: Option<f64>,
}

impl Stat {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let spread = (values.len() > 1)
            .then(|| (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt());
        Self { mean, spread }
    }
}

/// A group of rows.
#[derive(Clone, Debug)]
pub(super) struct Pooled<'a> {
    pub(super) key: Key,
    pub(super) rows: Vec<&'a Row>,
}

impl Pooled<'_> {
    /// A number of the group.
    pub(super) fn stat(&self, of: impl Fn(&Row) -> f64) -> Stat {
        Stat::of(&self.rows.iter().map(|row| of(row)).collect::<Vec<_>>())
    }

    /// nDCG@10 of the group.
    pub(super) fn ndcg(&self) -> f64 {
        self.stat(|row| row.measures.ndcg.at_10).mean
    }
}

/// The groups, by variant, method, search, size and budget.
pub(super) fn pool(rows: &[Row]) -> Vec<Pooled<'_>> {
    let mut groups: BTreeMap<Key, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let key = Key {
            variant: row.variant.clone(),
            method: row.method,
            search: row.search,
            size: row.size,
            budget_permille: row.budget_permille,
        };
        groups.entry(key).or_default().push(row);
    }
    groups.into_iter().map(|(key, rows)| Pooled { key, rows }).collect()
}

/// The groups of a method that read everything, outside the ablations, from small to large.
pub(super) fn sizes<'p, 'a>(pooled: &'p [Pooled<'a>], method: Method) -> Vec<&'p Pooled<'a>> {
    let whole = |group: &&Pooled<'_>| {
        group.key.method == method && group.key.search == Search::Exact && group.key.variant.is_none()
    };
    pooled.iter().filter(whole).collect()
}

/// A method at its largest size, reading everything.
pub(super) fn full<'p, 'a>(pooled: &'p [Pooled<'a>], method: Method) -> Option<&'p Pooled<'a>> {
    sizes(pooled, method).pop()
}
