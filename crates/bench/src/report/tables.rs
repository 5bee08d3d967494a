//! The tables of the paper as views of the rows.

use super::pooled::{Pooled, Stat, full};
use super::row::{Ablation, Method, Row, Search, Summaries};
use retreever_figures::{Escaped, grouped, milliseconds};
use std::fmt::Write;

/// A number that a table compares.
struct Column {
    heading: &'static str,
    of: fn(&Row) -> f64,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A measure from 0 to 1, written in hundredths; the largest is the best.
    Measure,
    /// The smallest is the best.
    Milliseconds,
    /// No best.
    Share,
    /// No best.
    Seconds,
}

const NDCG: Column = Column { heading: "nDCG@10", of: |row| row.measures.ndcg.at_10, form: Form::Measure };
const RECALL: Column =
    Column { heading: "Recall@10", of: |row| row.measures.recall.at_10, form: Form::Measure };
const MRR: Column = Column { heading: "MRR@10", of: |row| row.measures.mrr_at_10, form: Form::Measure };
const RECALL_100: Column =
    Column { heading: "Recall@100", of: |row| row.measures.recall.at_100, form: Form::Measure };
const LATENCY: Column =
    Column { heading: "ms/query, alone", of: |row| row.latency_ms, form: Form::Milliseconds };
const BATCHED: Column =
    Column { heading: "ms/query, batched", of: |row| row.batched_ms, form: Form::Milliseconds };
const READ: Column = Column { heading: "read", of: |row| row.share_read, form: Form::Share };
const FOUND: Column =
    Column { heading: "found", of: |row| row.cover.map_or(0.0, |cover| cover.found), form: Form::Share };
const BUILD: Column = Column { heading: "build (s)", of: |row| row.build_seconds, form: Form::Seconds };

/// Table 1: latency and quality of the hierarchical methods.
pub(super) fn hierarchical(pooled: &[Pooled<'_>]) -> String {
    let methods = [
        Method::Raptor(Summaries::Extractive),
        Method::Raptor(Summaries::LanguageModel),
        Method::KMeansTree,
        Method::GmmTree,
        Method::Stochastic,
        Method::AllLevels,
        Method::Tree,
    ];
    let chosen: Vec<&Pooled<'_>> =
        methods.into_iter().filter_map(|method| hierarchical_row(pooled, method)).collect();
    let name = |group: &Pooled<'_>| group.key.method.name().to_owned();
    table(&chosen, "method", &name, &[NDCG, RECALL, READ, LATENCY, BATCHED, BUILD])
}

/// Of a method that opens leaves, the search within the budget of the table; of one that does not, all of it.
fn hierarchical_row<'p, 'a>(pooled: &'p [Pooled<'a>], method: Method) -> Option<&'p Pooled<'a>> {
    let by_leaves = pooled.iter().filter(|group| {
        let key = &group.key;
        key.method == method && key.search == Search::Leaves && key.variant.is_none()
    });
    by_leaves
        .min_by_key(|group| group.key.budget_permille.map_or(u32::MAX, |p| p.abs_diff(TABLE_PERMILLE)))
        .or_else(|| full(pooled, method))
}

/// The budget of Table 1: a tenth of the corpus.
pub(crate) const TABLE_PERMILLE: u32 = 100;

/// Tables 2 and 5: quality of every representation at its full size, reading everything.
pub(super) fn representations(pooled: &[Pooled<'_>]) -> String {
    let methods = [
        Method::Bm25,
        Method::Encoder,
        Method::Linear,
        Method::Mlp,
        Method::Mrl,
        Method::Stochastic,
        Method::AllLevels,
        Method::Tree,
    ];
    let chosen: Vec<&Pooled<'_>> = methods.into_iter().filter_map(|method| full(pooled, method)).collect();
    let name = |group: &Pooled<'_>| group.key.method.name().to_owned();
    table(&chosen, "method", &name, &[RECALL, NDCG, MRR, RECALL_100, LATENCY, BATCHED, BUILD])
}

/// Searches that read no more than leaves which cover the answer with a given chance: what was asked for and what was found.
pub(super) fn cover(pooled: &[Pooled<'_>]) -> Option<String> {
    let of = |group: &&Pooled<'_>| group.key.search == Search::Cover && group.key.variant.is_none();
    let chosen: Vec<&Pooled<'_>> = pooled.iter().filter(of).collect();
    let name = |group: &Pooled<'_>| {
        let asked = group.key.cover_permille.map_or(0.0, |asked| f64::from(asked) / 10.0);
        format!("{}, {asked} %", group.key.method.name())
    };
    (!chosen.is_empty()).then(|| table(&chosen, "asked for", &name, &[FOUND, READ, NDCG, RECALL, LATENCY]))
}

/// One table for an ablation; nothing if it was not asked for.
pub(super) fn ablation(pooled: &[Pooled<'_>], ablation: Ablation) -> Option<String> {
    let of =
        |group: &&Pooled<'_>| group.key.variant.as_ref().is_some_and(|variant| variant.ablation == ablation);
    let mut chosen: Vec<&Pooled<'_>> = pooled.iter().filter(of).collect();
    let value = |group: &Pooled<'_>| {
        let variant = group.key.variant.as_ref().map(|variant| variant.value.clone());
        let search = if group.key.search == Search::Exact { "" } else { ", leaf search" };
        variant.unwrap_or_default() + search
    };
    // Numbers in their order, names in theirs.
    chosen.sort_by(|a, b| {
        let number = |group: &Pooled<'_>| value(group).parse::<f64>().unwrap_or(f64::INFINITY);
        number(a).total_cmp(&number(b)).then_with(|| value(a).cmp(&value(b)))
    });
    let columns = [RECALL, NDCG, READ, LATENCY, BUILD];
    (!chosen.is_empty()).then(|| table(&chosen, ablation.name(), &value, &columns))
}

/// Every row, with its command.
pub(super) fn everything(rows: &[Row]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table class=\"all\"><thead><tr><th>method</th><th>search</th><th>size</th>\
         <th>budget</th><th>seed</th><th>nDCG@10</th><th>Recall@10</th><th>read</th><th>ms alone</th>\
         <th>command</th></tr></thead><tbody>\n",
    );
    for row in rows {
        let size = row.size.map_or("–".into(), grouped);
        let budget = row.budget_permille.map_or("–".into(), |p| format!("{} %", f64::from(p) / 10.0));
        let variant = row.variant.as_ref().map(|variant| format!(" ({})", variant.value)).unwrap_or_default();
        let _ = writeln!(
            html,
            "<tr><th>{}{}</th><td>{}</td><td>{size}</td><td>{budget}</td><td>{}</td><td>{:.2}</td>\
             <td>{:.2}</td><td>{:.1} %</td><td>{}</td><td class=\"left\"><code>{}</code></td></tr>",
            row.method.name(),
            Escaped(&variant),
            row.search.name(),
            row.seed,
            100.0 * row.measures.ndcg.at_10,
            100.0 * row.measures.recall.at_10,
            100.0 * row.share_read,
            milliseconds(row.latency_ms),
            Escaped(&row.command)
        );
    }
    html.push_str("</tbody></table></div>\n");
    html
}

fn table(
    groups: &[&Pooled<'_>],
    first: &str,
    name: &dyn Fn(&Pooled<'_>) -> String,
    columns: &[Column],
) -> String {
    let mut html =
        format!("<div class=\"scroll\"><table><thead><tr><th>{}</th><th>size</th>", Escaped(first));
    for column in columns {
        let _ = write!(html, "<th>{}</th>", column.heading);
    }
    html.push_str("</tr></thead><tbody>\n");
    let stats: Vec<Vec<Stat>> =
        columns.iter().map(|column| groups.iter().map(|group| group.stat(column.of)).collect()).collect();
    for (row, group) in groups.iter().enumerate() {
        let ours =
            if group.key.method.is_ours() && group.key.variant.is_none() { " class=\"ours\"" } else { "" };
        let command = group.rows.first().map(|row| row.command.as_str()).unwrap_or_default();
        let _ = write!(
            html,
            "<tr{ours}><th><details><summary>{}</summary><code>{}</code></details></th><td>{}</td>",
            Escaped(&name(group)),
            Escaped(command),
            group.key.size.map_or("–".into(), grouped)
        );
        for (column, stats) in columns.iter().zip(&stats) {
            let written = cell(column.form, stats[row]);
            let best = is_best(column.form, stats, row);
            let class = if best { " class=\"best\"" } else { "" };
            let _ = write!(html, "<td{class}>{written}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    html
}

fn cell(form: Form, Stat { mean, spread }: Stat) -> String {
    match form {
        Form::Measure => {
            let spread =
                spread.map(|spread| format!("<span class=\"spread\"> ± {:.2}</span>", 100.0 * spread));
            format!("{:.2}{}", 100.0 * mean, spread.unwrap_or_default())
        }
        Form::Milliseconds => milliseconds(mean),
        Form::Share => format!("{:.1} %", 100.0 * mean),
        Form::Seconds => format!("{mean:.0}"),
    }
}

fn is_best(form: Form, stats: &[Stat], row: usize) -> bool {
    let best = |better: fn(f64, f64) -> bool| {
        stats.len() > 1 && stats.iter().all(|other| !better(other.mean, stats[row].mean))
    };
    match form {
        Form::Measure => best(|a, b| a > b),
        Form::Milliseconds => best(|a, b| a < b),
        Form::Share | Form::Seconds => false,
    }
}
