//! The `retreever` command: what was typed, turned into what is meant.
#![forbid(unsafe_code)]

mod commands;
mod download;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Retrieval you can read: one learned tree as compressor, index and table of contents.
#[derive(Parser)]
#[command(name = "retreever", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One line a command; what it does stands in its own file.
#[derive(Subcommand)]
enum Command {
    /// Show where files that were fetched or computed are kept.
    Cache(commands::cache::Args),
    /// Fetch, check and convert data sets, score runs.
    Data(commands::data::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Cache(args) => commands::cache::run(&args),
        Command::Data(args) => commands::data::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
