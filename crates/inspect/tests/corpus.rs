//! A whole corpus: speed of growth is not asserted, only that large and odd input is answered.

use retreever_inspect::{Corpus, Error, Inspection, Notes, Queries};
use retreever_tree::{Assignments, Depth, NodeId, Routing};
use serde_json::json;

/// `n` documents over the leaves of a tree, with words that follow their leaf.
fn generated(
    n: usize,
    depth: Depth,
) -> (Vec<String>, Assignments, Vec<serde_json::Map<String, serde_json::Value>>) {
    let leaves = depth.leaves();
    let (mut texts, mut rows, mut metadata) = (Vec::new(), Vec::new(), Vec::new());
    for item in 0..n {
        let leaf = item * 7 % leaves;
        let half = if leaf < leaves / 2 { "north" } else { "south" };
        texts.push(format!(
            "The {half} report of topic{leaf} and subject{} <script>alert({item})</script>",
            leaf / 4
        ));
        rows.extend((0..leaves).map(|l| if l == leaf { 0.6 } else { 0.4 / (leaves - 1) as f32 }));
        metadata.push(json!({ "half": half, "id": item }).as_object().unwrap().clone());
    }
    (texts, Assignments::nested(depth, rows).unwrap(), metadata)
}

#[test]
fn a_corpus_end_to_end() {
    let depth = Depth::new(5).unwrap();
    let (texts, documents, metadata) = generated(640, depth);
    let queries = Queries { texts: &texts[..10], assignments: &generated(10, depth).1 };
    let routing = &Routing::same();
    let corpus =
        Corpus { texts: &texts, documents: &documents, routing, queries: Some(queries), metadata: &metadata };
    let inspection = Inspection::new(&corpus).unwrap();
    let node = |id| inspection.node(NodeId::new(id)).unwrap();
    assert_eq!(node(0).documents, 640);
    assert!(node(1).label.to_lowercase().contains("north"), "{}", node(1).label);
    assert!(node(2).label.to_lowercase().contains("south"), "{}", node(2).label);
    assert!(node(31).keywords.iter().any(|word| word.text.contains("topic0")), "{:?}", node(31).keywords);
    assert!(inspection.nodes.iter().all(|node| !node.label.is_empty() && !node.label.contains("script")));
    assert_eq!(inspection.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["half"]);
    assert!((inspection.fields[0].levels[0].nmi - 1.0).abs() < 1e-9);
    assert_eq!(inspection.levels.len(), 5);
    assert!(inspection.queries.is_some() && node(1).queries.is_some());
    assert!(inspection.node(NodeId::new(63)).is_none());
    let notes = inspection.notes();
    assert_eq!(notes, Notes::new(&texts, inspection.documents.leaves(), depth).unwrap());
    assert_eq!((notes.documents, notes.labels.len()), (640, depth.nodes()));
    assert!(notes.keywords.iter().all(|words| words.len() <= 6));
}

#[test]
fn lists_that_do_not_match_are_refused() {
    let depth = Depth::new(2).unwrap();
    let (texts, documents, _) = generated(8, depth);
    let routing = &Routing::same();
    let corpus = Corpus { texts: &texts[..7], documents: &documents, routing, queries: None, metadata: &[] };
    assert_eq!(
        Inspection::new(&corpus).err(),
        Some(Error::Lengths { what: "texts", expected: 8, received: 7 })
    );
    let routing = &Routing { sharpening: vec![1.0; 3], cover: Vec::new() };
    let corpus = Corpus { texts: &texts, documents: &documents, routing, queries: None, metadata: &[] };
    assert!(matches!(Inspection::new(&corpus).err(), Some(Error::Routing(_))));
}

#[test]
fn no_documents_are_a_tree_of_empty_nodes() {
    let documents = Assignments::nested(Depth::new(3).unwrap(), Vec::new()).unwrap();
    let routing = &Routing::same();
    let corpus: Corpus<'_, &str> =
        Corpus { texts: &[], documents: &documents, routing, queries: None, metadata: &[] };
    let inspection = Inspection::new(&corpus).unwrap();
    assert_eq!(inspection.nodes.len(), 15);
    assert_eq!(inspection.nodes[3].documents, 0);
}
