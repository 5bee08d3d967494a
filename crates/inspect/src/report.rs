//! The inspection on paper: one HTML page with figures, readable without a server, and the figures alone.
//!
//! A pure function of what was found; every word of the corpus is escaped on its way.

use crate::Inspection;
use crate::congruence::TreeCongruence;
use crate::demand::{Drift, Gap, gaps};
use retreever_figures::{
    Axis, Chart, Escaped, Look, Marker, Page, Pair, Pairs, Series, Spread, Stroke, grouped, standalone,
};
use retreever_tree::{Level, NodeId};

/// What goes on paper.
pub struct Report<'a> {
    /// What the corpus is called.
    pub name: &'a str,
    /// What was found.
    pub inspection: &'a Inspection,
    /// Whether documents that part late are alike, if their embeddings are at hand.
    pub congruence: Option<&'a TreeCongruence>,
    /// How later queries differ, if there are some.
    pub drift: Option<&'a Drift>,
    /// The level at which demand is shown.
    pub level: Level,
}

/// The outline shows levels down to this one, the first [`OPEN`] unfolded.
const OUTLINE: usize = 7;
const OPEN: usize = 3;
/// Nodes on each side of a figure about demand.
const SHOWN: usize = 10;

/// One figure of the report.
struct Figure {
    /// The name of its file.
    file: String,
    heading: String,
    note: &'static str,
    svg: String,
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Report<'_> {
    /// The whole page.
    pub fn to_html(&self) -> String {
        let inspection = self.inspection;
        let depth = inspection.depth();
        let heading = format!("What the tree has learned: {}", self.name);
        let mut page = Page::new(&format!("{}: the tree", self.name), &heading);
        let queries =
            inspection.queries.as_ref().map(|queries| format!(", {} queries", grouped(queries.len())));
        page.facts(&format!(
            "{} documents over {} leaves, {depth} levels deep{}.",
            grouped(inspection.documents.len()),
            grouped(depth.leaves()),
            queries.unwrap_or_default()
        ));
        page.tiles(&self.tiles());
        page.section("Contents", "The subjects, general to specific; open one to see what it divides into.");
        page.html(&format!("<div class=\"contents\"><ul>\n{}</ul></div>\n", self.outline(NodeId::ROOT)));
        for figure in self.list() {
            page.section(&figure.heading, figure.note);
            page.figure(&figure.svg);
            page.numbers(&figure.heads, &figure.rows);
        }
        page.finish("Made by <code>retreever inspect --report</code>.")
    }

    /// Every figure as a file of its own: its name, and its SVG.
    pub fn figures(&self) -> Vec<(String, String)> {
        self.list()
            .into_iter()
            .map(|figure| (format!("{}.svg", figure.file), standalone(&figure.svg)))
            .collect()
    }

    fn list(&self) -> Vec<Figure> {
        let mut out = vec![self.levels()];
        out.extend(self.congruence.map(congruence));
        out.extend((0..self.inspection.fields.len()).map(|field| self.agreement(field)));
        out.extend(self.demand());
        out.extend(self.drift.map(|drift| self.drifted(drift)));
        out
    }

    fn tiles(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        if let Some(leaves) = self.inspection.levels.last() {
            let empty = format!("balance of the leaves; {} of them hold no document", grouped(leaves.empty));
            out.push((format!("{:.2}", leaves.balance), empty));
            let opened = self.inspection.documents.leaves_for_most();
            out.push((format!("{opened:.1}"), "leaves hold 90 % of a document, on average".to_owned()));
        }
        if let (Some(found), Some(last)) = (self.congruence, self.congruence.and_then(|c| c.levels.last())) {
            let text =
                format!("mean cosine of two documents that stay together; of any two: {:.2}", found.all.mean);
            out.push((format!("{:.2}", last.cosine.mean), text));
        }
        for field in self.inspection.fields.iter().take(2) {
            let best = field.levels.iter().max_by(|a, b| a.nmi.total_cmp(&b.nmi));
            if let Some(best) = best {
                let text = format!("mutual information with {}, best at level {}", field.name, best.level);
                out.push((format!("{:.2}", best.nmi), text));
            }
        }
        if let Some(drift) = self.drift {
            let text = format!("of the queries' mass moved elsewhere at level {}", drift.level);
            out.push((format!("{:.1} %", 100.0 * drift.distance), text));
        }
        out
    }

    fn outline(&self, node: NodeId) -> String {
        let Some(report) = self.inspection.node(node).filter(|report| report.documents > 0) else {
            return String::new();
        };
        let words: Vec<&str> = report.keywords.iter().take(5).map(|word| word.text.as_str()).collect();
        let words = if node == NodeId::ROOT { String::new() } else { words.join(" · ") };
        let line = format!(
            "{}<small>{}</small><i>{}</i>",
            Escaped(&report.label),
            grouped(report.documents),
            Escaped(&words)
        );
        let level = node.level().get();
        if level >= OUTLINE.min(self.inspection.depth().get()) {
            return format!("<li>{line}</li>\n");
        }
        let open = if level < OPEN { " open" } else { "" };
        let below = self.outline(node.left()) + &self.outline(node.right());
        format!("<li><details{open}><summary>{line}</summary><ul>\n{below}</ul></details></li>\n")
    }

    fn levels(&self) -> Figure {
        let levels = &self.inspection.levels;
        let line = |name: &str, look, of: fn(&crate::levels::LevelReport) -> f64| Series {
            name: name.to_owned(),
            look,
            points: levels.iter().map(|level| (level.level.get() as f64, of(level))).collect(),
            margins: Vec::new(),
        };
        let series = vec![
            line("balance", look(0, Marker::Disc, Stroke::Strong), |level| level.balance),
            line("balance of mass", look(2, Marker::Triangle, Stroke::Plain), |level| level.mass_balance),
            line("sharpness", look(1, Marker::Square, Stroke::Strong), |level| level.sharpness),
        ];
        let rows = levels.iter().map(|level| {
            vec![
                level.level.to_string(),
                format!("{:.3}", level.balance),
                format!("{:.3}", level.mass_balance),
                grouped(level.empty),
                format!("{:.2} %", 100.0 * level.largest),
                format!("{:.3}", level.sharpness),
                format!("{:.1}", level.spread),
            ]
        });
        Figure {
            file: "levels".to_owned(),
            heading: "Balance and sharpness".to_owned(),
            note: "Balance is 1 if all nodes of a level hold equally many documents (counted by their places, \
                   or by mass). Sharpness is the mean routing probability of a document's likeliest node; spread is over \
                   how many nodes a document is spread.",
            svg: by_level("balance and sharpness of each level", "share", series).to_svg(),
            heads: vec!["level", "balance", "of mass", "empty nodes", "fullest node", "sharpness", "spread"],
            rows: rows.collect(),
        }
    }

    fn agreement(&self, field: usize) -> Figure {
        let report = &self.inspection.fields[field];
        let points = |of: fn(&crate::clusters::Agreement) -> f64| {
            report.levels.iter().map(|level| (level.level.get() as f64, of(level))).collect::<Vec<_>>()
        };
        // The purity that a tree without any split has.
        let counts = report.classes.counts(&self.inspection.documents, NodeId::ROOT);
        let all: u32 = counts.iter().sum();
        let commonest = f64::from(counts.iter().copied().max().unwrap_or(0)) / f64::from(all.max(1));
        let line =
            |name: &str, look, points| Series { name: name.to_owned(), look, points, margins: Vec::new() };
        let series = vec![
            line("purity", look(2, Marker::Triangle, Stroke::Strong), points(|level| level.purity)),
            line("NMI", look(0, Marker::Disc, Stroke::Strong), points(|level| level.nmi)),
            line("purity of no tree", look(3, Marker::Ring, Stroke::Dotted), flat(&report.levels, commonest)),
        ];
        let rows = report.levels.iter().map(|level| {
            vec![level.level.to_string(), format!("{:.3}", level.nmi), format!("{:.3}", level.purity)]
        });
        Figure {
            file: format!("agreement-{}", field + 1),
            heading: format!("Agreement with {}", report.name),
            note: "How well the nodes of each level agree with this field of the metadata, which training never saw. \
                   Normalised mutual information is 1 for the same partition; purity is the share of documents in the \
                   commonest class of their node.",
            svg: by_level(&format!("agreement with {} at each level", report.name), "agreement", series)
                .to_svg(),
            heads: vec!["level", "NMI", "purity"],
            rows: rows.collect(),
        }
    }

    fn label(&self, node: NodeId) -> String {
        self.inspection.node(node).map_or_else(|| node.to_string(), |report| report.label.clone())
    }

    fn demand(&self) -> Option<Figure> {
        let queries = self.inspection.queries.as_ref()?;
        let all = gaps(&self.inspection.documents, queries, self.level);
        let thin = all.iter().filter(|gap| gap.gap > 0.0).take(SHOWN);
        let rich = all.iter().rev().filter(|gap| gap.gap < 0.0).take(SHOWN);
        let mut shown: Vec<&Gap> = thin.chain(rich).collect();
        shown.sort_by(|a, b| b.gap.total_cmp(&a.gap));
        let pair = |gap: &&Gap| Pair {
            name: self.label(gap.node),
            first: 100.0 * gap.documents,
            second: 100.0 * gap.queries,
        };
        let pairs = Pairs {
            name: format!("documents and queries at the nodes of level {}", self.level),
            sides: ["of all documents", "of all queries"],
            unit: " %",
            rows: shown.iter().map(pair).collect(),
        };
        Some(Figure {
            file: "demand".to_owned(),
            heading: "Where users ask".to_owned(),
            note: "The share of all queries that come by a subject beside the share of all documents. Subjects at the \
                   top are asked for more than there is to read; of those at the bottom there is more than is asked.",
            svg: pairs.to_svg(),
            heads: vec!["subject", "node", "queries", "documents", "difference", "of mass"],
            rows: shown
                .iter()
                .map(|gap| {
                    vec![
                        self.label(gap.node),
                        gap.node.to_string(),
                        percent(gap.queries),
                        percent(gap.documents),
                        format!("{:+.2}", 100.0 * gap.gap),
                        format!("{:+.2}", 100.0 * gap.mass_gap),
                    ]
                })
                .collect(),
        })
    }

    fn drifted(&self, drift: &Drift) -> Figure {
        let shown: Vec<_> = drift.nodes.iter().take(2 * SHOWN).collect();
        let pairs = Pairs {
            name: format!("earlier and later queries at the nodes of level {}", drift.level),
            sides: ["of earlier queries", "of later queries"],
            unit: " %",
            rows: shown
                .iter()
                .map(|shift| Pair {
                    name: self.label(shift.node),
                    first: 100.0 * shift.before,
                    second: 100.0 * shift.after,
                })
                .collect(),
        };
        Figure {
            file: "drift".to_owned(),
            heading: "How the questions drift".to_owned(),
            note: "The subjects whose share of all queries changed the most from the earlier queries to the later ones.",
            svg: pairs.to_svg(),
            heads: vec!["subject", "node", "earlier", "later", "difference"],
            rows: shown
                .iter()
                .map(|shift| {
                    vec![
                        self.label(shift.node),
                        shift.node.to_string(),
                        percent(shift.before),
                        percent(shift.after),
                        format!("{:+.2}", 100.0 * (shift.after - shift.before)),
                    ]
                })
                .collect(),
        }
    }
}

fn congruence(found: &TreeCongruence) -> Figure {
    let level = |level: Level| level.get() as f64;
    let by_lca = Series {
        name: "parting at the level".to_owned(),
        look: look(0, Marker::Disc, Stroke::Strong),
        points: found.levels.iter().map(|at| (level(at.level), at.cosine.mean)).collect(),
        margins: found.levels.iter().map(|at| at.cosine.half_width).collect(),
    };
    let ends = [found.levels.first(), found.levels.last()];
    let any = Series {
        name: "any two documents".to_owned(),
        look: look(3, Marker::Ring, Stroke::Dotted),
        points: ends.into_iter().flatten().map(|at| (level(at.level), found.all.mean)).collect(),
        margins: Vec::new(),
    };
    let row = |name: String, mean: &crate::congruence::Mean| {
        vec![name, format!("{:.4}", mean.mean), format!("± {:.4}", mean.half_width), grouped(mean.pairs)]
    };
    let mut rows: Vec<Vec<String>> =
        found.levels.iter().map(|at| row(at.level.to_string(), &at.cosine)).collect();
    rows.push(row("any".to_owned(), &found.all));
    Figure {
        file: "congruence".to_owned(),
        heading: "Congruence".to_owned(),
        note: "The mean cosine, in the encoder's space, of pairs of documents by the level of their lowest common \
               ancestor, with 95 % confidence intervals. In a congruent tree documents that part late are more alike; \
               the last point is pairs that share a leaf.",
        svg: by_level("mean cosine by level of the lowest common ancestor", "mean cosine", vec![by_lca, any])
            .to_svg(),
        heads: vec!["part at level", "mean cosine", "95 % interval", "pairs"],
        rows,
    }
}

fn flat(levels: &[crate::clusters::Agreement], value: f64) -> Vec<(f64, f64)> {
    let ends = [levels.first(), levels.last()];
    ends.into_iter().flatten().map(|level| (level.level.get() as f64, value)).collect()
}

fn by_level(name: &str, what: &'static str, series: Vec<Series>) -> Chart {
    Chart {
        name: name.to_owned(),
        x: Axis { label: "level", spread: Spread::Whole, unit: "" },
        y: Axis { label: what, spread: Spread::Linear, unit: "" },
        series,
    }
}

fn look(colour: usize, marker: Marker, stroke: Stroke) -> Look {
    Look { colour, marker, stroke }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}
