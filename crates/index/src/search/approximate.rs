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
/// How many levels up the choice is made.
const UP: u8 = 3;

/// The `k` best of `rerank` documents chosen by a coarse level.
pub(crate) fn search(
    views: &[View<'_>],
    query: Assignment<'_>,
    probe: &Probe,
    (rerank, k): (usize, usize),
) -> Result<Vec<Found>> {
    let rerank = rerank.max(k);
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

/// The rows with the smallest distances by the first plane.
fn choose(views: &[View<'_>], probe: &Probe, count: usize) -> Result<Vec<(usize, usize)>> {
    let mut chunks = Vec::new();
    for stretch in everything(views) {
        for from in stretch.rows.clone().step_by(CHUNK) {
            chunks.push((stretch.view, from..(from + CHUNK).min(stretch.rows.end)));
        }
    }
    let tops = chunks
        .par_iter()
        .map(|(number, rows)| {
            let view = &views[*number];
            let codes = view.segment.codes(probe.level(), rows.clone())?;
            let mut sums = vec![0; rows.len()];
            probe.sums(view.segment, codes, &mut sums);
            let distances = sums.iter().enumerate().map(|(at, sum)| probe.bounds(codes, at, *sum).middle());
            let near: Vec<(f32, u32)> = distances
                .enumerate()
                .filter(|(at, _)| view.allows(rows.start + at))
                .map(|(at, distance)| (distance, (rows.start + at) as u32))
                .collect();
            Ok((*number, smallest(near, count)))
        })
        .collect::<Result<Vec<_>>>()?;
    let all = tops
        .into_iter()
        .flat_map(|(view, near)| {
            near.into_iter().map(move |(distance, row)| (distance, (view, row as usize)))
        })
        .collect();
    Ok(smallest(all, count).into_iter().map(|(_, place)| place).collect())
}

fn smallest<T: Ord + Copy>(mut all: Vec<(f32, T)>, count: usize) -> Vec<(f32, T)> {
    if all.len() > count {
        all.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all.truncate(count);
    }
    all
}
