//! A query at two levels, the coarser first.
//!
//! With nested levels the distance at a coarse level is at most that at a finer one, so a document that is too far
//! away by the codes of a coarse level, a fraction of the bytes, needs no second look. Levels of their own bound
//! nothing but themselves: there the only rung is the level asked for.

use super::View;
use super::probe::Probe;
use retreever_tree::{Assignment, Level, Nesting};

/// How far above the level asked for the first look is taken: at a quarter of the bytes. A third rung in between saves
/// little time, and its codes would have to be in memory too.
const ABOVE: usize = 2;
/// No level above this one is a rung: so few numbers tell documents apart too seldom.
const COARSEST: usize = 6;

/// A query at each of its rungs.
pub(crate) struct Ladder {
    rungs: Vec<Probe>,
}

impl Ladder {
    /// The ladder to a level.
    pub(crate) fn new(query: Assignment<'_>, level: Level, views: &[View<'_>]) -> Self {
        let top = match query.nesting() {
            Nesting::Nested => level.get().saturating_sub(ABOVE).max(COARSEST).min(level.get()),
            Nesting::PerLevel => level.get(),
        };
        let levels = query.depth().levels().filter(|rung| rung.get() == top || *rung == level);
        Self { rungs: levels.map(|rung| Probe::new(query, rung, views)).collect() }
    }

    /// From the coarsest to the level asked for.
    pub(crate) fn rungs(&self) -> &[Probe] {
        &self.rungs
    }

    /// The query at the level asked for.
    pub(crate) fn last(&self) -> &Probe {
        self.rungs.last().expect("the level asked for is a rung")
    }
}
