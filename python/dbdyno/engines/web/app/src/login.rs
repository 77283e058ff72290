//! One request: log a user in, record the login, and perform the optional operations.

use crate::connection::Connection;
use crate::refusal::{REASONS, Reason, Refusal};
use crate::source::Source;
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, Form, State};
use axum::http::{HeaderMap, Uri};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest prefix of a postal code.
const LONGEST_PREFIX: usize = 20;

/// The address that a connection comes from.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// The state that all requests share.
pub struct Application {
    source: Source,
    longest: Duration,
    hash_rounds: u32,
    served: AtomicU64,
    refused: [AtomicU64; REASONS.len()],
}

/// The optional operations of a request. The client chooses them, so the same seed gives every engine the same work.
#[derive(Debug, Deserialize)]
struct Login {
    user_name: String,
    password: String,
    /// Whether to update the user's row: 1 or 0, true or false.
    #[serde(default)]
    update: String,
    /// The prefix of the postal codes to search for; none: no search.
    #[serde(default)]
    prefix: String,
}

impl Application {
    /// `longest`: the time limit of a request; `hash_rounds`: the hash rounds of a password check.
    pub fn new(source: Source, longest: Duration, hash_rounds: u32) -> Self {
        Self {
            source,
            longest,
            hash_rounds,
            served: AtomicU64::new(0),
            refused: Default::default(),
        }
    }

    /// Count a request that failed right after it was accepted.
    pub fn count(&self, reason: Reason) {
        self.refused[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Query the database's version.
    pub async fn version(&self) -> Result<String, Refusal> {
        self.with_connection(async |connection| Ok(connection.version().await?))
            .await
    }

    /// Use a connection within the time limit of a request.
    async fn with_connection<T>(
        &self,
        work: impl AsyncFnOnce(&mut Connection) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let done = tokio::time::timeout(self.longest, async {
            let mut lent = self.source.lend().await?;
            let done = work(lent.connection()).await;
            let whole = done
                .as_ref()
                .err()
                .is_none_or(|refusal| refusal.reason == Reason::WrongPassword);
            lent.give_back(whole).await;
            done
        });
        let late = || format!("the database did not answer within {} ms", self.longest.as_millis());
        // A connection dropped during an operation can't serve another request, so the pool forgets it.
        done.await
            .unwrap_or_else(|_| Err(Refusal::new(Reason::Timeout, late())))
    }
}

/// Create the routes.
pub fn routes(application: Arc<Application>) -> Router {
    Router::new()
        .route("/login", get(login).post(login))
        .route("/health", get(health))
        .route("/stats", get(statistics))
        .fallback(unknown)
        .layer(middleware::from_fn_with_state(application.clone(), counted))
        .with_state(application)
}

/// Count a request by its outcome.
async fn counted(State(application): State<Arc<Application>>, request: axum::extract::Request, next: Next) -> Response {
    let response = next.run(request).await;
    match response.extensions().get::<Reason>() {
        Some(reason) => application.count(*reason),
        None => drop(application.served.fetch_add(1, Ordering::Relaxed)),
    }
    response
}

async fn login(
    State(application): State<Arc<Application>>,
    Extension(Peer(peer)): Extension<Peer>,
    headers: HeaderMap,
    form: Result<Form<Login>, FormRejection>,
) -> Result<Json<Value>, Refusal> {
    let Form(asked) = form.map_err(|rejection| Refusal::new(Reason::BadRequest, rejection.body_text()))?;
    let update = read_switch(&asked.update)?;
    let range = read_prefix(&asked.prefix)?;
    let address = address_of(&headers, peer);
    if application.hash_rounds > 0 {
        compute(&asked.password, application.hash_rounds);
    }
    application
        .with_connection(async |connection| {
            let found = connection.authenticate(&asked.user_name, &asked.password).await?;
            // Some databases ignore case or trailing spaces in comparisons.
            let found = found.filter(|user| user.user_name == asked.user_name && user.password == asked.password);
            let Some(user) = found else {
                return Err(Refusal::new(
                    Reason::WrongPassword,
                    "there is no such user, or the password is another",
                ));
            };
            let at = now();
            connection.log(&user.user_name, &address, at).await?;
            let updated = if update {
                connection.update(user.id, at).await?
            } else {
                0
            };
            let codes = match &range {
                Some((low, high)) => connection.search(low, high.as_deref()).await?,
                None => Vec::new(),
            };
            let codes: Vec<Value> = codes
                .into_iter()
                .map(|(code, place)| json!({"code": code, "place": place}))
                .collect();
            let user = json!({"id": user.id, "user_name": user.user_name, "logins": user.logins});
            Ok(Json(json!({"user": user, "updated": updated, "codes": codes})))
        })
        .await
}

async fn health(State(application): State<Arc<Application>>) -> Result<Json<Value>, Refusal> {
    Ok(Json(json!({"status": "ok", "version": application.version().await?})))
}

async fn statistics(State(application): State<Arc<Application>>) -> Json<Value> {
    let refused = REASONS.iter().zip(&application.refused);
    let refused: serde_json::Map<String, Value> = refused
        .map(|(reason, count)| (reason.name().to_owned(), count.load(Ordering::Relaxed).into()))
        .collect();
    let served = application.served.load(Ordering::Relaxed);
    Json(json!({"served": served, "refused": refused, "connections_opened": application.source.opened()}))
}

async fn unknown(uri: Uri) -> Response {
    use axum::response::IntoResponse as _;
    let message = format!("there is no {}: ask for /login, /health or /stats", uri.path());
    let mut response = Refusal::new(Reason::BadRequest, message).into_response();
    *response.status_mut() = axum::http::StatusCode::NOT_FOUND;
    response
}

/// The client's address; behind proxies, the address that the last one reports.
fn address_of(headers: &HeaderMap, peer: IpAddr) -> String {
    let forwarded = headers.get_all("x-forwarded-for").iter().next_back();
    let last = forwarded
        .and_then(|value| value.to_str().ok())
        .and_then(|list| list.rsplit(',').next());
    last.and_then(|text| text.trim().parse::<IpAddr>().ok())
        .unwrap_or(peer)
        .to_string()
}

fn read_switch(text: &str) -> Result<bool, Refusal> {
    match text {
        "" | "0" | "false" => Ok(false),
        "1" | "true" => Ok(true),
        _ => Err(Refusal::new(Reason::BadRequest, format!("update={text}: write 1 or 0"))),
    }
}

/// Return the range of postal codes with a prefix. All engines can use an index for a range, in any collation.
fn read_prefix(prefix: &str) -> Result<Option<(String, Option<String>)>, Refusal> {
    if prefix.is_empty() {
        return Ok(None);
    }
    if prefix.len() > LONGEST_PREFIX || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!("prefix={prefix}: write the 1 to {LONGEST_PREFIX} digits that a postal code begins with");
        return Err(Refusal::new(Reason::BadRequest, message));
    }
    // The next prefix: trailing nines are removed, and a prefix of only nines has no successor.
    let stem = prefix.trim_end_matches('9');
    let high = stem.char_indices().next_back().map(|(place, digit)| {
        format!(
            "{}{}",
            &stem[..place],
            char::from_digit(digit.to_digit(10).unwrap_or(0) + 1, 10).unwrap_or('9')
        )
    });
    Ok(Some((prefix.to_owned(), high)))
}

/// Compute the rounds of a hashed password's check. Only the time matters; the result is discarded.
fn compute(password: &str, rounds: u32) {
    let mut digest = Sha256::digest(password);
    for _ in 1..rounds {
        digest = Sha256::digest(digest);
    }
    black_box(digest);
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_range() {
        for (prefix, high) in [
            ("12", Some("13")),
            ("129", Some("13")),
            ("1", Some("2")),
            ("99", None),
            ("0", Some("1")),
        ] {
            let (low, found) = read_prefix(prefix).unwrap().unwrap();
            assert_eq!((low.as_str(), found.as_deref()), (prefix, high));
        }
        assert!(read_prefix("").unwrap().is_none());
        for wrong in ["12a", "-1", "1%", "１", "123456789012345678901"] {
            assert_eq!(read_prefix(wrong).unwrap_err().reason, Reason::BadRequest);
        }
    }

    #[test]
    fn the_last_proxy_says_where_a_request_comes_from() {
        let peer: IpAddr = "127.0.0.1".parse().unwrap();
        let mut headers = HeaderMap::new();
        assert_eq!(address_of(&headers, peer), "127.0.0.1");
        headers.insert("x-forwarded-for", "10.0.0.1, 10.0.0.2".parse().unwrap());
        assert_eq!(address_of(&headers, peer), "10.0.0.2");
        headers.insert("x-forwarded-for", "'; drop table users".parse().unwrap());
        assert_eq!(address_of(&headers, peer), "127.0.0.1");
    }
}
