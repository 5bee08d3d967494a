//! The exact search: codes rule almost everything out, the rest is scored by definition.
//!
//! First pass, down the [`Ladder`]: the distance to a row's codes bounds its distance from below, and a row whose
//! bound lies above the limit is out at once. The limit is the `k`-th best distance known: of documents that the
//! approximate search has scored beforehand, or the `k`-th smallest upper bound met on the way. Second pass: the
//! documents left, by rising lower bound, are bounded again by both planes and then scored from their rows, until
//! the next lower bound is beyond the `k`-th score. Nothing is lost on the way, so the answer is that of scoring
//! every document: nearest first, equals in the order they were added.

use super::View;
use super::ladder::Ladder;
use super::probe::{Probe, decode};
use crate::Result;
use crate::segment::Codes;
use rayon::prelude::*;
use retreever_kernels::top_k::{Near, TopK};
use std::ops::Range;

/// Rows that one thread takes at a time.
const CHUNK: usize = 8192;
/// Rows that one query looks at together.
const RUN: usize = 1024;
/// Rows that many queries look at together: decoded, they fit the cache next to the processor.
const BATCH_RUN: usize = 128;

/// Rows of one view that are to be read.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) view: usize,
    pub(crate) rows: Range<usize>,
}

/// One query: how it looks at rows, and the distance beyond which nothing is wanted.
pub(crate) struct Asked {
    pub(crate) ladder: Ladder,
    pub(crate) limit: f64,
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
    given: f64,
    high: TopK,
    left: Vec<Candidate>,
}

impl Pass {
    fn new(given: f64, k: usize) -> Self {
        Self { given, high: TopK::new(k), left: Vec::new() }
    }

    /// Nothing beyond this can be among the nearest.
    fn limit(&self) -> f32 {
        self.high.threshold().min(self.given) as f32
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
        let limit = self.limit();
        self.left.retain(|candidate| candidate.low <= limit);
    }
}

/// All rows of all views.
pub(crate) fn everything(views: &[View<'_>]) -> Vec<Stretch> {
    views.iter().enumerate().map(|(view, v)| Stretch { view, rows: 0..v.segment.len() }).collect()
}

/// The `k` nearest of the stretches, for each query; all queries are asked at one level.
pub(crate) fn nearest(
    views: &[View<'_>],
    stretches: &[Stretch],
    asked: &[Asked],
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
    let none = || -> Vec<Pass> { asked.iter().map(|asked| Pass::new(asked.limit, k)).collect() };
    let passes = chunks
        .par_iter()
        .try_fold(
            || (none(), Room::default()),
            |(mut passes, mut room), chunk| -> Result<_> {
                let view = &views[chunk.view];
                match (asked, &mut passes[..]) {
                    ([one], [pass]) => room.scan(view, chunk, &one.ladder, pass)?,
                    _ => room.scan_many(view, chunk, asked, &mut passes)?,
                }
                passes.iter_mut().for_each(Pass::sweep);
                Ok((passes, room))
            },
        )
        .map(|folded| folded.map(|(passes, _)| passes))
        .try_reduce(none, |a, b| Ok(a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect()))?;
    asked.par_iter().zip(passes).map(|(asked, pass)| score(views, asked.ladder.last(), pass, k)).collect()
}

/// Memory that serves run after run.
#[derive(Default)]
struct Room {
    sums: Vec<u32>,
    /// Errors of the codes of the first rung.
    errors: Vec<f32>,
    /// Rows still in the race, counted from the first of the run.
    picks: Vec<u32>,
    decoded: Vec<u8>,
}

fn runs(chunk: &Stretch, step: usize) -> impl Iterator<Item = Stretch> {
    let Range { start, end } = chunk.rows;
    let view = chunk.view;
    (start..end).step_by(step).map(move |from| Stretch { view, rows: from..(from + step).min(end) })
}

impl Room {
    fn scan(&mut self, view: &View<'_>, chunk: &Stretch, ladder: &Ladder, pass: &mut Pass) -> Result<()> {
        let first = &ladder.rungs()[0];
        for run in runs(chunk, RUN) {
            let codes = view.segment.codes(first.level(), run.rows.clone())?;
            self.sums.resize(run.rows.len(), 0);
            first.sums(view.segment, codes, &mut self.sums);
            codes.errors(&mut self.errors);
            self.descend(view, &run, (ladder, codes), pass)?;
        }
        Ok(())
    }

    fn scan_many(
        &mut self,
        view: &View<'_>,
        chunk: &Stretch,
        asked: &[Asked],
        passes: &mut [Pass],
    ) -> Result<()> {
        let Some(level) = asked.first().map(|asked| asked.ladder.rungs()[0].level()) else { return Ok(()) };
        for run in runs(chunk, BATCH_RUN) {
            let codes = view.segment.codes(level, run.rows.clone())?;
            decode(view.segment, level, codes, &mut self.decoded);
            codes.errors(&mut self.errors);
            self.sums.resize(run.rows.len(), 0);
            for (asked, pass) in asked.iter().zip(&mut *passes) {
                asked.ladder.rungs()[0].sums_decoded(codes.scales, &self.decoded, &mut self.sums);
                self.descend(view, &run, (&asked.ladder, codes), pass)?;
            }
        }
        Ok(())
    }

    /// Keeps those of a run of rows that may still be among the nearest; `sums` and `errors` are those of the first
    /// rung, whose codes are given.
    fn descend(
        &mut self,
        view: &View<'_>,
        run: &Stretch,
        (ladder, mut codes): (&Ladder, Codes<'_>),
        pass: &mut Pass,
    ) -> Result<()> {
        let Self { sums, errors, picks, .. } = self;
        let (first, finer) = ladder.rungs().split_first().expect("the level asked for is a rung");
        let limit = pass.limit();
        picks.clear();
        first.within(codes, (sums, errors), limit, picks);
        if view.allowed.is_some() {
            picks.retain(|at| view.allows(run.rows.start + *at as usize));
        }
        // From here on `sums` are those of `picks`.
        for (to, at) in picks.iter().enumerate() {
            sums[to] = sums[*at as usize];
        }
        for probe in finer {
            if picks.is_empty() {
                return Ok(());
            }
            codes = view.segment.codes_of(probe.level(), run.rows.clone(), picks)?;
            probe.sums_of(view.segment, codes, picks, &mut sums[..picks.len()]);
            let mut kept = 0;
            for i in 0..picks.len() {
                let (pick, sum) = (picks[i], sums[i]);
                (picks[kept], sums[kept]) = (pick, sum);
                kept += usize::from(probe.bounds(codes, pick as usize, sum).low <= limit);
            }
            picks.truncate(kept);
        }
        for (at, sum) in picks.iter().zip(&*sums) {
            let bounds = ladder.last().bounds(codes, *at as usize, *sum);
            let row = run.rows.start as u32 + at;
            pass.left.push(Candidate { low: bounds.low, view: run.view as u32, row });
            if bounds.high < pass.limit() {
                pass.high.push(Near { distance: f64::from(bounds.high), id: 0 });
            }
        }
        Ok(())
    }
}

/// The second pass.
fn score(views: &[View<'_>], probe: &Probe, mut pass: Pass, k: usize) -> Result<Vec<Found>> {
    pass.sweep();
    let candidates = pass.left.iter().map(|candidate| (candidate.low, candidate.view, candidate.row));
    best_of(views, probe, candidates.collect(), k)
}

/// The `k` nearest of some rows, each with a distance that it cannot be below, a view and a number.
pub(crate) fn best_of(
    views: &[View<'_>],
    probe: &Probe,
    mut rows: Vec<(f32, u32, u32)>,
    k: usize,
) -> Result<Vec<Found>> {
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut top = TopK::new(k);
    let mut scored: Vec<(u64, Found)> = Vec::new();
    for (low, number, row) in rows {
        if f64::from(low) > top.threshold() {
            break;
        }
        let (view, row) = (&views[number as usize], row as usize);
        if f64::from(probe.at_least(view.segment, row)?) > top.threshold() {
            continue;
        }
        let distance = probe.distance(view, row)?;
        if distance <= top.threshold() {
            let id = view.segment.sequence()[view.segment.rank_of(row)?];
            top.push(Near { distance, id });
            scored.push((id, Found { distance, view: number as usize, row }));
        }
    }
    scored.sort_unstable_by_key(|(id, _)| *id);
    let place =
        |near: &Near| scored.binary_search_by_key(&near.id, |(id, _)| *id).ok().map(|at| scored[at].1);
    Ok(top.into_sorted().iter().filter_map(place).collect())
}
