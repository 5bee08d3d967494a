//! The tree over HTTP: a JSON API, and the explorer that draws it.
//!
//! [`Explorer`] joins an index's snapshot, what [`retreever_inspect`] says about it, and a [`Route`] from texts
//! to assignments; [`serve()`] answers requests about it. Addresses beyond this machine demand a token, requests
//! are limited in size, number and time, and text of the corpus only ever travels as JSON. How texts are
//! encoded is left to the caller.
#![forbid(unsafe_code)]

mod answers;
mod api;
mod error;
mod explorer;
mod guard;
mod page;
mod serve;

pub use answers::{describe, overview};
pub use error::{Error, Result};
pub use explorer::{Explorer, Known, Route, RouteError};
pub use guard::{Guard, Token};
pub use page::standalone;
pub use serve::{Limits, Listener, serve};
