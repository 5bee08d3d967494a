//! `retreever search`: ask, and see why.

use crate::commands::index::Which;
use crate::commands::opening::OpeningArgs;
use crate::progress::{self, say};
use anyhow::{Context, Result, anyhow};
use retreever::{
    Answer, Explainer, Explanation, Filter, Fusion, Guarantee, Mode, Opening, Query, Retriever, Snapshot,
};
use retreever_index::Document;
use retreever_tree::Nesting;
use serde::Serialize;

/// What to ask, and how.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever search --index index \"does life insurance pay for suicide\" -k 5 --explain
  retreever search \"a question\"                             (the index is ./index unless named)
  retreever search \"a question\" --cover 95%                 (opens leaves until the answer is there with that chance)
  retreever search --index index \"error E1042\" --hybrid 0.5 --json
  retreever search --index index \"roth ira limits\" --filter 'domain = \"retirement-plans\"' --read 5%")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// The question.
    query: String,
    /// How many documents to find.
    #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    k: u16,
    /// The level to compare at: 1 is 2 numbers, 10 is 1,024. Default: the leaves.
    #[arg(long)]
    level: Option<u8>,
    #[command(flatten)]
    opening: OpeningArgs,
    /// Let codes choose so many documents and score only those: fast, without a guarantee.
    #[arg(long, conflicts_with = "opening")]
    rerank: Option<usize>,
    /// Only documents that fit, such as: domain = "annuities" and year > 2010, or: under 5.
    #[arg(long)]
    filter: Option<String>,
    /// Mix with BM25: its share of the score, 0 to 1; 1 is BM25 alone.
    #[arg(long, value_parser = crate::share::parse_or_none, conflicts_with = "fuse")]
    hybrid: Option<f64>,
    /// Mix with BM25 by reciprocal ranks.
    #[arg(long)]
    fuse: bool,
    /// Explain each hit: where the question goes, what both have in common, and an account of the score.
    #[arg(long)]
    explain: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// A hit with its document.
#[derive(Serialize)]
struct Found {
    score: f64,
    #[serde(flatten)]
    document: Document,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let retriever = Retriever::open(&args.which.index, &mut progress::fetching())?;
    let snapshot = retriever.snapshot()?;
    let asked = retriever.route(&args.query)?;
    let mode = match (args.opening.opening(), args.rerank) {
        (Some(opening), _) => Mode::Leaves(opening),
        (None, Some(rerank)) => Mode::Approximate { rerank },
        (None, None) => Mode::Exact,
    };
    let depth = asked.depth();
    let level = match args.level {
        Some(level) => Some(depth.level(level).with_context(|| format!("the tree has levels 1 to {depth}"))?),
        None => None,
    };
    let filter: Option<Filter> = match &args.filter {
        Some(text) => Some(text.parse().map_err(|error| anyhow!("--filter {text}: {error}"))?),
        None => None,
    };
    let query = Query { level, mode, filter, ..Query::new(asked.row(0), args.k.into()) };
    let answer = match (args.hybrid, args.fuse) {
        (Some(share), _) if share >= 1.0 => {
            snapshot.search_words(&args.query, query.k, query.filter.as_ref())?
        }
        (Some(share), _) => snapshot.search_hybrid(&query, &args.query, Fusion::Weighted(share))?,
        (None, true) => snapshot.search_hybrid(&query, &args.query, Fusion::ReciprocalRank)?,
        (None, false) => snapshot.search(&query)?,
    };
    let explainer = if args.explain { Some(Explainer::new(&snapshot)?) } else { None };
    let way = explainer.as_ref().map(|explainer| explainer.way(query.assignment));
    let found = collect(&snapshot, &query, &answer, explainer.as_ref())?;
    if args.json {
        let mut output = serde_json::json!({
            "hits": found, "guarantee": answer.guarantee, "share_read": answer.share_read, "cover": answer.cover,
        });
        if let Some(way) = &way {
            output["way"] = serde_json::to_value(way)?;
        }
        println!("{output}");
    } else {
        if let Some(way) = &way {
            println!("{way}\n");
        }
        found.iter().enumerate().for_each(|(rank, found)| print(rank + 1, found));
        let statement = match (args.hybrid, args.fuse) {
            (Some(share), _) if share >= 1.0 => "by words alone: no other document scores higher".to_owned(),
            (Some(_), _) | (None, true) => {
                "mixed: the best by the tree and the best by words, at least 100 each, put together; a document in \
                 neither list was not considered"
                    .to_owned()
            }
            (None, false) => guarantee(&answer, &query),
        };
        say!("{statement}");
    }
    Ok(())
}

fn collect(
    snapshot: &Snapshot,
    query: &Query<'_>,
    answer: &Answer,
    explainer: Option<&Explainer<'_>>,
) -> Result<Vec<Found>> {
    answer
        .hits
        .iter()
        .map(|hit| {
            let explanation = explainer.map(|explainer| explainer.explain(query, hit)).transpose()?;
            Ok(Found { score: hit.score, document: snapshot.document(hit)?, explanation })
        })
        .collect()
}

/// What is certain about an answer, and why.
fn guarantee(answer: &Answer, query: &Query<'_>) -> String {
    let read = answer.share_read * 100.0;
    let own_levels = query.assignment.nesting() == Nesting::PerLevel;
    let covered = match (answer.cover, query.mode) {
        (Some(chance), Mode::Leaves(_)) => {
            format!("; the answer is among them with a chance of {:.0}%", 100.0 * chance)
        }
        (None, Mode::Leaves(Opening::Cover(_))) => {
            "; this tree was not calibrated on pairs, so the chance that the answer is among them is a guess"
                .to_owned()
        }
        _ => String::new(),
    };
    match (answer.guarantee, query.mode) {
        (Guarantee::Exact, Mode::Leaves(_)) => {
            format!("exact; {read:.1}% of the documents read, and no unread one can score higher")
        }
        (Guarantee::Exact, _) if own_levels => {
            "exact: no other document scores higher; levels of this tree do not bound each other, so all documents were \
             compared at the level asked for, by codes of known error or in full"
                .to_owned()
        }
        (Guarantee::Exact, _) => {
            "exact: no other document scores higher; all were ruled out by codes of known error or compared in full"
                .to_owned()
        }
        (Guarantee::UnreadAtMost(bound), _) => {
            format!(
                "exact among the {read:.1}% of the documents read{covered}; an unread one scores at most {bound:.3}"
            )
        }
        (Guarantee::None, Mode::Leaves(_)) => format!(
            "exact among the {read:.1}% of the documents read{covered}; levels of this tree do not bound each other, so nothing is \
             known about the unread"
        ),
        (Guarantee::None, _) => {
            "approximate: codes chose what was scored, and may have passed over a better document".to_owned()
        }
    }
}

fn print(rank: usize, found: &Found) {
    let Document { id, title, text, .. } = &found.document;
    let heading = if title.is_empty() { id.clone() } else { format!("{title} ({id})") };
    println!("{rank:>3}. {:.4}  {heading}", found.score);
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(160).collect();
    if !text.is_empty() {
        println!("     {text}");
    }
    if let Some(explanation) = &found.explanation {
        explanation.to_string().lines().for_each(|line| println!("     {line}"));
        println!();
    }
}
