//! SQL as text: cut at its parameters, and with values as literals in their places.

use dbdyno_engine::Failure;
use dbdyno_plan::document::{FailureKind, Statement};
use dbdyno_plan::literal::Literal;
use dbdyno_program::value::{Value, Values};
use std::fmt::Write as _;

/// What differs between the systems' literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Backslashes escape characters of strings.
    pub backslashes: bool,
    /// How a string begins.
    pub text: &'static str,
    /// What stands before and behind the hexadecimal digits of bytes.
    pub bytes: (&'static str, &'static str),
    /// What is written for a number that is none, for one that is too large, and for one that is too small.
    pub not_finite: [&'static str; 3],
}

impl Dialect {
    /// Standard SQL, with infinities as SQLite writes them; it has no other such numbers.
    pub const STANDARD: Self = Self {
        backslashes: false,
        text: "'",
        bytes: ("x'", "'"),
        not_finite: ["null", "9e999", "-9e999"],
    };
}

/// A statement's text cut at its parameters.
#[derive(Debug, Clone)]
pub struct Template {
    pieces: Vec<String>,
}

impl Template {
    /// Cuts a statement at its `places`, which were checked when the plan was read.
    pub fn of(statement: &Statement) -> Self {
        let sql = &statement.sql;
        let starts = std::iter::once(0).chain(statement.places.iter().map(|place| place + 1));
        let ends = statement.places.iter().copied().chain([sql.len()]);
        let piece = |(start, end)| sql.get(start..end).unwrap_or_default().to_owned();
        Self {
            pieces: starts.zip(ends).map(piece).collect(),
        }
    }

    /// The text with `$1`, `$2` and so on for its parameters, as PostgreSQL wants them.
    pub fn numbered(&self) -> String {
        self.named("$")
    }

    /// The text with names of a beginning and a number for its parameters: `@P1`, `@P2` and so on.
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

    /// How many parameters the text has.
    pub fn parameters(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Writes the text with the values in the placeholders' places, as literals.
    pub fn render(&self, values: &Values, dialect: &Dialect, out: &mut String) {
        out.clear();
        for (index, piece) in self.pieces.iter().enumerate() {
            out.push_str(piece);
            if index + 1 < self.pieces.len() {
                // `-?` with -5 must not become a comment, nor `limit?` a word.
                if out.ends_with(|c: char| c == '-' || c == '_' || c == '$' || c.is_alphanumeric()) {
                    out.push(' ');
                }
                write_literal(values.get(index).unwrap_or(Value::Null), dialect, out);
            }
        }
    }
}

/// A statement with its example's values in the placeholders' places; none where it has parameters and no example.
///
/// An engine may plan a search by what is searched for: of a pattern, it matters how it begins.
pub fn with_example(statement: &Statement, dialect: &Dialect) -> Option<String> {
    let template = Template::of(statement);
    if template.parameters() != statement.example.len() {
        return None;
    }
    let mut text = String::new();
    template.render(&values_of(&statement.example), dialect, &mut text);
    Some(text)
}

/// Fails unless an engine, which counted `seen` parameters in a statement, finds as many as the plan.
pub fn check_parameters(seen: usize, statement: &Statement) -> Result<(), Failure> {
    let (name, planned) = (&statement.name, statement.places.len());
    if seen == planned {
        return Ok(());
    }
    let message = format!("the engine sees {seen} parameters, the plan has places for {planned}: in {name}");
    Err(Failure::new(FailureKind::Other, message))
}

/// Values of a plan as a session is given them.
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

/// A name in double quotes, as standard SQL has it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name in backquotes, as MySQL has it.
pub fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A name in brackets, as SQL Server has it.
pub fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Appends a value as a literal: strings in single quotes, the shortest text of a number that reads back as the same.
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

/// A number that is none, or too large to be one.
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
    fn parameters_at_the_places_of_a_statement_leave_other_question_marks_alone() {
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
    fn mysql_has_strings_of_its_own() {
        let mut out = String::new();
        let text = values(&[Value::Text(r"a\b'c")]);
        let template = template("?");
        template.render(&text, &mysql::DIALECT, &mut out);
        assert_eq!(out, r"'a\\b''c'");
        template.render(&text, &Dialect::STANDARD, &mut out);
        assert_eq!(out, r"'a\b''c'");
    }

    #[test]
    fn postgresql_has_bytes_and_infinities_of_its_own() {
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
