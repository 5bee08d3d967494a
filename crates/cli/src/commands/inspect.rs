//! `retreever inspect`: what the tree has learned, in words, numbers and figures.

use super::agreement;
use super::findings::{self, Findings};
use super::source::Source;
use anyhow::Result;
use retreever::NodeId;
use retreever_server::{Explorer, describe, overview, standalone};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What to look at.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever inspect --index index/
  retreever inspect --index index/ --node 5
  retreever inspect --index index/ --congruence
  retreever inspect --index index/ --data my-data --agreement --split dev
  retreever inspect --index index/ --gaps --queries asked.txt --level 6
  retreever inspect --index index/ --queries january.txt --drift february.txt
  retreever inspect --index index/ --report report.html --figures figures/
  retreever inspect --index index/ --json > tree.json
  retreever inspect --index index/ --html tree.html        (the explorer in one file)")]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// One node in full: the root is 0, the children of n are 2n + 1 and 2n + 2.
    #[arg(long)]
    node: Option<u32>,
    /// How many levels the outline shows.
    #[arg(long, default_value_t = 4)]
    levels: usize,
    #[command(flatten)]
    findings: findings::Args,
    #[command(flatten)]
    agreement: agreement::Args,
    /// For programs: all of it as one JSON value.
    #[arg(long)]
    json: bool,
    /// Write the explorer with this tree to one file that opens without a server.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.agreement.agreement {
        return agreement::run(&args.agreement, &args.source.index, args.source.data.as_ref(), args.json);
    }
    let opened = args.source.open()?;
    let explorer = &opened.explorer;
    let findings = Findings::new(&args.findings, &opened)?;
    if let Some(path) = &args.html {
        findings::write(path, &standalone(explorer)?)?;
    }
    findings.write(&args.findings, explorer)?;
    let asked = findings.asked_for(&args.findings);
    let written = args.findings.on_paper() || args.html.is_some();
    match (args.node, args.json) {
        (Some(node), true) => println!("{}", describe(explorer, NodeId::new(node))?),
        (Some(node), false) => print_node(&describe(explorer, NodeId::new(node))?),
        (None, true) if asked => println!("{}", findings.to_json(explorer)),
        (None, true) => println!("{}", overview(explorer)?),
        (None, false) if asked => findings.print(explorer),
        (None, false) if written => {}
        (None, false) => print_tree(explorer, args.levels),
    }
    Ok(())
}

fn print_tree(explorer: &Explorer, levels: usize) {
    let inspection = &explorer.inspection;
    println!("level  balance  empty  largest  sharpness  spread");
    for level in &inspection.levels {
        println!(
            "{:>5}  {:>7.3}  {:>5}  {:>6.2}%  {:>9.3}  {:>6.1}",
            level.level.get(),
            level.balance,
            level.empty,
            100.0 * level.largest,
            level.sharpness,
            level.spread
        );
    }
    for field in &inspection.fields {
        println!("\n{}: level  NMI    purity", field.name);
        for level in &field.levels {
            println!(
                "{:>w$}  {:.3}  {:.3}",
                level.level.get(),
                level.nmi,
                level.purity,
                w = (field.name.chars().count() + 7).min(80)
            );
        }
    }
    println!();
    outline(explorer, NodeId::ROOT, levels.min(inspection.depth().get()));
}

fn outline(explorer: &Explorer, node: NodeId, levels: usize) {
    let Some(report) = explorer.inspection.node(node) else { return };
    let level = node.level().get();
    println!("{}{node} {} ({})", "  ".repeat(level), report.label, report.documents);
    if level < levels {
        outline(explorer, node.left(), levels);
        outline(explorer, node.right(), levels);
    }
}

fn print_node(node: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let words =
        |value: &Value| list(value).iter().map(|word| text(&word["text"])).collect::<Vec<_>>().join(", ");
    println!("node {}, level {}: {}", node["node"], node["level"], text(&node["label"]));
    println!("{}", text(&node["summary"]));
    println!("keywords: {}", words(&node["keywords"]));
    println!(
        "documents {}, mass {:.4}, entropy {} bits",
        node["documents"],
        node["mass"].as_f64().unwrap_or(0.0),
        node["entropy"]
    );
    println!("path:");
    for step in list(&node["path"]) {
        println!("  {} {}", step["node"], text(&step["label"]));
    }
    for (side, branch) in ["left", "right"].iter().zip(list(&node["branches"])) {
        println!(
            "{side}: {} {} ({}): {}",
            branch["node"],
            text(&branch["label"]),
            branch["documents"],
            words(&branch["apart"])
        );
    }
    for (what, key) in [("typical documents", "typical"), ("typical queries", "typical_queries")] {
        let all = list(&node[key]);
        if !all.is_empty() {
            println!("{what}:");
        }
        for one in all {
            let line: String = text(&one["text"]).split_whitespace().collect::<Vec<_>>().join(" ");
            let line: String = line.chars().take(100).collect();
            println!(
                "  {:.3} {} {line}",
                one["reach"].as_f64().unwrap_or(0.0),
                text(one.get("id").unwrap_or(&json!("")))
            );
        }
    }
}
