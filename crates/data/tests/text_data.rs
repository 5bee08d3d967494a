//! Text data in every format: what is there is read, and what is broken is named by file and line.

use proptest::prelude::*;
use retreever_data::formats::judgements::{self, Known};
use retreever_data::formats::{beir, runs};
use retreever_data::{BadLines, Dataset, Document, Error, Kind, Qrels, Query, Split, kind, open};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn of(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.put(name, text.as_bytes());
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn open(&self) -> Result<Dataset, Error> {
        open(self.0.path(), BadLines::Stop)
    }

    /// The error of opening the folder, without its own path.
    fn refused(&self) -> String {
        self.said(&self.open().unwrap_err())
    }

    fn said(&self, error: &Error) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

const CORPUS: &str = "{\"_id\": \"a\", \"title\": \"On rain\", \"text\": \"It falls.\", \"metadata\": {\"year\": 1999}}\n\
                      {\"_id\": 7, \"text\": \"No title\", \"lang\": \"en\"}\n";
const QUERIES: &str = "{\"_id\": \"q\", \"text\": \"what falls?\"}\n";
const QRELS: &str = "query-id\tcorpus-id\tscore\nq\ta\t2\nq\t7\t0\n";

fn small() -> Folder {
    Folder::of(&[("corpus.jsonl", CORPUS), ("queries.jsonl", QUERIES), ("qrels/test.tsv", QRELS)])
}

#[test]
fn a_beir_folder_is_read_and_written() {
    let folder = small();
    let dataset = folder.open().unwrap();
    let [rain, untitled] = dataset.corpus.items() else { panic!() };
    assert_eq!((&rain.encoded()[..], &rain.metadata["year"]), ("On rain It falls.", &1999.into()));
    assert_eq!(
        (&untitled.id[..], &untitled.encoded()[..], &untitled.metadata["lang"]),
        ("7", "No title", &"en".into())
    );
    let qrels = &dataset.qrels[&Split::Test];
    assert_eq!((qrels.grade("q", "a"), qrels.judgements(), dataset.pairs(&Split::Test).len()), (2, 2, 1));

    let copy = folder.path("copy");
    beir::write(&dataset, &copy).unwrap();
    assert_eq!(open(&copy, BadLines::Stop).unwrap(), dataset);
    let error = beir::write(&dataset, &copy).unwrap_err();
    assert_eq!(folder.said(&error), "copy: is there already; remove it or choose another folder");
}

#[test]
fn broken_beir_folders_are_named() {
    let cases: [(&str, &str, &str); 14] = [
        ("corpus.jsonl", "", "corpus.jsonl: there is no document in it"),
        ("corpus.jsonl", "[1]\n", "corpus.jsonl, line 1: not a JSON object"),
        ("corpus.jsonl", "\n{\"text\": \"x\"}\n", "corpus.jsonl, line 2: there is no `_id`"),
        ("corpus.jsonl", "{\"_id\": \"a\"}\n", "corpus.jsonl, line 1: there is no `text`"),
        (
            "corpus.jsonl",
            "{\"_id\": \"a\", \"text\": 3}\n",
            "corpus.jsonl, line 1: `text` is a number, expected a text",
        ),
        (
            "corpus.jsonl",
            "{\"_id\": \"a\", \"text\": \" \"}\n",
            "corpus.jsonl, line 1: the document `a` has neither text nor title",
        ),
        ("corpus.jsonl", "{\"_id\": \"\", \"text\": \"x\"}\n", "corpus.jsonl, line 1: the id is empty"),
        (
            "queries.jsonl",
            "{\"_id\": \"q\", \"text\": \"\"}\n",
            "queries.jsonl, line 1: the query `q` is empty",
        ),
        (
            "qrels/test.tsv",
            "q\ta\n",
            "qrels/test.tsv, line 1: expected `query 0 document grade` between blanks (or BEIR's three fields between tabs)",
        ),
        (
            "qrels/test.tsv",
            "query-id\tcorpus-id\tscore\nq\ta\tx\n",
            "qrels/test.tsv, line 2: the grade `x` is not a whole number",
        ),
        ("qrels/test.tsv", "q\tb\t1\n", "qrels/test.tsv, line 1: the document `b` is not in the corpus"),
        ("qrels/test.tsv", "r\ta\t1\n", "qrels/test.tsv, line 1: the query `r` is not among the queries"),
        (
            "qrels/test.tsv",
            "q\ta\t1\n\nq\ta\t1\n",
            "qrels/test.tsv, line 3: `q` and `a` are already judged in line 1",
        ),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "qrels/test.tsv: there is no judgement in it"),
    ];
    for (file, text, expected) in cases {
        let folder = small();
        folder.put(file, text.as_bytes());
        assert_eq!(folder.refused(), expected);
    }
    let folder = small();
    folder.put("corpus.jsonl", format!("{CORPUS}\n{}", CORPUS.lines().next().unwrap()).as_bytes());
    assert_eq!(
        folder.refused(),
        "corpus.jsonl, line 4: the id of the document `a` is taken in corpus.jsonl, line 1; ids must be unique"
    );
    folder.put("corpus.jsonl", b"{\"_id\": \"a\", \"text\": \"\xff\"}\n");
    assert_eq!(folder.refused(), "corpus.jsonl, line 1: invalid UTF-8 at byte 23 of the line");
    folder.put("corpus.jsonl", b"{\"_id\": \"a\", \n");
    assert!(folder.refused().starts_with("corpus.jsonl, line 1: not JSON: "));
    let folder = small();
    folder.put("qrels/dev.tsv", QRELS.as_bytes());
    folder.put("qrels/valid.tsv", QRELS.as_bytes());
    assert!(folder.refused().ends_with("another file is the split `dev` too; keep one of them"));
}

#[test]
fn bad_lines_are_skipped_and_counted_on_request() {
    let folder = small();
    folder.put("corpus.jsonl", format!("nonsense\n{CORPUS}").as_bytes());
    folder.put("qrels/test.tsv", format!("{QRELS}q\tnone\t1\n").as_bytes());
    let dataset = open(folder.0.path(), BadLines::Skip).unwrap();
    assert_eq!((dataset.corpus.len(), dataset.skipped.lines), (2, 2));
    assert!(dataset.skipped.first[0].contains("corpus.jsonl, line 1: not JSON"));
    assert!(dataset.skipped.first[1].contains("qrels/test.tsv, line 4: the document `none`"));
}

#[test]
fn text_pairs_become_a_training_split() {
    let folder = Folder::of(&[(
        "pairs.jsonl",
        "{\"query\": \"one\", \"positive\": \"1\", \"negative\": [\"2\", \"3\"]}\n\
         {\"anchor\": \"two\", \"positive\": [\"2\", \"II\"]}\n{\"query\": \"one\", \"positive\": \"I\"}\n",
    )]);
    let path = folder.path("pairs.jsonl");
    assert_eq!(kind(&path).unwrap(), Kind::TextPairs);
    let dataset = open(&path, BadLines::Stop).unwrap();
    let texts: Vec<&str> = dataset.corpus.items().iter().map(|document| &document.text[..]).collect();
    assert_eq!((texts, dataset.queries.len()), (vec!["1", "2", "3", "II", "I"], 2));
    let expected = [("q0", "d0", 1), ("q1", "d1", 1), ("q1", "d3", 1), ("q0", "d4", 1)];
    assert_eq!(dataset.qrels[&Split::Train], expected.into_iter().collect::<Qrels>());

    for (line, reason) in [
        ("{\"query\": \"x\"}", "pairs.jsonl, line 4: there is no `positive`"),
        ("{\"positive\": \"x\"}", "pairs.jsonl, line 4: there is neither `query` nor `anchor`"),
        ("{\"query\": \"\", \"positive\": \"x\"}", "pairs.jsonl, line 4: the query is empty"),
        ("{\"query\": \"x\", \"positive\": [\"\"]}", "pairs.jsonl, line 4: `positive` is empty"),
    ] {
        let whole = fs::read_to_string(folder.path("pairs.jsonl")).unwrap();
        let broken = folder.put("broken/pairs.jsonl", format!("{whole}{line}\n").as_bytes());
        let error = folder.said(&open(&broken, BadLines::Stop).unwrap_err());
        assert_eq!(error, format!("broken/{reason}"));
    }
}

#[test]
fn a_folder_of_texts_is_a_corpus() {
    let folder = Folder::of(&[
        ("b.txt", "plain\n"),
        ("a/rain.md", "\n## On rain ##\n\nIt falls.\n"),
        ("a/none.md", "No heading\n# here\n"),
        (".hidden/c.txt", "x"),
        ("image.png", "x"),
    ]);
    assert_eq!(kind(folder.0.path()).unwrap(), Kind::Texts);
    let dataset = folder.open().unwrap();
    let read: Vec<_> =
        dataset.corpus.items().iter().map(|d| (&d.id[..], &d.title[..], &d.text[..])).collect();
    let expected = [
        ("a/none.md", "none", "No heading\n# here"),
        ("a/rain.md", "On rain", "It falls."),
        ("b.txt", "b", "plain"),
    ];
    assert_eq!(read, expected);
    folder.put("a/x.txt", b"ab\xff");
    let said = folder.refused();
    assert!(
        said.starts_with("a/x.txt: invalid UTF-8 at byte 3;") && said.contains("--skip-bad-lines"),
        "{said}"
    );
    folder.put("a/x.txt", b" \n");
    let said = folder.refused();
    assert!(said.starts_with("a/x.txt: the file is empty;") && said.contains("--skip-bad-lines"), "{said}");
    assert_eq!(open(folder.0.path(), BadLines::Skip).unwrap().skipped.lines, 1);
}

#[test]
fn a_long_file_is_cut_into_passages_that_name_their_section() {
    let words = "Some words about the weather of this place. ".repeat(12);
    let guide = format!("---\ntitle: Weather\n---\n# Rain\n\n{words}\n\n## Why\n\n{words}\n{words}\n");
    let folder = Folder::of(&[("a/guide.md", &guide), ("log.txt", &"word ".repeat(600))]);
    let dataset = folder.open().unwrap();
    let read: Vec<_> = dataset.corpus.items().iter().map(|d| (&d.id[..], &d.title[..])).collect();
    let expected = [
        ("a/guide.md:6", "Weather > Rain"),
        ("a/guide.md:10", "Weather > Rain > Why"),
        ("a/guide.md:11", "Weather > Rain > Why"),
        ("log.txt:1", "log"),
        ("log.txt:1.2", "log"),
        ("log.txt:1.3", "log"),
        ("log.txt:1.4", "log"),
    ];
    assert_eq!(read, expected);
    let metadata = &dataset.corpus.get("a/guide.md:10").unwrap().metadata;
    let fields = ["file", "folder", "section"].map(|name| metadata[name].as_str().unwrap());
    assert_eq!(fields, ["a/guide.md", "a", "Rain > Why"]);
}

#[test]
fn a_sample_answers_its_own_queries() {
    let mut dataset = Dataset::default();
    for n in 0..500 {
        let (query, document) = (format!("q{n}"), format!("d{n}"));
        dataset
            .corpus
            .push(Document { id: document.clone(), text: "t".into(), ..Document::default() })
            .unwrap();
        dataset.queries.push(Query { id: query.clone(), text: "t".into(), ..Query::default() }).unwrap();
        dataset.qrels.entry(Split::Train).or_default().insert(&query, &document, 1);
    }
    let sample = dataset.sample(0.2);
    assert!((70..130).contains(&sample.queries.len()) && (80..150).contains(&sample.corpus.len()));
    assert!(sample.corpus.len() >= sample.queries.len());
    assert_eq!(sample.pairs(&Split::Train).len(), sample.queries.len());
    assert_eq!(sample, dataset.sample(0.2));
}

#[test]
fn trec_judgements_and_runs() {
    let folder = Folder::of(&[
        ("qrels", "1 0 d1 2\n1 0 d2 -1\n2 0 d1 1\n"),
        ("run", "1 Q0 d2 1 0.5 tag\n1 Q0 d1 2 0.25 tag\n"),
        ("twice", "1 Q0 d2 1 0.5 tag\n1 Q0 d2 2 0.25 tag\n"),
        ("nan", "1 Q0 d2 1 NaN tag\n"),
        ("short", "1 Q0 d2 1 0.5\n"),
    ]);
    let (qrels, _) = judgements::read(&folder.path("qrels"), Known::Anything, BadLines::Stop).unwrap();
    assert_eq!(qrels, [("1", "d1", 2), ("1", "d2", 0), ("2", "d1", 1)].into_iter().collect());
    let (run, _) = runs::read(&folder.path("run"), BadLines::Stop).unwrap();
    assert_eq!(run.ranking("1"), [("d2", 0.5), ("d1", 0.25)]);
    runs::write(&folder.path("copy"), &run, "tag").unwrap();
    assert_eq!(fs::read(folder.path("copy")).unwrap(), fs::read(folder.path("run")).unwrap());
    for (file, reason) in [
        ("twice", "twice, line 2: `d2` is already given for `1` in line 1"),
        ("nan", "nan, line 1: the score `NaN` is not a finite number"),
        ("short", "short, line 1: expected `query Q0 document rank score tag` between blanks"),
    ] {
        assert_eq!(folder.said(&runs::read(&folder.path(file), BadLines::Stop).unwrap_err()), reason);
    }
}

#[test]
fn other_paths_say_what_is_accepted() {
    let folder = Folder::of(&[
        ("empty/x.bin", ""),
        ("x.npy", ""),
        ("x.parquet", ""),
        ("x.csv", "a,b\n"),
        ("none.jsonl", ""),
    ]);
    for (name, part) in [
        ("empty", "found none of them in it"),
        ("x.npy", "this holds embeddings"),
        ("x.parquet", "write JSONL"),
        ("x.csv", "its first line is not a JSON object"),
        ("none.jsonl", "there is no line in it"),
        ("missing", "No such file"),
    ] {
        let error = kind(&folder.path(name)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_share_of_training_queries_is_held_out_by_their_ids() {
    let mut dataset = Dataset::default();
    let qrels: Qrels = (0..2000).map(|number| (format!("q{number}"), "d", 1)).collect();
    dataset.qrels.insert(Split::Train, qrels);
    dataset.hold_out_dev(0.1);
    let dev = dataset.qrels[&Split::Dev].len();
    assert!((150..250).contains(&dev), "{dev} of 2000");
    assert_eq!(dataset.qrels[&Split::Train].len() + dev, 2000);
    let before = dataset.clone();
    dataset.hold_out_dev(0.5);
    assert_eq!(dataset, before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_the_readers_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        which in 0usize..3,
    ) {
        let folder = small();
        let name = ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"][which];
        let mut bytes = fs::read(folder.path(name)).unwrap();
        bytes.truncate(cut.index(bytes.len()) + 1);
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let path = folder.put(name, &bytes);
        let _ = folder.open();
        let _ = open(folder.0.path(), BadLines::Skip);
        let _ = open(&path, BadLines::Skip);
        let _ = runs::read(&path, BadLines::Skip);
    }
}
