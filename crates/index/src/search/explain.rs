//! Why a document was found: `1 - TVD = sum_n min(q_n, d_n)` over the nodes of a level.
//!
//! The score splits exactly into what each node contributed, without any approximation.

use super::{Hit, Query};
use crate::{Result, Snapshot};
use retreever_tree::{Assignment, NodeId};
use serde::Serialize;

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

impl Snapshot {
    /// What each node of the query's level contributed to the tree's score of a hit, the largest first. Nodes that
    /// contributed nothing are left out.
    pub fn explain(&self, query: &Query<'_>, hit: &Hit) -> Result<Vec<Share>> {
        let level = self.level(query)?;
        let row = self.assignment(hit)?;
        let document = Assignment::new(self.shape().depth, self.shape().nesting, &row);
        let (q, d) = (query.assignment.at(level), document.at(level));
        let mut shares: Vec<Share> = level
            .nodes()
            .zip(q.iter().zip(d.iter()))
            .map(|(node, (q, d))| Share { node, query: *q, document: *d, score: f64::from(q.min(*d)) })
            .filter(|share| share.score > 0.0)
            .collect();
        shares.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(shares)
    }

    /// The assignment of a hit's document, as it was given.
    pub fn assignment(&self, hit: &Hit) -> Result<Vec<f32>> {
        self.segments[hit.segment].row(hit.row)
    }
}
