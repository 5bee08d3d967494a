//! Compaction: which segments are worth merging, and the merge itself, now or in the background.
//!
//! Segments are immutable, so a merge only reads: it copies the rows of live documents of a few segments into a new
//! file, whose name takes the place of theirs in a later commit. Rows of documents deleted meanwhile come along, and
//! nothing points to them. Readers keep the files they have open; a writer that is killed leaves a file that no
//! commit names.
//!
//! The policy, for segments and for the document store alike:
//! - sizes fall into tiers, each four times the one below; the first holds everything up to 1,024 rows. Eight
//!   segments of a tier become one, together with all smaller ones. So a row is rewritten about once a tier, and there
//!   are at most seven segments of each;
//! - when more than a third of all rows are dead, segments with more than a fifth of dead rows are rewritten.

use crate::segment::{Durability, Input, Shape, build};
use crate::{Result, Snapshot};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// So many segments of a tier are merged.
const FAN: usize = 8;
/// The rows of a segment of the first tier, and how many times more each further one holds.
const FIRST_TIER: usize = 1024;
const GROWTH: usize = 4;

/// How large a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) rows: usize,
    pub(crate) live: usize,
}

impl Size {
    fn tier(self) -> u32 {
        self.live.div_ceil(FIRST_TIER).max(1).next_power_of_two().ilog(GROWTH)
    }
}

/// Which segments to merge into one of at most `most` rows, by their place, rising; none if all is well.
pub(crate) fn plan(sizes: &[Size], most: usize) -> Vec<usize> {
    let fits = |mut chosen: Vec<usize>| {
        // The smallest first: they gain most.
        chosen.sort_by_key(|place| sizes[*place].live);
        let mut total = 0;
        chosen.retain(|place| {
            total += sizes[*place].live;
            total <= most
        });
        chosen.sort_unstable();
        chosen
    };
    let (rows, live) = sizes.iter().fold((0, 0), |(r, l), size| (r + size.rows, l + size.live));
    if 3 * (rows - live) > rows {
        return fits(
            (0..sizes.len()).filter(|place| 5 * sizes[*place].live < 4 * sizes[*place].rows).collect(),
        );
    }
    let mut tiers: Vec<u32> = sizes.iter().map(|size| size.tier()).collect();
    tiers.sort_unstable();
    tiers.dedup();
    for tier in tiers {
        if sizes.iter().filter(|size| size.tier() == tier).count() >= FAN {
            let chosen = fits((0..sizes.len()).filter(|place| sizes[*place].tier() <= tier).collect());
            if chosen.len() >= FAN {
                return chosen;
            }
        }
    }
    Vec::new()
}

/// Every live row of some segments of a snapshot, by its sequence number, rising: the segment and the row.
pub(crate) fn live_rows(snapshot: &Snapshot, segments: &[usize]) -> Result<Vec<(u64, usize, usize)>> {
    let mut rows = Vec::new();
    for &number in segments {
        let (segment, live) = (&snapshot.segments[number], &snapshot.live[number]);
        for (sequence, row) in segment.sequence().iter().zip(segment.rows_by_rank()?) {
            if live[row as usize / 64] >> (row % 64) & 1 == 1 {
                rows.push((*sequence, number, row as usize));
            }
        }
    }
    rows.sort_unstable();
    Ok(rows)
}

/// A merge in the background.
pub(crate) struct Merge {
    /// The segments that are merged.
    pub(crate) inputs: Vec<String>,
    /// The segment that they become.
    pub(crate) name: String,
    /// Set when nobody wants the result any more.
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<bool>>,
}

impl Merge {
    /// Begins to merge the segments at `places` of a snapshot, called `inputs`, into the file at `path`.
    pub(crate) fn start(snapshot: Snapshot, places: Vec<usize>, inputs: Vec<String>, path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || merge(&snapshot, &places, &path, &stopped));
        Self { inputs, name, stop, thread }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for the end. Nothing if it failed: the inputs are as they were, and a later commit tries again.
    pub(crate) fn finish(self) -> Option<(Vec<String>, String)> {
        match self.thread.join() {
            Ok(Ok(true)) => Some((self.inputs, self.name)),
            _ => None,
        }
    }

    /// Ends it soon, and waits for the end.
    pub(crate) fn abandon(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.finish();
    }
}

/// Whether the merge was made, or stopped.
fn merge(snapshot: &Snapshot, places: &[usize], path: &Path, stop: &AtomicBool) -> Result<bool> {
    let shape: Shape = snapshot.shape();
    let live = live_rows(snapshot, places)?;
    let mut rows = Vec::with_capacity(live.len() * shape.width());
    for (_, segment, row) in &live {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        rows.extend_from_slice(&snapshot.segments[*segment].row(*row)?);
    }
    let sequence: Vec<u64> = live.iter().map(|(sequence, ..)| *sequence).collect();
    let input = Input { shape, routing: snapshot.routing(), rows: &rows, sequence: &sequence };
    build(path, input, Durability::Synced)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(live: &[usize]) -> Vec<Size> {
        live.iter().map(|live| Size { rows: *live, live: *live }).collect()
    }

    #[test]
    fn eight_of_a_tier_become_one() {
        assert!(plan(&sizes(&[10; 7]), usize::MAX).is_empty());
        assert_eq!(plan(&sizes(&[10; 8]), usize::MAX), (0..8).collect::<Vec<_>>());
        // A large one stays out of it, until there are eight as large.
        assert_eq!(
            plan(&sizes(&[1_000_000, 10, 10, 10, 10, 10, 10, 10, 10]), usize::MAX),
            (1..9).collect::<Vec<_>>()
        );
        assert!(plan(&sizes(&[1_000_000, 10, 10, 10, 10, 10, 10, 10]), usize::MAX).is_empty());
        assert_eq!(plan(&sizes(&[90_000; 8]), usize::MAX).len(), 8);
        assert!(plan(&sizes(&[90_000; 8]), 100_000).is_empty(), "no more than fits");
    }

    #[test]
    fn dead_rows_are_dropped() {
        let size = |rows, live| Size { rows, live };
        assert!(plan(&[size(100, 70), size(100, 99)], usize::MAX).is_empty());
        assert_eq!(plan(&[size(100, 10), size(100, 99)], usize::MAX), [0]);
        assert_eq!(plan(&[size(100, 0)], usize::MAX), [0]);
        assert!(plan(&[size(0, 0)], usize::MAX).is_empty());
    }

    #[test]
    fn many_commits_make_few_segments() {
        let mut segments: Vec<Size> = Vec::new();
        let (mut written, mut most) = (0, 0);
        for _ in 0..5000 {
            segments.push(Size { rows: 100, live: 100 });
            loop {
                let chosen = plan(&segments, usize::MAX);
                if chosen.is_empty() {
                    break;
                }
                let live = chosen.iter().map(|place| segments[*place].live).sum();
                written += live;
                for place in chosen.into_iter().rev() {
                    segments.remove(place);
                }
                segments.push(Size { rows: live, live });
            }
            most = most.max(segments.len());
        }
        assert!(most <= 40, "{most} segments");
        assert!(written <= 8 * 500_000, "{written} rows written for 500,000");
    }
}
