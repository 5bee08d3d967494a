//! `retreever eval`: how well an index answers the queries of a split.

use crate::commands::index::Which;
use crate::commands::texts::Texts;
use crate::progress;
use anyhow::{Context, Result, ensure};
use retreever::{Answer, Assignments, Mode, Opening, Query, Retriever, Role, Snapshot};
use retreever_data::{Dataset, Run, Split, evaluate};
use retreever_tree::Level;
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// What to measure.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever eval --index index --data insuranceqa --split test --level all
  retreever eval --index index --data insuranceqa --leaves 20
  retreever eval --index index --data insuranceqa --run run.trec --json")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    texts: Texts,
    /// Which judgements.
    #[arg(long, default_value = "test")]
    split: Split,
    /// A level, or `all`; the leaves without it.
    #[arg(long)]
    level: Option<String>,
    /// Open only so many leaves, the nearest.
    #[arg(long)]
    leaves: Option<NonZeroUsize>,
    /// Write the rankings of one level as a TREC run.
    #[arg(long)]
    run: Option<PathBuf>,
    /// Print one JSON object a level.
    #[arg(long)]
    json: bool,
}

/// How deep a ranking is scored.
const K: usize = 100;
/// Queries answered together.
const BATCH: usize = 64;

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(
        args.run.is_none() || args.level.as_deref() != Some("all"),
        "a run holds the rankings of one level: give `--run` a `--level` of its own"
    );
    let dataset = args.texts.open()?;
    let qrels = dataset.qrels.get(&args.split).with_context(|| no_split(&dataset, &args.split))?;
    let retriever = Retriever::open(&args.which.index, &mut progress::fetching())?;
    let snapshot = retriever.snapshot()?;
    let queries: Vec<_> = qrels.iter().filter_map(|(id, _)| dataset.queries.get(id)).collect();
    let texts: Vec<&str> = queries.iter().map(|query| &query.text[..]).collect();
    let asked = retriever.assign(&texts, Role::Query)?;
    let depth = asked.depth();
    let levels: Vec<Level> = match args.level.as_deref() {
        None => vec![depth.leaf_level()],
        Some("all") => depth.levels().collect(),
        Some(level) => {
            let level = level.parse().ok().and_then(|level| depth.level(level));
            vec![level.with_context(|| format!("the tree has levels 1 to {depth}; `all` is all of them"))?]
        }
    };
    for level in levels {
        let answers = answer(&snapshot, &asked, level, args.leaves.map(NonZeroUsize::get))?;
        let mut run = Run::new();
        let mut read = 0.0;
        for (query, answer) in queries.iter().zip(&answers) {
            read += answer.share_read / answers.len() as f64;
            for (rank, hit) in answer.hits.iter().enumerate() {
                // Equal scores keep the order of the answer.
                let score = hit.score as f32 - rank as f32 * f32::EPSILON;
                run.insert(&query.id, &snapshot.document(hit)?.id, score);
            }
        }
        if let Some(path) = &args.run {
            retreever_data::formats::runs::write(path, &run, "retreever")?;
        }
        let mean = evaluate(qrels, &run).mean;
        if args.json {
            println!(
                "{}",
                json!({ "level": level, "size": level.width(), "share_read": read, "scores": mean })
            );
        } else {
            println!(
                "level {level:>2} ({:>5} numbers): nDCG@10 {:.4}  Recall@10 {:.4}  MRR@10 {:.4}  Recall@100 {:.4}  ({:.0}% read)",
                level.width(),
                mean.ndcg.at_10,
                mean.recall.at_10,
                mean.mrr_at_10,
                mean.recall.at_100,
                read * 100.0
            );
        }
    }
    Ok(())
}

fn no_split(dataset: &Dataset, split: &Split) -> String {
    let there: Vec<String> = dataset.qrels.keys().map(ToString::to_string).collect();
    match &there[..] {
        [] => "the data has no judgements (qrels/*.tsv): add some, or make pairs with retreever data pairs"
            .to_owned(),
        _ => format!("the data has no split {split}; it has {}: name one with --split", there.join(", ")),
    }
}

fn answer(
    snapshot: &Snapshot,
    asked: &Assignments,
    level: Level,
    leaves: Option<usize>,
) -> Result<Vec<Answer>> {
    let rows: Vec<_> = asked.iter().collect();
    match leaves {
        None => {
            let batches = rows.chunks(BATCH).map(|rows| snapshot.search_batch(rows, Some(level), K));
            Ok(batches.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Some(leaves) => {
            let mode = Mode::Leaves(Opening::Top(leaves));
            let one = |row| snapshot.search(&Query { level: Some(level), mode, ..Query::new(row, K) });
            Ok(rows.into_iter().map(one).collect::<Result<_, _>>()?)
        }
    }
}
