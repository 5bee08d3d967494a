//! `retreever compare`: every baseline beside the tree, as tables and figures.

use crate::commands::texts::Texts;
use crate::progress::{self, say};
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use retreever_bench::compare::{CompareConfig, Event, Piece, compare};
use retreever_bench::report::{Ablation, Report, Stat};
use retreever_model::Event as Training;
use retreever_tree::Depth;
use std::path::PathBuf;
use std::time::Duration;

/// What is compared.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever compare --data insuranceqa --budget 5m --out report      (everything, once)
  retreever compare --data my-data --seeds 3 --ablate split,depth    (three seeds, two ablations)
  retreever compare --data my-data --only encoder,mlp:0 --out report (these anew)

RAPTOR quotes passages in its summaries, unless RETREEVER_LLM and RETREEVER_LLM_MODEL name a chat endpoint that writes them.")]
pub(crate) struct Args {
    /// The data set: a BEIR folder with qrels; or insuranceqa or squadshifts, fetched by name.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The frozen encoder: minilm, mpnet, ORGANISATION/NAME on the hub, or a directory.
    #[arg(long, value_name = "NAME", default_value = "minilm")]
    encoder: String,
    /// Which judgements to report.
    #[arg(long, value_name = "NAME", default_value = "test")]
    split: String,
    /// How deep trees and hierarchies are.
    #[arg(long, value_name = "N", default_value = "10", value_parser = depth)]
    depth: Depth,
    /// How long each model is trained, like 90s, 10m or 1.5h.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = crate::budget::parse)]
    budget: Duration,
    /// Ablations to add: split, heads, depth, level-embeddings, propagation, recipe.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    ablate: Vec<Ablation>,
    /// How many seeds everything random is repeated with.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// Only these pieces, such as `encoder` or `gmm-tree:1`, computed anew beside what is kept of the others.
    #[arg(long, value_name = "PIECE", value_delimiter = ',')]
    only: Vec<Piece>,
    /// Where the report goes: index.html and results.json. Finished pieces there are not computed again.
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    /// Print results.json to standard output, too.
    #[arg(long)]
    json: bool,
}

fn depth(text: &str) -> Result<Depth, String> {
    let number: u8 = text.parse().map_err(|_| format!("`{text}` is not a depth"))?;
    Depth::try_from(number)
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let config = CompareConfig {
        data: Texts { data: args.data.clone(), skip_bad_lines: false }.path()?,
        encoder: args.encoder.clone(),
        split: args.split.parse().unwrap_or_else(|never| match never {}),
        out: args.out.clone(),
        depth: args.depth,
        budget: args.budget,
        ablate: args.ablate.clone(),
        seeds: args.seeds,
        only: args.only.clone(),
    };
    let report = compare(&config, &mut observer())?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print_best(&report);
    }
    say!("the report is {}", args.out.join("index.html").display());
    Ok(())
}

/// Each method at its best, as a table on standard output: means over the seeds, with deviations where there are several.
fn print_best(report: &Report) {
    let percent = |stat: Stat| match stat.spread {
        Some(spread) => format!("{:.2} ±{:.2}", 100.0 * stat.mean, 100.0 * spread),
        None => format!("{:.2}", 100.0 * stat.mean),
    };
    println!("{:<44} {:>12} {:>12} {:>7} {:>9}", "method", "nDCG@10", "Recall@10", "read", "ms/query");
    for best in report.best() {
        println!(
            "{:<44} {:>12} {:>12} {:>6.1}% {:>9.3}",
            best.name,
            percent(best.ndcg),
            percent(best.recall),
            100.0 * best.share_read.mean,
            best.latency_ms.mean
        );
    }
}

/// Progress on stderr: a line for each piece, a bar while texts are encoded and models are trained.
fn observer() -> impl FnMut(Event<'_>) {
    let mut fetching = progress::fetching();
    let mut encoding = ("", progress::encoding());
    let mut bar: Option<ProgressBar> = None;
    move |event| match event {
        Event::Fetching(progress) => fetching(progress),
        Event::Encoding(what, progress) => {
            // A bar of its own for documents and for queries.
            if encoding.0 != what {
                encoding = (what, progress::encoding());
            }
            encoding.1(progress);
        }
        Event::Training(piece, Training::Step { progress, loss, .. }) => {
            let bar = bar.get_or_insert_with(|| drawn(progress.total));
            bar.set_message(format!("{piece}, loss {loss:.3}"));
            bar.set_position(progress.step + 1);
        }
        Event::Training(piece, Training::Validated { step, score, .. }) => {
            let line =
                format!("{piece}: nDCG@10 on held-out queries {:.2} after {step} steps", 100.0 * score);
            match &bar {
                Some(bar) => bar.suspend(|| say!("{line}")),
                None => say!("{line}"),
            }
        }
        Event::NothingToTrainOn => {
            say!("the data has no qrels/train.tsv: only what needs no training is compared");
        }
        Event::Begin(piece, number, of) => {
            clear(&mut bar);
            say!("[{number}/{of}] {piece}");
        }
        Event::Kept(piece) => {
            clear(&mut bar);
            say!("{piece}: kept from before");
        }
        Event::Finished(piece, time) => {
            clear(&mut bar);
            say!("{piece}: done in {:.1} s", time.as_secs_f64());
        }
    }
}

fn clear(bar: &mut Option<ProgressBar>) {
    if let Some(bar) = bar.take() {
        bar.finish_and_clear();
    }
}

fn drawn(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} %, {eta} left");
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
