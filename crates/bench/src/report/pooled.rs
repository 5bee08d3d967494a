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
    pub(super) cover_permille: Option<u32>,
}

/// A number over several seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    /// Their mean.
    pub mean: f64,
    /// Sample standard deviation; nothing for one seed.
    pub spread: Option<f64>,
}

impl Stat {
    pub(super) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let spread = (values.len() > 1)
            .then(|| (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt());
        Self { mean, spread }
    }
}

/// A method at its best, over the seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Who ranked, what an ablation changed, and how it searched.
    pub name: String,
    /// nDCG@10.
    pub ndcg: Stat,
    /// Recall@10.
    pub recall: Stat,
    /// The share of the corpus that was read.
    pub share_read: Stat,
    /// Milliseconds of a query that comes alone.
    pub latency_ms: Stat,
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
            cover_permille: row.cover.map(|cover| cover.asked_permille),
        };
        groups.entry(key).or_default().push(row);
    }
    groups.into_iter().map(|(key, rows)| Pooled { key, rows }).collect()
}

/// The best group of every method, variant and search, in the order of the groups.
pub(super) fn best(pooled: &[Pooled<'_>]) -> Vec<Best> {
    let alike = |a: &&Pooled<'_>, b: &&Pooled<'_>| {
        (&a.key.variant, a.key.method, a.key.search) == (&b.key.variant, b.key.method, b.key.search)
    };
    let groups: Vec<&Pooled<'_>> = pooled.iter().collect();
    let best =
        groups.chunk_by(alike).filter_map(|alike| alike.iter().max_by(|a, b| a.ndcg().total_cmp(&b.ndcg())));
    best.map(|group| {
        let variant = group.key.variant.as_ref().map(|variant| format!(" ({})", variant.value));
        let (method, search) = (group.key.method.name(), group.key.search.name());
        Best {
            name: format!("{method}{}, {search}", variant.unwrap_or_default()),
            ndcg: group.stat(|row| row.measures.ndcg.at_10),
            recall: group.stat(|row| row.measures.recall.at_10),
            share_read: group.stat(|row| row.share_read),
            latency_ms: group.stat(|row| row.latency_ms),
        }
    })
    .collect()
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
