//! The leaf search (multi-index): each document sits in the leaf that attracts it most; the leaves that attract the query
//! most are opened and their documents scored exactly.
//!
//! With nested levels the answer also bounds what was not read. For each leaf a segment keeps, per node of a
//! coarse level, the largest number any of its documents has there; the sum of the smaller of that and the
//! query's number is at least the score of each of them, at that level and at every finer one.

use super::ladder::Ladder;
use super::scan::{Asked, Found, Stretch, nearest};
use super::{Guarantee, Opening, View};
use crate::segment::envelope_level;
use crate::{Result, Snapshot};
use retreever_tree::{Assignment, LeafId, Level, Nesting, coarsen};

/// Covers the rounding of sums in single precision.
const ROUNDING: f64 = 1e-4;

/// The best of the opened leaves, what is certain about the others, and how many documents were read.
pub(crate) fn search(
    snapshot: &Snapshot,
    views: &[View<'_>],
    query: Assignment<'_>,
    level: Level,
    (opening, k): (Opening, usize),
) -> Result<(Vec<Found>, Guarantee, usize)> {
    let pull = query.pull();
    let mut order: Vec<usize> = (0..pull.len()).collect();
    order.sort_by(|a, b| pull[*b].total_cmp(&pull[*a]));
    let (opened, read) = open(snapshot, &order, opening);
    let stretches: Vec<Stretch> = opened
        .iter()
        .flat_map(|leaf| views.iter().enumerate().map(move |(view, v)| (view, v.segment.leaf(*leaf))))
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(view, rows)| Stretch { view, rows })
        .collect();
    let asked = Asked { ladder: Ladder::new(query, level, views), limit: f64::INFINITY };
    let found = nearest(views, &stretches, &[asked], k)?.remove(0);
    let unread = match unread_at_most(views, query, level, &opened)? {
        Some(unread) if found.len() == k => {
            let worst = found.last().map_or(1.0, |found| 1.0 - found.distance / 2.0);
            if unread < worst { Guarantee::Exact } else { Guarantee::UnreadAtMost(unread) }
        }
        Some(unread) if unread > f64::NEG_INFINITY => Guarantee::UnreadAtMost(unread),
        Some(_) => Guarantee::Exact,
        None => Guarantee::None,
    };
    Ok((found, unread, read))
}

/// The leaves to open, and how many live documents they hold.
fn open(snapshot: &Snapshot, order: &[usize], opening: Opening) -> (Vec<LeafId>, usize) {
    let (mut opened, mut read) = (Vec::new(), 0);
    for leaf in order {
        let done = match opening {
            Opening::Top(count) => opened.len() >= count,
            Opening::Read(share) => read as f64 >= share * snapshot.len() as f64,
        };
        if done {
            break;
        }
        let leaf = LeafId::new(*leaf as u32);
        for (segment, live) in snapshot.segments().zip(&snapshot.live) {
            read += segment.leaf(leaf).filter(|row| live[row / 64] >> (row % 64) & 1 == 1).count();
        }
        opened.push(leaf);
    }
    (opened, read)
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
