//! The table of the demo: the tree at every size beside what it is compared with.

use anyhow::{Context, Result};
use retreever_bench::report::{Method, Report};
use retreever_data::Measures;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// One row.
#[derive(Serialize)]
struct Row {
    method: &'static str,
    numbers: usize,
    ndcg_at_10: f64,
    recall_at_10: f64,
}

const PLANTED: &str = "Tree without training";
const TREE: &str = "Tree";

/// All rows.
#[derive(Serialize)]
pub(super) struct Table {
    documents: usize,
    questions: usize,
    rows: Vec<Row>,
}

/// A line that `retreever eval --json` prints.
#[derive(Deserialize)]
struct Level {
    size: usize,
    scores: Measures,
}

impl Table {
    /// Reads what `compare` and `eval` have written.
    pub(super) fn read(report: &Path, levels: &Path) -> Result<Self> {
        let advice = |path: &Path| {
            format!("cannot read {}: remove the demo's folder and run it again", path.display())
        };
        let text = fs::read_to_string(report).with_context(|| advice(report))?;
        let report: Report = serde_json::from_str(&text).with_context(|| advice(report))?;
        let text = fs::read_to_string(levels).with_context(|| advice(levels))?;
        let mut rows = Vec::new();
        for row in &report.rows {
            let method = match row.method {
                Method::Encoder => "Encoder",
                Method::Mlp => "Encoder+MLP",
                _ => continue,
            };
            rows.extend(row.size.map(|size| new(method, size, &row.measures)));
        }
        // The levels of the planted tree, then those of the trained one, which begin again at the smallest.
        let (mut method, mut last) = (PLANTED, 0);
        for line in text.lines() {
            let level: Level = serde_json::from_str(line).with_context(|| advice(levels))?;
            if level.size <= last {
                method = TREE;
            }
            last = level.size;
            rows.push(new(method, level.size, &level.scores));
        }
        Ok(Self { documents: report.data.documents, questions: report.data.test_queries, rows })
    }

    /// For people: full sizes first, then the tree and the encoder cut to the same sizes.
    pub(super) fn print(&self) {
        println!(
            "\n{} test questions, {} answers       numbers  nDCG@10  Recall@10",
            self.questions, self.documents
        );
        let largest = |method: &str| {
            let rows = self.rows.iter().filter(|row| row.method == method);
            rows.max_by_key(|row| row.numbers)
        };
        let full: Vec<&Row> =
            ["Encoder", "Encoder+MLP", PLANTED, TREE].into_iter().filter_map(largest).collect();
        full.iter().for_each(|row| row.print(""));
        println!("made smaller:");
        for size in [16, 64, 256] {
            let smaller = ["Encoder", TREE];
            for row in self.rows.iter().filter(|row| row.numbers == size && smaller.contains(&row.method)) {
                if !full.iter().any(|shown| std::ptr::eq(*shown, row)) {
                    row.print(if row.method == TREE { ", an upper level" } else { ", cut short" });
                }
            }
        }
    }
}

fn new(method: &'static str, numbers: usize, measures: &Measures) -> Row {
    Row { method, numbers, ndcg_at_10: measures.ndcg.at_10, recall_at_10: measures.recall.at_10 }
}

impl Row {
    fn print(&self, how: &str) {
        println!(
            "  {:<38}{:>7}{:>9.1}{:>11.1}",
            format!("{}{how}", self.method),
            self.numbers,
            100.0 * self.ndcg_at_10,
            100.0 * self.recall_at_10
        );
    }
}
