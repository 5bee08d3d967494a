//! Files from elsewhere, by package name, into the cache.
#![forbid(unsafe_code)]

mod cache_dir;

pub use cache_dir::cache_dir;
