//! What `inspect` finds beyond the tree itself: congruence, gaps and drift, as tables, as JSON and on paper.

use super::source::Opened;
use crate::progress::say;
use anyhow::{Context, Result, anyhow};
use retreever::{Level, NodeId};
use retreever_inspect::Report;
use retreever_inspect::congruence::{Mean, TreeCongruence};
use retreever_inspect::demand::{Drift, Gap, drift, gaps};
use retreever_server::Explorer;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What to find, and where to write it.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The mean cosine of pairs of documents by the level at which they part.
    #[arg(long)]
    congruence: bool,
    /// Where users ask and the corpus is thin.
    #[arg(long)]
    gaps: bool,
    /// How the queries of this file differ from the others.
    #[arg(long, value_name = "FILE")]
    drift: Option<PathBuf>,
    /// The level of gaps and drift; 5, or the leaves of a tree that ends above.
    #[arg(long)]
    level: Option<u8>,
    /// Write a report to one HTML file that reads without a server.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the figures of the report as SVG files into a folder.
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

impl Args {
    /// Whether a page or figures are to be written.
    pub(super) fn on_paper(&self) -> bool {
        self.report.is_some() || self.figures.is_some()
    }
}

/// What was found.
pub(super) struct Findings {
    level: Level,
    congruence: Option<TreeCongruence>,
    gaps: Option<Vec<Gap>>,
    drift: Option<Drift>,
}

/// Rows at each end of a list about demand.
const ENDS: usize = 12;

impl Findings {
    /// Finds what was asked for.
    pub(super) fn new(args: &Args, opened: &Opened) -> Result<Self> {
        let inspection = &opened.explorer.inspection;
        let depth = inspection.depth();
        let level = match args.level {
            None => depth.levels().take(5).next_back(),
            Some(level) => depth.level(level).filter(|level| *level != Level::ROOT),
        };
        let level = level.ok_or_else(|| anyhow!("--level can be 1 to {depth}"))?;
        let wanted = args.congruence || args.on_paper() && opened.explorer.can_route();
        let asked = || {
            let queries = inspection.queries.as_ref();
            queries
                .ok_or_else(|| anyhow!("there are no queries: give some with --queries FILE or --data DIR"))
        };
        let later = args.drift.as_deref().map(|file| Ok(drift(asked()?, &opened.census(file)?, level)));
        Ok(Self {
            level,
            congruence: wanted.then(|| opened.congruence()).transpose()?,
            gaps: match args.gaps {
                true => Some(gaps(&inspection.documents, asked()?, level)),
                false => None,
            },
            drift: later.transpose().map_err(|error: anyhow::Error| error)?,
        })
    }

    /// Writes the report and the figures that were asked for.
    pub(super) fn write(&self, args: &Args, explorer: &Explorer) -> Result<()> {
        let report = Report {
            name: &explorer.name,
            inspection: &explorer.inspection,
            congruence: self.congruence.as_ref(),
            drift: self.drift.as_ref(),
            level: self.level,
        };
        if let Some(path) = &args.report {
            write(path, &report.to_html())?;
        }
        if let Some(folder) = &args.figures {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            for (name, svg) in report.figures() {
                write(&folder.join(name), &svg)?;
            }
        }
        Ok(())
    }

    /// For programs.
    pub(super) fn to_json(&self, explorer: &Explorer) -> Value {
        let mut out = json!({ "level": self.level });
        if let Some(congruence) = &self.congruence {
            out["congruence"] = json!(congruence);
        }
        if let Some(gaps) = &self.gaps {
            let named = gaps.iter().map(|gap| {
                json!({ "node": gap.node, "label": label(explorer, gap.node), "queries": gap.queries,
                        "documents": gap.documents, "gap": gap.gap, "mass_gap": gap.mass_gap })
            });
            out["gaps"] = named.collect();
        }
        if let Some(drift) = &self.drift {
            let nodes = drift.nodes.iter().map(|shift| {
                json!({ "node": shift.node, "label": label(explorer, shift.node), "before": shift.before,
                        "after": shift.after })
            });
            out["drift"] = json!({ "distance": drift.distance, "divergence": drift.divergence,
                                   "nodes": nodes.collect::<Vec<_>>() });
        }
        out
    }

    /// For people.
    pub(super) fn print(&self, explorer: &Explorer) {
        if let Some(found) = &self.congruence {
            println!("part at level  mean cosine  95 % interval    pairs");
            let line = |name: &str, mean: &Mean| {
                println!("{name:>13}  {:>11.4}  ± {:>11.4}  {:>7}", mean.mean, mean.half_width, mean.pairs)
            };
            found.levels.iter().for_each(|at| line(&at.level.to_string(), &at.cosine));
            line("any two", &found.all);
        }
        if let Some(gaps) = &self.gaps {
            println!("level {}: queries  documents  difference  of mass", self.level);
            let rest = gaps.len().saturating_sub(ENDS).max(ENDS);
            for (at, gap) in gaps.iter().enumerate().filter(|(at, _)| *at < ENDS || *at >= rest) {
                if at == rest && rest > ENDS {
                    println!("{:>16}", "...");
                }
                println!(
                    "{:>15.2}%  {:>8.2}%  {:>+10.2}  {:>+7.2}  {} {}",
                    100.0 * gap.queries,
                    100.0 * gap.documents,
                    100.0 * gap.gap,
                    100.0 * gap.mass_gap,
                    gap.node,
                    label(explorer, gap.node)
                );
            }
        }
        if let Some(drift) = &self.drift {
            println!(
                "level {}: {:.2}% of the queries' mass moved elsewhere, divergence {:.4} bits",
                drift.level,
                100.0 * drift.distance,
                drift.divergence
            );
            println!("before   after  difference");
            for shift in drift.nodes.iter().take(2 * ENDS) {
                println!(
                    "{:>5.2}%  {:>5.2}%  {:>+10.2}  {} {}",
                    100.0 * shift.before,
                    100.0 * shift.after,
                    100.0 * (shift.after - shift.before),
                    shift.node,
                    label(explorer, shift.node)
                );
            }
        }
    }

    /// Whether there is anything to print.
    pub(super) fn asked_for(&self, args: &Args) -> bool {
        args.congruence || self.gaps.is_some() || self.drift.is_some()
    }
}

fn label(explorer: &Explorer, node: NodeId) -> &str {
    explorer.inspection.node(node).map_or("", |report| report.label.as_str())
}

/// Writes a file and says so.
pub(super) fn write(path: &Path, content: &str) -> Result<()> {
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))?;
    say!("wrote {}", path.display());
    Ok(())
}
