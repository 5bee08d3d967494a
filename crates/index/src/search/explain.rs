//! Why a document was found: `1 - TVD = sum_n min(q_n, d_n)` over the nodes of a level.
//!
//! The score splits exactly into what each node contributed, without any approximation.

use crate::{Hit, Query, Result, Snapshot};
use retreever_tree::{Assignment, Assignments, NodeId};
use serde::Serialize;

/// Why a document was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// What each node of the level contributed, the largest first; nodes without a share are left out.
    pub shares: Vec<Share>,
    /// The way of the query, from the root to its leaf.
    pub query: Vec<Step>,
    /// The way of the document.
    pub document: Vec<Step>,
    /// The last node that both ways pass.
    pub parting: NodeId,
}

/// What one node contributed to a score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The node.
    pub node: NodeId,
    /// How much of the query reaches it.
    pub query: f32,
    /// How much of the document reaches it.
    pub document: f32,
    /// The smaller of the two: its part of the score.
    pub score: f64,
}

/// A node on the way to a leaf, and how much of the item reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The node.
    pub node: NodeId,
    /// How much of the item reaches it.
    pub reach: f32,
}

impl Snapshot {
    /// Why `hit` answers `query`, at the query's level.
    pub fn explain(&self, query: &Query<'_>, hit: &Hit) -> Result<Explanation> {
        let level = self.level(query)?;
        let row = self.segments[hit.segment].row(hit.row)?;
        let shape = self.shape();
        // Rows were checked when they were made, and sealed since.
        let document = Assignments::new(shape.depth, shape.nesting, row)
            .map_err(|e| crate::Error::damaged(self.segments[hit.segment].path(), 0, e.to_string()))?;
        let document = document.row(0);
        let (q, d) = (query.assignment.at(level), document.at(level));
        let mut shares: Vec<Share> = level
            .nodes()
            .zip(q.iter().zip(d.iter()))
            .map(|(node, (q, d))| Share { node, query: *q, document: *d, score: f64::from(q.min(*d)) })
            .filter(|share| share.score > 0.0)
            .collect();
        shares.sort_by(|a, b| b.score.total_cmp(&a.score));
        let ends = (end(query.assignment), end(document));
        Ok(Explanation {
            shares,
            query: route(query.assignment, ends.0),
            document: route(document, ends.1),
            parting: ends.0.common_ancestor(ends.1),
        })
    }

    /// The assignment of a hit's document, row by row as it was given.
    pub fn assignment(&self, hit: &Hit) -> Result<Vec<f32>> {
        self.segments[hit.segment].row(hit.row)
    }
}

fn end(item: Assignment<'_>) -> NodeId {
    item.leaf().node(item.depth())
}

fn route(item: Assignment<'_>, end: NodeId) -> Vec<Step> {
    end.path().map(|node| Step { node, reach: item.at(node.level())[node.rank()] }).collect()
}
