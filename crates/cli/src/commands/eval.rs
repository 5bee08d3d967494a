//! `retreever eval`: how well an index answers the queries of a split.

use crate::commands::index::Which;
use crate::commands::opening::OpeningArgs;
use crate::commands::texts::Texts;
use crate::progress;
use anyhow::{Context, Result, ensure};
use retreever::{Answer, Assignments, Mode, Opening, Query, Retriever, Role, Snapshot};
use retreever_data::{Dataset, Qrels, Run, Split, evaluate};
use retreever_tree::{LeafId, Level};
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;

/// What to measure.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever eval --index index --data insuranceqa --split test --level all
  retreever eval --index index --data insuranceqa --cover 95%
  retreever eval --index index --data insuranceqa --read 5%
  retreever eval --index index --data insuranceqa --run run.trec --json")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    texts: Texts,
    /// Which judgements.
    #[arg(long, default_value = "test")]
    split: Split,
    /// A level, or `all`. Default: the leaves.
    #[arg(long)]
    level: Option<String>,
    #[command(flatten)]
    opening: OpeningArgs,
    /// Write the rankings of one level as a TREC run.
    #[arg(long)]
    run: Option<PathBuf>,
    /// Print one JSON object per level.
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
    let opening = args.opening.opening();
    let ids: Vec<&str> = queries.iter().map(|query| &query.id[..]).collect();
    let found = opening.map(|opening| found(&snapshot, (&asked, &ids), qrels, opening)).transpose()?;
    for level in levels {
        let answers = answer(&snapshot, &asked, level, opening)?;
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
            let mut line =
                json!({ "level": level, "size": level.width(), "share_read": read, "scores": mean });
            if let Some(Opening::Cover(asked)) = opening {
                line["asked"] = json!(asked);
            }
            if let Some(found) = found {
                line["found"] = json!(found);
            }
            println!("{line}");
        } else {
            let opened = match (opening, found) {
                (Some(Opening::Cover(asked)), Some(found)) => {
                    format!(
                        ", {:.1}% of the answers among them, asked for {:.1}%",
                        found * 100.0,
                        asked * 100.0
                    )
                }
                (_, Some(found)) => format!(", {:.1}% of the answers among them", found * 100.0),
                _ => String::new(),
            };
            println!(
                "level {level:>2} ({:>5} numbers): nDCG@10 {:.4}  Recall@10 {:.4}  MRR@10 {:.4}  Recall@100 {:.4}  ({:.1}% read{opened})",
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

/// The share of judged answers whose leaf is opened.
fn found(
    snapshot: &Snapshot,
    (asked, ids): (&Assignments, &[&str]),
    qrels: &Qrels,
    opening: Opening,
) -> Result<f64> {
    let mut places: HashMap<String, LeafId> = HashMap::new();
    for hit in snapshot.hits() {
        places.insert(snapshot.document(&hit)?.id, snapshot.place(&hit));
    }
    let opened: HashMap<&str, Vec<LeafId>> =
        ids.iter().zip(asked.iter()).map(|(id, query)| (*id, snapshot.opened(query, opening))).collect();
    let (mut found, mut answers) = (0u64, 0u64);
    for (query, document) in qrels.pairs() {
        if let Some(opened) = opened.get(query) {
            answers += 1;
            found += u64::from(places.get(document).is_some_and(|leaf| opened.contains(leaf)));
        }
    }
    Ok(found as f64 / answers.max(1) as f64)
}

fn answer(
    snapshot: &Snapshot,
    asked: &Assignments,
    level: Level,
    opening: Option<Opening>,
) -> Result<Vec<Answer>> {
    let rows: Vec<_> = asked.iter().collect();
    match opening {
        None => {
            let batches = rows.chunks(BATCH).map(|rows| snapshot.search_batch(rows, Some(level), K));
            Ok(batches.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Some(opening) => {
            let mode = Mode::Leaves(opening);
            let one = |row| snapshot.search(&Query { level: Some(level), mode, ..Query::new(row, K) });
            Ok(rows.into_iter().map(one).collect::<Result<_, _>>()?)
        }
    }
}
