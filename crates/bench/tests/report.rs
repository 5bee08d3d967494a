//! The page of a report with made-up numbers: well-formed, escaped, complete, and the same as its `results.json`.
//!
//! The page is left in the target folder, to be looked at.

use retreever_bench::report::{
    Ablation, Cover, DataFacts, FORMAT, JudgedTree, Method, Report, Row, Search, Summaries, Variant,
};
use retreever_data::{AtRanks, Measures};
use retreever_inspect::judgement::{Claims, FieldJudgement, Judgement, LevelJudgement};
use retreever_tree::Depth;
use std::path::Path;

fn row(method: Method, search: Search, size: Option<usize>, ndcg: f64) -> Row {
    let at = |factor: f64| (ndcg * factor).min(1.0);
    Row {
        method,
        search,
        size,
        budget_permille: None,
        cover: None,
        seed: 0,
        variant: None,
        measures: Measures {
            ndcg: AtRanks { at_1: at(0.7), at_5: at(0.95), at_10: ndcg, at_100: at(1.15) },
            recall: AtRanks { at_1: at(0.6), at_5: at(1.0), at_10: at(1.3), at_100: at(1.9) },
            mrr_at_10: at(0.92),
            map: at(0.9),
        },
        share_read: 1.0,
        latency_ms: 0.15 + size.unwrap_or(300) as f64 / 250.0,
        batched_ms: 0.02 + size.unwrap_or(300) as f64 / 4000.0,
        build_seconds: if method.is_ours() { 300.0 } else { 2.0 },
        command: format!("retreever compare --data insuranceqa --encoder minilm --only {search:?} --seed 0"),
    }
}

/// Numbers with the shape of real ones.
fn made_up() -> Report {
    let mut rows = vec![
        row(Method::Bm25, Search::Exact, None, 0.271),
        row(Method::Linear, Search::Exact, Some(384), 0.371),
        row(Method::Mlp, Search::Exact, Some(384), 0.382),
        row(Method::Raptor(Summaries::Extractive), Search::Exact, Some(384), 0.334),
    ];
    for (method, peak, knee, sizes) in [
        (Method::Encoder, 0.352, 5.5, 1..=8),
        (Method::Mrl, 0.376, 4.2, 1..=8),
        (Method::Tree, 0.398, 4.6, 1..=10),
        (Method::Stochastic, 0.38, 3.9, 1..=10),
        (Method::AllLevels, 0.389, 3.6, 1..=10),
    ] {
        for seed in 0..3 {
            for level in sizes.clone() {
                let ndcg = peak / (1.0 + (-(f64::from(level) - knee) * 1.1).exp()) + 0.002 * seed as f64;
                rows.push(Row { seed, ..row(method, Search::Exact, Some(1 << level), ndcg) });
            }
        }
    }
    rows.push(row(Method::Encoder, Search::Exact, Some(384), 0.361));
    rows.push(row(Method::Mrl, Search::Exact, Some(384), 0.379));
    for (method, search, peak, ease) in [
        (Method::Tree, Search::Leaves, 0.398, 0.6),
        (Method::Stochastic, Search::Leaves, 0.38, 0.9),
        (Method::AllLevels, Search::Leaves, 0.389, 0.8),
        (Method::Encoder, Search::Ivf, 0.361, 1.0),
        (Method::Encoder, Search::Scann, 0.36, 1.1),
        (Method::Encoder, Search::Hnsw, 0.361, 0.3),
        (Method::Mrl, Search::Ivf, 0.379, 0.9),
        (Method::Mrl, Search::Scann, 0.378, 1.0),
        (Method::KMeansTree, Search::Leaves, 0.361, 1.5),
        (Method::GmmTree, Search::Leaves, 0.361, 2.6),
    ] {
        for permille in [5, 10, 20, 50, 100, 200, 500, 1000] {
            let read = f64::from(permille) / 1000.0;
            let ndcg = peak * (read / (read + 0.02 * ease)).sqrt();
            rows.push(Row {
                budget_permille: Some(permille),
                share_read: read,
                latency_ms: 0.05 + read,
                ..row(method, search, Some(384), ndcg)
            });
        }
    }
    rows.push(Row {
        cover: Some(Cover { asked_permille: 900, found: 0.89 }),
        ..row(Method::AllLevels, Search::Cover, Some(1024), 0.38)
    });
    for (ablation, values) in [
        (Ablation::Split, vec!["linear", "MLP", "cross-attention <&>"]),
        (Ablation::Heads, vec!["16", "4", "8"]),
    ] {
        for (index, value) in values.into_iter().enumerate() {
            let variant = Some(Variant { ablation, value: value.into() });
            rows.push(Row {
                variant,
                ..row(Method::Tree, Search::Exact, Some(1024), 0.36 + 0.01 * index as f64)
            });
        }
    }
    Report {
        format: FORMAT,
        data: DataFacts {
            name: "InsuranceQA <made-up & \"quoted\">".into(),
            documents: 27_413,
            training_pairs: 21_325,
            test_queries: 2_000,
        },
        encoder: "all-MiniLM-L6-v2".into(),
        width: 384,
        machine: "2 threads of an unnamed machine".into(),
        command: "retreever compare --data insuranceqa --out 'a & b'".into(),
        rows,
        trees: vec![
            tree("ReTreever <&>", 0.4),
            tree("ReTreever <&>", 0.5),
            tree("2-means over Encoder", 0.3),
        ],
    }
}

/// A tree with two levels.
fn tree(name: &str, together: f64) -> JudgedTree {
    let claims =
        (name != "2-means over Encoder").then_some(Claims { claimed: 0.6, found: 0.55, error: 0.05 });
    let level = |level| LevelJudgement {
        level: Depth::new(2).unwrap().level(level).unwrap(),
        together,
        chance: 0.125,
        claims,
        fields: vec![FieldJudgement { name: "<kind>".into(), nmi: 0.25, purity: 0.75 }],
    };
    JudgedTree {
        name: name.into(),
        variant: None,
        seed: 0,
        judgement: Judgement {
            levels: vec![level(1), level(2)],
            leaves_for_90: claims.map(|_| 3.5),
            topics: None,
            congruence: None,
        },
        command: "retreever compare --only 'a & b'".into(),
    }
}

/// Every tag is closed in order, attributes are quoted, and nothing stands unescaped.
fn check_markup(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("a document type");
    while let Some(start) = rest.find('<') {
        let (text, tagged) = rest.split_at(start);
        assert!(!text.contains('>'), "unescaped in {text:?}");
        for (at, _) in text.match_indices('&') {
            let entity = &text[at..text.len().min(at + 6)];
            let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
            assert!(known.iter().any(|name| entity.starts_with(name)), "unescaped in {text:?}");
        }
        let end = tagged.find('>').expect("a tag that ends");
        let tag = &tagged[1..end];
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in order");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().expect("a name"));
        }
        rest = &tagged[end + 1..];
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn the_page_is_well_formed_and_escaped() {
    let html = made_up().to_html();
    check_markup(&html);
    assert!(html.contains("InsuranceQA &lt;made-up &amp; &quot;quoted&quot;&gt;"));
    assert!(html.contains("cross-attention &lt;&amp;&gt;"));
    assert!(!html.contains("NaN") && !html.contains("://"));
}

#[test]
fn the_page_shows_every_part() {
    let html = made_up().to_html();
    for heading in [
        "Hierarchical methods",
        "Representations",
        "Coarse to fine",
        "What a smaller size keeps",
        "Approximate search",
        "Latency",
        "Cover",
        "Trees as trees",
        "calibration error",
        "NMI with &lt;kind&gt;",
        "<td>45.0</td>",
        "Split function",
        "Attention heads",
        "RAPTOR (extractive summaries)",
    ] {
        assert!(html.contains(heading), "{heading}");
    }
    assert!(!html.contains("Depth of the tree"), "an ablation that was not asked for");
    assert!(html.contains("prefers-color-scheme: dark"));
    assert_eq!(html.matches("<svg").count(), 4);
}

#[test]
fn a_report_with_nothing_in_it_is_a_page_too() {
    check_markup(&Report { rows: Vec::new(), trees: Vec::new(), ..made_up() }.to_html());
    let one = Report { rows: vec![row(Method::Tree, Search::Exact, Some(2), 0.0)], ..made_up() };
    check_markup(&one.to_html());
    assert!(!one.to_html().contains("NaN"));
}

#[test]
fn what_is_written_is_read_again() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    let report = made_up();
    report.write(&folder).unwrap();
    assert_eq!(Report::read(&folder.join("results.json")).unwrap(), report);
    let html = std::fs::read_to_string(folder.join("index.html")).unwrap();
    assert_eq!(html, report.to_html());
    let newer = Report { format: FORMAT + 1, ..report };
    newer.write(&folder.join("newer")).unwrap();
    let error = Report::read(&folder.join("newer").join("results.json")).unwrap_err().to_string();
    assert!(error.contains(&format!("format {}", FORMAT + 1)), "{error}");
}

#[test]
fn the_best_of_each_method_is_a_mean_over_seeds() {
    let best = made_up().best();
    let of = |name: &str| best.iter().find(|best| best.name == name).expect("a line of that name");
    let tree = of("ReTreever, all levels, exact").ndcg;
    assert!((tree.spread.expect("three seeds") - 0.002).abs() < 1e-9);
    assert!(
        (of("ReTreever (8), exact").ndcg.mean - 0.38).abs() < 1e-9
            && of("ReTreever (4), exact").ndcg.spread.is_none()
    );
    assert_eq!(best.iter().filter(|best| best.name.starts_with("ReTreever (")).count(), 6);
}
