//! A searcher under test: labelled, measured within a budget, scored, as a row of the report.

use super::material::Material;
use super::trained::Route;
use crate::baselines::{Budget, Measured, Rows, Searcher, measure};
use crate::report::{Method, Row, Search, Variant};
use std::time::Duration;

/// Documents that a ranking holds: as deep as the deepest measure looks.
pub(super) const DEEP: usize = 100;

/// Shares of the corpus that an approximate search may read, in tenths of a percent.
pub(super) const BUDGETS: [u32; 8] = [5, 10, 20, 50, 100, 200, 500, 1000];

/// What the rows of one searcher share.
#[derive(Clone)]
pub(super) struct Labels<'a> {
    pub(super) method: Method,
    pub(super) search: Search,
    pub(super) size: Option<usize>,
    pub(super) seed: u64,
    pub(super) variant: Option<Variant>,
    pub(super) build: Duration,
    /// Time from the embedding to the representation, which every search comes after.
    pub(super) route: Route,
    pub(super) command: &'a str,
}

/// A searcher, what asks it, and what it is called.
pub(super) struct Trial<'a> {
    pub(super) material: &'a Material,
    pub(super) searcher: &'a dyn Searcher,
    pub(super) queries: Rows<'a>,
    pub(super) labels: Labels<'a>,
}

impl Trial<'_> {
    /// Measures with no limit on what is read.
    pub(super) fn exact(&self) -> Row {
        self.within(None)
    }

    /// Measures at each of the usual budgets; a graph only at the small ones, for it reads many times what it keeps,
    /// and keeping much is slower than reading everything.
    pub(super) fn approximate(&self) -> Vec<Row> {
        let most = if self.labels.search == Search::Hnsw { 50 } else { 1000 };
        let budgets = BUDGETS.into_iter().filter(|&permille| permille <= most);
        budgets.map(|permille| self.within(Some(permille))).collect()
    }

    /// Measures with a limit, in tenths of a percent of the corpus.
    pub(super) fn within(&self, permille: Option<u32>) -> Row {
        let budget =
            permille.map_or(Budget::Everything, |permille| Budget::Share(f64::from(permille) / 1000.0));
        let measured = measure(self.searcher, self.queries, DEEP, budget);
        let row = self.labels.row(self.material.score(&measured.rankings), (&measured).into());
        Row { budget_permille: permille, ..row }
    }
}

/// What a search cost.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    pub(super) share_read: f64,
    pub(super) single: Duration,
    pub(super) batched: Duration,
}

impl From<&Measured> for Cost {
    fn from(measured: &Measured) -> Self {
        Self { share_read: measured.share_read, single: measured.single, batched: measured.batched }
    }
}

impl Labels<'_> {
    /// A row without a limit on what is read.
    pub(super) fn row(&self, measures: retreever_data::Measures, cost: Cost) -> Row {
        Row {
            method: self.method,
            search: self.search,
            size: self.size,
            budget_permille: None,
            cover: None,
            seed: self.seed,
            variant: self.variant.clone(),
            measures,
            share_read: cost.share_read,
            latency_ms: 1e3 * (cost.single + self.route.single).as_secs_f64(),
            batched_ms: 1e3 * (cost.batched + self.route.batched).as_secs_f64(),
            build_seconds: self.build.as_secs_f64(),
            command: self.command.to_owned(),
        }
    }
}
