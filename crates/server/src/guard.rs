//! Who may ask: this machine freely, others with a token.
//!
//! Without a token the `Host` of a request must name this machine, so that a page elsewhere cannot reach the
//! server by pointing its own name here.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// A secret that requests must carry.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token of at least 8 visible ASCII characters, or nothing.
    pub fn new(token: &str) -> Option<Self> {
        (token.len() >= 8 && token.bytes().all(|b| b.is_ascii_graphic())).then(|| Self(token.to_owned()))
    }

    /// Compares in a time that does not tell where the first difference is.
    fn is(&self, other: &str) -> bool {
        let (a, b) = (self.0.as_bytes(), other.as_bytes());
        a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
    }
}

/// Who is let in.
#[derive(Clone)]
pub enum Guard {
    /// Whoever is on this machine.
    ThisMachine,
    /// Whoever has the token.
    Token(Token),
}

impl Guard {
    fn admits(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::ThisMachine => {
                let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
                let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
                let name = name.map_or(host, |(name, _)| name);
                matches!(name, "localhost" | "127.0.0.1" | "[::1]" | "::1" | "")
            }
            Self::Token(token) => headers
                .get(header::AUTHORIZATION)
                .and_then(|value| value.to_str().ok())
                .and_then(|value| value.strip_prefix("Bearer "))
                .is_some_and(|given| token.is(given)),
        }
    }
}

/// Refuses whom the guard does not admit.
pub(crate) async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if guard.admits(request.headers()) {
        return next.run(request).await;
    }
    let (status, why) = match &*guard {
        Guard::ThisMachine => {
            (StatusCode::FORBIDDEN, "only this machine may ask; the Host header names another")
        }
        Guard::Token(_) => (StatusCode::UNAUTHORIZED, "send the header Authorization: Bearer TOKEN"),
    };
    (status, axum::Json(serde_json::json!({ "error": why }))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    #[test]
    fn only_this_machine_or_the_token() {
        for (host, yes) in
            [("localhost:7878", true), ("127.0.0.1", true), ("[::1]:80", true), ("evil.example:7878", false)]
        {
            assert_eq!(Guard::ThisMachine.admits(&headers(header::HOST, host)), yes, "{host}");
        }
        let guard = Guard::Token(Token::new("open-sesame").unwrap());
        assert!(guard.admits(&headers(header::AUTHORIZATION, "Bearer open-sesame")));
        assert!(!guard.admits(&headers(header::AUTHORIZATION, "Bearer open-sesamf")));
        assert!(!guard.admits(&headers(header::AUTHORIZATION, "open-sesame")));
        assert!(!guard.admits(&HeaderMap::new()));
        assert!(Token::new("short").is_none());
    }
}
