//! What the server knows: the documents, the inspection, and the way from a text to an assignment.

use crate::{Error, Result};
use retreever_index::{Document, Explanation, Hit, Query, Snapshot};
use retreever_inspect::llm::{self, Budget, Chat, Estimate, Outcome};
use retreever_inspect::{Corpus, Inspection, Queries};
use retreever_tree::{Assignments, Level, NodeId};
use std::collections::HashMap;
use std::path::Path;

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
    /// Where the document's way ends.
    pub(crate) leaf: NodeId,
    /// The last node that the ways of query and document share.
    pub(crate) parting: NodeId,
}

/// An index, inspected and ready to answer.
pub struct Explorer {
    /// What is said about the nodes.
    pub inspection: Inspection,
    /// What the corpus is called.
    pub name: String,
    snapshot: Snapshot,
    route: Option<Box<dyn Route>>,
    hits: Vec<Hit>,                // one a document, in the order of the inspection
    numbers: HashMap<String, u32>, // the document of an id
    queries: Vec<String>,
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
            numbers.insert(document.id, number as u32);
            metadata.push(document.metadata);
            texts.push(joined(&document.title, &document.text));
        }
        let documents = Assignments::new(shape.depth, shape.nesting, rows)?;
        let queries = known.as_ref().map(|k| Queries { texts: &k.texts, assignments: &k.assignments });
        let inspection =
            Inspection::new(&Corpus { texts: &texts, documents: &documents, queries, metadata: &metadata })?;
        let queries = known.map(|known| known.texts).unwrap_or_default();
        Ok(Self { inspection, name, snapshot, route, hits, numbers, queries })
    }

    fn texts(&self) -> Result<Vec<String>> {
        let texts = self.hits.iter().map(|hit| {
            let document = self.snapshot.document(hit)?;
            Ok(joined(&document.title, &document.text))
        });
        texts.collect()
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

    /// The nearest documents of an assignment, with the reasons.
    pub(crate) fn search(&self, query: &Assignments, k: usize, level: Level) -> Result<Vec<Found>> {
        let (shape, end) = (self.snapshot.shape(), query.row(0).leaf().node(query.depth()));
        let query = Query { level: Some(level), ..Query::new(query.row(0), k) };
        let answer = self.snapshot.search(&query)?;
        let found = answer.hits.iter().map(|hit| {
            let row = Assignments::new(shape.depth, shape.nesting, self.snapshot.assignment(hit)?)?;
            let leaf = row.row(0).leaf().node(shape.depth);
            Ok(Found {
                document: self.snapshot.document(hit)?,
                hit: *hit,
                explanation: self.snapshot.explain(&query, hit)?,
                leaf,
                parting: leaf.common_ancestor(end),
            })
        });
        found.collect()
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

fn joined(title: &str, text: &str) -> String {
    match title {
        "" => text.to_owned(),
        title => format!("{title}. {text}"),
    }
}
