//! What `explore` and `inspect` look into: an index, what users ask, and who names the nodes.

use super::texts::Texts;
use crate::chat;
use crate::progress::{self, say};
use anyhow::{Context, Result, anyhow, bail};
use retreever::{Assignments, BadLines, Dataset, Retriever, Role, SavedTree};
use retreever_data::formats::beir;
use retreever_data::{Document, Embeddings, Ragged, Split};
use retreever_inspect::Places;
use retreever_inspect::census::Census;
use retreever_inspect::congruence::{TreeCongruence, Vectors, congruence};
use retreever_server::{Explorer, Known, Route, RouteError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is looked into.
#[derive(clap::Args)]
pub(super) struct Source {
    /// The index.
    #[arg(long)]
    pub(super) index: PathBuf,
    /// Data whose training queries show where users ask; without it, the data that the tree was trained on, if it is
    /// still there.
    #[arg(long)]
    pub(super) data: Option<PathBuf>,
    /// A file of queries instead: one a line, or JSONL with `text`.
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    queries: Option<PathBuf>,
    /// At most so many queries are read, evenly taken; 0 reads none.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    most_queries: usize,
    #[command(flatten)]
    chat: chat::Args,
}

/// An index, opened and inspected.
pub(super) struct Opened {
    /// What the server and the report are about.
    pub(super) explorer: Explorer,
    retriever: Arc<Retriever>,
    most_queries: usize,
}

/// Documents whose embeddings decide about congruence.
const COMPARED: usize = 4000;
/// Pairs drawn for each level.
const PAIRS: usize = 4000;
const SEED: u64 = 1;

impl Source {
    /// Opens an index and inspects it.
    pub(super) fn open(&self) -> Result<Opened> {
        let retriever = Arc::new(Retriever::open(&self.index, &mut progress::fetching())?);
        say!("reading {}", self.index.display());
        let snapshot = retriever.snapshot()?;
        let texts = if retriever.encoder().is_some() { self.asked()? } else { Vec::new() };
        let known = known(&retriever, texts)?;
        let name = self.index.canonicalize().ok();
        let name = name.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let router = Arc::clone(&retriever);
        let route = move |text: &str| -> Result<Assignments, RouteError> { Ok(router.route(text)?) };
        let route: Option<Box<dyn Route>> = retriever.encoder().is_some().then(|| Box::new(route) as _);
        let mut explorer =
            Explorer::new(name.unwrap_or_else(|| "ReTreever".to_owned()), snapshot, route, known)?;
        self.chat.name(&mut explorer)?;
        Ok(Opened { explorer, retriever, most_queries: self.most_queries })
    }

    /// The queries that were asked for: of a file, of data, or of the data that the tree was trained on.
    fn asked(&self) -> Result<Vec<String>> {
        let most = self.most_queries;
        if most == 0 {
            return Ok(Vec::new());
        }
        match (&self.queries, &self.data) {
            (Some(file), _) => of_file(file, most),
            (None, Some(data)) => {
                let data = Texts { data: data.clone(), skip_bad_lines: false };
                let found = of_data(&data.open()?, most);
                if found.is_empty() {
                    bail!("there are no queries in {}", data.data.display());
                }
                Ok(found)
            }
            (None, None) => {
                let saved = SavedTree::open(&self.index.join("tree"))?;
                let data = saved.training["data"].as_str().map(PathBuf::from);
                let data = data.map(|data| Texts { data, skip_bad_lines: true }).filter(Texts::at_hand);
                let data = data.and_then(|texts| texts.open().ok());
                Ok(data.map(|data| of_data(&data, most)).unwrap_or_default())
            }
        }
    }
}

impl Opened {
    /// Where the queries of a file are.
    pub(super) fn census(&self, file: &Path) -> Result<Census> {
        let texts = of_file(file, self.most_queries.max(1))?;
        let known = known(&self.retriever, texts)?;
        let known = known.ok_or_else(|| anyhow!("there are no queries in {}", file.display()))?;
        Ok(Census::new(&known.assignments, self.retriever.index().routing()))
    }

    /// Whether documents that part late are alike to the encoder.
    pub(super) fn congruence(&self) -> Result<TreeCongruence> {
        let encoder = self.retriever.encoder().ok_or(retreever::Error::NoEncoder)?;
        let (documents, assignments) = self.explorer.sample(COMPARED)?;
        let documents: Vec<Document> = documents
            .into_iter()
            .map(|d| Document { id: d.id, title: d.title, text: d.text, metadata: d.metadata })
            .collect();
        let texts: Vec<_> = documents.iter().map(Document::encoded).collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let embedded = encoder.embed(&texts, Role::Document, &mut progress::encoding())?;
        let mut pooled = Ragged::new(embedded.width());
        (0..embedded.len()).for_each(|item| embedded.append_pooled(item, &mut pooled));
        let vectors = Vectors { width: pooled.width(), values: pooled.pooled() };
        let places = Places::routed(&assignments, self.retriever.index().routing());
        Ok(congruence(&places, vectors, PAIRS, SEED))
    }
}

/// The training queries of data, or all if none are marked so.
fn of_data(data: &Dataset, most: usize) -> Vec<String> {
    let train = data.qrels.get(&Split::Train).filter(|train| !train.is_empty());
    let texts: Vec<&str> = match train {
        Some(train) => train.iter().filter_map(|(id, _)| Some(data.queries.get(id)?.text.as_str())).collect(),
        None => data.queries.items().iter().map(|query| query.text.as_str()).collect(),
    };
    evenly(&texts, most)
}

/// The queries of a file: JSONL as in a BEIR folder, or one a line.
fn of_file(file: &Path, most: usize) -> Result<Vec<String>> {
    let all = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let found = if all.trim_start().starts_with('{') {
        let (queries, _) = beir::read_queries(file, BadLines::Stop)?;
        let texts: Vec<&str> = queries.items().iter().map(|query| query.text.as_str()).collect();
        evenly(&texts, most)
    } else {
        let lines: Vec<&str> = all.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        evenly(&lines, most)
    };
    if found.is_empty() {
        bail!("there are no queries in {}: write one a line, or JSONL with `_id` and `text`", file.display());
    }
    Ok(found)
}

fn evenly(texts: &[&str], most: usize) -> Vec<String> {
    let step = texts.len().div_ceil(most.max(1)).max(1);
    texts.iter().step_by(step).map(|text| (*text).to_owned()).collect()
}

/// Queries and where they are; nothing if there are none.
fn known(retriever: &Retriever, texts: Vec<String>) -> Result<Option<Known>> {
    let Some(encoder) = retriever.encoder().filter(|_| !texts.is_empty()) else { return Ok(None) };
    let asked: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embedded = encoder.embed(&asked, Role::Query, &mut progress::encoding())?;
    let assignments = retriever.tree().assign(&embedded, |_| ());
    Ok(Some(Known { texts, assignments }))
}
