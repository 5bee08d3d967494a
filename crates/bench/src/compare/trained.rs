//! The pieces that are trained: adapters and trees, each measured at every size, and within budgets of what is read.

use super::kept::Findings;
use super::material::{Material, truncated};
use super::recipe::{Recipe, Untrained};
use super::training::Training;
use super::trial::{DEEP, Labels, Trial};
use super::{CompareConfig, Event, Piece, frozen, trees};
use crate::adapted;
use crate::baselines::{
    Flat, Ivf, IvfConfig, Rows, Scann, ScannConfig, Searcher, TreeSearch, measure_search, median_time, timed,
};
use crate::report::tables::TABLE_PERMILLE;
use crate::report::{Cover, JudgedTree, Row, Search};
use anyhow::Result;
use retreever_data::{Embeddings, Ragged, Split};
use retreever_inspect::judgement::Judgement;
use retreever_model::{Learner, TrainingSet, Tree};
use retreever_tree::{Assignments, Depth, Routing};
use std::time::Duration;

/// How many levels above the leaves ablations are looked at, too.
const FAR: usize = 4;
/// The chances with which a search by cover is asked to find the answer, in tenths of a percent.
const COVERS: [u32; 3] = [900, 950, 990];

/// A training piece: what, with which seed, and the command that makes it again.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) recipe: Recipe,
    pub(super) seed: u64,
    pub(super) command: &'a str,
}

/// Trains and measures.
pub(super) fn findings(
    material: &Material,
    job: Job<'_>,
    config: &CompareConfig,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Findings> {
    let Job { recipe, seed, command } = job;
    let (train, dev) = (material.dataset.pairs(&Split::Train), material.dataset.pairs(&Split::Dev));
    let piece = Piece::Trained(recipe, seed);
    let set = TrainingSet {
        queries: material.query_tokens(),
        documents: material.document_tokens(),
        train: &train,
        dev: &dev,
    };
    let training = Training {
        piece,
        set,
        validated: recipe.is_validated(),
        budget: config.budget,
        seed,
        recipe: recipe.of_model(),
        steps: recipe.steps(),
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
        Untrained::Adapter(mut adapter) => {
            Ok(adapter_findings(material, &mut *adapter, (recipe, config.depth), labels))
        }
        Untrained::Tree(learner) => {
            let mut tree = learner.into_tree();
            if !recipe.is_validated() {
                tree.calibrate(set.queries, set.documents, set.dev);
            }
            let routing = match recipe.has_one_temperature() {
                true => Routing::same(),
                false => tree.routing(),
            };
            Ok(tree_findings(material, (&tree, &routing), labels))
        }
    }
}

fn adapter_findings(
    material: &Material,
    adapter: &mut dyn Learner,
    (recipe, depth): (Recipe, Depth),
    labels: Labels<'_>,
) -> Findings {
    let width = adapter.width();
    let mut represent =
        |items: &dyn Embeddings, numbers: &[usize]| adapted::represent(adapter, items, numbers);
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
    let trees = match recipe {
        Recipe::Mlp => {
            let judgement = trees::two_means(material, (documents, queries), depth, labels.seed);
            vec![judged("2-means over Encoder + MLP", judgement, &labels)]
        }
        _ => Vec::new(),
    };
    Findings { rows, trees }
}

fn judged(name: &str, judgement: Judgement, labels: &Labels<'_>) -> JudgedTree {
    let Labels { seed, ref variant, command, .. } = *labels;
    JudgedTree {
        name: name.to_owned(),
        variant: variant.clone(),
        seed,
        judgement,
        command: command.to_owned(),
    }
}

fn tree_findings(material: &Material, (tree, routing): (&Tree, &Routing), labels: Labels<'_>) -> Findings {
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
        // An ablation is exact at the leaves and far above them, not a figure.
        let far = level.get() + FAR == depth.leaf_level().get();
        if labels.variant.is_none() || level == depth.leaf_level() || far {
            let (documents, queries) = (documents.level(level), queries.level(level));
            let searcher = TreeSearch::exact(Rows::new(&documents, size));
            let labels = Labels { size: Some(size), search: Search::Exact, ..labels.clone() };
            let queries = Rows::new(&queries, size);
            rows.push(Trial { material, searcher: &searcher, queries, labels }.exact());
        }
    }
    rows.extend(leaf_rows(material, (&documents, &queries), routing, labels.clone()));
    let judgement = trees::routed(material, (&documents, &queries), routing);
    Findings { rows, trees: vec![judged(labels.method.name(), judgement, &labels)] }
}

/// Searches that open leaves: within budgets of what is read, and until the answer is covered. An ablation is one row.
fn leaf_rows(
    material: &Material,
    (documents, queries): (&Assignments, &Assignments),
    routing: &Routing,
    labels: Labels<'_>,
) -> Vec<Row> {
    let leaves = documents.depth().leaf_level();
    let size = leaves.width();
    let (documents, queries) = (documents.level(leaves), queries.level(leaves));
    let (documents, queries) = (Rows::new(&documents, size), Rows::new(&queries, size));
    let searcher = TreeSearch::leaves(documents, routing.clone());
    let labels = Labels { size: Some(size), search: Search::Leaves, ..labels };
    let trial = Trial { material, searcher: &searcher, queries, labels: labels.clone() };
    if labels.variant.is_some() {
        return vec![trial.within(Some(TABLE_PERMILLE))];
    }
    let mut rows = trial.approximate();
    if routing.is_calibrated() {
        let labels = Labels { search: Search::Cover, ..labels };
        rows.extend(COVERS.map(|asked_permille| {
            let chance = f64::from(asked_permille) / 1000.0;
            let measured =
                measure_search(documents.len(), queries, &|queries| searcher.cover(queries, DEEP, chance));
            let covered = material.pairs.iter().filter(|pair| {
                searcher.covers(queries.row(pair.query as usize), pair.document as usize, chance)
            });
            let found = covered.count() as f64 / material.pairs.len().max(1) as f64;
            let row = labels.row(material.score(&measured.rankings), (&measured).into());
            Row { cover: Some(Cover { asked_permille, found }), ..row }
        }));
    }
    rows
}

/// The time from a query's embedding to its representation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Route {
    pub(super) single: Duration,
    pub(super) batched: Duration,
}
