//! Requests of a plan, parsed once into parts.

use super::fill::{Form, Part, Parts, fill, percent};
use super::take::Taking;
use super::target::{HttpTarget, Version};
use ::http::uri::PathAndQuery;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use dbdyno_engine::{Failure, check_count};
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::{FailureKind, Statement};
use dbdyno_protocol::plan::request::{Body, Field, JsonPiece, Piece, Request, Template};

/// Replaces a secret in messages.
const MASK: &str = "***";

/// Bytes of a body that the message of an unexpected status quotes.
pub const TOLD: usize = 200;

/// The value of the field `user-agent`.
const AGENT: &str = concat!("dbdyno/", env!("CARGO_PKG_VERSION"));

/// Methods that change nothing (RFC 9110, 9.2.1).
pub const SAFE: [&str; 4] = ["GET", "HEAD", "OPTIONS", "TRACE"];

/// Further methods that may be sent again if their outcome is unknown (RFC 9110, 9.2.2).
const IDEMPOTENT: [&str; 2] = ["PUT", "DELETE"];

/// A parsed request.
#[derive(Debug)]
pub struct Ready {
    /// Its name in the plan.
    pub name: String,
    /// Its method.
    pub method: String,
    /// Path and query.
    pub path: Vec<Part>,
    /// Header fields, except connection fields and the body's length. Names are in lower case.
    pub headers: Vec<(String, Vec<Part>)>,
    /// The body.
    pub body: Option<Parts>,
    /// The head in HTTP/1.1. If the body's length depends on parameters, the head lacks that length and its end.
    head: Vec<Part>,
    /// The expected statuses; empty means 200 to 299.
    expect: Vec<u16>,
    /// The values to take from the reply.
    pub taking: Taking,
    /// How many parameters there are.
    pub parameters: usize,
    /// Whether it may be sent again if no part of a reply has arrived.
    pub repeatable: bool,
    /// Whether the reply never has a body (HEAD).
    pub is_head: bool,
    /// The secrets that no message may contain, in each form in which a reply could repeat them.
    secrets: Vec<String>,
}

impl Ready {
    /// Parses a statement's request. An error says what is wrong with it.
    pub fn new(statement: &Statement, target: &HttpTarget) -> Result<Self, Failure> {
        let wrong = |problem: &str| Failure::new(FailureKind::Other, format!("{problem}: in {}", statement.name));
        let Some(request) = statement.request.as_deref() else {
            return Err(wrong("this is not an HTTP request; a service accepts only requests"));
        };
        Self::of(request, &statement.name, target).map_err(|problem| wrong(&problem))
    }

    fn of(request: &Request, name: &str, target: &HttpTarget) -> Result<Self, String> {
        let parameters = request.parameters(name).map_err(|error| error.to_string())?;
        if request.method.is_empty() || !request.method.bytes().all(is_token) || request.method == "CONNECT" {
            return Err(format!("`{}` is not an HTTP method", request.method));
        }
        let mut path = Parts::default();
        path.bytes(target.base.as_bytes());
        write(&request.path, Form::Percent, &mut path);
        let whole = target.base.is_empty() && request.path.is_empty();
        let begins = matches!(path.0.first(), Some(Part::Bytes(bytes)) if bytes.first() == Some(&b'/'));
        if !whole && !begins {
            return Err("a path begins with `/`".into());
        }
        if whole {
            path.bytes(b"/");
        }
        let mut before: &[u8] = if has_query(&request.path) { b"&" } else { b"?" };
        for field in &request.query {
            path.bytes(before);
            write_field(field, Form::Percent, &mut path);
            before = b"&";
        }
        if path
            .0
            .iter()
            .any(|part| matches!(part, Part::Bytes(bytes) if !bytes.iter().all(u8::is_ascii_graphic)))
        {
            return Err("a path has only printed ASCII characters: write others as `%20` and so on".into());
        }
        if target.version == Version::Two && !is_path(&path) {
            return Err(
                "HTTP/2 does not allow this path: write `#`, `<`, `>` and backquotes as `%23` and so on".into(),
            );
        }
        let (body, kind) = body(request.body.as_ref());
        let headers = headers(request, target, kind)?;
        let head = head(request, target, &path, &headers, body.as_ref());
        Ok(Self {
            name: name.to_owned(),
            method: request.method.clone(),
            path: path.0,
            headers,
            body,
            head,
            expect: request.expect.clone(),
            taking: Taking::new(&request.take)?,
            parameters,
            repeatable: SAFE.iter().chain(&IDEMPOTENT).any(|method| *method == request.method),
            is_head: request.method == "HEAD",
            secrets: target.password.as_deref().map(secrets).unwrap_or_default(),
        })
    }

    /// Writes the whole request in HTTP/1.1. `scratch` is a buffer for the body.
    #[inline]
    pub fn write(&self, values: &Values, scratch: &mut BytesMut, out: &mut BytesMut) -> Result<(), Failure> {
        check_count(self.parameters, values.len())?;
        fill(&self.head, values, out)?;
        if let Some(body) = &self.body
            && body.fixed().is_none()
        {
            scratch.clear();
            fill(&body.0, values, scratch)?;
            out.extend_from_slice(b"content-length: ");
            out.extend_from_slice(itoa::Buffer::new().format(scratch.len()).as_bytes());
            out.extend_from_slice(b"\r\n\r\n");
            out.extend_from_slice(scratch);
        }
        Ok(())
    }

    /// Whether a status is expected.
    #[inline(always)]
    pub fn expects(&self, status: u16) -> bool {
        if self.expect.is_empty() {
            (200..300).contains(&status)
        } else {
            self.expect.contains(&status)
        }
    }

    /// The failure for an unexpected status. `begins`: the first bytes of the body.
    #[cold]
    pub fn unexpected(&self, status: u16, begins: &[u8]) -> Failure {
        let expected = match &self.expect[..] {
            [] => "200 to 299".to_owned(),
            some => some.iter().map(u16::to_string).collect::<Vec<_>>().join(" or "),
        };
        let is_cut = begins.len() >= TOLD;
        let body = String::from_utf8_lossy(begins).into_owned();
        let body = self
            .secrets
            .iter()
            .fold(body, |body, secret| without(body, secret, is_cut));
        let code = match named_error(&body) {
            Some(name) => format!("{status} {name}"),
            None => status.to_string(),
        };
        let body: Vec<&str> = body.split_whitespace().collect();
        let told = if body.is_empty() {
            "an empty body".to_owned()
        } else {
            format!("the body `{}`", body.join(" "))
        };
        let reason = ::http::StatusCode::from_u16(status)
            .ok()
            .and_then(|code| code.canonical_reason())
            .map_or(String::new(), |reason| format!(" ({reason})"));
        let message = format!(
            "{}: status {status}{reason} with {told}; expected: {expected}",
            self.name
        );
        Failure::new(FailureKind::Status, message).coded(code)
    }
}

/// The error code at the start of a JSON body: `"error": "too-many-connections"`.
fn named_error(begins: &str) -> Option<&str> {
    let (_, rest) = begins.split_once("\"error\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (name, _) = rest.split_once('"')?;
    let is_word = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.');
    (!name.is_empty() && name.chars().all(is_word)).then_some(name)
}

/// Name and password encoded for basic authentication, both in plain text, and the password alone (or the name if the
/// password is empty).
fn secrets(password: &str) -> Vec<String> {
    let (name, alone) = password.split_once(':').unwrap_or(("", password));
    let alone = if alone.is_empty() { name } else { alone };
    [STANDARD.encode(password), password.to_owned(), alone.to_owned()]
        .into_iter()
        .filter(|secret| !secret.is_empty())
        .collect()
}

/// Masks a secret in a string, and its beginning at the end of a string that `is_cut` off.
fn without(mut text: String, secret: &str, is_cut: bool) -> String {
    if text.contains(secret) {
        text = text.replace(secret, MASK);
    }
    let begun = (1..secret.len())
        .rev()
        .find(|&length| secret.is_char_boundary(length) && text.ends_with(&secret[..length]));
    if let Some(length) = begun.filter(|_| is_cut) {
        text.truncate(text.len() - length);
        text.push_str(MASK);
    }
    text
}

fn has_query(path: &Template) -> bool {
    path.iter()
        .any(|piece| matches!(piece, Piece::Text(text) if text.contains('?')))
}

fn write(template: &Template, form: Form, parts: &mut Parts) {
    for piece in template {
        match piece {
            Piece::Text(text) => parts.bytes(text.as_bytes()),
            Piece::Parameter(number) => parts.place(*number, form),
        }
    }
}

/// Writes `name=value`. Literal parts are encoded too.
fn write_field(field: &Field, form: Form, parts: &mut Parts) {
    let encode = |text: &str| {
        let mut out = BytesMut::new();
        percent(text.as_bytes(), form == Form::Field, &mut out);
        out
    };
    parts.bytes(&encode(&field.name));
    parts.bytes(b"=");
    for piece in &field.value {
        match piece {
            Piece::Text(text) => parts.bytes(&encode(text)),
            Piece::Parameter(number) => parts.place(*number, form),
        }
    }
}

/// The body's parts, and its media type if that is known.
fn body(body: Option<&Body>) -> (Option<Parts>, Option<&'static str>) {
    let mut parts = Parts::default();
    let kind = match body {
        None => return (None, None),
        Some(Body::Text { text }) => {
            write(text, Form::Raw, &mut parts);
            None
        }
        Some(Body::Form { fields }) => {
            for (number, field) in fields.iter().enumerate() {
                parts.bytes(if number > 0 { b"&" } else { b"" });
                write_field(field, Form::Field, &mut parts);
            }
            Some("application/x-www-form-urlencoded")
        }
        Some(Body::Json { pieces }) => {
            for piece in pieces {
                match piece {
                    JsonPiece::Text(text) => parts.bytes(text.as_bytes()),
                    JsonPiece::Value(number) => parts.place(*number, Form::Json),
                    JsonPiece::Within { within } => parts.place(*within, Form::Within),
                }
            }
            Some("application/json")
        }
    };
    (Some(parts), kind)
}

fn headers(
    request: &Request,
    target: &HttpTarget,
    kind: Option<&'static str>,
) -> Result<Vec<(String, Vec<Part>)>, String> {
    let mut headers: Vec<(String, Vec<Part>)> = Vec::new();
    for field in &request.headers {
        let name = field.name.to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("`{}` is not a valid header name", field.name));
        }
        if [
            "connection",
            "content-length",
            "transfer-encoding",
            "keep-alive",
            "upgrade",
        ]
        .contains(&name.as_str())
        {
            return Err(format!("dbdyno sets the header `{name}` itself"));
        }
        let mut value = Parts::default();
        write(&field.value, Form::Header, &mut value);
        let breaks = |part: &Part| matches!(part, Part::Bytes(bytes) if bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
        if value.0.iter().any(breaks) {
            return Err(format!("the header field `{name}` has the end of a line in it"));
        }
        headers.push((name, value.0));
    }
    let mut unless_given = |name: &str, value: &str| {
        if !headers.iter().any(|(given, _)| given == name) {
            headers.push((name.to_owned(), vec![Part::Bytes(value.as_bytes().into())]));
        }
    };
    unless_given("user-agent", AGENT);
    if let Some(kind) = kind {
        unless_given("content-type", kind);
    }
    if let Some(password) = &target.password {
        unless_given("authorization", &format!("Basic {}", STANDARD.encode(password)));
    }
    Ok(headers)
}

/// Methods whose requests carry `content-length` even without a body (RFC 9110, 8.6).
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

fn head(
    request: &Request,
    target: &HttpTarget,
    path: &Parts,
    headers: &[(String, Vec<Part>)],
    body: Option<&Parts>,
) -> Vec<Part> {
    let mut head = Parts::default();
    head.bytes(format!("{} ", request.method).as_bytes());
    head.append(&path.0);
    head.bytes(b" HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name == "host") {
        head.bytes(format!("host: {}\r\n", target.authority()).as_bytes());
    }
    for (name, value) in headers {
        head.bytes(format!("{name}: ").as_bytes());
        head.append(value);
        head.bytes(b"\r\n");
    }
    if !target.keepalive {
        head.bytes(b"connection: close\r\n");
    }
    match body {
        None if WITH_BODY.contains(&request.method.as_str()) => head.bytes(b"content-length: 0\r\n\r\n"),
        None => head.bytes(b"\r\n"),
        Some(body) => {
            if let Some(body) = body.fixed() {
                head.bytes(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
                head.bytes(body);
            }
        }
    }
    head.0
}

/// Whether the crate `http` accepts a path. Parameters are encoded, so only literal parts matter.
fn is_path(path: &Parts) -> bool {
    let fixed = path.0.iter().filter_map(|part| match part {
        Part::Bytes(bytes) => Some(&bytes[..]),
        _ => None,
    });
    let fixed: Vec<u8> = fixed.flatten().copied().collect();
    // A fragment is cut off.
    PathAndQuery::try_from(&fixed[..]).is_ok_and(|taken| taken.as_str().len() == fixed.len())
}

/// Characters of a token (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_program::value::Value;
    use serde_json::json;

    fn ready(target: serde_json::Value, request: serde_json::Value) -> Result<Ready, String> {
        let target = serde_json::from_value(target).unwrap();
        Ready::of(&serde_json::from_value(request).unwrap(), "r", &target)
    }

    fn written(target: serde_json::Value, request: serde_json::Value, values: &[Value<'_>]) -> String {
        let mut given = Values::default();
        values.iter().for_each(|value| given.push(*value));
        let (mut scratch, mut out) = (BytesMut::new(), BytesMut::new());
        let ready = ready(target, request).unwrap();
        ready.write(&given, &mut scratch, &mut out).unwrap();
        String::from_utf8(out.to_vec()).unwrap().replace(AGENT, "agent")
    }

    #[test]
    fn a_request_without_parameters_is_one_piece() {
        let request = json!({"method": "POST", "path": ["/a"], "body": {"kind": "text", "text": ["hello"]}});
        let made = ready(json!({"host": "h", "port": 80}), request.clone()).unwrap();
        assert_eq!(made.head.len(), 1);
        assert_eq!(
            written(json!({"host": "h", "port": 80}), request, &[]),
            "POST /a HTTP/1.1\r\nhost: h\r\nuser-agent: agent\r\ncontent-length: 5\r\n\r\nhello"
        );
    }

    #[test]
    fn parameters_are_encoded_for_where_they_stand() {
        let request = json!({
            "method": "PUT", "path": ["/u/", 0, "/x"], "query": [{"name": "a b", "value": ["<", 1]}, {"name": "c", "value": []}],
            "headers": [{"name": "X-Token", "value": ["t ", 1]}],
            "body": {"kind": "json", "pieces": ["{\"n\":", 0, ",\"s\":", 1, ",\"w\":\"<", {"within": 1}, ">\"}"]},
        });
        assert_eq!(
            written(
                json!({"host": "h", "port": 81, "base": "/api", "keepalive": false, "password": "me:it's"}),
                request,
                &[Value::Integer(7), Value::Text("a/\"b\"")]
            ),
            "PUT /api/u/7/x?a%20b=%3Ca%2F%22b%22&c= HTTP/1.1\r\nhost: h:81\r\nx-token: t a/\"b\"\r\nuser-agent: agent\r\n\
             content-type: application/json\r\nauthorization: Basic bWU6aXQncw==\r\nconnection: close\r\n\
             content-length: 37\r\n\r\n{\"n\":7,\"s\":\"a/\\\"b\\\"\",\"w\":\"<a/\\\"b\\\">\"}"
        );
    }

    #[test]
    fn a_form_is_encoded_as_a_browser_does() {
        let request = json!({
            "method": "POST", "path": ["/login?from=/"], "query": [{"name": "q", "value": ["1"]}],
            "body": {"kind": "form", "fields": [{"name": "user", "value": [0]}, {"name": "note", "value": ["a b"]}]},
        });
        let text = written(json!({"host": "h", "port": 80}), request, &[Value::Text("é x")]);
        assert!(text.starts_with("POST /login?from=/&q=1 HTTP/1.1\r\n"), "{text}");
        assert!(
            text.ends_with("content-length: 22\r\n\r\nuser=%C3%A9+x&note=a+b"),
            "{text}"
        );
    }

    #[test]
    fn http_2_takes_no_path_with_a_fragment() {
        for (path, version, fits) in [
            ("/a#b", "2", false),
            ("/a<b", "2", false),
            ("/a?b=%23", "2", true),
            ("/a#b", "1.1", true),
        ] {
            let target = json!({"host": "h", "port": 80, "version": version});
            let made = ready(target, json!({"method": "GET", "path": [path]}));
            assert_eq!(made.is_ok(), fits, "{path} {version}");
        }
    }

    #[test]
    fn invalid_requests_are_reported() {
        for (request, problem) in [
            (json!({"method": "GE T", "path": ["/"]}), "not an HTTP method"),
            (json!({"method": "GET", "path": [0]}), "begins with `/`"),
            (json!({"method": "GET", "path": ["/a b"]}), "printed ASCII"),
            (
                json!({"method": "GET", "path": ["/"], "headers": [{"name": "a b", "value": []}]}),
                "not a valid header name",
            ),
            (
                json!({"method": "GET", "path": ["/"], "headers": [{"name": "Connection", "value": []}]}),
                "dbdyno sets the header",
            ),
            (
                json!({"method": "GET", "path": ["/"], "headers": [{"name": "a", "value": ["x\r\ny: z"]}]}),
                "end of a line",
            ),
            (
                json!({"method": "GET", "path": ["/"], "take": [{"from": "regex", "pattern": "("}]}),
                "regular expression",
            ),
            (
                json!({"method": "GET", "path": ["/"], "take": [{"from": "json", "pointer": "a"}]}),
                "JSON pointer",
            ),
        ] {
            let told = ready(json!({"host": "h", "port": 80}), request).unwrap_err();
            assert!(told.contains(problem), "{told}");
        }
    }

    #[test]
    fn an_unexpected_status_is_told_with_the_beginning_of_the_body() {
        let request = json!({"method": "GET", "path": ["/"], "expect": [200, 204]});
        let failure = ready(json!({"host": "h", "port": 80}), request)
            .unwrap()
            .unexpected(503, b" try\n again ");
        assert_eq!(failure.kind, FailureKind::Status);
        assert_eq!(
            failure.message,
            "r: status 503 (Service Unavailable) with the body `try again`; expected: 200 or 204"
        );
    }

    #[test]
    fn the_code_of_an_unexpected_status_has_the_services_word_for_the_error() {
        let request = json!({"method": "GET", "path": ["/"]});
        let ready = ready(json!({"host": "h", "port": 80}), request).unwrap();
        for (body, code) in [
            ("", "503"),
            (
                r#"{"error":"too-many-connections","message":"x"}"#,
                "503 too-many-connections",
            ),
            ("{ \"error\" : \"E_1.2\" , ", "503 E_1.2"),
            (r#"{"error": "a sentence"}"#, "503"),
            (r#"{"error": {"code": 1}}"#, "503"),
            (r#"{"error": "cut-o"#, "503"),
        ] {
            assert_eq!(
                ready.unexpected(503, body.as_bytes()).code.as_deref(),
                Some(code),
                "{body}"
            );
        }
    }

    #[test]
    fn a_body_that_repeats_what_came_tells_no_password() {
        let request = json!({"method": "GET", "path": ["/"]});
        let target = json!({"host": "h", "port": 80, "password": "me:geheim"});
        let ready = ready(target, request).unwrap();
        let told = |body: &str| ready.unexpected(401, body.as_bytes()).message.clone();
        let basic = STANDARD.encode("me:geheim");
        let message = told(&format!("authorization: Basic {basic}, decoded me:geheim, geheim."));
        assert!(
            message.contains("`authorization: Basic ***, decoded ***, ***.`"),
            "{message}"
        );
        // One that was cut off within it.
        let filler = "x".repeat(TOLD - 6);
        for begun in [&basic[..6], "me:geh", " gehei"] {
            let message = told(&format!("{filler}{begun}"));
            assert!(!message.contains(begun.trim()) && message.contains("***"), "{message}");
        }
        // The end of a whole body is its own.
        assert!(told("no me").contains("`no me`"));
        assert_eq!(secrets("token:").last().map(String::as_str), Some("token"));
    }
}
