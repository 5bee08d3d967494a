//! What the server knows: the documents, the inspection, and the way from a text to an assignment.

use crate::{Error, Result};
use retreever::{Explainer, Explanation, Way};
use retreever_index::{Answer, Document, Hit, Mode, Opening, Query, Snapshot};
use retreever_inspect::llm::{self, Budget, Chat, Estimate, Outcome};
use retreever_inspect::{Corpus, Inspection, Notes, Queries};
use retreever_tree::{Assignments, Level, NodeId, Routed, Routing};
use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

/// What went wrong on the way.
pub type RouteError = Box<dyn std::error::Error + Send + Sync>;

/// The way from a text to an assignment: an encoder and a tree.
pub trait Route: Send + Sync {
    /// The assignment of one query, as a single row.
    fn route(&self, text: &str) -> std::result::Result<Assignments, RouteError>;
}

impl<F: Fn(&str) -> std::result::Result<Assignments, RouteError> + Send + Sync> Route for F {
    fn route(&self, text: &str) -> std::result::Result<Assignments, RouteError> {
        self(text)
    }
}

/// Queries that are known beforehand, such as those of training.
pub struct Known {
    /// The queries as they were put.
    pub texts: Vec<String>,
    /// Where they are.
    pub assignments: Assignments,
}

/// A document found, and why.
pub(crate) struct Found {
    pub(crate) document: Document,
    pub(crate) hit: Hit,
    pub(crate) explanation: Explanation,
    /// The leaf that holds the document.
    pub(crate) place: NodeId,
}

/// What is found.
pub(crate) struct Wanted {
    pub(crate) k: usize,
    /// The level to compare at.
    pub(crate) level: Level,
    /// The chance with which the answer must be among the documents that are read; all are read if nothing is said.
    pub(crate) cover: Option<f64>,
}

/// An index, inspected and ready to answer.
pub struct Explorer {
    /// What is said about the nodes. Changes count until the first request is answered.
    pub inspection: Inspection,
    /// What the corpus is called.
    pub name: String,
    snapshot: Snapshot,
    route: Option<Box<dyn Route>>,
    hits: Vec<Hit>,                // one a document, in the order of the inspection
    numbers: HashMap<String, u32>, // the document of an id
    queries: Vec<String>,
    notes: OnceLock<Notes>, // the inspection's
}

impl Explorer {
    /// Reads every document of `snapshot` and inspects them.
    pub fn new(
        name: String,
        snapshot: Snapshot,
        route: Option<Box<dyn Route>>,
        known: Option<Known>,
    ) -> Result<Self> {
        let shape = snapshot.shape();
        let hits: Vec<Hit> = snapshot.hits().collect();
        let mut rows = Vec::with_capacity(hits.len() * shape.nesting.row_width(shape.depth));
        let (mut texts, mut metadata, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
        for (number, hit) in hits.iter().enumerate() {
            rows.extend(snapshot.assignment(hit)?);
            let document = snapshot.document(hit)?;
            texts.push(document.words());
            numbers.insert(document.id, number as u32);
            metadata.push(document.metadata);
        }
        let documents = Assignments::new(shape.depth, shape.nesting, rows)?;
        let queries = known.as_ref().map(|k| Queries { texts: &k.texts, assignments: &k.assignments });
        let corpus = Corpus {
            texts: &texts,
            documents: &documents,
            routing: snapshot.routing(),
            queries,
            metadata: &metadata,
        };
        let inspection = Inspection::new(&corpus)?;
        let queries = known.map(|known| known.texts).unwrap_or_default();
        Ok(Self { inspection, name, snapshot, route, hits, numbers, queries, notes: OnceLock::new() })
    }

    fn texts(&self) -> Result<Vec<String>> {
        self.hits.iter().map(|hit| Ok(self.snapshot.document(hit)?.words())).collect()
    }

    /// Some documents, evenly taken, and where they are.
    pub fn sample(&self, most: usize) -> Result<(Vec<Document>, Assignments)> {
        let shape = self.snapshot.shape();
        let step = self.hits.len().div_ceil(most.max(1)).max(1);
        let (mut documents, mut rows) = (Vec::new(), Vec::new());
        for hit in self.hits.iter().step_by(step) {
            documents.push(self.snapshot.document(hit)?);
            rows.extend(self.snapshot.assignment(hit)?);
        }
        Ok((documents, Assignments::new(shape.depth, shape.nesting, rows)?))
    }

    /// What naming every node with a language model would take.
    pub fn naming_estimate(&self) -> Result<Estimate> {
        Ok(llm::estimate(&self.inspection, &self.texts()?))
    }

    /// Names the nodes with a language model; replies are kept in a directory.
    pub fn name_nodes(
        &mut self,
        (chat, cache): (&dyn Chat, &Path),
        budget: Budget,
        observer: &mut dyn FnMut(&Outcome),
    ) -> Result<Outcome> {
        let texts = self.texts()?;
        self.notes = OnceLock::new();
        Ok(llm::name(&mut self.inspection, &texts, (chat, cache), budget, observer))
    }

    /// Whether texts can be routed.
    pub fn can_route(&self) -> bool {
        self.route.is_some()
    }

    /// The assignment of a text.
    pub(crate) fn route(&self, text: &str) -> Result<Assignments> {
        let route = self.route.as_ref().ok_or(Error::NoEncoder)?;
        Ok(route.route(text)?)
    }

    fn hit(&self, id: &str) -> Result<&Hit> {
        let number =
            self.numbers.get(id).ok_or_else(|| Error::NotFound(format!("there is no document {id:?}")))?;
        Ok(&self.hits[*number as usize])
    }

    /// The document of an id.
    pub(crate) fn document_by_id(&self, id: &str) -> Result<Document> {
        Ok(self.snapshot.document(self.hit(id)?)?)
    }

    /// The assignment of a document.
    pub(crate) fn assignment(&self, id: &str) -> Result<Assignments> {
        let shape = self.snapshot.shape();
        let row = self.snapshot.assignment(self.hit(id)?)?;
        Ok(Assignments::new(shape.depth, shape.nesting, row)?)
    }

    /// How assignments are read as places and chances.
    pub(crate) fn routing(&self) -> &Routing {
        self.snapshot.routing()
    }

    /// Labels of the inspection, and which nodes say nothing new.
    pub(crate) fn notes(&self) -> &Notes {
        self.notes.get_or_init(|| self.inspection.notes())
    }

    /// How likely the answer to a query is below each node, and where it goes.
    pub(crate) fn way(&self, query: &Assignments) -> Result<(Routed, Way)> {
        let explainer = Explainer::with_notes(&self.snapshot, self.notes())?;
        Ok((self.routing().read(query.row(0)), explainer.way(query.row(0))))
    }

    /// The nearest documents of an assignment, with the reasons.
    pub(crate) fn search(&self, query: &Assignments, wanted: &Wanted) -> Result<(Answer, Vec<Found>)> {
        let mode = wanted.cover.map_or(Mode::Exact, |cover| Mode::Leaves(Opening::Cover(cover)));
        let query = Query { level: Some(wanted.level), mode, ..Query::new(query.row(0), wanted.k) };
        let answer = self.snapshot.search(&query)?;
        let explainer = Explainer::with_notes(&self.snapshot, self.notes())?;
        let found = answer.hits.iter().map(|hit| {
            Ok(Found {
                document: self.snapshot.document(hit)?,
                hit: *hit,
                explanation: explainer.explain(&query, hit)?,
                place: self.snapshot.place(hit).node(self.inspection.depth()),
            })
        });
        let found = found.collect::<Result<_>>()?;
        Ok((answer, found))
    }

    /// The document of a number of the inspection.
    pub(crate) fn document(&self, number: u32) -> Result<Document> {
        Ok(self.snapshot.document(&self.hits[number as usize])?)
    }

    /// The known query of a number of the inspection.
    pub(crate) fn query(&self, number: u32) -> &str {
        self.queries.get(number as usize).map_or("", String::as_str)
    }

    /// Refuses a node that the tree does not have.
    pub(crate) fn check(&self, node: NodeId) -> Result<NodeId> {
        let last = self.inspection.depth().nodes() - 1;
        if node.index() > last {
            return Err(Error::NotFound(format!("there is no node {node}: the last one is {last}")));
        }
        Ok(node)
    }
}
