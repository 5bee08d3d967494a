//! `retreever data`: fetch a data set by name, convert one that is on disk, check it, sample it, make pairs, score a run.

use crate::chat;
use crate::commands::made;
use crate::commands::output::Output;
use crate::commands::texts::Texts;
use crate::progress::{self, say};
use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use retreever_data::convert::{Layout, convert};
use retreever_data::embeddings::{self, Table};
use retreever_data::formats::judgements::{self, Known};
use retreever_data::formats::{beir, runs};
use retreever_data::get::{Named, get};
use retreever_data::{
    AtRanks, BadLines, Dataset, Embeddings, MakeConfig, Qrels, Run, Skipped, evaluate, open,
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// What to do with data.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever data get insuranceqa --out insuranceqa
  retreever data check my-documents/
  retreever data pairs --data my-documents/ --out pairs      (what training would make of them)
  retreever data sample --data insuranceqa --share 20% --out fifth
  retreever data score --qrels qrels/test.tsv --run run.trec")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Fetch a data set by name and write it as a BEIR folder.
    Get {
        /// Which one.
        name: Name,
        /// The folder to write; in the cache unless given.
        #[arg(long)]
        out: Option<PathBuf>,
        #[command(flatten)]
        output: Output,
    },
    /// Turn a public data set that is on disk into a BEIR folder, as in the paper.
    Convert {
        /// The data set.
        layout: PublicLayout,
        /// The folder that it was unpacked to.
        #[arg(long)]
        from: PathBuf,
        /// The folder to write.
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        lines: Lines,
        #[command(flatten)]
        output: Output,
    },
    /// Read a data set from end to end and count what is in it.
    Check {
        /// A BEIR folder, a folder of .txt or .md files, a JSONL file of pairs or of documents, or embeddings
        /// (.npy, .safetensors).
        path: PathBuf,
        #[command(flatten)]
        lines: Lines,
        #[command(flatten)]
        output: Output,
    },
    /// Make training pairs from documents alone and write them as a BEIR folder, to look at or to change.
    Pairs {
        #[command(flatten)]
        texts: Texts,
        /// The folder to write.
        #[arg(long)]
        out: PathBuf,
        /// Documents that pairs are made from, at most.
        #[arg(long, value_name = "N", default_value_t = MakeConfig::default().documents)]
        sample: usize,
        /// What everything is drawn from.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        chat: chat::Args,
        #[command(flatten)]
        output: Output,
    },
    /// Write a part of a data set, with its judgements, as a BEIR folder.
    Sample {
        #[command(flatten)]
        texts: Texts,
        /// The share of queries and documents, such as 20%.
        #[arg(long, value_parser = crate::share::parse, default_value = "20%")]
        share: f64,
        /// The folder to write.
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        output: Output,
    },
    /// Score a TREC run against judgements.
    Score {
        /// Judgements: BEIR's TSV or TREC's qrels.
        #[arg(long)]
        qrels: PathBuf,
        /// The run: `query Q0 document rank score tag`.
        #[arg(long)]
        run: PathBuf,
        #[command(flatten)]
        lines: Lines,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// 16,889 questions about insurance, 27,413 answers, 12 domains (22 MB to fetch).
    Insuranceqa,
    /// 48,201 questions about 9,748 paragraphs of five kinds (358 MB to fetch).
    Squadshifts,
}

impl From<Name> for Named {
    fn from(name: Name) -> Self {
        match name {
            Name::Insuranceqa => Self::InsuranceQa,
            Name::Squadshifts => Self::SquadShifts,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum PublicLayout {
    /// Natural Questions, original or simplified: a question and its long answer.
    Nq,
    /// HotpotQA: a question and its relevant paragraphs, joined.
    Hotpotqa,
    /// TopiOCQA: a conversation and the passage that answers its last question.
    Topiocqa,
    /// RepLiQA as JSONL: parts 0 to 3 to train on, part 4 to test.
    Repliqa,
    /// ImageNet-1k: 100 pairs of images a class.
    Imagenet,
    /// VoxCeleb2: 2 pairs of recordings a speaker.
    Voxceleb2,
}

impl From<PublicLayout> for Layout {
    fn from(layout: PublicLayout) -> Self {
        match layout {
            PublicLayout::Nq => Self::Nq,
            PublicLayout::Hotpotqa => Self::HotpotQa,
            PublicLayout::Topiocqa => Self::TopiOcqa,
            PublicLayout::Repliqa => Self::RepliQa,
            PublicLayout::Imagenet => Self::ImageNet,
            PublicLayout::Voxceleb2 => Self::VoxCeleb2,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.action {
        Action::Get { name, out, output } => {
            let named = Named::from(*name);
            let folder = out.clone().unwrap_or_else(|| named.folder());
            let dataset = if out.is_none() && folder.exists() {
                open(&folder, BadLines::Stop)?
            } else {
                get(named, &folder, &mut progress::fetching())?
            };
            report(&dataset, &folder, output);
        }
        Action::Convert { layout, from, out, lines, output } => {
            let dataset = convert((*layout).into(), from, lines.bad())?;
            beir::write(&dataset, out)?;
            report(&dataset, out, output);
        }
        Action::Check { path, lines, output } => {
            if embeddings::is_named_so(path) {
                report_embeddings(&embeddings::open(path)?, path, output);
            } else {
                report(&open(path, lines.bad())?, path, output);
            }
        }
        Action::Pairs { texts, out, sample, seed, chat, output } => {
            let config = MakeConfig { seed: *seed, documents: *sample };
            let made = made::make(&texts.data, &texts.open()?, config, chat)?;
            beir::write(&made.dataset, out)?;
            report(&made.dataset, out, output);
        }
        Action::Sample { texts, share, out, output } => {
            let sample = texts.open()?.sample(*share);
            beir::write(&sample, out)?;
            report(&sample, out, output);
        }
        Action::Score { qrels, run, lines, output } => {
            let (qrels, mut skipped) = judgements::read(qrels, Known::Anything, lines.bad())?;
            let (run, more) = runs::read(run, lines.bad())?;
            skipped.add(more);
            warn(&skipped);
            score(&qrels, &run, output);
        }
    }
    Ok(())
}

/// What happens to lines that cannot be read.
#[derive(clap::Args)]
struct Lines {
    /// Leave out lines that cannot be read, and count them.
    #[arg(long)]
    skip_bad_lines: bool,
}

impl Lines {
    fn bad(&self) -> BadLines {
        if self.skip_bad_lines { BadLines::Skip } else { BadLines::Stop }
    }
}

fn warn(skipped: &Skipped) {
    if skipped.lines > 0 {
        say!("left out {} bad lines, the first of them:", skipped.lines);
        for line in &skipped.first {
            say!("  {line}");
        }
    }
}

/// What is in a data set, for people or for programs.
fn report(dataset: &Dataset, path: &Path, output: &Output) {
    warn(&dataset.skipped);
    let (documents, queries) = (dataset.corpus.len(), dataset.queries.len());
    if output.json {
        let splits = dataset.qrels.iter().map(|(split, qrels)| {
            (split.to_string(), json!({"queries": qrels.len(), "judgements": qrels.judgements()}))
        });
        let splits: Map<String, Value> = splits.collect();
        let skipped = dataset.skipped.lines;
        println!(
            "{}",
            json!({"path": path.to_string_lossy(), "documents": documents, "queries": queries, "splits": splits, "skipped": skipped})
        );
        return;
    }
    println!("{}", path.display());
    println!("{documents:>9} documents");
    println!("{queries:>9} queries");
    for (split, qrels) in &dataset.qrels {
        println!("{:>9} queries in {split}, {} judgements", qrels.len(), qrels.judgements());
    }
}

/// How many embeddings there are, for people or for programs.
fn report_embeddings(table: &Table, path: &Path, output: &Output) {
    let (items, width, tokens) = (table.len(), table.width(), table.rows());
    if output.json {
        println!(
            "{}",
            json!({"path": path.to_string_lossy(), "items": items, "width": width, "tokens": tokens})
        );
    } else {
        println!(
            "{}\n{items:>9} items of {tokens} tokens in all\n{width:>9} numbers a token",
            path.display()
        );
    }
}

/// The measures of a run, for people or for programs.
fn score(qrels: &Qrels, run: &Run, output: &Output) {
    let scores = evaluate(qrels, run);
    let mean = &scores.mean;
    if output.json {
        println!("{}", json!({"mean": mean, "queries": qrels.len(), "unanswered": scores.unanswered}));
        return;
    }
    let row = |name: &str, at: &AtRanks| {
        println!("{name:<8}{:>8.4}{:>8.4}{:>8.4}{:>8.4}", at.at_1, at.at_5, at.at_10, at.at_100);
    };
    println!("{:<8}{:>8}{:>8}{:>8}{:>8}", "", "@1", "@5", "@10", "@100");
    row("nDCG", &mean.ndcg);
    row("Recall", &mean.recall);
    println!("{:<8}{:>24.4}", "MRR", mean.mrr_at_10);
    println!("{:<8}{:>8.4} over the whole ranking", "MAP", mean.map);
    println!("{} queries, {} of them unanswered (counted as 0)", qrels.len(), scores.unanswered);
}
