//! A comparison on a tiny data set with an encoder made up here: every piece runs, is kept, and is not run again.

mod made;

use made::{Words, write_data};
use retreever_bench::compare::{CompareConfig, Event, Frozen, Piece, compare_with};
use retreever_bench::report::{Method, Report, Row, Search};
use retreever_data::Split;
use retreever_tree::Depth;
use std::fs;
use std::time::Duration;

/// What was run and what was kept.
fn compare(config: &CompareConfig) -> (Report, Vec<Piece>, Vec<Piece>) {
    let (mut ran, mut kept) = (Vec::new(), Vec::new());
    let frozen = Frozen { encoder: Box::new(Words), cache: config.out.join("embeddings") };
    let report = compare_with(config, frozen, &mut |event| match event {
        Event::Begin(piece, ..) => ran.push(piece),
        Event::Kept(piece) => kept.push(piece),
        _ => {}
    });
    (report.unwrap(), ran, kept)
}

#[test]
fn every_piece_runs_once_and_the_report_holds_them_all() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("tiny data");
    write_data(&data);
    let config = CompareConfig {
        data,
        encoder: "minilm".into(),
        split: Split::Test,
        out: folder.path().join("report"),
        depth: Depth::new(4).unwrap(),
        budget: Duration::from_secs(1),
        ablate: Vec::new(),
        seeds: 1,
        only: vec![Piece::Bm25, Piece::Encoder],
    };
    let (_, ran, _) = compare(&config);
    assert_eq!(ran, [Piece::Bm25, Piece::Encoder]);

    // Stopped there, and started again with everything.
    let config = CompareConfig { only: Vec::new(), ..config };
    let (report, ran, kept) = compare(&config);
    assert_eq!(kept, [Piece::Bm25, Piece::Encoder]);
    assert_eq!(ran.len(), Piece::all(1, &[]).len() - 2);
    let (again, ran, _) = compare(&config);
    assert_eq!((ran, &again), (Vec::new(), &report));
    assert_eq!(Report::read(&config.out.join("results.json")).unwrap(), report);
    assert_eq!(report.data.name, "tiny data");

    let of = |method: Method, search: Search| {
        let rows: Vec<&Row> =
            report.rows.iter().filter(|row| (row.method, row.search) == (method, search)).collect();
        assert!(!rows.is_empty(), "{method:?} {search:?}");
        rows
    };
    let exact = of(Method::Encoder, Search::Exact);
    assert_eq!(exact.iter().filter_map(|row| row.size).collect::<Vec<_>>(), [2, 4, 8, 16, 32]);
    let full = exact.last().unwrap().measures;
    assert!(full.ndcg.at_10 > 0.9, "{full:?}");
    for search in [Search::Ivf, Search::Scann] {
        let rows = of(Method::Encoder, search);
        let last = rows.last().unwrap();
        assert_eq!((last.budget_permille, last.share_read), (Some(1000), 1.0));
        assert!((last.measures.ndcg.at_10 - full.ndcg.at_10).abs() < 1e-9, "reading all is exact");
        assert!(rows[0].share_read < 0.3);
    }
    of(Method::KMeansTree, Search::Leaves);
    of(Method::GmmTree, Search::Leaves);
    let trees = [Method::Tree, Method::Stochastic, Method::AllLevels];
    for method in [Method::Linear, Method::Mlp, Method::Mrl].into_iter().chain(trees) {
        let rows = of(method, Search::Exact);
        let best = rows.iter().map(|row| row.measures.ndcg.at_10).fold(0.0, f64::max);
        assert!(best > 0.5, "{method:?}: {best}");
    }
    let (exact, leaves) = (of(Method::Tree, Search::Exact), of(Method::Tree, Search::Leaves));
    assert_eq!(exact.iter().filter_map(|row| row.size).collect::<Vec<_>>(), [2, 4, 8, 16]);
    assert_eq!(leaves.last().unwrap().measures, exact.last().unwrap().measures, "all leaves are everything");
    let covers = of(Method::AllLevels, Search::Cover);
    let asked: Vec<u32> = covers.iter().map(|row| row.cover.unwrap().asked_permille).collect();
    assert_eq!(asked, [900, 950, 990]);
    assert!(covers.is_sorted_by_key(|row| row.cover.unwrap().found));
    assert!(covers[0].cover.unwrap().found > 0.7, "{:?}", covers[0].cover);

    let names: Vec<&str> = report.trees.iter().map(|tree| tree.name.as_str()).collect();
    let plain = ["2-means over Encoder", "2-means over Encoder + MLP"];
    assert_eq!(names, [plain[0], plain[1], "ReTreever", "ReTreever-Stochastic", "ReTreever, all levels"]);
    for tree in &report.trees {
        let (first, routes) = (&tree.judgement.levels[0], !plain.contains(&tree.name.as_str()));
        assert!(first.together > first.chance + 0.2, "{}: {first:?}", tree.name);
        assert_eq!((first.claims.is_some(), tree.judgement.leaves_for_90.is_some()), (routes, routes));
        assert!(tree.judgement.topics.is_some() && tree.judgement.congruence.is_some());
    }
    of(Method::Mlp, Search::Ivf);
    of(Method::Mrl, Search::Ivf);
    of(Method::Mrl, Search::Scann);
    assert!(report.rows.iter().all(|row| row.command.contains("--only ") && row.command.contains("'")));

    // An ablation is trained with its one choice changed, and told apart.
    let linear = "split=linear:0".parse().unwrap();
    let (ablated, ran, _) = compare(&CompareConfig { only: vec![linear], ..config.clone() });
    assert_eq!(
        (ran, ablated.rows.len()),
        (vec![linear], report.rows.len() + 2),
        "the others stay in the report"
    );
    assert_eq!(ablated.rows[0].variant.as_ref().unwrap().value, "linear");
    let without: Piece = "recipe=no-hidden-layer:0".parse().unwrap();
    let (ablated, ran, _) = compare(&CompareConfig { only: vec![without], ..config.clone() });
    assert_eq!(ran, [without]);
    assert!(ablated.rows.iter().any(|row| {
        row.method == Method::AllLevels
            && row.variant.as_ref().is_some_and(|variant| variant.value == "no-hidden-layer")
    }));

    for name in ["no-training", "no-keeping-less", "no-routing-temperature"] {
        let piece: Piece = format!("recipe={name}:0").parse().unwrap();
        let (ablated, ran, _) = compare(&CompareConfig { only: vec![piece], ..config.clone() });
        assert_eq!((ran, ablated.trees[0].variant.as_ref().unwrap().value.as_str()), (vec![piece], name));
    }

    // Other judgements are other work.
    fs::write(config.data.join("qrels/test.tsv"), "query-id\tcorpus-id\tscore\nq0\td0\t1\n").unwrap();
    let config = CompareConfig { only: vec![Piece::Encoder], ..config };
    let (_, ran, _) = compare(&config);
    assert_eq!(ran, [Piece::Encoder]);
}

#[test]
fn a_split_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path());
    fs::remove_file(folder.path().join("qrels/dev.tsv")).unwrap();
    let config = CompareConfig {
        data: folder.path().into(),
        encoder: "minilm".into(),
        split: Split::Dev,
        out: folder.path().join("report"),
        depth: Depth::new(4).unwrap(),
        budget: Duration::from_secs(1),
        ablate: Vec::new(),
        seeds: 1,
        only: Vec::new(),
    };
    let frozen = Frozen { encoder: Box::new(Words), cache: folder.path().join("embeddings") };
    let error = compare_with(&config, frozen, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("`dev`") && error.contains("test"), "{error}");
}
