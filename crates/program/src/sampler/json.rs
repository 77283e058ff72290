//! Values as JSON texts.

use super::probability::choose;
use super::{Kind, Sampler, Scope, row_scope};
use crate::expression::Scalar;
use crate::random::row_stream;
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
            Kind::Constant(value) => write_owned(value, text),
            Kind::Variable(slot) => write_owned(&scope.variables[*slot], text),
            Kind::Pick { values, thresholds } => write_owned(&values[choose(thresholds, scope.stream)], text),
            Kind::Reference { of, stream, row } => {
                let row = row.position(scope);
                let mut values = row_stream(scope.seed, *stream, row.row);
                let mut inner = row_scope(scope.seed, &mut values, row);
                of.write_json(&mut inner, text);
                if let Some(problem) = inner.problem.take() {
                    scope.problem = Some(problem);
                }
            }
            Kind::Expression(expression) => match expression.in_scope(scope) {
                Ok(Scalar::Null) => write_value(Value::Null, text),
                Ok(Scalar::Boolean(value)) => write_owned(&Owned::Boolean(value), text),
                Ok(Scalar::Integer(value)) => write_value(Value::Integer(value), text),
                Ok(Scalar::Double(value)) => write_value(Value::Real(value), text),
                Err(problem) => {
                    scope.problem = Some(problem.into());
                    write_value(Value::Null, text);
                }
            },
            _ => {
                let mut values = Values::default();
                self.sample(scope, &mut values);
                write_value(values.get(0).unwrap_or(Value::Null), text);
            }
        }
    }
}

/// Writes a value, also a Boolean, which is a number elsewhere.
fn write_owned(value: &Owned, text: &mut Text<'_>) {
    match value {
        Owned::Boolean(value) => text.push_str(if *value { "true" } else { "false" }),
        _ => write_value(value.view(), text),
    }
}

fn write_value(value: Value<'_>, text: &mut Text<'_>) {
    match value {
        Value::Integer(value) => drop(write!(text, "{value}")),
        Value::Real(value) if value.is_finite() => drop(write!(text, "{value}")),
        Value::Text(value) => write_string(value, text),
        Value::Bytes(bytes) => {
            text.push_str("\"");
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
            text.push_str("\"");
        }
        Value::Null | Value::Real(_) => text.push_str("null"),
    }
}
