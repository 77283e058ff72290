//! SQL as text: where its parameters stand, and how values are written into it as literals.

use dbdyno_plan::document::Statement;
use dbdyno_plan::literal::Literal;
use dbdyno_program::value::{Value, Values};
use std::fmt::Write as _;

/// What differs between the systems' ways to write literals, comments and quoted names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Backslashes escape characters of strings, `#` begins a comment, and `--` does only before a space.
    pub backslashes: bool,
    /// Strings may be `$$…$$`, or `E'…'` with backslashes that escape, and comments lie within comments.
    pub dollar_strings: bool,
    /// `[…]` quotes a name.
    pub brackets: bool,
    /// How a string begins.
    pub text: &'static str,
    /// What stands before and behind the hexadecimal digits of bytes.
    pub bytes: (&'static str, &'static str),
    /// What is written for a number that is none, for one that is too large, and for one that is too small.
    pub not_finite: [&'static str; 3],
}

impl Dialect {
    /// Standard SQL, and names in brackets as SQLite has them, which prints infinities so and has no other such numbers.
    pub const STANDARD: Self = Self {
        backslashes: false,
        dollar_strings: false,
        brackets: true,
        text: "'",
        bytes: ("x'", "'"),
        not_finite: ["null", "9e999", "-9e999"],
    };
}

/// A statement's text cut at its `?` placeholders; those within strings, quoted names and comments are none.
#[derive(Debug, Clone)]
pub struct Template {
    pieces: Vec<String>,
}

impl Template {
    /// Cuts a statement at its parameters.
    pub fn of(statement: &Statement, dialect: &Dialect) -> Self {
        statement
            .places
            .as_deref()
            .and_then(|places| Self::cut(&statement.sql, places))
            .unwrap_or_else(|| Self::new(&statement.sql, dialect))
    }

    /// Cuts a text at known places; none if one of them is not a `?`.
    fn cut(sql: &str, places: &[usize]) -> Option<Self> {
        let mut pieces = Vec::with_capacity(places.len() + 1);
        let mut rest = 0;
        for place in places {
            pieces.push(
                sql.get(rest..*place)
                    .filter(|_| sql[*place..].starts_with('?'))?
                    .to_owned(),
            );
            rest = place + 1;
        }
        pieces.push(sql.get(rest..)?.to_owned());
        Some(Self { pieces })
    }

    /// Cuts a text.
    pub fn new(sql: &str, dialect: &Dialect) -> Self {
        let (escapes, dollars) = (dialect.backslashes, dialect.dollar_strings);
        let mut pieces = Vec::new();
        let (mut start, mut at) = (0, 0);
        let mut in_code = false;
        let bytes = sql.as_bytes();
        while at < bytes.len() {
            let rest = &sql[at..];
            at += match bytes[at] {
                b'?' => {
                    pieces.push(sql[start..at].to_owned());
                    start = at + 1;
                    1
                }
                b'$' if dollars => dollar_string_end(rest),
                b'e' | b'E' if dollars && rest[1..].starts_with('\'') => escape_string_end(rest),
                quote @ (b'\'' | b'"' | b'`') => 1 + string_end(&rest.as_bytes()[1..], quote, escapes && quote != b'`'),
                b'#' if escapes => rest.find('\n').unwrap_or(rest.len()),
                b'-' if rest.starts_with("--") && (!escapes || begins_comment(rest)) => {
                    let ends_line = |c| c == '\n' || dollars && c == '\r';
                    rest.find(ends_line).unwrap_or(rest.len())
                }
                b'[' if dialect.brackets => 1 + rest[1..].find(']').map_or(rest.len() - 1, |end| end + 1),
                // What such a comment contains is code.
                b'/' if escapes && (rest.starts_with("/*!") || rest.starts_with("/*M!")) => {
                    in_code = true;
                    3
                }
                b'*' if in_code && rest.starts_with("*/") => {
                    in_code = false;
                    2
                }
                b'/' if dollars && rest.starts_with("/*") => nested_comment_end(rest),
                b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
                _ => word_or_character(rest),
            };
        }
        pieces.push(sql[start..].to_owned());
        Self { pieces }
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
    let template = Template::of(statement, dialect);
    if template.parameters() != statement.example.len() {
        return None;
    }
    let mut text = String::new();
    template.render(&values_of(&statement.example), dialect, &mut text);
    Some(text)
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

/// Where a string ends, its closing quote included. A doubled quote ends one and begins the next, which is as good.
fn string_end(text: &[u8], quote: u8, escapes: bool) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of a word, or of one character.
fn word_or_character(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    match text.find(|c| !is_part(c)).unwrap_or(text.len()) {
        0 => text.chars().next().map_or(1, char::len_utf8),
        length => length,
    }
}

/// Where a string `E'…'` ends. One that goes on in another line keeps its rules.
fn escape_string_end(text: &str) -> usize {
    let mut end = 2 + string_end(&text.as_bytes()[2..], b'\'', true);
    loop {
        let rest = &text[end..];
        let between = rest.len() - rest.trim_ascii_start().len();
        if !(rest[..between].contains(['\r', '\n']) && rest[between..].starts_with('\'')) {
            return end;
        }
        end += between + 1;
        end += string_end(&text.as_bytes()[end..], b'\'', true);
    }
}

/// Where a string of PostgreSQL's ends that begins with `$$` or `$tag$`; one byte where it is none, but `$1`.
fn dollar_string_end(text: &str) -> usize {
    let Some(end) = text[1..].find('$') else { return 1 };
    let tag = &text[1..end + 1];
    let begins_word = tag.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if !(tag.is_empty() || begins_word && tag.chars().all(|c| c.is_alphanumeric() || c == '_')) {
        return 1;
    }
    let quote = &text[..end + 2];
    text[quote.len()..]
        .find(quote)
        .map_or(text.len(), |at| quote.len() + at + quote.len())
}

/// Where a comment of PostgreSQL's ends, which may have others in it.
fn nested_comment_end(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let step = match bytes[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Whether two dashes begin a comment in MySQL: only with a space or the like behind them.
fn begins_comment(text: &str) -> bool {
    text.strip_prefix("--")
        .is_some_and(|rest| rest.bytes().next().is_none_or(|byte| byte <= b' ' || byte == 0x7f))
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
            ("select 1 -?", 1),
            ("select '?", 0),
            ("select ü, ? -- ?", 1),
            ("?", 1),
        ] {
            assert_eq!(Template::new(sql, &Dialect::STANDARD).parameters(), count, "{sql}");
        }
    }

    #[test]
    fn postgresql_has_strings_and_comments_of_its_own() {
        for (sql, count) in [
            ("select $$a'b ?$$, ?::text", 1),
            ("select $q$ $$ ? $q$, ?", 1),
            ("select $1, ?", 1),
            ("select a$b$, ?, c$b$", 1),
            ("select $ü$?$ü$, ?", 1),
            ("select E'it\\'s ?', ?", 1),
            ("select fe'?', ?", 1),
            ("select '\\', ?", 1),
            ("select 1 /* a /* ? */ ? */, ?", 1),
            ("select 1 /* a /* ? */ ?", 0),
            ("select $$ ?", 0),
            ("select (array[1, 2])[?], \"$$\", ?", 2),
            ("select 1 / ?, 2 * ?", 2),
            ("select E'a'\n 'b\\'c', ?, E'd' 'e\\', ?", 2),
            ("select 1 -- a?\r, ? as b", 1),
        ] {
            assert_eq!(Template::new(sql, &postgresql::DIALECT).parameters(), count, "{sql}");
        }
    }

    #[test]
    fn parameters_at_known_places_leave_operators_alone() {
        let statement = |places| Statement {
            name: "s".into(),
            sql: "select 'é' ? 'k', ? ?| ?".into(),
            places: Some(places),
            request: None,
            example: Vec::new(),
            analyze: None,
        };
        let template = Template::of(&statement(vec![19, 24]), &postgresql::DIALECT);
        assert_eq!(template.numbered(), "select 'é' ? 'k', $1 ?| $2");
        assert_eq!(Template::of(&statement(vec![]), &postgresql::DIALECT).parameters(), 0);
        for wrong in [vec![9], vec![24, 19], vec![1000]] {
            let all = Template::of(&statement(wrong), &postgresql::DIALECT).parameters();
            assert_eq!(all, 4, "each `?` is one");
        }
    }

    #[test]
    fn parameters_are_numbered() {
        let template = Template::new("select '?' from t where a = ? and b = ?", &Dialect::STANDARD);
        assert_eq!(template.numbered(), "select '?' from t where a = $1 and b = $2");
        assert_eq!(Template::new("select 1", &Dialect::STANDARD).numbered(), "select 1");
    }

    #[test]
    fn values_become_literals() {
        let template = Template::new("insert into t values (?, ?, ?, ?, '?', ?)", &Dialect::STANDARD);
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
        assert_eq!(
            out,
            "insert into t values (-5, null, 'it''s ''ü''', x'00ff', '?', 1e-1)"
        );
    }
    #[test]
    fn mysql_has_strings_and_comments_of_its_own() {
        for (sql, count) in [
            (r"select 'it\'s ?', ?", 1),
            (r#"select "\\", ?, `\`, ?"#, 2),
            ("select ? # ?", 1),
            ("select 5--? -- ?", 1),
            ("select a[?] from t --", 1),
            (r"select '?\", 0),
        ] {
            assert_eq!(Template::new(sql, &mysql::DIALECT).parameters(), count, "{sql}");
        }
        let mut out = String::new();
        let text = values(&[Value::Text(r"a\b'c")]);
        let template = Template::new("?", &mysql::DIALECT);
        template.render(&text, &mysql::DIALECT, &mut out);
        assert_eq!(out, r"'a\\b''c'");
        template.render(&text, &Dialect::STANDARD, &mut out);
        assert_eq!(out, r"'a\b''c'");
    }
    #[test]
    fn postgresql_has_bytes_and_brackets_of_its_own() {
        let template = Template::new("select a[?], ?, ?", &postgresql::DIALECT);
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
