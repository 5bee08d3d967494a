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
    /// Text to embeddings beside transformers in PyTorch.
    Encode(retreever_bench::encode::Args),
    /// Matrix products beside `matrixmultiply`.
    Gemm,
    /// Nearest assignments beside FAISS.
    Search(retreever_bench::search::Args),
    /// The nodes of a level as topics beside BERTopic.
    Topics(retreever_bench::topics::Args),
    /// One training step beside PyTorch, as the method is usually written and with folded attention.
    TrainStep(retreever_bench::train_step::Options),
}

fn main() -> Result<()> {
    match Cli::parse().bench {
        Bench::Encode(args) => retreever_bench::encode::run(&args),
        Bench::Gemm => retreever_bench::gemm::run(),
        Bench::Search(args) => retreever_bench::search::run(&args),
        Bench::Topics(args) => retreever_bench::topics::run(&args),
        Bench::TrainStep(options) => retreever_bench::train_step::run(&options),
    }
}
