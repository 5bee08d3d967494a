//! Side-by-side measurements, baselines and tables.
#![forbid(unsafe_code)]

pub mod adapted;
pub mod agreement;
pub mod baselines;
pub mod compare;
pub mod encode;
pub mod gemm;
pub mod measurement;
mod named;
pub mod peer;
pub mod report;
pub mod search;
pub mod topics;
pub mod train_step;
