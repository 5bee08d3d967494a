//! Retrieval you can read.
#![forbid(unsafe_code)]
