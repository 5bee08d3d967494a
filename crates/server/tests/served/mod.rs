//! A small corpus on a port of this machine, for as long as the value lives.
#![allow(dead_code, reason = "each test uses a part of it")]

use retreever_index::{Document, Index, Shape};
use retreever_server::{Explorer, Guard, Known, Limits, Listener, Route, RouteError, serve};
use retreever_tree::{Assignments, CoverPoint, Depth, Nesting, Routing};
use serde_json::json;
use std::net::SocketAddr;

/// The subjects, one a leaf of a tree 3 deep.
const SUBJECTS: [&str; 8] = [
    "whole life policy cash value",
    "term life policy premium",
    "auto collision claim repair",
    "auto liability claim driver",
    "home flood damage basement",
    "home fire damage kitchen",
    "health medicare enrollment",
    "health dental plan braces",
];

/// A document that tries to be more than text.
pub(crate) const HOSTILE: &str =
    "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">";

/// The node whose name tries the same.
pub(crate) const HOSTILE_NODE: usize = 10;

fn depth() -> Depth {
    Depth::new(3).unwrap()
}

/// The node that is called like its parent, and so says nothing new.
pub(crate) const FOLDED_NODE: usize = 6;

/// Chances twice as sure as assignments, as if measured.
pub(crate) fn routing() -> Routing {
    let point = |chance, opened| CoverPoint { chance, opened };
    Routing { sharpening: vec![2.0; 3], cover: vec![point(0.5, 0.4), point(0.9, 0.8)] }
}

/// Mostly in the leaf whose subject shares the most words.
struct ByWords;

impl Route for ByWords {
    fn route(&self, text: &str) -> Result<Assignments, RouteError> {
        let shared = |subject: &str| subject.split(' ').filter(|word| text.contains(word)).count() as f32;
        let weights: Vec<f32> = SUBJECTS.iter().map(|subject| 0.05 + shared(subject)).collect();
        let total: f32 = weights.iter().sum();
        Ok(Assignments::nested(depth(), weights.iter().map(|w| w / total).collect())?)
    }
}

/// A server, stopped when dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    _stop: tokio::sync::oneshot::Sender<()>,
    _runtime: tokio::runtime::Runtime,
    _dir: tempfile::TempDir,
}

impl Served {
    pub(crate) fn start(guard: Guard) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shape = Shape { depth: depth(), nesting: Nesting::Nested };
        let index = Index::create(dir.path(), shape, routing()).unwrap();
        let mut writer = index.writer().unwrap();
        let mut documents = Vec::new();
        let mut rows = Vec::new();
        for number in 0..96 {
            let subject = SUBJECTS[number % 8];
            let hostile = if number % 8 == 3 { HOSTILE } else { "" };
            let text = format!("{subject} example {number} {hostile}");
            rows.extend_from_slice(ByWords.route(&text).unwrap().as_slice());
            let kind = subject.split(' ').next().unwrap();
            let odd = format!("{HOSTILE}{}", number % 2);
            documents.push(Document {
                title: hostile.to_owned(),
                metadata: json!({ "kind": kind, (format!("zz{HOSTILE}")): odd }).as_object().unwrap().clone(),
                ..Document::new(format!("d{number}"), text)
            });
        }
        writer.add(&documents, &Assignments::nested(depth(), rows).unwrap()).unwrap();
        writer.commit().unwrap();
        let asked = ["term life premium", "flood in the basement"].map(str::to_owned).to_vec();
        let mut assignments = ByWords.route(&asked[0]).unwrap();
        assignments.extend(&ByWords.route(&asked[1]).unwrap());
        let known = Known { texts: asked, assignments };
        let mut explorer = Explorer::new(
            "Test corpus".to_owned(),
            index.snapshot().unwrap(),
            Some(Box::new(ByWords)),
            Some(known),
        )
        .unwrap();
        // A model that names nodes may be as hostile as a document.
        let named = &mut explorer.inspection.nodes[HOSTILE_NODE];
        named.label = format!("Named {HOSTILE}");
        named.summary = HOSTILE.to_owned();
        named.keywords[0].text = HOSTILE.to_owned();
        named.apart[0].text = HOSTILE.to_owned();
        explorer.inspection.nodes[FOLDED_NODE].label = explorer.inspection.nodes[2].label.clone();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let listener = runtime.block_on(Listener::bind("127.0.0.1:0".parse().unwrap(), guard)).unwrap();
        let address = listener.address().unwrap();
        runtime.spawn(serve(listener, explorer, Limits::default(), async {
            stopped.await.ok();
        }));
        Self { address, _stop: stop, _runtime: runtime, _dir: dir }
    }
}
