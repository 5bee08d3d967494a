//! The JSON API: what may be asked, checked against the limits.

use crate::answers::{DocumentAnswer, DocumentsAnswer, NodeAnswer, RouteAnswer, SearchAnswer, TreeAnswer};
use crate::explorer::Wanted;
use crate::serve::{Limits, Shared};
use crate::{Error, Explorer, Result};
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use retreever_tree::{Assignments, Level, NodeId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The routes under `/api`.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(async || json(include_str!("openapi.json").to_owned())))
        .route("/tree", get(tree))
        .route("/node/{id}", get(node))
        .route("/documents", get(documents))
        .route("/route", get(route))
        .route("/search", get(search))
        .route("/export.html", get(export))
        .fallback(async || {
            Error::NotFound("there is no such call; /api describes those there are".to_owned())
        })
        .with_state(shared)
}

fn json(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn encode(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Request(error.to_string()))
}

async fn tree(State(shared): State<Arc<Shared>>) -> Result<Response> {
    Ok(json(shared.work(|explorer, _| encode(&TreeAnswer::new(explorer))).await?))
}

async fn node(State(shared): State<Arc<Shared>>, Path(id): Path<u32>) -> Result<Response> {
    let body =
        shared.work(move |explorer, _| encode(&NodeAnswer::new(explorer, explorer.check(NodeId::new(id))?)?));
    Ok(json(body.await?))
}

async fn export(State(shared): State<Arc<Shared>>) -> Result<Response> {
    let page = shared.work(|explorer, _| crate::standalone(explorer)).await?;
    let name = "attachment; filename=\"tree.html\"";
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_DISPOSITION, name)], page)
        .into_response())
}

/// Documents of a node, page by page, or one document by its id.
#[derive(Deserialize)]
struct Documents {
    node: Option<u32>,
    id: Option<String>,
    #[serde(default)]
    page: usize,
    size: Option<usize>,
}

async fn documents(State(shared): State<Arc<Shared>>, Query(asked): Query<Documents>) -> Result<Response> {
    let body = shared.work(move |explorer, limits| {
        if let Some(id) = asked.id {
            return encode(&DocumentAnswer::whole(explorer.document_by_id(&id)?));
        }
        let size = within("size", asked.size.unwrap_or(20), limits.k)?;
        let node = explorer.check(NodeId::new(asked.node.unwrap_or(0)))?;
        let items = explorer.inspection.documents.items(node);
        let page = items.iter().skip(asked.page.saturating_mul(size)).take(size);
        let documents = page.map(|item| Ok(DocumentAnswer::excerpt(explorer.document(*item)?)));
        let documents = documents.collect::<Result<_>>()?;
        encode(&DocumentsAnswer { node, total: items.len(), page: asked.page, size, documents })
    });
    Ok(json(body.await?))
}

/// An item: the text of a query, or the id of a document.
#[derive(Deserialize)]
struct Item {
    q: Option<String>,
    document: Option<String>,
    k: Option<usize>,
    level: Option<u8>,
    cover: Option<f64>,
}

impl Item {
    fn assignment(&self, explorer: &Explorer, limits: Limits) -> Result<Assignments> {
        match (&self.q, &self.document) {
            (Some(text), None) if text.trim().is_empty() => {
                Err(Error::Request("the query is empty".to_owned()))
            }
            (Some(text), None) if text.len() > limits.text => Err(Error::Request(format!(
                "the query has {} bytes; at most {} are read",
                text.len(),
                limits.text
            ))),
            (Some(text), None) => explorer.route(text),
            (None, Some(id)) => explorer.assignment(id),
            _ => Err(Error::Request("give either q, a text, or document, an id".to_owned())),
        }
    }
}

async fn route(State(shared): State<Arc<Shared>>, Query(item): Query<Item>) -> Result<Response> {
    let body = shared.work(move |explorer, limits| {
        let (routed, way) = explorer.way(&item.assignment(explorer, limits)?)?;
        encode(&RouteAnswer::new(&routed, way))
    });
    Ok(json(body.await?))
}

async fn search(State(shared): State<Arc<Shared>>, Query(item): Query<Item>) -> Result<Response> {
    let body = shared.work(move |explorer, limits| {
        let k = within("k", item.k.unwrap_or(10), limits.k)?;
        let depth = explorer.inspection.depth();
        let level = match item.level {
            None => depth.leaf_level(),
            Some(level) => depth
                .level(level)
                .filter(|level| *level != Level::ROOT)
                .ok_or_else(|| Error::Request(format!("level {level} is not one of 1 to {depth}")))?,
        };
        let cover = item.cover.map(chance).transpose()?;
        let query = item.assignment(explorer, limits)?;
        let (answer, found) = explorer.search(&query, &Wanted { k, level, cover })?;
        encode(&SearchAnswer::new(level, &answer, found))
    });
    Ok(json(body.await?))
}

fn within(what: &str, value: usize, most: usize) -> Result<usize> {
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    Err(Error::Request(format!("{what} is {value}; it can be 1 to {most}")))
}

/// A chance that documents can be read for.
fn chance(cover: f64) -> Result<f64> {
    if cover > 0.0 && cover <= 1.0 {
        return Ok(cover);
    }
    Err(Error::Request(format!("cover is {cover}; it can be a chance above 0 and at most 1")))
}
