//! What can go wrong, and which status says so.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::net::SocketAddr;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The index could not be read.
    #[error(transparent)]
    Index(#[from] retreever_index::Error),
    /// An answer could not be explained.
    #[error(transparent)]
    Explain(#[from] retreever::Error),
    /// The corpus could not be inspected.
    #[error(transparent)]
    Inspect(#[from] retreever_inspect::Error),
    /// The stored rows are no assignments.
    #[error("the index holds rows that are no assignments ({0}): run `retreever verify`")]
    Rows(#[from] retreever_tree::AssignmentsError),
    /// The query could not be routed.
    #[error("the query could not be routed: {0}")]
    Route(#[from] crate::RouteError),
    /// There is no encoder here.
    #[error(
        "this index was opened without an encoder, so texts cannot be routed; documents can be compared by id"
    )]
    NoEncoder,
    /// The address is not on this machine, and there is no token.
    #[error("{0} can be reached from other machines: give a token (--token), or serve on 127.0.0.1")]
    TokenNeeded(SocketAddr),
    /// The address could not be taken.
    #[error("cannot listen on {address}: {source}; choose another port with --port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The server stopped.
    #[error("the server stopped: {0}")]
    Stopped(#[from] std::io::Error),
    /// Something in a request is out of bounds.
    #[error("{0}")]
    Request(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The time is up.
    #[error("no answer within the time allowed; ask for less")]
    Late,
    /// Too many requests at once.
    #[error("too many requests at once; try again in a moment")]
    Busy,
}

/// The result of serving.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    fn status(&self) -> StatusCode {
        match self {
            Self::Request(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::NoEncoder => StatusCode::NOT_IMPLEMENTED,
            Self::Late => StatusCode::GATEWAY_TIMEOUT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        (self.status(), Json(json!({ "error": self.to_string() }))).into_response()
    }
}
