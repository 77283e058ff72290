//! Values as JSON texts.

use super::{Kind, Sampler, Scope};
use crate::value::{Owned, Text, Value, Values};
use rand::Rng as _;
use std::fmt::Write as _;

/// Maximum number of repetitions in a list.
const MOST_REPEATED: i64 = 1_000_000;

/// A string in JSON, with its quotes.
pub(super) fn quoted(content: &str) -> String {
    let mut bytes = Values::default();
    bytes.push_text(|text| write_string(content, text));
    match bytes.get(0) {
        Some(Value::Text(text)) => text.into(),
        _ => String::new(),
    }
}

fn write_string(content: &str, text: &mut Text<'_>) {
    text.push_str("\"");
    let mut rest = content;
    // Usually, nothing must be escaped.
    while let Some(at) = rest.find(|one: char| one < ' ' || matches!(one, '"' | '\\')) {
        let (plain, escaped) = rest.split_at(at);
        text.push_str(plain);
        let one = escaped.as_bytes()[0];
        let _ = match one {
            b'"' | b'\\' => write!(text, "\\{}", char::from(one)),
            _ => write!(text, "\\u{one:04x}"),
        };
        rest = &escaped[1..];
    }
    text.push_str(rest);
    text.push_str("\"");
}

impl Sampler {
    /// Generates a value and writes it as JSON.
    pub(super) fn write_json(&self, scope: &mut Scope<'_>, text: &mut Text<'_>) {
        match &self.0 {
            Kind::Object { names, of } => {
                text.push_str("{");
                for (number, (name, each)) in names.iter().zip(of).enumerate() {
                    text.push_str(if number == 0 { "" } else { ", " });
                    text.push_str(name);
                    each.write_json(scope, text);
                }
                text.push_str("}");
            }
            Kind::List { of, count } => {
                let count = count
                    .as_ref()
                    .map_or(1, |count| count.integer(scope).clamp(0, MOST_REPEATED));
                text.push_str("[");
                for number in 0..count {
                    for (place, each) in of.iter().enumerate() {
                        text.push_str(if number == 0 && place == 0 { "" } else { ", " });
                        each.write_json(scope, text);
                    }
                }
                text.push_str("]");
            }
            Kind::Choice { .. } => self.chosen(scope).write_json(scope, text),
            Kind::Nullable { threshold, of } => {
                if scope.stream.next_u64() < *threshold {
                    text.push_str("null");
                } else {
                    of.write_json(scope, text);
                }
            }
            Kind::Constant(Owned::Boolean(value)) => text.push_str(if *value { "true" } else { "false" }),
            _ => {
                let mut values = Values::default();
                self.sample(scope, &mut values);
                let _ = match values.get(0) {
                    Some(Value::Integer(value)) => write!(text, "{value}"),
                    Some(Value::Real(value)) if value.is_finite() => write!(text, "{value}"),
                    Some(Value::Text(value)) => {
                        write_string(value, text);
                        Ok(())
                    }
                    Some(Value::Bytes(bytes)) => {
                        text.push_str("\"");
                        for byte in bytes {
                            let _ = write!(text, "{byte:02x}");
                        }
                        text.push_str("\"");
                        Ok(())
                    }
                    _ => {
                        text.push_str("null");
                        Ok(())
                    }
                };
            }
        }
    }
}
