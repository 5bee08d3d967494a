//! The explorer's files, and the same in one file that opens without a server.

use crate::answers::{NodeAnswer, TreeAnswer};
use crate::{Error, Explorer, Result};
use axum::Router;
use axum::http::header;
use axum::routing::get;
use retreever_tree::NodeId;
use serde_json::{Value, json};

/// Modules after those that they import.
const MODULES: [(&str, &str); 18] = [
    ("/view.js", include_str!("../../../web/view.js")),
    ("/api.js", include_str!("../../../web/api.js")),
    ("/elements.js", include_str!("../../../web/elements.js")),
    ("/chance.js", include_str!("../../../web/chance.js")),
    ("/colour.js", include_str!("../../../web/colour.js")),
    ("/folding.js", include_str!("../../../web/folding.js")),
    ("/edges.js", include_str!("../../../web/edges.js")),
    ("/nodes.js", include_str!("../../../web/nodes.js")),
    ("/labels.js", include_str!("../../../web/labels.js")),
    ("/drawing.js", include_str!("../../../web/drawing.js")),
    ("/gestures.js", include_str!("../../../web/gestures.js")),
    ("/picture.js", include_str!("../../../web/picture.js")),
    ("/panel.js", include_str!("../../../web/panel.js")),
    ("/finder.js", include_str!("../../../web/finder.js")),
    ("/way.js", include_str!("../../../web/way.js")),
    ("/why.js", include_str!("../../../web/why.js")),
    ("/flow.js", include_str!("../../../web/flow.js")),
    ("/main.js", include_str!("../../../web/main.js")),
];
const PAGE: &str = include_str!("../../../web/index.html");
const STYLE: &str = include_str!("../../../web/style.css");

/// The files of the explorer.
pub(crate) fn router() -> Router {
    let file =
        |kind: &'static str, body: &'static str| get(async move || ([(header::CONTENT_TYPE, kind)], body));
    let page = file("text/html; charset=utf-8", PAGE);
    let mut router =
        Router::new().route("/", page).route("/style.css", file("text/css; charset=utf-8", STYLE));
    for (name, body) in MODULES {
        router = router.route(name, file("text/javascript; charset=utf-8", body));
    }
    router
}

/// The explorer and its tree in one file. Texts cannot be routed there, and a node shows its typical documents
/// only.
pub fn standalone(explorer: &Explorer) -> Result<String> {
    let mut tree = serde_json::to_value(TreeAnswer::new(explorer)).map_err(unwritable)?;
    tree["can_route"] = json!(false);
    let nodes = (0..explorer.inspection.depth().nodes() as u32)
        .map(|id| {
            let answer = NodeAnswer::new(explorer, NodeId::new(id))?;
            Ok(carried(serde_json::to_value(answer).map_err(unwritable)?))
        })
        .collect::<Result<Vec<_>>>()?;
    // No `<` is left in the data, so nothing in it can end the element that holds it.
    let data = json!({ "tree": tree, "nodes": nodes }).to_string().replace('<', "\\u003c");
    let script: String = MODULES.iter().map(|(_, body)| alone(body)).collect();
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                  script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">";
    Ok(PAGE
        .replace("<link rel=\"stylesheet\" href=\"style.css\">", &format!("{policy}<style>{STYLE}</style>"))
        .replace(
            "<script type=\"module\" src=\"main.js\"></script>",
            &format!(
                "<script type=\"application/json\" id=\"data\">{data}</script>\n<script type=\"module\">{script}</script>"
            ),
        ))
}

/// Documents of a node that the file carries, and the characters of each.
const CARRIED: (usize, usize) = (3, 400);

/// A node without its path, which follows from the tree, and with the beginnings of a few documents.
fn carried(mut node: Value) -> Value {
    if let Some(fields) = node.as_object_mut() {
        fields.remove("path");
    }
    if let Some(documents) = node["typical"].as_array_mut() {
        documents.truncate(CARRIED.0);
        for document in documents {
            let text: String =
                document["text"].as_str().unwrap_or_default().chars().take(CARRIED.1).collect();
            document["text"] = Value::String(text);
        }
    }
    node
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::Request(error.to_string())
}

/// A module without its imports and exports: all of them share one scope, and no two names are alike.
fn alone(module: &str) -> String {
    let lines = module.lines().filter(|line| !line.starts_with("import "));
    lines.map(|line| line.strip_prefix("export ").unwrap_or(line)).flat_map(|line| [line, "\n"]).collect()
}
