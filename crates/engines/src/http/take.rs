//! Values of a reply, as the columns of a row.

use dbdyno_engine::Capture;
use dbdyno_program::value::Value;
use dbdyno_protocol::plan::request::Take;
use regex::bytes::Regex;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The values that a request takes, parsed once.
#[derive(Debug)]
pub struct Taking {
    columns: Vec<Column>,
    /// Whether a value is taken from the body, so that the body is kept.
    pub from_body: bool,
    /// Whether a value is taken from header fields.
    pub from_fields: bool,
}

#[derive(Debug)]
enum Column {
    Status,
    Header(String),
    Cookie(String),
    /// The parts of a pointer.
    Json(Vec<String>),
    Regex(Box<Regex>),
    Body,
}

impl Taking {
    /// Parses the list. The error says what is wrong with it.
    pub fn new(takes: &[Take]) -> Result<Self, String> {
        let columns = takes.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let from_body = columns
            .iter()
            .any(|column| matches!(column, Column::Json(_) | Column::Regex(_) | Column::Body));
        let from_fields = columns
            .iter()
            .any(|column| matches!(column, Column::Header(_) | Column::Cookie(_)));
        Ok(Self {
            columns,
            from_body,
            from_fields,
        })
    }

    /// Takes the value of a header field.
    pub fn field(&self, name: &str, value: &[u8], capture: &mut Capture<'_>, taken: &mut u64) {
        for (at, column) in self.columns.iter().enumerate() {
            let found = match column {
                Column::Header(wanted) if name.eq_ignore_ascii_case(wanted) => Some(value),
                Column::Cookie(wanted) if name.eq_ignore_ascii_case("set-cookie") => cookie(value, wanted),
                _ => None,
            };
            // The first of several fields counts.
            let bit = 1u64.checked_shl(at as u32).unwrap_or(0);
            if let Some(found) = found
                && *taken & bit == 0
            {
                *taken |= bit;
                put(found, at, capture);
            }
        }
    }

    /// Takes the status, and values from the body.
    pub fn rest(&self, status: u16, body: &[u8], capture: &mut Capture<'_>) {
        for (at, column) in self.columns.iter().enumerate() {
            match column {
                Column::Status => capture.take(at, Value::Integer(status.into())),
                Column::Header(_) | Column::Cookie(_) => {}
                Column::Json(path) => json(body, path, at, capture),
                Column::Regex(pattern) => {
                    if let Some(found) = pattern.captures(body)
                        && let Some(group) = found.get(usize::from(found.len() > 1))
                    {
                        put(group.as_bytes(), at, capture);
                    }
                }
                Column::Body => put(body, at, capture),
            }
        }
    }
}

fn column(take: &Take) -> Result<Column, String> {
    Ok(match take {
        Take::Status => Column::Status,
        Take::Header { name } => Column::Header(name.clone()),
        Take::Cookie { name } => Column::Cookie(name.clone()),
        Take::Json { pointer } => Column::Json(parts(pointer)?),
        Take::Regex { pattern } => {
            let regex = Regex::new(pattern).map_err(|error| {
                let why = error.to_string();
                let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
                format!("`{pattern}` is not a valid regular expression: {why}")
            })?;
            Column::Regex(Box::new(regex))
        }
        Take::Body => Column::Body,
    })
}

/// The parts of a JSON pointer (RFC 6901).
fn parts(pointer: &str) -> Result<Vec<String>, String> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rest) = pointer.strip_prefix('/') else {
        return Err(format!("`{pointer}` is no JSON pointer, which begins with `/`"));
    };
    Ok(rest
        .split('/')
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect())
}

fn put(bytes: &[u8], at: usize, capture: &mut Capture<'_>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => capture.take(at, Value::Text(text)),
        Err(_) => capture.take(at, Value::Bytes(bytes)),
    }
}

/// The value of a cookie, if a field `set-cookie` is about it (RFC 6265, 5.2).
fn cookie<'a>(field: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    let pair = field.split(|byte| *byte == b';').next()?;
    let at = pair.iter().position(|byte| *byte == b'=')?;
    let (name, value) = pair.split_at(at);
    (name.trim_ascii() == wanted.as_bytes()).then(|| value[1..].trim_ascii())
}

/// Takes the value at a pointer; null if the body is not JSON.
fn json(body: &[u8], path: &[String], at: usize, capture: &mut Capture<'_>) {
    let mut found: Option<&RawValue> = None;
    let mut reader = serde_json::Deserializer::from_slice(body);
    // Parsing ends with an error as soon as the value is found. That error is ignored.
    let _ = Seek {
        path,
        found: &mut found,
    }
    .deserialize(&mut reader);
    let Some(raw) = found.map(RawValue::get) else { return };
    match raw.as_bytes().first() {
        Some(b'"') => {
            if let Ok(text) = serde_json::from_str::<std::borrow::Cow<'_, str>>(raw) {
                capture.take(at, Value::Text(&text));
            }
        }
        Some(b'n') => capture.take(at, Value::Null),
        Some(b't') => capture.take(at, Value::Integer(1)),
        Some(b'f') => capture.take(at, Value::Integer(0)),
        Some(b'{' | b'[') | None => capture.take(at, Value::Text(raw)),
        Some(_) => match (raw.parse::<i64>(), raw.parse::<f64>()) {
            (Ok(whole), _) => capture.take(at, Value::Integer(whole)),
            (_, Ok(real)) => capture.take(at, Value::Real(real)),
            _ => {}
        },
    }
}

/// Parses up to the value at a path.
struct Seek<'p, 'f, 'de> {
    path: &'p [String],
    found: &'f mut Option<&'de RawValue>,
}

impl<'de> DeserializeSeed<'de> for Seek<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            *self.found = Some(serde::Deserialize::deserialize(reader)?);
            return Ok(());
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object or a list")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            if key == self.path[0].as_str() {
                return map.next_value_seed(Seek {
                    path: &self.path[1..],
                    found: self.found,
                });
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<(), S::Error> {
        let Ok(wanted) = self.path[0].parse::<usize>() else {
            return Ok(());
        };
        for _ in 0..wanted {
            if items.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        items
            .next_element_seed(Seek {
                path: &self.path[1..],
                found: self.found,
            })
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_engine::Wanted;
    use dbdyno_program::value::Owned;
    use proptest::prelude::*;

    fn taken(takes: serde_json::Value, fields: &[(&str, &str)], body: &str) -> Vec<Owned> {
        let takes: Vec<Take> = serde_json::from_value(takes).unwrap();
        let taking = Taking::new(&takes).unwrap();
        let slots: Vec<usize> = (0..takes.len()).collect();
        let mut variables = vec![Owned::Integer(-1); takes.len()];
        let mut wanted = Wanted {
            slots: &slots,
            variables: &mut variables,
            every: None,
        };
        let mut capture = Capture::new(&mut wanted);
        capture.clear();
        let mut seen = 0;
        for (name, value) in fields {
            taking.field(name, value.as_bytes(), &mut capture, &mut seen);
        }
        taking.rest(200, body.as_bytes(), &mut capture);
        variables
    }

    fn text(text: &str) -> Owned {
        Owned::Text(text.into())
    }

    #[test]
    fn each_kind_of_take_finds_its_value() {
        let takes = serde_json::json!([
            {"from": "status"}, {"from": "header", "name": "Location"}, {"from": "cookie", "name": "sid"},
            {"from": "json", "pointer": "/a/1/b~1c"}, {"from": "regex", "pattern": "\"n\": *(\\d+)"},
            {"from": "regex", "pattern": "nowhere"}, {"from": "json", "pointer": "/a/9"},
            {"from": "header", "name": "missing"},
        ]);
        let fields = [
            ("location", "/first"),
            ("LOCATION", "/second"),
            ("set-cookie", "other=1"),
            ("Set-Cookie", "sid = x=y ; Path=/"),
        ];
        let seen = taken(takes, &fields, r#"{"x": [{}], "a": [0, {"b/c": 5}], "n":  12}"#);
        let expected = [
            Owned::Integer(200),
            text("/first"),
            text("x=y"),
            Owned::Integer(5),
            text("12"),
            Owned::Null,
            Owned::Null,
            Owned::Null,
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn json_values_have_their_kind() {
        for (body, expected) in [
            ("\"a\\u00fc\\n\"", text("aü\n")),
            ("null", Owned::Null),
            ("true", Owned::Integer(1)),
            ("-0.5e1", Owned::Real(-5.0)),
            ("{\"a\": [1]}", text("{\"a\": [1]}")),
            (" 7 ", Owned::Integer(7)),
            ("<html>", Owned::Null),
            ("18446744073709551615", Owned::Real(18_446_744_073_709_551_615.0)),
        ] {
            assert_eq!(
                taken(serde_json::json!([{"from": "json", "pointer": ""}]), &[], body),
                [expected],
                "{body}"
            );
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "[a-c/~\"]{0,3}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 30, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                proptest::collection::btree_map("[a-c/~]{0,2}", inner, 0..4)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_pointer_finds_what_serde_json_finds(json in any_json(), path in proptest::collection::vec("[a-c/~0-3]{0,2}", 0..4)) {
            let pointer: String = path.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect();
            let body = json.to_string();
            let seen = taken(serde_json::json!([{"from": "json", "pointer": pointer}]), &[], &body).remove(0);
            let expected = match json.pointer(&pointer) {
                None | Some(serde_json::Value::Null) => Owned::Null,
                Some(serde_json::Value::Bool(value)) => Owned::Integer((*value).into()),
                Some(serde_json::Value::Number(value)) => Owned::Integer(value.as_i64().unwrap()),
                Some(serde_json::Value::String(value)) => text(value),
                Some(other) => text(&other.to_string()),
            };
            // Skips an index with a leading zero, which RFC 6901 (4) does not allow.
            prop_assume!(!path.iter().any(|part| part.len() > 1 && part.starts_with('0')));
            prop_assert_eq!(seen, expected);
        }
    }
}
