//! The page: what was compared, the headline numbers, tables, figures, and every row.

use super::figures::{self, kept};
use super::pooled::{Pooled, full, pool};
use super::row::{Ablation, Method, Search};
use super::{DataFacts, JudgedTree, Report};
use super::{tables, trees};
use retreever_figures::{Escaped, Page, grouped};

/// The whole page.
pub(super) fn render(report: &Report) -> String {
    let pooled = pool(&report.rows);
    let DataFacts { name, documents, training_pairs, test_queries } = &report.data;
    let mut page =
        Page::new(&format!("ReTreever on {name}"), &format!("ReTreever beside its baselines: {name}"));
    page.facts(&format!(
        "{} documents, {} training pairs, {} test queries. Frozen encoder: {}, {} numbers. Measured on {}.",
        grouped(*documents),
        grouped(*training_pairs),
        grouped(*test_queries),
        report.encoder,
        grouped(report.width),
        report.machine,
    ));
    page.tiles(&tiles(&pooled));
    page.section("Hierarchical methods", HIERARCHICAL);
    page.html(&tables::hierarchical(&pooled));
    page.section("Representations", REPRESENTATIONS);
    page.html(&tables::representations(&pooled));
    for (heading, note, svg) in [
        ("Coarse to fine", COARSE_TO_FINE, figures::coarse_to_fine(&pooled).to_svg()),
        ("What a smaller size keeps", SHARE_OF_PEAK, figures::share_of_peak(&pooled).to_svg()),
        ("Approximate search", APPROXIMATE, figures::approximate(&pooled).to_svg()),
        ("Latency", LATENCY, figures::latency(&pooled).to_svg()),
    ] {
        page.section(heading, note);
        page.figure(&svg);
    }
    if let Some(table) = tables::cover(&pooled) {
        page.section("Cover", COVER);
        page.html(&table);
    }
    if let Some(tables) = trees::tables(report.trees.iter().filter(|tree| tree.variant.is_none())) {
        page.section("Trees as trees", TREES);
        page.html(&tables);
    }
    let ablations: Vec<(Ablation, String)> = Ablation::ALL
        .into_iter()
        .filter_map(|ablation| Some((ablation, tables::ablation(&pooled, ablation)?)))
        .collect();
    if !ablations.is_empty() {
        page.section("Ablations", ABLATIONS);
        for (ablation, table) in ablations {
            page.subsection(ablation.name());
            page.html(&table);
            let of = |tree: &&JudgedTree| {
                tree.variant.as_ref().is_some_and(|variant| variant.ablation == ablation)
            };
            if let Some(tables) = trees::tables(report.trees.iter().filter(of)) {
                page.html(&tables);
            }
        }
    }
    page.html(&format!(
        "<h2>Every row</h2>\n<details class=\"rows\"><summary>{} rows, each with the command that makes it \
         again</summary>\n{}</details>\n",
        grouped(report.rows.len()),
        tables::everything(&report.rows),
    ));
    page.finish(&format!(
        "Made by <code>{}</code>; the same numbers are in <a href=\"results.json\">results.json</a>.",
        Escaped(&report.command)
    ))
}

const HIERARCHICAL: &str = "Table 1 of the paper: quality and time of the methods that organise the corpus in a tree. \
    Those that open leaves read about a tenth of the corpus; RAPTOR and rows that read 100 % score everything. Times are \
    from a query's embedding to its ranking. Open a name for the command of its row.";
const REPRESENTATIONS: &str = "Tables 2 and 5 of the paper: every method at its full size, every document scored. \
    Measures are in hundredths, with the standard deviation over seeds where there are several; the best is bold.";
const COARSE_TO_FINE: &str =
    "One trained model at every size: a level of the tree, or the first numbers of an embedding.";
const SHARE_OF_PEAK: &str =
    "nDCG@10 at a quarter and at an eighth of the full size, as a share of the method's best.";
const APPROXIMATE: &str = "Quality when a query may read only part of the corpus: the nearest leaves of a tree, or \
    the nearest lists of an inverted index. Further left is cheaper.";
const LATENCY: &str = "Exact search for one query at a time, by the size of the representation.";
const COVER: &str = "Leaves are opened until the answer is in them with the chance that was asked for, by the curve that was \
    measured on held-out pairs. Found is the share of judged pairs whose document was in the opened leaves.";
const TREES: &str = "How often a query and the document that answers it are in the same node of a level, beside how often \
    they would be if paired at random; and of trees that route, how likely they claim a query's best node to be, how \
    often the document is under it, and the calibration error. The 64 nodes of level 6 are judged as topics by their ten top words. \
    All in hundredths. Hierarchical 2-means is a plain tree without training, over two spaces.";
const ABLATIONS: &str = "Tables 3, 4, 6, 7 and 9 of the paper, those that were asked for: one choice changed, the rest as \
    in ReTreever. Of the recipe: one ingredient left out, the rest as in ReTreever trained at all levels; leaf search reads \
    a tenth of the corpus.";

/// The numbers to take away, where the rows have them.
fn tiles(pooled: &[Pooled<'_>]) -> Vec<(String, String)> {
    let mut tiles: Vec<(String, String)> = Vec::new();
    let best = [Method::Tree, Method::Stochastic, Method::AllLevels]
        .into_iter()
        .filter_map(|method| full(pooled, method))
        .max_by(|a, b| a.ndcg().total_cmp(&b.ndcg()));
    if let Some(tree) = best {
        let beside = full(pooled, Method::Encoder).map_or_else(String::new, |encoder| {
            format!("; the encoder alone: {:.1}", 100.0 * encoder.ndcg())
        });
        let name = tree.key.method.name();
        tiles.push((format!("{:.1}", 100.0 * tree.ndcg()), format!("nDCG@10 of {name}{beside}")));
    }
    if let Some(share) = kept(pooled, Method::AllLevels, 8) {
        let text = "of its best nDCG@10 kept by ReTreever (all levels) at an eighth of the size".into();
        tiles.push((format!("{:.0} %", 100.0 * share), text));
    }
    if let Some((kept, read)) = leaf_search(pooled) {
        let text =
            format!("of exact nDCG@10 kept by leaf search reading {:.0} % of the corpus", 100.0 * read);
        tiles.push((format!("{:.0} %", 100.0 * kept), text));
    }
    tiles
}

/// What the tree's leaf search keeps of its exact nDCG@10 near a fifth of the corpus, and what it read.
fn leaf_search(pooled: &[Pooled<'_>]) -> Option<(f64, f64)> {
    let exact = full(pooled, Method::Tree)?.ndcg();
    let read = |group: &Pooled<'_>| group.stat(|row| row.share_read).mean;
    let near = pooled
        .iter()
        .filter(|group| group.key.method == Method::Tree && group.key.search == Search::Leaves)
        .filter(|group| group.key.variant.is_none())
        .min_by(|a, b| (read(a) - 0.2).abs().total_cmp(&(read(b) - 0.2).abs()))?;
    (exact > 0.0).then(|| (near.ndcg() / exact, read(near)))
}
