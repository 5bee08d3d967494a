//! Where rows come from: a trained tree over a data set, a file, or a made-up tree.

use super::BATCH;
use crate::named;
use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use retreever::{Retriever, Role, SavedTree};
use retreever_data::{Dataset, Split};
use retreever_tree::{Assignments, Depth};
use std::fmt;
use std::path::{Path, PathBuf};

/// How many queries are asked where there are so many.
const QUERIES: usize = 256;

/// Where documents and queries come from.
#[derive(clap::Args)]
pub(super) struct Source {
    /// A tree that `retreever train` made: it routes the texts of `--data`.
    #[arg(long, conflicts_with = "assignments")]
    tree: Option<PathBuf>,
    /// The texts: a BEIR folder, or insuranceqa or squadshifts, fetched by name.
    #[arg(long, default_value = "insuranceqa")]
    data: PathBuf,
    /// Assignments of documents, a .npy file of 2^depth columns.
    #[arg(long, requires = "query_assignments")]
    assignments: Option<PathBuf>,
    /// Assignments of queries, a .npy file alike; at least 64.
    #[arg(long)]
    query_assignments: Option<PathBuf>,
    /// The factor on the logits of made-up splits: 0.15 is diffuse, 2 is sharp.
    #[arg(long, default_value_t = 0.15)]
    sharpness: f32,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.tree, &self.assignments) {
            (Some(_), _) => write!(f, "{} by a trained tree", self.data.display()),
            (None, Some(_)) => write!(f, "given assignments"),
            (None, None) => write!(f, "made-up tree, sharpness {}", self.sharpness),
        }
    }
}

impl Source {
    /// The rows that documents are mixed from, and the queries.
    pub(super) fn open(&self) -> Result<(Assignments, Assignments)> {
        let (documents, queries) = match (&self.tree, &self.assignments, &self.query_assignments) {
            (Some(tree), _, _) => routed(tree, &named::dataset(&self.data)?)?,
            (None, Some(documents), Some(queries)) => (read(documents)?, read(queries)?),
            _ => made_up(self.sharpness),
        };
        ensure!(queries.len() >= BATCH, "at least {BATCH} queries are needed");
        ensure!(documents.depth() == queries.depth(), "documents and queries of different trees");
        Ok((documents, queries))
    }
}

/// The corpus and queries of the test split, as a tree spreads them.
fn routed(tree: &Path, dataset: &Dataset) -> Result<(Assignments, Assignments)> {
    let encoder = Retriever::encoder_of(tree, &mut |_| ())?;
    let tree = SavedTree::open(tree)?.tree;
    let assign = |texts: &[&str], role| -> Result<Assignments> {
        Ok(tree.assign(&encoder.embed(texts, role, &mut |_| ())?, |_| ()))
    };
    let texts: Vec<_> = dataset.corpus.items().iter().map(|document| document.encoded()).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let test = dataset.qrels.get(&Split::Test).context("the data has no test split")?;
    let asked: Vec<&str> =
        test.iter().filter_map(|(id, _)| dataset.queries.get(id)).map(|query| &query.text[..]).collect();
    let step = (asked.len() / QUERIES).max(1);
    let asked: Vec<&str> = asked.into_iter().step_by(step).take(QUERIES).collect();
    Ok((assign(&texts, Role::Document)?, assign(&asked, Role::Query)?))
}

fn read(path: &Path) -> Result<Assignments> {
    let table = retreever_data::embeddings::open(path)?;
    let rows = table.all_pooled().into_owned();
    let width = rows.len() / table.rows().max(1);
    let depth =
        u8::try_from(width.ilog2()).ok().and_then(Depth::new).context("no tree has that many leaves")?;
    Ok(Assignments::nested(depth, rows)?)
}

/// 20,000 documents and 256 queries of a random tree of depth 10: clusters in a space of 64 dimensions, routed by
/// random splits whose weights grow by 1.3 a level, times `sharpness`.
fn made_up(sharpness: f32) -> (Assignments, Assignments) {
    const SPACE: usize = 64;
    let depth = Depth::new(10).expect("a depth");
    let mut random = fastrand::Rng::with_seed(1);
    let mut normal = move || (0..6).map(|_| random.f32()).sum::<f32>() * std::f32::consts::SQRT_2 - 4.2426;
    let weights: Vec<f32> = (0..depth.splits() * SPACE).map(|_| normal()).collect();
    let centres: Vec<f32> = (0..100 * SPACE).map(|_| normal()).collect();
    let mut draw = |count: usize| {
        let points: Vec<f32> = (0..count)
            .flat_map(|i| (0..SPACE).map(move |j| (i * 37 % 100) * SPACE + j))
            .map(|at| centres[at] + normal())
            .collect();
        let rows: Vec<f32> =
            points.par_chunks(SPACE).flat_map_iter(|x| split(x, &weights, depth, sharpness)).collect();
        Assignments::nested(depth, rows).expect("probabilities")
    };
    let documents = draw(20_000);
    (documents, draw(QUERIES))
}

fn split(x: &[f32], weights: &[f32], depth: Depth, sharpness: f32) -> Vec<f32> {
    let mut level = vec![1.0f32];
    let mut strength = sharpness;
    for l in depth.levels() {
        let first = level.len() - 1;
        level = level
            .iter()
            .enumerate()
            .flat_map(|(rank, p)| {
                let w = &weights[(first + rank) * x.len()..][..x.len()];
                let logit: f32 = x.iter().zip(w).map(|(x, w)| x * w).sum();
                let left = 1.0 / (1.0 + (-logit * strength).exp());
                [p * left, p * (1.0 - left)]
            })
            .collect();
        debug_assert_eq!(level.len(), l.width());
        strength *= 1.3;
    }
    level
}
