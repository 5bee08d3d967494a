//! Searching segments by themselves, without documents: for measurements, and for whoever keeps documents
//! elsewhere.

use super::ladder::Ladder;
use super::scan::Found;
use super::{View, approximate};
use crate::Result;
use crate::segment::Segment;
use retreever_tree::{Assignment, Level};

/// A row found: its score, and the sequence number it was added under.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowHit {
    /// How well it fits: at most 1.
    pub score: f64,
    /// The sequence number.
    pub sequence: u64,
}

fn hits(views: &[View<'_>], found: Vec<Found>) -> Result<Vec<RowHit>> {
    let hit = |found: Found| {
        let segment = views[found.view].segment;
        let sequence = segment.sequence()[segment.rank_of(found.row)?];
        Ok(RowHit { score: 1.0 - found.distance / 2.0, sequence })
    };
    found.into_iter().map(hit).collect()
}

fn views<'a>(segments: &[&'a Segment]) -> Vec<View<'a>> {
    segments.iter().map(|segment| View { segment, allowed: None }).collect()
}

/// The `k` nearest rows of each query at a level, exactly. Queries and segments must be of one tree.
pub fn exact(
    segments: &[&Segment],
    queries: &[Assignment<'_>],
    level: Level,
    k: usize,
) -> Result<Vec<Vec<RowHit>>> {
    let views = views(segments);
    let found = super::exact(&views, queries, level, k)?;
    found.into_iter().map(|found| hits(&views, found)).collect()
}

/// Almost the `k` nearest rows at a level: a coarse level chooses `rerank` of them, which are then scored.
pub fn approximate(
    segments: &[&Segment],
    query: Assignment<'_>,
    level: Level,
    (rerank, k): (usize, usize),
) -> Result<Vec<RowHit>> {
    let views = views(segments);
    let ladder = Ladder::new(query, level, &views);
    let found = approximate::search(&views, query, &ladder, (rerank, k))?;
    hits(&views, found)
}
