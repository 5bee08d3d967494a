//! The approximate search: the codes of a coarse level choose a few documents, which are then scored.
//!
//! The first plane three levels up is an eighth of that of the leaves. The best by it are compared by both
//! planes of the level asked for, and the best of those by their rows. Nothing is certified.

use super::View;
use super::probe::Probe;
use super::scan::{Found, everything};
use crate::Result;
use rayon::prelude::*;
use retreever_kernels::top_k::{Near, TopK};
use retreever_tree::{Assignment, Level};

/// Rows that one thread takes at a time.
const CHUNK: usize = 8192;
/// Rows compared in one go.
const RUN: usize = 256;
/// How many levels up the choice is made.
const UP: u8 = 3;

/// The `k` best of `rerank` documents chosen by a coarse level.
pub(crate) fn search(
    views: &[View<'_>],
    query: Assignment<'_>,
    probe: &Probe,
    (rerank, k): (usize, usize),
) -> Result<Vec<Found>> {
    let rerank = rerank.max(k).max(1);
    let coarse = Probe::new(query, coarse_level(query, probe.level()));
    let chosen = choose(views, &coarse, rerank)?;
    let mut compared = chosen
        .into_iter()
        .map(|(view, row)| Ok((probe.at_least(views[view].segment, row)?, view, row)))
        .collect::<Result<Vec<_>>>()?;
    compared.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    compared.truncate(4 * k + 16);
    let mut top = TopK::new(k);
    let mut found = Vec::with_capacity(compared.len());
    for (_, view, row) in compared {
        let distance = probe.distance(&views[view], row)?;
        let id = views[view].segment.sequence()[views[view].segment.rank_of(row)?];
        top.push(Near { distance, id });
        found.push((id, Found { distance, view, row }));
    }
    found.sort_unstable_by_key(|(id, _)| *id);
    let place = |near: &Near| found.binary_search_by_key(&near.id, |(id, _)| *id).ok().map(|at| found[at].1);
    Ok(top.into_sorted().iter().filter_map(place).collect())
}

fn coarse_level(query: Assignment<'_>, level: Level) -> Level {
    let up = (level.get() as u8).saturating_sub(UP).max(1);
    query.depth().level(up).expect("a level above one of the tree")
}

/// The best rows so far, by the distance to their codes; now and then cut back to `count`.
struct Best {
    count: usize,
    limit: f32,
    rows: Vec<(f32, u32, u32)>, // distance, view, row
}

impl Best {
    fn new(count: usize) -> Self {
        Self { count, limit: f32::INFINITY, rows: Vec::new() }
    }

    fn push(&mut self, row: (f32, u32, u32)) {
        self.rows.push(row);
        if self.rows.len() >= 2 * self.count + RUN {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.rows.len() > self.count {
            let order = |a: &(f32, u32, u32), b: &(f32, u32, u32)| {
                a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2)))
            };
            let (_, last, _) = self.rows.select_nth_unstable_by(self.count - 1, order);
            self.limit = last.0;
            self.rows.truncate(self.count);
        }
    }

    fn merge(mut self, other: Self) -> Self {
        self.rows.extend(other.rows);
        self.cut();
        self
    }
}

/// The rows with the smallest distances by the first plane.
fn choose(views: &[View<'_>], probe: &Probe, count: usize) -> Result<Vec<(usize, usize)>> {
    let mut chunks = Vec::new();
    for stretch in everything(views) {
        for from in stretch.rows.clone().step_by(CHUNK) {
            chunks.push((stretch.view, from..(from + CHUNK).min(stretch.rows.end)));
        }
    }
    let best = chunks
        .par_iter()
        .try_fold(
            || Best::new(count),
            |mut best, (number, rows)| -> Result<Best> {
                let view = &views[*number];
                let mut sums = [0; RUN];
                for from in rows.clone().step_by(RUN) {
                    let run = from..(from + RUN).min(rows.end);
                    let codes = view.segment.codes(probe.level(), run.clone())?;
                    let sums = &mut sums[..run.len()];
                    probe.sums(view.segment, codes, sums);
                    for (at, sum) in sums.iter().enumerate() {
                        let distance = probe.read(codes, at, *sum);
                        if distance <= best.limit && view.allows(from + at) {
                            best.push((distance, *number as u32, (from + at) as u32));
                        }
                    }
                }
                Ok(best)
            },
        )
        .try_reduce(|| Best::new(count), |a, b| Ok(a.merge(b)))?;
    let best = Best::merge(best, Best::new(count));
    Ok(best.rows.into_iter().map(|(_, view, row)| (view as usize, row as usize)).collect())
}
