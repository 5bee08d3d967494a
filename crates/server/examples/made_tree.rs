//! Serves a made corpus, to look at trees larger than one trains in a minute:
//! `cargo run --release -p retreever-server --example made_tree -- DEPTH DOCUMENTS PORT`.
//!
//! Every document is mostly in one leaf and a little in leaves near it; its words name its ancestors, and every
//! hundredth document tries to be more than text.

use retreever_index::{Document, Index, Shape};
use retreever_server::{Explorer, Guard, Limits, Listener, RouteError, serve};
use retreever_tree::{Assignments, Depth, Nesting, NodeId, Routing};
use serde_json::json;
use std::time::Instant;

const SYLLABLES: [&str; 16] =
    ["ba", "do", "fi", "gu", "ka", "lo", "mi", "nu", "pa", "ro", "si", "tu", "va", "xo", "ze", "che"];
const HOSTILE: &str = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">";
const CHUNK: usize = 2000;

/// A word of its own for every node.
fn word(node: NodeId) -> String {
    let mut rest = node.index() + 17;
    let mut out = String::new();
    while rest > 0 {
        out.push_str(SYLLABLES[rest % 16]);
        rest /= 16;
    }
    out
}

fn row(depth: Depth, leaf: usize) -> Vec<f32> {
    let mut row = vec![0.0; depth.leaves()];
    row[leaf] += 0.6;
    for step in 0..depth.get() {
        row[leaf ^ (1 << step)] += 0.4 / depth.get() as f32;
    }
    row
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<usize> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [depth, documents, port] = arguments[..] else { return Err("give DEPTH DOCUMENTS PORT".into()) };
    let depth = Depth::new(depth.try_into()?).ok_or("this depth is not one of a tree")?;
    let dir = tempfile::tempdir()?;
    let index = Index::create(dir.path(), Shape { depth, nesting: Nesting::Nested }, Routing::same())?;
    let mut writer = index.writer()?;
    for start in (0..documents).step_by(CHUNK) {
        let (mut items, mut rows) = (Vec::new(), Vec::new());
        for number in start..(start + CHUNK).min(documents) {
            let leaf = number.wrapping_mul(2_654_435_761) % depth.leaves();
            let node = NodeId::at(depth.leaf_level(), leaf);
            let words: Vec<String> = node.path().skip(1).map(word).collect();
            let hostile = if number % 100 == 0 { HOSTILE } else { "" };
            let text = format!("The {} of document {number}. {hostile}", words.join(" and the "));
            let metadata = json!({ "half": if leaf < depth.leaves() / 2 { "left" } else { HOSTILE } });
            rows.extend(row(depth, leaf));
            items.push(Document {
                metadata: metadata.as_object().cloned().unwrap_or_default(),
                ..Document::new(number.to_string(), text)
            });
        }
        writer.add(&items, &Assignments::nested(depth, rows)?)?;
    }
    writer.commit()?;
    let started = Instant::now();
    let route = move |text: &str| -> Result<Assignments, RouteError> {
        let leaf = text.bytes().fold(7, |sum: usize, byte| sum * 31 + usize::from(byte)) % depth.leaves();
        Ok(Assignments::nested(depth, row(depth, leaf))?)
    };
    let explorer = Explorer::new(format!("Made: {HOSTILE}"), index.snapshot()?, Some(Box::new(route)), None)?;
    eprintln!("opened and inspected in {:.1} s", started.elapsed().as_secs_f64());
    let runtime = tokio::runtime::Runtime::new()?;
    let address = format!("127.0.0.1:{port}").parse()?;
    let listener = runtime.block_on(Listener::bind(address, Guard::ThisMachine))?;
    println!("http://{}", listener.address()?);
    runtime.block_on(serve(listener, explorer, Limits::default(), std::future::pending()))?;
    Ok(())
}
