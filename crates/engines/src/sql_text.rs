//! SQL as text: where its parameters stand, and how values are written into it as literals.

use dbdyno_plan::document::Statement;
use dbdyno_plan::value::{Literal, Value, Values};
use std::fmt::Write as _;

/// A statement's text cut at its `?` placeholders; those within strings, quoted names and comments are none.
#[derive(Debug, Clone)]
pub struct Template {
    pieces: Vec<String>,
}

impl Template {
    /// Cuts a text.
    pub fn new(sql: &str) -> Self {
        let mut pieces = Vec::new();
        let (mut start, mut at) = (0, 0);
        let bytes = sql.as_bytes();
        while at < bytes.len() {
            let rest = &sql[at..];
            at += match bytes[at] {
                b'?' => {
                    pieces.push(sql[start..at].to_owned());
                    start = at + 1;
                    1
                }
                quote @ (b'\'' | b'"' | b'`') => {
                    1 + rest[1..].find(quote as char).map_or(rest.len() - 1, |end| end + 1)
                }
                b'[' => 1 + rest[1..].find(']').map_or(rest.len() - 1, |end| end + 1),
                b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
                b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
                _ => rest.chars().next().map_or(1, char::len_utf8),
            };
        }
        pieces.push(sql[start..].to_owned());
        Self { pieces }
    }

    /// The text with `$1`, `$2` and so on for its parameters, as PostgreSQL wants them.
    pub fn numbered(&self) -> String {
        let mut text = String::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            if index > 0 {
                let _ = write!(text, "${index}");
            }
            text.push_str(piece);
        }
        text
    }

    /// How many parameters the text has.
    pub fn parameters(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Writes the text with the values in the placeholders' places, as literals of standard SQL.
    pub fn render(&self, values: &Values, out: &mut String) {
        out.clear();
        for (index, piece) in self.pieces.iter().enumerate() {
            out.push_str(piece);
            if index + 1 < self.pieces.len() {
                literal(values.get(index).unwrap_or(Value::Null), out);
            }
        }
    }
}

/// A statement with its example's values in the placeholders' places; none where it has parameters and no example.
///
/// An engine may plan a search by what is searched for: of a pattern, it matters how it begins.
pub fn with_example(statement: &Statement) -> Option<String> {
    let template = Template::new(&statement.sql);
    if template.parameters() != statement.example.len() {
        return None;
    }
    let mut values = Values::default();
    for literal in &statement.example {
        values.push(match literal {
            Literal::Null => Value::Null,
            Literal::Boolean(v) => Value::Integer(i64::from(*v)),
            Literal::Integer(v) => Value::Integer(*v),
            Literal::Real(v) => Value::Real(*v),
            Literal::Text(v) => Value::Text(v),
        });
    }
    let mut text = String::new();
    template.render(&values, &mut text);
    Some(text)
}

/// A name in double quotes, as standard SQL has it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Appends a value as a literal: strings in single quotes with quotes doubled, bytes as `x'…'`.
fn literal(value: Value<'_>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Integer(v) => drop(write!(out, "{v}")),
        // The shortest text that reads back as the same number; infinities are written as SQLite prints them.
        Value::Real(v) if v.is_infinite() => out.push_str(if v > 0.0 { "9e999" } else { "-9e999" }),
        Value::Real(v) if v.is_nan() => out.push_str("null"),
        Value::Real(v) => drop(write!(out, "{v:e}")),
        Value::Text(v) => {
            out.push('\'');
            for (index, part) in v.split('\'').enumerate() {
                if index > 0 {
                    out.push_str("''");
                }
                out.push_str(part);
            }
            out.push('\'');
        }
        Value::Bytes(v) => {
            out.push_str("x'");
            for byte in v {
                let _ = write!(out, "{byte:02x}");
            }
            out.push('\'');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(list: &[Value<'_>]) -> Values {
        let mut values = Values::default();
        for value in list {
            values.push(*value);
        }
        values
    }

    #[test]
    fn placeholders_in_quotes_and_comments_are_text() {
        for (sql, count) in [
            ("select 1", 0),
            ("select * from t where a = ? and b=?", 2),
            (
                "select '?', \"?\", `?`, [?] from t -- ?\n where a = ? /* ? */ and b = ?",
                2,
            ),
            ("select 'it''s ?' , ?", 1),
            ("select '?", 0),
            ("select ü, ? -- ?", 1),
            ("?", 1),
        ] {
            assert_eq!(Template::new(sql).parameters(), count, "{sql}");
        }
    }

    #[test]
    fn parameters_are_numbered() {
        let template = Template::new("select '?' from t where a = ? and b = ?");
        assert_eq!(template.numbered(), "select '?' from t where a = $1 and b = $2");
        assert_eq!(Template::new("select 1").numbered(), "select 1");
    }

    #[test]
    fn values_become_literals() {
        let template = Template::new("insert into t values (?, ?, ?, ?, '?', ?)");
        let mut out = String::from("old");
        let text = "it's 'ü'";
        template.render(
            &values(&[
                Value::Integer(-5),
                Value::Null,
                Value::Text(text),
                Value::Bytes(&[0, 255]),
                Value::Real(0.1),
            ]),
            &mut out,
        );
        assert_eq!(
            out,
            "insert into t values (-5, null, 'it''s ''ü''', x'00ff', '?', 1e-1)"
        );
    }
}
