//! The pieces that need no training: BM25, the encoder at every size, hierarchies, RAPTOR, and search that reads part
//! of the corpus.

use super::material::{Material, truncated};
use super::trial::{Cost, DEEP, Labels, Trial};
use crate::baselines::{
    Bisection, Bm25, Endpoint, Flat, Hierarchy, HierarchyConfig, Hnsw, HnswConfig, Ivf, IvfConfig, Raptor,
    RaptorConfig, Rows, Scann, ScannConfig, Searcher, Summariser, Texts, median_time, share_read, timed,
};
use crate::report::{Method, Row, Search, Summaries};
use anyhow::Result;
use retreever_tree::Depth;

/// Documents that the ScaNN-like index scores exactly for each one asked for.
pub(super) const RERANK: usize = 2;

fn labels<'a>(material: &Material, method: Method, search: Search, command: &'a str) -> Labels<'a> {
    Labels {
        method,
        search,
        size: Some(material.width()),
        seed: 0,
        variant: None,
        build: Default::default(),
        route: Default::default(),
        command,
    }
}

/// Words.
pub(super) fn bm25(material: &Material, command: &str) -> Result<Vec<Row>> {
    let (index, build) = timed(|| Bm25::build(material.texts.iter().map(String::as_str)));
    let index = index?;
    let asked = material.asked();
    let (rankings, batched) = timed(|| index.search(&asked, DEEP));
    let rankings = rankings?;
    let single = median_time(asked.len(), |query| {
        // What fails alone has failed in the batch above.
        let _ = index.search(&asked[query..=query], DEEP);
    });
    let batched = batched / asked.len().max(1) as u32;
    let cost = Cost { share_read: share_read(&rankings, index.len()), single, batched };
    let labels = Labels { size: None, build, ..labels(material, Method::Bm25, Search::Exact, command) };
    Ok(vec![labels.row(material.score(&rankings), cost)])
}

/// The encoder at its full width and cut to every power of two below.
pub(super) fn encoder(material: &Material, command: &str) -> Vec<Row> {
    sizes(material.width())
        .map(|size| {
            let documents = truncated(material.documents(), size);
            let queries = truncated(material.queries(), size);
            let (flat, build) = timed(|| Flat::new(Rows::new(&documents, size)));
            let labels = Labels {
                size: Some(size),
                build,
                ..labels(material, Method::Encoder, Search::Exact, command)
            };
            Trial { material, searcher: &flat, queries: Rows::new(&queries, size), labels }.exact()
        })
        .collect()
}

/// The powers of two below a width, and the width.
pub(super) fn sizes(width: usize) -> impl Iterator<Item = usize> {
    (1..).map(|power| 1 << power).take_while(move |&size| size < width).chain([width])
}

/// Search that reads part of the corpus, over the frozen encoder.
pub(super) fn approximate(material: &Material, search: Search, command: &str) -> Vec<Row> {
    let documents = material.documents();
    let (searcher, build): (Box<dyn Searcher>, _) = timed(|| match search {
        Search::Ivf => {
            Box::new(Ivf::build(documents, IvfConfig { lists: None, seed: 0 })) as Box<dyn Searcher>
        }
        Search::Scann => {
            Box::new(Scann::build(documents, ScannConfig { lists: None, rerank: RERANK, seed: 0 }))
        }
        Search::Hnsw => Box::new(Hnsw::build(documents, HnswConfig::default())),
        Search::Exact | Search::Leaves | Search::Cover => Box::new(Flat::new(documents)),
    });
    let labels = Labels { build, ..labels(material, Method::Encoder, search, command) };
    Trial { material, searcher: &*searcher, queries: material.queries(), labels }.approximate()
}

/// A hierarchy to the depth of the tree.
pub(super) fn hierarchy(material: &Material, config: HierarchyConfig, command: &str) -> Vec<Row> {
    let (tree, build) = timed(|| Hierarchy::build(material.documents(), config));
    let method = match config.bisection {
        Bisection::KMeans => Method::KMeansTree,
        Bisection::Gmm => Method::GmmTree,
    };
    let labels = Labels { build, seed: config.seed, ..labels(material, method, Search::Leaves, command) };
    Trial { material, searcher: &tree, queries: material.queries(), labels }.approximate()
}

/// What a hierarchy is built with, to compare with a tree of this depth.
pub(super) fn like_a_tree(bisection: Bisection, depth: Depth, seed: u64) -> HierarchyConfig {
    HierarchyConfig { depth, bisection, seed }
}

/// RAPTOR with summaries from the endpoint in the environment, or extractive ones without it.
pub(super) fn raptor(material: &Material, seed: u64, command: &str) -> Result<Vec<Row>> {
    let (summariser, summaries) = match Endpoint::from_env()? {
        Some(endpoint) => (Summariser::Endpoint(endpoint), Summaries::LanguageModel),
        None => (Summariser::Extractive, Summaries::Extractive),
    };
    let config = RaptorConfig { summariser, layers: 5, seed };
    let documents: Vec<&str> = material.texts.iter().map(String::as_str).collect();
    let embed = |texts: &[String]| material.embed(texts);
    let texts = Texts { documents: &documents, embed: &embed };
    let (raptor, build) = timed(|| Raptor::build(material.documents(), &texts, &config, &|_| ()));
    let raptor = raptor?;
    let labels =
        Labels { build, seed, ..labels(material, Method::Raptor(summaries), Search::Exact, command) };
    Ok(vec![Trial { material, searcher: &raptor, queries: material.queries(), labels }.exact()])
}
