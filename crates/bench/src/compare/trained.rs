//! The pieces that are trained: adapters and trees, each measured at every size, and within budgets of what is read.

use super::material::{Material, truncated};
use super::recipe::{Recipe, Untrained};
use super::training::Training;
use super::trial::{Labels, Trial};
use super::{CompareConfig, Event, Piece, frozen};
use crate::baselines::{
    Flat, Grouping, Ivf, IvfConfig, Rows, Scann, ScannConfig, Searcher, TreeSearch, median_time, timed,
};
use crate::report::{Row, Search};
use anyhow::Result;
use retreever_data::{Embeddings, Ragged, Split};
use retreever_model::{Learner, TrainingSet, Tree};
use std::time::Duration;

/// Items that are represented at a time.
const BATCH: usize = 64;
/// How many levels above the leaves ablations are looked at, too.
const FAR: usize = 4;

/// A training piece: what, with which seed, and the command that makes it again.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) recipe: Recipe,
    pub(super) seed: u64,
    pub(super) command: &'a str,
}

/// Trains and measures.
pub(super) fn rows(
    material: &Material,
    job: Job<'_>,
    config: &CompareConfig,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<Row>> {
    let Job { recipe, seed, command } = job;
    let (train, dev) = (material.dataset.pairs(&Split::Train), material.dataset.pairs(&Split::Dev));
    let piece = Piece::Trained(recipe, seed);
    let training = Training {
        piece,
        set: TrainingSet {
            queries: material.query_tokens(),
            documents: material.document_tokens(),
            train: &train,
            dev: &dev,
        },
        budget: config.budget,
        seed,
        recipe: recipe.of_model(),
        place: &config.out.join("pieces").join(piece.to_string().replace([':', '='], "-")),
        run: format!("{command}\n{:016x}", material.fingerprint()),
    };
    let start = || recipe.start(material.document_tokens(), config.depth, seed);
    let (model, build) = timed(|| training.run(&start, observe));
    let labels = Labels {
        method: recipe.method(),
        search: Search::Exact,
        size: None,
        seed,
        variant: recipe.variant(),
        build,
        route: Default::default(),
        command,
    };
    match model? {
        Untrained::Adapter(mut adapter) => Ok(adapter_rows(material, &mut *adapter, recipe, labels)),
        Untrained::Tree(tree) => Ok(tree_rows(material, tree.tree(), labels)),
    }
}

fn adapter_rows(
    material: &Material,
    adapter: &mut dyn Learner,
    recipe: Recipe,
    labels: Labels<'_>,
) -> Vec<Row> {
    let width = adapter.width();
    let mut represent = |items: &dyn Embeddings, numbers: &[usize]| {
        let (mut rows, mut batch) = (Vec::new(), Ragged::new(items.width()));
        for some in numbers.chunks(BATCH) {
            items.gather(some, &mut batch);
            adapter.represent(&batch, &mut rows);
        }
        rows
    };
    let all: Vec<usize> = (0..material.document_tokens().len()).collect();
    let documents = represent(material.document_tokens(), &all);
    let (queries, batched) = timed(|| represent(material.query_tokens(), &material.test));
    let single = median_time(material.test.len(), |query| {
        represent(material.query_tokens(), &material.test[query..=query]);
    });
    let route = Route { single, batched: batched / material.test.len().max(1) as u32 };
    let labels = Labels { route, ..labels };
    let (documents, queries) = (Rows::new(&documents, width), Rows::new(&queries, width));
    let sizes: Vec<usize> = match recipe {
        Recipe::Mrl => frozen::sizes(width).collect(),
        _ => vec![width],
    };
    let mut rows: Vec<Row> = sizes
        .into_iter()
        .map(|size| {
            let (documents, queries) = (truncated(documents, size), truncated(queries, size));
            let flat = Flat::new(Rows::new(&documents, size));
            let labels = Labels { size: Some(size), ..labels.clone() };
            Trial { material, searcher: &flat, queries: Rows::new(&queries, size), labels }.exact()
        })
        .collect();
    let searches: &[Search] = match recipe {
        Recipe::Mrl => &[Search::Ivf, Search::Scann],
        Recipe::Mlp => &[Search::Ivf],
        _ => &[],
    };
    for &search in searches {
        let searcher: Box<dyn Searcher> = match search {
            Search::Scann => {
                let config = ScannConfig { lists: None, rerank: frozen::RERANK, seed: labels.seed };
                Box::new(Scann::build(documents, config))
            }
            _ => Box::new(Ivf::build(documents, IvfConfig { lists: None, seed: labels.seed })),
        };
        let labels = Labels { search, size: Some(width), ..labels.clone() };
        rows.extend(Trial { material, searcher: &*searcher, queries, labels }.approximate());
    }
    rows
}

fn tree_rows(material: &Material, tree: &Tree, labels: Labels<'_>) -> Vec<Row> {
    let documents = tree.assign(material.document_tokens(), |_| ());
    let asked = |numbers: &[usize]| {
        let mut batch = Ragged::new(material.width());
        material.query_tokens().gather(numbers, &mut batch);
        tree.assign(&batch, |_| ())
    };
    let (queries, batched) = timed(|| asked(&material.test));
    let single = median_time(material.test.len(), |query| {
        asked(&material.test[query..=query]);
    });
    let route = Route { single, batched: batched / material.test.len().max(1) as u32 };
    let labels = Labels { route, ..labels };
    let depth = tree.config().depth;
    let mut rows = Vec::new();
    for level in depth.levels() {
        let size = level.width();
        let (documents, queries) = (documents.level(level), queries.level(level));
        let (documents, queries) = (Rows::new(&documents, size), Rows::new(&queries, size));
        let measure = |grouping, search| {
            let labels = Labels { size: Some(size), search, ..labels.clone() };
            (TreeSearch::new(documents, grouping), labels)
        };
        let leaves = level == depth.leaf_level();
        // An ablation is two rows, at the leaves and far above them, not a figure.
        let far = level.get() + FAR == depth.leaf_level().get();
        if labels.variant.is_none() || leaves || far {
            let (searcher, labels) = measure(Grouping::Blocks, Search::Exact);
            rows.push(Trial { material, searcher: &searcher, queries, labels }.exact());
        }
        if labels.variant.is_none() && leaves {
            let (searcher, labels) = measure(Grouping::Leaves, Search::Leaves);
            rows.extend(Trial { material, searcher: &searcher, queries, labels }.approximate());
        }
    }
    rows
}

/// The time from a query's embedding to its representation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Route {
    pub(super) single: Duration,
    pub(super) batched: Duration,
}
