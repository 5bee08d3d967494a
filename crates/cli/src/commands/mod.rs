//! One file a command: its arguments, and what it does with them.

mod agreement;
pub(crate) mod cache;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod data;
pub(crate) mod demo;
mod demo_table;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod explore;
mod findings;
pub(crate) mod index;
pub(crate) mod inspect;
pub(crate) mod made;
pub(crate) mod opening;
pub(crate) mod output;
pub(crate) mod pull;
pub(crate) mod search;
mod source;
pub(crate) mod texts;
pub(crate) mod train;
