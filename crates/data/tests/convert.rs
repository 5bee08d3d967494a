//! Every converter on tiny files in the layout that its data set is distributed in.

use flate2::{Compression, write::GzEncoder};
use retreever_data::convert::{Layout, convert};
use retreever_data::{BadLines, Dataset, Split};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn put_lines(&self, name: &str, records: &[Value]) {
        let text: String = records.iter().map(|record| format!("{record}\n")).collect();
        if !name.ends_with(".gz") {
            return self.put(name, text.as_bytes());
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        self.put(name, &packed.finish().unwrap());
    }

    fn convert(&self, layout: Layout) -> Dataset {
        convert(layout, self.0.path(), BadLines::Stop).unwrap()
    }

    fn refused(&self, layout: Layout) -> String {
        convert(layout, self.0.path(), BadLines::Stop).unwrap_err().to_string()
    }
}

/// Each pair as (query id, query, document), of train and dev together.
fn trained(dataset: &Dataset) -> BTreeSet<(String, String, String)> {
    let splits = [Split::Train, Split::Dev];
    splits.iter().flat_map(|split| pairs(dataset, split)).collect()
}

fn pairs(dataset: &Dataset, split: &Split) -> BTreeSet<(String, String, String)> {
    let pairs = dataset.qrels.get(split).into_iter().flat_map(|qrels| qrels.pairs());
    pairs
        .map(|(query, document)| {
            let text = dataset.queries.get(query).unwrap().text.clone();
            (query.to_owned(), text, dataset.corpus.get(document).unwrap().encoded().into_owned())
        })
        .collect()
}

fn set<const N: usize>(expected: [(&str, &str, &str); N]) -> BTreeSet<(String, String, String)> {
    expected.into_iter().map(|(id, query, document)| (id.into(), query.into(), document.into())).collect()
}

fn long_answer(start: i64, end: i64) -> Value {
    json!({"long_answer": {"start_token": start, "end_token": end, "candidate_index": 0}, "short_answers": []})
}

#[test]
fn natural_questions() {
    let folder = Folder::new();
    let simplified = |id: i64, answer: Value| {
        json!({"example_id": id, "question_text": "who", "document_url": "", "long_answer_candidates": [],
               "document_text": "<H1> A </H1> <P> The first paragraph . </P> rest", "annotations": [answer]})
    };
    folder.put_lines(
        "v1.0-simplified_simplified-nq-train.jsonl.gz",
        &[
            simplified(-5, long_answer(3, 9)),
            simplified(6, long_answer(-1, -1)),
            simplified(7, long_answer(3, 9)),
        ],
    );
    let token = |word: &str| json!({"token": word, "html_token": word.starts_with('<'), "start_byte": 0, "end_byte": 1});
    let tokens: Vec<Value> =
        ["<P>", "Second", "one", "</P>", "<P>", "x", "</P>"].into_iter().map(token).collect();
    let answers = |spans: [(i64, i64); 3]| spans.map(|(start, end)| long_answer(start, end));
    let original = |id: &str, spans| {
        json!({"example_id": id, "question_text": "what", "document_title": "Title", "document_tokens": tokens,
               "document_html": "", "annotations": answers(spans)})
    };
    folder.put_lines(
        "dev/nq-dev-00.jsonl.gz",
        &[
            original("a", [(-1, -1), (0, 4), (0, 4)]),
            original("b", [(0, 4), (4, 7), (-1, -1)]), // no two annotators agree
        ],
    );
    let dataset = folder.convert(Layout::Nq);
    let first = "The first paragraph .";
    assert_eq!(trained(&dataset), set([("-5", "who", first), ("7", "who", first)]));
    assert_eq!(pairs(&dataset, &Split::Test), set([("a", "what", "Title Second one")]));
    assert_eq!(dataset.corpus.len(), 2);

    folder.put_lines("nq-train-01.jsonl", &[simplified(8, long_answer(3, 99))]);
    assert!(folder.refused(Layout::Nq).ends_with(
        "nq-train-01.jsonl, line 1: the answer of the question `8` is past the end of its article"
    ));
    let skipped = convert(Layout::Nq, folder.0.path(), BadLines::Skip).unwrap().skipped;
    assert_eq!(skipped.lines, 1);
}

#[test]
fn hotpotqa_joins_the_relevant_paragraphs() {
    let folder = Folder::new();
    let train = json!([{
        "_id": "t", "question": "Both?", "answer": "yes", "type": "comparison", "level": "easy",
        "supporting_facts": [["C", 0], ["A", 1], ["A", 0]],
        "context": [["A", ["One.", " Two."]], ["B", ["No."]], ["C", ["Three."]]],
    }]);
    folder.put("hotpot_train_v1.1.json", train.to_string().as_bytes());
    // As the hub exports it.
    let dev = json!({
        "id": "d", "question": "Which?", "supporting_facts": {"title": ["B"], "sent_id": [0]},
        "context": {"title": ["A", "B"], "sentences": [["No."], ["Yes."]]},
    });
    folder.put_lines("hotpot_dev_distractor_v1.jsonl", &[dev]);
    folder.put("hotpot_dev_fullwiki_v1.json", b"[not read");
    let dataset = folder.convert(Layout::HotpotQa);
    assert_eq!(trained(&dataset), set([("t", "Both?", "One. Two. Three.")]));
    assert_eq!(pairs(&dataset, &Split::Test), set([("d", "Which?", "Yes.")]));
    assert_eq!(dataset.corpus.items()[1].metadata["titles"], json!(["A", "C"]));

    folder.put(
        "hotpot_train_v1.1.json",
        b"[{\"_id\": \"t\", \"question\": \"\", \"supporting_facts\": [], \"context\": []}]",
    );
    assert!(
        folder
            .refused(Layout::HotpotQa)
            .ends_with("hotpot_train_v1.1.json: record 1: the question `t` is empty")
    );
}

#[test]
fn topiocqa_has_the_history_in_the_query() {
    let folder = Folder::new();
    let turn = |turn: u64, context: Value, question: &str| {
        json!({"Conversation_no": 3, "Turn_no": turn, "Context": context, "Question": question, "Answer": "a1",
               "Topic": "T", "Rationale": "", "Gold_passage": {"id": "wiki:1", "title": "T", "text": "Passage."}})
    };
    folder.put(
        "topiocqa_train.json",
        json!([turn(1, json!([]), "q1"), turn(2, json!(["q1", "a1"]), "q2")]).to_string().as_bytes(),
    );
    let retriever = json!([{"conv_id": 9, "turn_id": 2, "question": "q1 [SEP] a1 [SEP] q2", "answers": ["x"],
        "positive_ctxs": [{"title": "U [SEP] V", "text": "Other.", "passage_id": "5"}], "hard_negative_ctxs": []}]);
    folder.put("retriever/all_history/dev.json", retriever.to_string().as_bytes());
    folder.put("retriever/rewrites/dev.json", b"not read");
    let without_passage =
        json!([{"Conversation_no": 9, "Turn_no": 2, "Context": [], "Question": "q2", "Answer": ""}]);
    folder.put("topiocqa_dev.json", without_passage.to_string().as_bytes());
    let dataset = folder.convert(Layout::TopiOcqa);
    let history = "q1 [SEP] a1 [SEP] q2";
    assert_eq!(
        trained(&dataset),
        set([("train-3-1", "q1", "T Passage."), ("train-3-2", history, "T Passage.")])
    );
    assert_eq!(pairs(&dataset, &Split::Test), set([("test-9-2", history, "U V Other.")]));
    folder.put("dev2.json", b"[{\"question\": \"q\"}]");
    assert!(folder.refused(Layout::TopiOcqa).contains("neither a turn"));
    folder.put("dev2.json", retriever.to_string().as_bytes());
    assert!(
        folder.refused(Layout::TopiOcqa).ends_with("`test-9-2` came before; keep one file of each split")
    );
}

#[test]
fn repliqa_trains_on_parts_0_to_3() {
    let folder = Folder::new();
    for part in 0..5 {
        let question = |number: u64, answer: &str| {
            json!({"document_id": format!("doc{part}"), "document_topic": "Local News", "document_path": "x.pdf",
                   "document_extracted": format!("Document {part}.\n"), "question_id": format!("{part}-{number}"),
                   "question": "Where?", "answer": answer, "long_answer": ""})
        };
        folder.put_lines(
            &format!("data/repliqa_{part}.jsonl"),
            &[question(0, "here"), question(1, "UNANSWERABLE")],
        );
    }
    let dataset = folder.convert(Layout::RepliQa);
    assert_eq!((dataset.corpus.len(), dataset.queries.len(), trained(&dataset).len()), (5, 10, 8));
    let test = set([("4-0", "Where?", "Document 4."), ("4-1", "Where?", "Document 4.")]);
    assert_eq!(pairs(&dataset, &Split::Test), test);
    assert_eq!(dataset.queries.get("4-1").unwrap().metadata["answerable"], json!(false));
    assert_eq!(dataset.corpus.items()[0].metadata["topic"], json!("Local News"));
}

#[test]
fn imagenet_pairs_images_of_a_class() {
    let folder = Folder::new();
    for class in ["n01", "n02"] {
        for image in 0..205 {
            folder.put(&format!("ILSVRC/Data/CLS-LOC/train/{class}/{class}_{image}.JPEG"), b"");
        }
    }
    for image in 0..8 {
        folder.put(&format!("ILSVRC/Data/CLS-LOC/val/ILSVRC2012_val_{image}.JPEG"), b"");
    }
    assert!(folder.refused(Layout::ImageNet).contains("its class is unknown"));
    let rows =
        (0..8).map(|image| format!("ILSVRC2012_val_{image},n0{} 1 2 3 4 n09 1 2 3 4\n", 1 + image % 2));
    let csv = format!("ImageId,PredictionString\n{}", rows.collect::<String>());
    folder.put("LOC_val_solution.csv", csv.as_bytes());
    let dataset = folder.convert(Layout::ImageNet);

    let train = trained(&dataset);
    assert_eq!(train.len(), 200, "100 pairs of each class");
    let class = |id: &str| dataset.corpus.get(id).unwrap().metadata["class"].clone();
    for (query, _, document) in &train {
        assert_eq!(dataset.queries.get(query).unwrap().metadata["class"], class(document));
    }
    let items: BTreeSet<&str> =
        train.iter().flat_map(|(query, _, document)| [&query[..], document]).collect();
    assert_eq!(items.len(), 400, "no image is in two pairs");
    // Two of the four validation images of a class are queries, and all its documents answer them.
    let test = &dataset.qrels[&Split::Test];
    assert_eq!((test.len(), test.judgements()), (4, 4 * (100 + 2)));
    assert_eq!(folder.convert(Layout::ImageNet), dataset, "the same pairs every time");
}

#[test]
fn voxceleb2_pairs_recordings_across_videos() {
    let folder = Folder::new();
    for (part, speakers) in [("dev", 0..6), ("test", 6..8)] {
        for speaker in speakers {
            for video in 0..5 {
                for number in 0..3 {
                    folder.put(&format!("{part}/aac/id0{speaker}/video{video}/0000{number}.m4a"), b"");
                }
            }
        }
    }
    folder.put("vox2_meta.csv", b"");
    let dataset = folder.convert(Layout::VoxCeleb2);
    let train = trained(&dataset);
    assert_eq!((train.len(), dataset.corpus.len()), (6 * 2, 8 * 2));
    for (query, _, document) in &train {
        let [query, document] = [query, document].map(|id| id.rsplit('/').collect::<Vec<_>>());
        assert!(query[1] != document[1] && query[2] == document[2], "{query:?} {document:?}");
    }
    let test = &dataset.qrels[&Split::Test];
    assert_eq!((test.len(), test.judgements()), (4, 8));
}

#[test]
fn a_folder_without_the_files_says_what_is_expected() {
    for (layout, part) in [
        (Layout::Nq, "expected Natural Questions'"),
        (Layout::HotpotQa, "expected HotpotQA's"),
        (Layout::TopiOcqa, "expected TopiOCQA's"),
        (Layout::RepliQa, "expected repliqa_0.jsonl"),
        (Layout::ImageNet, "expected ImageNet's"),
        (Layout::VoxCeleb2, "expected VoxCeleb2's"),
    ] {
        let error = Folder::new().refused(layout);
        assert!(error.contains(part), "{error}");
    }
}
