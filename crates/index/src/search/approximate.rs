//! The approximate search: ever finer codes of ever fewer documents. Nothing is certified.
//!
//! The sketch, 16 bytes a document, chooses sixteen times as many documents as are to be compared; the codes two
//! levels up choose among those; both planes of the level asked for rank the rest, and the best are scored from their
//! rows. Where those codes are no finer than the sketch, they choose alone.

use super::View;
use super::ladder::Ladder;
use super::scan::{Found, best_of};
use crate::Result;
use crate::segment::sketch_level;
use rayon::prelude::*;
use retreever_kernels::sketch::{BLOCK_ROWS, look_up, rows_within};
use retreever_tree::Assignment;

/// How many documents the sketch chooses for each one that is compared at the level asked for.
const SKETCHED: usize = 16;
/// Rows that one thread takes at a time; a multiple of a block of the sketch.
const CHUNK: usize = 65_536;
/// Picked rows that one thread takes at a time.
const PICKS: usize = 4096;
/// Of so many sums one is looked at to find the limit, where that leaves enough of them.
const SAMPLED: usize = 13;

/// The `k` best of `rerank` documents chosen by sketch and codes.
pub(crate) fn search(
    views: &[View<'_>],
    query: Assignment<'_>,
    ladder: &Ladder,
    (rerank, k): (usize, usize),
) -> Result<Vec<Found>> {
    let rerank = rerank.max(k).max(1);
    let picks = match by_sketch(views, query, ladder, rerank.saturating_mul(SKETCHED))? {
        Some(picks) => picks,
        None => views.iter().map(allowed).collect(),
    };
    let mut near = Vec::new();
    for (number, (view, picks)) in views.iter().zip(&picks).enumerate() {
        let guesses = compare(view, ladder, picks)?;
        near.extend(picks.iter().zip(guesses).map(|(row, guess)| Guess(guess, number as u32, *row)));
    }
    if near.len() > rerank {
        near.select_nth_unstable_by(rerank - 1, |a, b| a.0.total_cmp(&b.0).then(a.cmp_place(b)));
        near.truncate(rerank);
    }
    let rows = near
        .iter()
        .map(|near| {
            Ok((ladder.last().at_least(views[near.1 as usize].segment, near.2 as usize)?, near.1, near.2))
        })
        .collect::<Result<Vec<_>>>()?;
    best_of(views, ladder.last(), rows, k)
}

/// A distance by codes, the view and the row.
#[derive(Clone, Copy)]
struct Guess(f32, u32, u32);

impl Guess {
    fn cmp_place(&self, other: &Self) -> std::cmp::Ordering {
        (self.1, self.2).cmp(&(other.1, other.2))
    }
}

fn allowed(view: &View<'_>) -> Vec<u32> {
    (0..view.segment.len() as u32).filter(|row| view.allows(*row as usize)).collect()
}

/// About `count` rows of all views, those nearest by the sketch; nothing where it does not help.
fn by_sketch(
    views: &[View<'_>],
    query: Assignment<'_>,
    ladder: &Ladder,
    count: usize,
) -> Result<Option<Vec<Vec<u32>>>> {
    let level = sketch_level(query.depth());
    let rows: usize = views.iter().map(|view| view.segment.len()).sum();
    if ladder.rungs()[0].level() <= level || rows <= count {
        return Ok(None);
    }
    let sketches = views.iter().map(|view| view.segment.sketch()).collect::<Result<Vec<_>>>()?;
    let numbers = query.at(level);
    let farthest = sketches.iter().map(|(book, _)| book.farthest(&numbers)).fold(f32::MIN_POSITIVE, f32::max);
    let mut sums: Vec<Vec<u16>> = Vec::with_capacity(views.len());
    for (view, (book, codes)) in views.iter().zip(sketches) {
        let tables = book.tables(&numbers, farthest / 255.0);
        let mut here = vec![0; view.segment.len().next_multiple_of(BLOCK_ROWS)];
        let codes = codes.par_chunks(CHUNK * level.width() / 2);
        here.par_chunks_mut(CHUNK).zip(codes).for_each(|(sums, codes)| look_up(&tables, codes, sums));
        here.truncate(view.segment.len());
        if view.allowed.is_some() {
            let out = here.iter_mut().enumerate().filter(|(row, _)| !view.allows(*row));
            out.for_each(|(_, sum)| *sum = u16::MAX);
        }
        sums.push(here);
    }
    let limit = limit(&sums, level.width() * 255, count);
    let within = |sums: &Vec<u16>| {
        let mut picks = Vec::new();
        rows_within(sums, limit, 0, &mut picks);
        picks
    };
    Ok(Some(sums.iter().map(within).collect()))
}

/// A limit that about `count` of the sums do not exceed; sums above `most` are not to be counted.
fn limit(sums: &[Vec<u16>], most: usize, count: usize) -> u16 {
    let step = if count >= 64 * SAMPLED { SAMPLED } else { 1 };
    let mut histogram = vec![0u32; most + 2];
    for sums in sums {
        sums.iter().step_by(step).for_each(|sum| histogram[usize::from(*sum).min(most + 1)] += 1);
    }
    let mut seen = 0;
    let reached = histogram[..=most].iter().position(|here| {
        seen += *here as usize * step;
        seen >= count
    });
    reached.unwrap_or(most) as u16
}

/// How far some rows of a view are by the codes of the first rung.
fn compare(view: &View<'_>, ladder: &Ladder, picks: &[u32]) -> Result<Vec<f32>> {
    let probe = &ladder.rungs()[0];
    let codes = view.segment.codes_of(probe.level(), 0..view.segment.len(), picks)?;
    let mut sums = vec![0; picks.len()];
    let runs = picks.par_chunks(PICKS).zip(sums.par_chunks_mut(PICKS));
    runs.for_each(|(picks, sums)| probe.sums_of(view.segment, codes, picks, sums));
    Ok(picks.iter().zip(sums).map(|(row, sum)| probe.read(codes, *row as usize, sum)).collect())
}
