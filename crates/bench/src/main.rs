//! `retreever-bench`: every speed claim, measured beside its named competitor in one run.
#![forbid(unsafe_code)]

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Side-by-side measurements. One JSON line a case on standard output; a ratio above 1 is in our favour.
#[derive(Parser)]
#[command(name = "retreever-bench", version)]
struct Cli {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Matrix products beside `matrixmultiply`.
    Gemm,
}

fn main() -> Result<()> {
    match Cli::parse().bench {
        Bench::Gemm => retreever_bench::gemm::run(),
    }
}
