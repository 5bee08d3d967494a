//! The exact search: codes rule almost everything out, the rest is scored by definition.
//!
//! First pass: the distance to the first plane of codes bounds every document's distance from both sides. The
//! `k`-th smallest upper bound can only shrink, and whatever lies above it is out at once. Second pass: the
//! documents left, by rising lower bound, are bounded again by both planes and then scored from their rows, until the
//! next lower bound is beyond the `k`-th score. Nothing is lost on the way, so the answer is that of
//! scoring every document: nearest first, equals in the order they were added.

use super::View;
use super::probe::{Probe, decode};
use crate::Result;
use rayon::prelude::*;
use retreever_kernels::top_k::{Near, TopK};
use std::ops::Range;

/// Rows that one thread takes at a time.
const CHUNK: usize = 4096;
/// Rows whose codes are decoded together for many queries.
const BATCH_ROWS: usize = 32;

/// Rows of one view that are to be read.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) view: usize,
    pub(crate) rows: Range<usize>,
}

/// A document the codes could not rule out.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    low: f32,
    view: u32,
    row: u32,
}

/// A scored document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) distance: f64,
    pub(crate) view: usize,
    pub(crate) row: usize,
}

/// What one query knows in the first pass.
#[derive(Clone)]
struct Pass {
    high: TopK,
    left: Vec<Candidate>,
}

impl Pass {
    fn new(k: usize) -> Self {
        Self { high: TopK::new(k), left: Vec::new() }
    }

    fn merge(mut self, other: Self) -> Self {
        for near in other.high.into_sorted() {
            self.high.push(near);
        }
        self.left.extend(other.left);
        self
    }

    /// Drops what has fallen behind.
    fn sweep(&mut self) {
        let limit = self.high.threshold() as f32;
        self.left.retain(|candidate| candidate.low <= limit);
    }
}

/// All rows of all views.
pub(crate) fn everything(views: &[View<'_>]) -> Vec<Stretch> {
    views.iter().enumerate().map(|(view, v)| Stretch { view, rows: 0..v.segment.len() }).collect()
}

/// The `k` nearest of the stretches, for each probe.
pub(crate) fn nearest(
    views: &[View<'_>],
    stretches: &[Stretch],
    probes: &[Probe],
    k: usize,
) -> Result<Vec<Vec<Found>>> {
    let chunks: Vec<Stretch> = stretches
        .iter()
        .flat_map(|stretch| {
            let Range { start, end } = stretch.rows;
            (start..end).step_by(CHUNK).map(move |from| (stretch.view, from..(from + CHUNK).min(end)))
        })
        .map(|(view, rows)| Stretch { view, rows })
        .collect();
    let none = || vec![Pass::new(k); probes.len()];
    let passes = chunks
        .par_iter()
        .try_fold(none, |mut passes, chunk| -> Result<Vec<Pass>> {
            let view = &views[chunk.view];
            match probes {
                [probe] => scan(view, chunk, probe, &mut passes[0])?,
                _ => scan_many(view, chunk, probes, &mut passes)?,
            }
            Ok(passes)
        })
        .try_reduce(none, |a, b| Ok(a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect()))?;
    probes.par_iter().zip(passes).map(|(probe, pass)| score(views, probe, pass, k)).collect()
}

fn scan(view: &View<'_>, chunk: &Stretch, probe: &Probe, pass: &mut Pass) -> Result<()> {
    const RUN: usize = 256;
    let mut sums = [0; RUN];
    let mut from = chunk.rows.start;
    while from < chunk.rows.end {
        let rows = from..(from + RUN).min(chunk.rows.end);
        let codes = view.segment.codes(probe.level(), rows.clone())?;
        let sums = &mut sums[..rows.len()];
        probe.sums(view.segment, codes, sums);
        take(view, chunk.view, rows.clone(), pass, |at| probe.bounds(codes, at, sums[at]));
        from = rows.end;
    }
    pass.sweep();
    Ok(())
}

fn scan_many(view: &View<'_>, chunk: &Stretch, probes: &[Probe], passes: &mut [Pass]) -> Result<()> {
    let level = probes[0].level();
    let mut sums = [0; BATCH_ROWS];
    let mut decoded = Vec::new();
    let mut from = chunk.rows.start;
    while from < chunk.rows.end {
        let rows = from..(from + BATCH_ROWS).min(chunk.rows.end);
        let codes = view.segment.codes(level, rows.clone())?;
        decode(view.segment, level, codes, &mut decoded);
        let sums = &mut sums[..rows.len()];
        for (probe, pass) in probes.iter().zip(&mut *passes) {
            probe.sums_decoded(codes.scales, &decoded, sums);
            take(view, chunk.view, rows.clone(), pass, |at| probe.bounds(codes, at, sums[at]));
        }
        from = rows.end;
    }
    passes.iter_mut().for_each(Pass::sweep);
    Ok(())
}

/// Keeps those of a run of rows that may still be among the nearest.
#[inline(always)]
fn take(
    view: &View<'_>,
    number: usize,
    rows: Range<usize>,
    pass: &mut Pass,
    bounds: impl Fn(usize) -> super::probe::Bounds,
) {
    let mut limit = pass.high.threshold() as f32;
    for at in 0..rows.len() {
        let bounds = bounds(at);
        let row = rows.start + at;
        if bounds.low <= limit && view.allows(row) {
            pass.left.push(Candidate { low: bounds.low, view: number as u32, row: row as u32 });
            if bounds.high < limit {
                pass.high.push(Near { distance: f64::from(bounds.high), id: 0 });
                limit = pass.high.threshold() as f32;
            }
        }
    }
}

/// The second pass.
fn score(views: &[View<'_>], probe: &Probe, mut pass: Pass, k: usize) -> Result<Vec<Found>> {
    pass.sweep();
    pass.left.sort_unstable_by(|a, b| a.low.total_cmp(&b.low));
    let mut top = TopK::new(k);
    let mut scored: Vec<Found> = Vec::new();
    for candidate in pass.left {
        if f64::from(candidate.low) > top.threshold() {
            break;
        }
        let (view, row) = (&views[candidate.view as usize], candidate.row as usize);
        if f64::from(probe.at_least(view.segment, row)?) > top.threshold() {
            continue;
        }
        let distance = probe.distance(view, row)?;
        if distance <= top.threshold() {
            top.push(Near { distance, id: view.segment.sequence()[view.segment.rank_of(row)?] });
            scored.push(Found { distance, view: candidate.view as usize, row });
        }
    }
    pick(views, scored, top)
}

/// The places of what `top` kept, in its order.
fn pick(views: &[View<'_>], scored: Vec<Found>, top: TopK) -> Result<Vec<Found>> {
    let mut known = std::collections::HashMap::new();
    for found in scored {
        let segment = views[found.view].segment;
        known.insert(segment.sequence()[segment.rank_of(found.row)?], found);
    }
    Ok(top.into_sorted().iter().map(|near| known[&near.id]).collect())
}
