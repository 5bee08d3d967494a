//! Listening and limits.

use crate::guard::{Guard, admit};
use crate::{Error, Explorer, Result, api, page};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// What a request may ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of a query's text.
    pub text: usize,
    /// Documents in an answer.
    pub k: usize,
    /// Time for an answer.
    pub time: Duration,
    /// Answers worked on at once.
    pub at_once: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { text: 8_000, k: 100, time: Duration::from_secs(20), at_once: 8 }
    }
}

/// What the handlers share.
pub(crate) struct Shared {
    pub(crate) explorer: Explorer,
    pub(crate) limits: Limits,
    slots: Arc<Semaphore>,
}

impl Shared {
    /// Does work off the threads that answer requests, within the limits of time and number.
    pub(crate) async fn work<T: Send + 'static>(
        self: Arc<Self>,
        job: impl FnOnce(&Explorer, Limits) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let limits = self.limits;
        let slot = self.slots.clone().try_acquire_owned().map_err(|_| Error::Busy)?;
        let task = tokio::task::spawn_blocking(move || {
            let _slot = slot; // kept until the work is done, even if nobody waits any more
            job(&self.explorer, limits)
        });
        match tokio::time::timeout(limits.time, task).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Error::Request("the request could not be answered".to_owned())),
            Err(_) => Err(Error::Late),
        }
    }
}

/// An address that has been taken.
pub struct Listener {
    listener: TcpListener,
    guard: Guard,
}

impl Listener {
    /// Takes `address`; one that other machines can reach demands a token.
    pub async fn bind(address: SocketAddr, guard: Guard) -> Result<Self> {
        if !address.ip().is_loopback() && matches!(guard, Guard::ThisMachine) {
            return Err(Error::TokenNeeded(address));
        }
        let listener =
            TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })?;
        Ok(Self { listener, guard })
    }

    /// Where it listens, with the port that was given.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }
}

/// Answers requests until `stop` is ready.
pub async fn serve(
    listener: Listener,
    explorer: Explorer,
    limits: Limits,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let shared = Arc::new(Shared { explorer, limits, slots: Arc::new(Semaphore::new(limits.at_once)) });
    let api = api::router(shared).layer(middleware::from_fn_with_state(Arc::new(listener.guard), admit));
    let router = Router::new()
        .nest("/api", api)
        .merge(page::router())
        .layer(DefaultBodyLimit::max(limits.text))
        .layer(middleware::from_fn(async |request: axum::extract::Request, next: Next| {
            let mut response = next.run(request).await;
            for (name, value) in HEADERS {
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            response
        }));
    Ok(axum::serve(listener.listener, router).with_graceful_shutdown(stop).await?)
}

/// Nothing but our own files runs, nothing is fetched from elsewhere, and no page may frame this one.
const HEADERS: [(header::HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
];
