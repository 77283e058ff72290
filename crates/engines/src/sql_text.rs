//! SQL text: splits it at its parameters, and inserts values as literals.

use dbdyno_engine::Failure;
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::{FailureKind, Statement};
use dbdyno_protocol::plan::literal::Literal;
use std::fmt::Write as _;

/// Differences in the notation of literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Backslashes escape characters in strings.
    pub backslashes: bool,
    /// How a string begins.
    pub text: &'static str,
    /// Prefix and suffix of the hexadecimal digits of a binary literal.
    pub bytes: (&'static str, &'static str),
    /// Literals for NaN, infinity and negative infinity.
    pub not_finite: [&'static str; 3],
}

impl Dialect {
    /// Standard SQL, with infinities as in SQLite, which has no NaN.
    pub const STANDARD: Self = Self {
        backslashes: false,
        text: "'",
        bytes: ("x'", "'"),
        not_finite: ["null", "9e999", "-9e999"],
    };
}

/// A statement split at its parameters.
#[derive(Debug, Clone)]
pub struct Template {
    pieces: Vec<String>,
}

impl Template {
    /// Splits a statement at its `places`, which were checked when the plan was read.
    pub fn of(statement: &Statement) -> Self {
        let sql = &statement.sql;
        let starts = std::iter::once(0).chain(statement.places.iter().map(|place| place + 1));
        let ends = statement.places.iter().copied().chain([sql.len()]);
        let piece = |(start, end)| sql.get(start..end).unwrap_or_default().to_owned();
        Self {
            pieces: starts.zip(ends).map(piece).collect(),
        }
    }

    /// The text with `$1`, `$2` and so on as parameters, as PostgreSQL requires.
    pub fn numbered(&self) -> String {
        self.named("$")
    }

    /// The text with numbered parameters of the given prefix: `@P1`, `@P2` and so on.
    pub fn named(&self, beginning: &str) -> String {
        let mut text = String::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            if index > 0 {
                let _ = write!(text, "{beginning}{index}");
            }
            text.push_str(piece);
        }
        text
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Writes the text with values as literals.
    pub fn render(&self, values: &Values, dialect: &Dialect, out: &mut String) {
        out.clear();
        for (index, piece) in self.pieces.iter().enumerate() {
            out.push_str(piece);
            if index + 1 < self.pieces.len() {
                // `-?` with -5 must not become a comment, and `limit?` must not become a word.
                if out.ends_with(|c: char| c == '-' || c == '_' || c == '$' || c.is_alphanumeric()) {
                    out.push(' ');
                }
                write_literal(values.get(index).unwrap_or(Value::Null), dialect, out);
            }
        }
    }
}

/// A statement with its example values inserted; `None` if it has parameters but no example.
///
/// An engine may plan a search by its value: for a pattern, the prefix matters.
pub fn with_example(statement: &Statement, dialect: &Dialect) -> Option<String> {
    let template = Template::of(statement);
    if template.parameters() != statement.example.len() {
        return None;
    }
    let mut text = String::new();
    template.render(&values_of(&statement.example), dialect, &mut text);
    Some(text)
}

/// Fails unless the engine's number of parameters equals the plan's.
pub fn check_parameters(seen: usize, statement: &Statement) -> Result<(), Failure> {
    let (name, planned) = (&statement.name, statement.places.len());
    if seen == planned {
        return Ok(());
    }
    let message = format!("the engine found {seen} parameters, but the plan has {planned}: in {name}");
    Err(Failure::new(FailureKind::Other, message))
}

/// Converts values of a plan for a session.
pub fn values_of(literals: &[Literal]) -> Values {
    let mut values = Values::default();
    for literal in literals {
        values.push(match literal {
            Literal::Null => Value::Null,
            Literal::Boolean(v) => Value::Integer(i64::from(*v)),
            Literal::Integer(v) => Value::Integer(*v),
            Literal::Real(v) => Value::Real(*v),
            Literal::Text(v) => Value::Text(v),
        });
    }
    values
}

/// A name in double quotes, as in standard SQL.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name in backquotes, as in MySQL.
pub fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A name in brackets, as in SQL Server.
pub fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Appends a value as a literal: strings in single quotes, numbers in the shortest form that reads back equal.
pub fn write_literal(value: Value<'_>, dialect: &Dialect, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Integer(v) => drop(write!(out, "{v}")),
        Value::Real(v) if !v.is_finite() => out.push_str(infinite(v, dialect)),
        Value::Real(v) => drop(write!(out, "{v:e}")),
        Value::Text(v) => {
            out.push_str(dialect.text);
            let special = |c| c == '\'' || c == '\\' && dialect.backslashes;
            for part in v.split_inclusive(special) {
                out.push_str(part);
                if let Some(last) = part.chars().next_back().filter(|c| special(*c)) {
                    out.push(last);
                }
            }
            out.push('\'');
        }
        Value::Bytes(v) => {
            let (begin, end) = dialect.bytes;
            out.push_str(begin);
            for byte in v {
                let _ = write!(out, "{byte:02x}");
            }
            out.push_str(end);
        }
    }
}

/// The literal for NaN or an infinity.
fn infinite(value: f64, dialect: &Dialect) -> &'static str {
    let [none, large, small] = dialect.not_finite;
    match value {
        v if v.is_nan() => none,
        v if v > 0.0 => large,
        _ => small,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{mysql, postgresql};

    fn values(list: &[Value<'_>]) -> Values {
        let mut values = Values::default();
        for value in list {
            values.push(*value);
        }
        values
    }

    fn template(sql: &str) -> Template {
        Template::of(&Statement::new("s", sql))
    }

    #[test]
    fn only_question_marks_at_the_places_are_parameters() {
        let sql = "select 'é' ? 'k', ? ?| ?";
        let statement = |places: &[usize]| Statement {
            places: places.to_vec(),
            ..Statement::new("s", sql)
        };
        let two = Template::of(&statement(&[19, 24]));
        assert_eq!(two.numbered(), "select 'é' ? 'k', $1 ?| $2");
        assert_eq!(two.parameters(), 2);
        let none = Template::of(&statement(&[]));
        assert_eq!((none.numbered().as_str(), none.parameters()), (sql, 0));
        assert_eq!(template("? + ?").named("@P"), "@P1 + @P2");
    }

    #[test]
    fn values_become_literals() {
        let template = template("insert into t values (?, ?, ?, ?, ?)");
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
            &Dialect::STANDARD,
            &mut out,
        );
        assert_eq!(out, "insert into t values (-5, null, 'it''s ''ü''', x'00ff', 1e-1)");
    }

    #[test]
    fn mysql_escapes_strings_differently() {
        let mut out = String::new();
        let text = values(&[Value::Text(r"a\b'c")]);
        let template = template("?");
        template.render(&text, &mysql::DIALECT, &mut out);
        assert_eq!(out, r"'a\\b''c'");
        template.render(&text, &Dialect::STANDARD, &mut out);
        assert_eq!(out, r"'a\b''c'");
    }

    #[test]
    fn postgresql_has_its_own_binary_and_infinity_literals() {
        let template = template("select a[?], ?, ?");
        let mut out = String::new();
        let given = values(&[
            Value::Integer(1),
            Value::Bytes(&[0, 255]),
            Value::Real(f64::NEG_INFINITY),
        ]);
        template.render(&given, &postgresql::DIALECT, &mut out);
        assert_eq!(out, r"select a[1], '\x00ff'::bytea, '-inf'::float8");
    }
}
