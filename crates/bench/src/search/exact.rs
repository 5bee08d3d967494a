//! The exact cases: single queries and batches of 64, one and two threads, beside IndexFlat.

use super::corpus::Corpus;
use super::faiss::{Found, Peer};
use super::{BATCH, K};
use crate::measurement::{Measurement, Unit, median, times};
use anyhow::Result;
use rayon::ThreadPool;
use retreever_index::search::rows::{RowHit, exact};
use retreever_tree::{Assignment, Assignments};

/// Single queries that are timed.
const SINGLES: usize = 16;

/// Runs the cases; returns whether every answer of ours agreed with the peer's.
pub(super) fn cases(corpus: &Corpus, queries: &Assignments, peer: &mut Peer) -> Result<bool> {
    let rows: Vec<Assignment<'_>> = queries.iter().take(BATCH).collect();
    let mut agreed = true;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        for (batch, count) in [(1, SINGLES), (BATCH, BATCH)] {
            // The first round warms both sides up.
            ask(corpus, &pool, &rows[..1], 1)?;
            peer.search("flat", (threads, 1), 1, 0)?;
            let (hits, mut ours) = ask(corpus, &pool, &rows[..count], batch)?;
            let mut found = peer.search("flat", (threads, batch), count, 0)?;
            // A batch of the peer takes half a minute at a million documents: once must do.
            if corpus.count <= 200_000 {
                ours = ours.min(ask(corpus, &pool, &rows[..count], batch)?.1);
                let again = peer.search("flat", (threads, batch), count, 0)?;
                found.seconds = found.seconds.min(again.seconds);
            }
            let fits = same(&hits, &found);
            agreed &= fits;
            let case = if batch == 1 { "single" } else { "batch of 64" };
            let case = corpus.case(&format!("{case}, exact, {threads} threads"));
            Measurement::new("search", case, "faiss IndexFlat L1", Unit::Milliseconds)
                .figures(ours * 1e3, found.seconds * 1e3)
                .checked(fits)
                .print();
        }
    }
    Ok(agreed)
}

/// What was found, and the median time of a query.
fn ask(
    corpus: &Corpus,
    pool: &ThreadPool,
    rows: &[Assignment<'_>],
    batch: usize,
) -> Result<(Vec<Vec<RowHit>>, f64)> {
    let segments = corpus.segments();
    let (mut hits, mut each) = (Vec::new(), Vec::new());
    for part in rows.chunks(batch) {
        let mut outcome = Ok(Vec::new());
        each.extend(times(1, || outcome = pool.install(|| exact(&segments, part, corpus.level(), K))));
        hits.extend(outcome?);
    }
    Ok((hits, median(&each) / batch as f64))
}

/// Whether the distances agree at every rank.
fn same(ours: &[Vec<RowHit>], theirs: &Found) -> bool {
    let fits = |(hit, distance): (&RowHit, &f64)| (2.0 * (1.0 - hit.score) - distance).abs() < 1e-5;
    ours.len() == theirs.distances.len()
        && ours
            .iter()
            .zip(&theirs.distances)
            .all(|(ours, theirs)| ours.len() == theirs.len() && ours.iter().zip(theirs).all(fits))
}
