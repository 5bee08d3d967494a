//! Read the tree as a table of contents, and serve it to a browser with `-- --serve`.
//!
//! Needs the index of the example `2_index`.

mod made;

use retreever::{Assignments, NodeId, Retriever};
use retreever_server::{Explorer, Guard, Limits, Listener, RouteError, serve};
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let retriever = Retriever::open_with(&made::home().join("index"), made::encoder())?;
    let snapshot = retriever.snapshot()?;
    let route = move |text: &str| -> Result<Assignments, RouteError> { Ok(retriever.route(text)?) };
    let explorer = Explorer::new("notes".to_owned(), snapshot, Some(Box::new(route)), None)?;

    for level in explorer.inspection.levels.iter().take(4) {
        println!("level {}: balance {:.2}, {} empty", level.level, level.balance, level.empty);
    }
    contents(&explorer, NodeId::ROOT, 3);

    if std::env::args().any(|argument| argument == "--serve") {
        let runtime = tokio::runtime::Runtime::new()?;
        let listener = runtime.block_on(Listener::bind("127.0.0.1:7878".parse()?, Guard::ThisMachine))?;
        println!("http://{}", listener.address()?);
        runtime.block_on(serve(listener, explorer, Limits::default(), std::future::pending()))?;
    }
    Ok(())
}

/// Labels of the nodes down to a level.
fn contents(explorer: &Explorer, node: NodeId, levels: usize) {
    let Some(report) = explorer.inspection.node(node) else { return };
    let level = node.level().get();
    println!("{}{} ({} documents)", "  ".repeat(level), report.label, report.documents);
    if level < levels {
        contents(explorer, node.left(), levels);
        contents(explorer, node.right(), levels);
    }
}
