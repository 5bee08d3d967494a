//! The leaf search (multi-index): each document is in the likeliest leaf of its routing reading; the likeliest leaves of the
//! query's routing reading are opened and their documents scored exactly.
//!
//! With nested levels the answer also bounds what was not read. For each leaf a segment keeps, per node of a
//! coarse level, the largest number any of its documents has there; the sum of the smaller of that and the
//! query's number is at least the score of each of them, at that level and at every finer one.

use super::ladder::Ladder;
use super::scan::{Asked, Stretch, nearest};
use super::{Guarantee, Opening, Outcome, View};
use crate::segment::envelope_level;
use crate::{Result, Snapshot};
use retreever_tree::{Assignment, LeafId, Level, Nesting, Routed, coarsen};

/// Covers the rounding of sums in single precision.
const ROUNDING: f64 = 1e-4;

/// The best of the opened leaves, and what is known about the others.
pub(crate) fn search(
    snapshot: &Snapshot,
    views: &[View<'_>],
    query: Assignment<'_>,
    level: Level,
    (opening, k): (Opening, usize),
) -> Result<Outcome> {
    let opened = Opened::new(snapshot, &snapshot.routing().read(query), opening);
    let stretches: Vec<Stretch> = opened
        .leaves
        .iter()
        .flat_map(|leaf| views.iter().enumerate().map(move |(view, v)| (view, v.segment.leaf(*leaf))))
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(view, rows)| Stretch { view, rows })
        .collect();
    let asked = Asked { ladder: Ladder::new(query, level, views), limit: f64::INFINITY };
    let found = nearest(views, &stretches, &[asked], k)?.remove(0);
    let guarantee = match unread_at_most(views, query, level, &opened.leaves)? {
        Some(unread) if found.len() == k => {
            let worst = found.last().map_or(1.0, |found| 1.0 - found.distance / 2.0);
            if unread < worst { Guarantee::Exact } else { Guarantee::UnreadAtMost(unread) }
        }
        Some(unread) if unread > f64::NEG_INFINITY => Guarantee::UnreadAtMost(unread),
        Some(_) => Guarantee::Exact,
        None => Guarantee::None,
    };
    Ok(Outcome { found, guarantee, read: opened.read, cover: opened.cover(snapshot) })
}

impl Snapshot {
    /// The leaves that a search with this opening opens for a query, likeliest first.
    ///
    /// # Panics
    /// If the query is of a tree of another depth.
    pub fn opened(&self, query: Assignment<'_>, opening: Opening) -> Vec<LeafId> {
        Opened::new(self, &self.routing().read(query), opening).leaves
    }
}

/// The leaves that are opened.
struct Opened {
    leaves: Vec<LeafId>,
    /// The routing probability that they hold together.
    chance: f64,
    /// The documents in them.
    read: usize,
}

impl Opened {
    fn new(snapshot: &Snapshot, query: &Routed, opening: Opening) -> Self {
        let mut opened = Self { leaves: Vec::new(), chance: 0.0, read: 0 };
        let wanted = match opening {
            Opening::Cover(chance) => snapshot.routing().opened_for(chance),
            Opening::Top(_) | Opening::Read(_) => f64::INFINITY,
        };
        for leaf in query.order() {
            let done = match opening {
                Opening::Top(count) => opened.leaves.len() >= count,
                Opening::Read(share) => opened.read as f64 >= share * snapshot.len() as f64,
                Opening::Cover(_) => opened.chance >= wanted,
            };
            if done {
                break;
            }
            opened.chance += f64::from(query.leaves()[leaf.index()]);
            opened.read += snapshot.count(leaf.node(query.depth()));
            opened.leaves.push(leaf);
        }
        opened
    }

    /// The chance that the answer is in these leaves, if it is known.
    fn cover(&self, snapshot: &Snapshot) -> Option<f64> {
        let routing = snapshot.routing();
        match self.read == snapshot.len() {
            true => Some(1.0),
            false => routing.is_calibrated().then(|| routing.chance_of(self.chance)),
        }
    }
}

/// What a document outside the opened leaves can score at most; nothing if the levels do not nest.
fn unread_at_most(
    views: &[View<'_>],
    query: Assignment<'_>,
    level: Level,
    opened: &[LeafId],
) -> Result<Option<f64>> {
    if query.nesting() != Nesting::Nested {
        return Ok(None);
    }
    let bound_level = level.min(envelope_level(query.depth()));
    let numbers = query.at(bound_level);
    let mut is_open = vec![false; query.leaves().len()];
    opened.iter().for_each(|leaf| is_open[leaf.index()] = true);
    let mut most = f64::NEG_INFINITY;
    let mut coarse = vec![0.0; bound_level.width()];
    for view in views {
        for (leaf, envelope) in view.segment.envelopes()? {
            if is_open[leaf.index()] || !view.segment.leaf(leaf).any(|row| view.allows(row)) {
                continue;
            }
            // The sum of largest numbers is at least the largest sum.
            coarsen(&envelope, &mut coarse);
            let score: f64 = numbers.iter().zip(&coarse).map(|(q, d)| f64::from(q.min(*d))).sum();
            most = most.max(score.min(1.0) + ROUNDING);
        }
    }
    Ok(Some(most.min(1.0)))
}
