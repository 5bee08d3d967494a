//! One file a command: its arguments, and what it does with them.

pub(crate) mod cache;
pub(crate) mod compare;
pub(crate) mod data;
pub(crate) mod eval;
pub(crate) mod explore;
pub(crate) mod index;
pub(crate) mod inspect;
pub(crate) mod pull;
pub(crate) mod search;
pub(crate) mod texts;
pub(crate) mod train;
