//! The `retreever` command: what was typed, turned into what is meant.
#![forbid(unsafe_code)]

mod budget;
mod chat;
mod commands;
mod progress;
mod share;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Retrieval you can read: one learned tree as compressor, index and table of contents.
#[derive(Parser)]
#[command(
    name = "retreever",
    version,
    propagate_version = true,
    after_help = "Start here:
  retreever doctor                                what this machine has of what is needed
  retreever demo --quick                          all of it on real data, in minutes
  retreever train --data my-documents/            your own .txt and .md files
  retreever index --data my-documents/
  retreever search \"a question\" --explain
  retreever explore --index index

Results go to stdout, progress and advice to stderr. Exit code 0, 1 (failed), 2 (bad usage)."
)]
struct Cli {
    /// How many threads to use; all cores without it.
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
    /// Say nothing but results and errors.
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

/// One line a command; what it does stands in its own file.
#[derive(Subcommand)]
enum Command {
    /// Add documents to an index; an id that is there already is replaced.
    Add(commands::index::AddArgs),
    /// Show what is kept from earlier runs, and clear it.
    Cache(commands::cache::Args),
    /// Compare every baseline with the tree, as tables and figures.
    Compare(commands::compare::Args),
    /// Put the segments of an index together, leaving out what was deleted.
    Compact(commands::index::UpkeepArgs),
    /// Fetch, check and convert data sets, score runs.
    Data(commands::data::Args),
    /// Print completions for a shell.
    Completions(commands::completions::Args),
    /// Do all of it once, on real data, in minutes.
    Demo(commands::demo::Args),
    /// Check what this machine has: encoder, pip, cache, disk, processor, browser.
    Doctor(commands::doctor::Args),
    /// Show the tree in a browser.
    Explore(commands::explore::Args),
    /// Say what the tree has learned: labels, keywords, balance, agreement with metadata.
    Inspect(commands::inspect::Args),
    /// Delete documents from an index by id.
    Delete(commands::index::DeleteArgs),
    /// Score an index on the queries of a split.
    Eval(commands::eval::Args),
    /// Build an index of documents with a tree.
    Index(commands::index::BuildArgs),
    /// Fetch an encoder: minilm, mpnet, ORGANISATION/NAME on the hub, or a directory.
    Pull(commands::pull::Args),
    /// Ask an index, and see why.
    Search(commands::search::Args),
    /// Train a tree on pairs of queries and documents.
    Train(Box<commands::train::Args>),
    /// Read every byte of an index and check it.
    Verify(commands::index::UpkeepArgs),
}

fn main() -> ExitCode {
    end_when_nobody_reads();
    let cli = Cli::parse();
    if cli.quiet {
        progress::be_quiet();
    }
    if let Some(threads) = cli.threads
        && let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()
    {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    let result = match cli.command {
        Command::Add(args) => commands::index::add(&args),
        Command::Cache(args) => commands::cache::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Compact(args) => commands::index::compact(&args),
        Command::Data(args) => commands::data::run(&args),
        Command::Completions(args) => commands::completions::run(&args, Cli::command()),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Demo(args) => commands::demo::run(&args),
        Command::Explore(args) => commands::explore::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Delete(args) => commands::index::delete(&args),
        Command::Eval(args) => commands::eval::run(&args),
        Command::Index(args) => commands::index::build(&args),
        Command::Pull(args) => commands::pull::run(&args),
        Command::Search(args) => commands::search::run(&args),
        Command::Train(args) => commands::train::run(&args),
        Command::Verify(args) => commands::index::verify(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", told(&error));
            ExitCode::FAILURE
        }
    }
}

/// A reader that has seen enough (`| head`) closes the pipe: that is an end, not a failure.
fn end_when_nobody_reads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let said = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref().copied());
        if said.is_some_and(|said| said.contains("Broken pipe") || said.contains("BrokenPipe")) {
            std::process::exit(0);
        }
        usual(panic);
    }));
}

/// An error with its causes, each said once.
fn told(error: &anyhow::Error) -> String {
    error.chain().skip(1).map(ToString::to_string).fold(error.to_string(), |told, cause| {
        if told.contains(&cause) { told } else { format!("{told}: {cause}") }
    })
}
