//! The shapes of the answers. Every text of the corpus is a JSON string here, and nothing else anywhere.

use crate::explorer::{Explorer, Found};
use crate::{Error, Result};
use retreever::{Explanation, Way};
use retreever_index::{Answer, Document};
use retreever_inspect::NodeReport;
use retreever_inspect::clusters::Agreement;
use retreever_inspect::keywords::Keyword;
use retreever_inspect::levels::LevelReport;
use retreever_tree::{Level, NodeId, Routed};
use serde::Serialize;
use serde_json::{Map, Value};

/// Characters of a text in a list; the whole text is asked for by id.
const EXCERPT: usize = 700;
/// Keywords of a node in the answer about the whole tree.
const GLANCE: usize = 6;

/// The whole tree at a glance.
#[derive(Serialize)]
pub(crate) struct TreeAnswer<'a> {
    name: &'a str,
    depth: usize,
    documents: usize,
    can_route: bool,
    /// Whether routing chances were measured on held-out pairs.
    calibrated: bool,
    has_queries: bool,
    fields: Vec<FieldAnswer<'a>>,
    levels: &'a [LevelReport],
    nodes: Vec<GlanceAnswer<'a>>,
}

#[derive(Serialize)]
struct FieldAnswer<'a> {
    name: &'a str,
    values: &'a [String],
    levels: &'a [Agreement],
}

#[derive(Serialize)]
struct GlanceAnswer<'a> {
    label: &'a str,
    summary: &'a str,
    keywords: Vec<&'a str>,
    documents: usize,
    /// Whether the label says nothing new under its parent.
    folded: bool,
    mass: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    queries: Option<f64>,
    /// The commonest value of each field, and its share; nothing where no document has a value.
    top: Vec<Option<(usize, f64)>>,
}

impl<'a> TreeAnswer<'a> {
    /// The tree of an explorer.
    pub(crate) fn new(explorer: &'a Explorer) -> Self {
        let inspection = &explorer.inspection;
        let notes = explorer.notes();
        let glance = |report: &'a NodeReport| GlanceAnswer {
            label: &report.label,
            summary: &report.summary,
            keywords: report.keywords.iter().take(GLANCE).map(|word| word.text.as_str()).collect(),
            documents: report.documents,
            folded: notes.folds(report.node),
            mass: round(report.mass),
            queries: report.queries.map(round),
            top: inspection
                .fields
                .iter()
                .map(|field| commonest(&field.classes.counts(&inspection.documents, report.node)))
                .collect(),
        };
        Self {
            name: &explorer.name,
            depth: inspection.depth().get(),
            documents: inspection.documents.len(),
            can_route: explorer.can_route(),
            calibrated: explorer.routing().is_calibrated(),
            has_queries: inspection.queries.is_some(),
            fields: inspection
                .fields
                .iter()
                .map(|field| FieldAnswer {
                    name: &field.name,
                    values: &field.classes.names,
                    levels: &field.levels,
                })
                .collect(),
            levels: &inspection.levels,
            nodes: inspection.nodes.iter().map(glance).collect(),
        }
    }
}

fn commonest(counts: &[u32]) -> Option<(usize, f64)> {
    let total: u32 = counts.iter().sum();
    let (best, count) =
        counts.iter().enumerate().max_by_key(|(class, count)| (**count, usize::MAX - class))?;
    (total > 0).then(|| (best, round(f64::from(*count) / f64::from(total))))
}

/// Six decimals are enough to draw with.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// One node in full.
#[derive(Serialize)]
pub(crate) struct NodeAnswer<'a> {
    node: NodeId,
    level: Level,
    rank: usize,
    label: &'a str,
    summary: &'a str,
    keywords: Vec<WordAnswer<'a>>,
    documents: usize,
    mass: f64,
    queries: Option<f64>,
    entropy: f64,
    path: Vec<StepAnswer<'a>>,
    branches: Vec<BranchAnswer<'a>>,
    typical: Vec<DocumentAnswer>,
    typical_queries: Vec<QueryAnswer<'a>>,
    fields: Vec<HistogramAnswer<'a>>,
}

#[derive(Serialize)]
struct StepAnswer<'a> {
    node: NodeId,
    label: &'a str,
    keywords: Vec<&'a str>,
}

#[derive(Serialize)]
struct BranchAnswer<'a> {
    node: NodeId,
    label: &'a str,
    documents: usize,
    /// What sets this branch apart from the other.
    apart: Vec<WordAnswer<'a>>,
}

#[derive(Serialize)]
struct WordAnswer<'a> {
    text: &'a str,
    keyness: f64,
    documents: u32,
}

fn words(keywords: &[Keyword]) -> Vec<WordAnswer<'_>> {
    let answer = |word| {
        let Keyword { text, keyness, documents }: &Keyword = word;
        WordAnswer { text, keyness: (keyness * 100.0).round() / 100.0, documents: *documents }
    };
    keywords.iter().map(answer).collect()
}

#[derive(Serialize)]
struct QueryAnswer<'a> {
    text: &'a str,
    reach: f32,
}

#[derive(Serialize)]
struct HistogramAnswer<'a> {
    name: &'a str,
    values: Vec<(&'a str, u32)>,
}

impl<'a> NodeAnswer<'a> {
    pub(crate) fn new(explorer: &'a Explorer, node: NodeId) -> Result<Self> {
        let inspection = &explorer.inspection;
        let report = |node: NodeId| {
            inspection.node(node).ok_or_else(|| Error::NotFound(format!("there is no node {node}")))
        };
        let this = report(node)?;
        let steps = node.path().map(|step| {
            let report = report(step)?;
            let keywords = report.keywords.iter().take(GLANCE).map(|word| word.text.as_str()).collect();
            Ok(StepAnswer { node: step, label: &report.label, keywords })
        });
        let children = if node.level() < inspection.depth().leaf_level() {
            vec![node.left(), node.right()]
        } else {
            Vec::new()
        };
        let branches = children.into_iter().map(|child| {
            let report = report(child)?;
            Ok(BranchAnswer {
                node: child,
                label: &report.label,
                documents: report.documents,
                apart: words(&report.apart),
            })
        });
        let typical = this.typical.iter().map(|typical| {
            let mut answer = DocumentAnswer::excerpt(explorer.document(typical.item)?);
            answer.reach = Some(typical.reach);
            Ok(answer)
        });
        Ok(Self {
            node,
            level: node.level(),
            rank: node.rank(),
            label: &this.label,
            summary: &this.summary,
            keywords: words(&this.keywords),
            documents: this.documents,
            mass: round(this.mass),
            queries: this.queries.map(round),
            entropy: round(this.entropy),
            path: steps.collect::<Result<_>>()?,
            branches: branches.collect::<Result<_>>()?,
            typical: typical.collect::<Result<_>>()?,
            typical_queries: this
                .typical_queries
                .iter()
                .map(|typical| QueryAnswer { text: explorer.query(typical.item), reach: typical.reach })
                .collect(),
            fields: inspection
                .fields
                .iter()
                .map(|field| {
                    let counts = field.classes.counts(&inspection.documents, node);
                    let names = field.classes.names.iter().map(String::as_str);
                    let mut values: Vec<(&str, u32)> = names.zip(counts).filter(|(_, n)| *n > 0).collect();
                    values.sort_by_key(|value| std::cmp::Reverse(value.1));
                    values.truncate(8);
                    HistogramAnswer { name: &field.name, values }
                })
                .collect(),
        })
    }
}

/// A document.
#[derive(Serialize)]
pub(crate) struct DocumentAnswer {
    id: String,
    title: String,
    text: String,
    /// Whether there is more text than is shown.
    more: bool,
    metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reach: Option<f32>,
}

impl DocumentAnswer {
    /// The document with all of its text.
    pub(crate) fn whole(document: Document) -> Self {
        let Document { id, title, text, metadata } = document;
        Self { id, title, text, more: false, metadata, reach: None }
    }

    /// The document with the beginning of its text.
    pub(crate) fn excerpt(document: Document) -> Self {
        let mut answer = Self::whole(document);
        if let Some((cut, _)) = answer.text.char_indices().nth(EXCERPT) {
            answer.text.truncate(cut);
            answer.more = true;
        }
        answer
    }
}

/// A page of the documents of a node.
#[derive(Serialize)]
pub(crate) struct DocumentsAnswer {
    pub(crate) node: NodeId,
    pub(crate) total: usize,
    pub(crate) page: usize,
    pub(crate) size: usize,
    pub(crate) documents: Vec<DocumentAnswer>,
}

/// How likely the answer to an item is below each node, in breadth-first order, and where it most likely is.
#[derive(Serialize)]
pub(crate) struct RouteAnswer {
    leaf: NodeId,
    reach: Vec<f32>,
    way: Way,
}

impl RouteAnswer {
    pub(crate) fn new(routed: &Routed, way: Way) -> Self {
        let reach = routed.nodes().iter().map(|p| (p * 1e6).round() / 1e6).collect();
        Self { leaf: routed.leaf().node(routed.depth()), reach, way }
    }
}

/// What a query finds, and why.
#[derive(Serialize)]
pub(crate) struct SearchAnswer {
    level: Level,
    share_read: f64,
    /// The chance that the answer is among the documents that were read, where it is known.
    cover: Option<f64>,
    hits: Vec<HitAnswer>,
}

impl SearchAnswer {
    pub(crate) fn new(level: Level, answer: &Answer, found: Vec<Found>) -> Self {
        let hits = found.into_iter().map(HitAnswer::new).collect();
        Self { level, share_read: round(answer.share_read), cover: answer.cover.map(round), hits }
    }
}

/// A document found.
#[derive(Serialize)]
pub(crate) struct HitAnswer {
    score: f64,
    #[serde(flatten)]
    document: DocumentAnswer,
    /// The leaf that holds the document.
    place: NodeId,
    explanation: Explanation,
}

impl HitAnswer {
    fn new(Found { document, hit, explanation, place }: Found) -> Self {
        Self { score: hit.score, document: DocumentAnswer::excerpt(document), place, explanation }
    }
}

/// One node as JSON, as `/api/node/{id}` answers it.
pub fn describe(explorer: &Explorer, node: NodeId) -> Result<Value> {
    explorer.check(node)?;
    serde_json::to_value(NodeAnswer::new(explorer, node)?).map_err(|error| Error::Request(error.to_string()))
}

/// The whole tree as JSON, as `/api/tree` answers it.
pub fn overview(explorer: &Explorer) -> Result<Value> {
    serde_json::to_value(TreeAnswer::new(explorer)).map_err(|error| Error::Request(error.to_string()))
}
