//! A comparison on a tiny data set with an encoder made up here: every piece runs, is kept, and is not run again.

use retreever_bench::compare::{CompareConfig, Event, Frozen, Piece, compare_with};
use retreever_bench::report::{Method, Report, Row, Search};
use retreever_data::{Ragged, Split};
use retreever_encoder::{Encoder, EncoderError, Fingerprint, Role};
use retreever_tree::Depth;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::Duration;

const WIDTH: usize = 32;

/// A word is a direction that its letters decide; a text is the mean of its words.
struct Words;

impl Encoder for Words {
    fn width(&self) -> usize {
        WIDTH
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&[b"words"])
    }

    fn encode(&self, texts: &[&str], _: Role, batch: &mut Ragged) -> Result<(), EncoderError> {
        batch.clear();
        for text in texts {
            let tokens: Vec<f32> = text.split_whitespace().flat_map(direction).collect();
            let mut pooled = vec![0.0; WIDTH];
            for token in tokens.chunks_exact(WIDTH) {
                pooled.iter_mut().zip(token).for_each(|(sum, x)| *sum += x);
            }
            let norm = pooled.iter().map(|x| x * x).sum::<f32>().sqrt();
            pooled.iter_mut().for_each(|x| *x /= norm);
            batch.push(&tokens, &pooled);
        }
        Ok(())
    }
}

fn direction(word: &str) -> impl Iterator<Item = f32> {
    (0..WIDTH).map(move |column| {
        let mut hasher = DefaultHasher::new();
        (word, column).hash(&mut hasher);
        (hasher.finish() % 1000) as f32 / 500.0 - 1.0
    })
}

/// Document `i` is about topic `i % 12`; every query repeats some words of one document. Queries of documents 0, 5, 10
/// ... are tested, the others trained and validated on.
fn write_data(folder: &Path) {
    let (mut corpus, mut queries) = (String::new(), String::new());
    let mut qrels =
        ["test", "train", "dev"].map(|split| (split, String::from("query-id\tcorpus-id\tscore\n")));
    for i in 0..240 {
        let topic = i % 12;
        let text = format!("topic{topic} about{topic} own{i} rare{i} word{}", i % 7);
        corpus += &format!("{{\"_id\":\"d{i}\",\"text\":\"{text}\"}}\n");
        queries += &format!("{{\"_id\":\"q{i}\",\"text\":\"topic{topic} rare{i} own{i}\"}}\n");
        let split = match i % 5 {
            0 => 0,
            4 => 2,
            _ => 1,
        };
        qrels[split].1 += &format!("q{i}\td{i}\t1\n");
    }
    fs::create_dir_all(folder.join("qrels")).unwrap();
    fs::write(folder.join("corpus.jsonl"), corpus).unwrap();
    fs::write(folder.join("queries.jsonl"), queries).unwrap();
    for (split, qrels) in qrels {
        fs::write(folder.join(format!("qrels/{split}.tsv")), qrels).unwrap();
    }
}

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
    of(Method::Mlp, Search::Ivf);
    of(Method::Mrl, Search::Ivf);
    of(Method::Mrl, Search::Scann);
    assert!(report.rows.iter().all(|row| row.command.contains("--only ") && row.command.contains("'")));

    // An ablation is trained with its one choice changed, and told apart.
    let linear = "split=linear:0".parse().unwrap();
    let (ablated, ran, _) = compare(&CompareConfig { only: vec![linear], ..config.clone() });
    assert_eq!(
        (ran, ablated.rows.len()),
        (vec![linear], report.rows.len() + 1),
        "the others stay in the report"
    );
    assert_eq!(ablated.rows[0].variant.as_ref().unwrap().value, "linear");
    let without: Piece = "recipe=no-trunk:0".parse().unwrap();
    let (ablated, ran, _) = compare(&CompareConfig { only: vec![without], ..config.clone() });
    assert_eq!(ran, [without]);
    assert!(ablated.rows.iter().any(|row| {
        row.method == Method::AllLevels
            && row.variant.as_ref().is_some_and(|variant| variant.value == "no-trunk")
    }));

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
