//! Splits SQL into tokens by each engine's lexical rules, and finds the names and calls in statements.
//!
//! The write guard depends on it: a function call that the server sees and the lexer doesn't would pass the guard. Text
//! that the lexer can't read exactly is an error.

use std::fmt;

/// Lexical rules that differ between engines.
#[derive(Debug, Clone, Copy, Default)]
pub struct Syntax {
    /// A backslash escapes the next character in every string.
    pub backslashes: bool,
    /// Strings may be `E'…'` with backslashes, or `$tag$…$tag$`.
    pub escape_and_dollar_strings: bool,
    /// Double quotes enclose strings instead of names.
    pub double_quoted_strings: bool,
    /// Names may be in backticks.
    pub backticks: bool,
    /// Names may be in brackets.
    pub brackets: bool,
    /// `#` begins a comment, and `--` does so only before white space. `/*! … */` and `/*M! … */` are code.
    pub executable_comments: bool,
    /// Block comments nest, and line comments end at a carriage return too.
    pub nested_comments: bool,
    /// A block comment may be unterminated.
    pub open_comments: bool,
}

impl Syntax {
    /// The rules of standard SQL, which engines extend.
    pub const STANDARD: Self = Self {
        backslashes: false,
        escape_and_dollar_strings: false,
        double_quoted_strings: false,
        backticks: false,
        brackets: false,
        executable_comments: false,
        nested_comments: false,
        open_comments: false,
    };
}

/// The kind of a token. White space and comments produce no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or an unquoted name.
    Word,
    /// A quoted name.
    Name,
    /// A string.
    String,
    /// Digits.
    Number,
    /// Consecutive operator characters.
    Operator,
    /// Any other character.
    Mark,
}

/// A part of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its text, including quotes.
    pub text: &'a str,
    /// It is in a comment that only some servers execute.
    pub conditional: bool,
}

/// Why a text can't be split into tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LexError {
    /// A string, a quoted name or a comment is not terminated.
    #[error("`{0}` is not closed")]
    Unclosed(String),
    /// Text whose meaning depends on something that the lexer doesn't read.
    #[error("{0}")]
    Unreadable(&'static str),
}

impl Token<'_> {
    /// The text from the token's first byte on.
    pub fn and_after<'t>(&self, text: &'t str) -> &'t str {
        &text[self.text.as_ptr() as usize - text.as_ptr() as usize..]
    }

    /// Whether it is an unquoted word; `word` must be in lower case.
    pub fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is one of these words.
    pub fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// Whether it is a mark or an operator with this text.
    pub fn is_mark(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Mark | Kind::Operator) && self.text == text
    }

    /// The name that it denotes: without quotes, or in lower case. `None` if it is neither a word nor a quoted name.
    pub fn name(&self) -> Option<String> {
        match self.kind {
            Kind::Word => Some(self.text.to_ascii_lowercase()),
            Kind::Name => {
                let close = self.text.chars().next_back()?;
                let inside = &self.text[1..self.text.len() - 1];
                Some(inside.replace(&format!("{close}{close}"), &close.to_string()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

/// Splits a text into tokens.
pub fn tokenize<'a>(sql: &'a str, syntax: &Syntax) -> Result<Vec<Token<'a>>, LexError> {
    let mut lexer = Lexer {
        rest: sql,
        syntax: *syntax,
        conditional: false,
        tokens: Vec::new(),
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

/// Splits the tokens of a text into statements; empty ones are left out.
pub fn statements<'t, 'a>(tokens: &'t [Token<'a>]) -> impl Iterator<Item = &'t [Token<'a>]> {
    tokens
        .split(|token| token.is_mark(";"))
        .filter(|statement| !statement.is_empty())
}

struct Lexer<'a> {
    rest: &'a str,
    syntax: Syntax,
    conditional: bool,
    tokens: Vec<Token<'a>>,
}

const OPERATORS: &str = "+-*/<>=~!@#%^&|`?";

fn begins_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

fn continues_word(c: char) -> bool {
    begins_word(c) || c.is_ascii_digit() || c == '$'
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

impl<'a> Lexer<'a> {
    fn run(&mut self) -> Result<(), LexError> {
        while let Some(first) = self.rest.chars().next() {
            if is_space(first) {
                self.rest = self.rest.trim_start_matches(is_space);
            } else if !self.skip_comment()? {
                let (kind, length) = self.next(first)?;
                self.push(kind, length);
            }
        }
        Ok(())
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let (text, rest) = self.rest.split_at(length);
        let conditional = self.conditional;
        self.tokens.push(Token {
            kind,
            text,
            conditional,
        });
        self.rest = rest;
    }

    /// Skips a comment, if one begins here. The content of an executable one becomes tokens.
    fn skip_comment(&mut self) -> Result<bool, LexError> {
        let (rest, syntax) = (self.rest, self.syntax);
        if let Some(behind) = rest.strip_prefix("/*") {
            let executable = behind.strip_prefix('!').or_else(|| behind.strip_prefix("M!"));
            if let Some(content) = executable.filter(|_| syntax.executable_comments) {
                self.rest = self.execute_comment(content)?;
                return Ok(true);
            }
            let end = match block_comment_end(rest, syntax.nested_comments) {
                None if !syntax.open_comments => return Err(unclosed(&rest[..2])),
                end => end.unwrap_or(rest.len()),
            };
            self.rest = &rest[end..];
            return Ok(true);
        }
        let dashes = rest.strip_prefix("--").is_some_and(|behind| {
            !syntax.executable_comments || behind.chars().next().is_none_or(|c| c <= ' ' || c == '\x7f')
        });
        if !(dashes || syntax.executable_comments && rest.starts_with('#')) {
            return Ok(false);
        }
        let ends = |c| c == '\n' || syntax.nested_comments && c == '\r';
        self.rest = rest.find(ends).map_or("", |end| &rest[end..]);
        Ok(true)
    }

    /// Adds the tokens of an executable comment and returns the text after it.
    fn execute_comment(&mut self, content: &'a str) -> Result<&'a str, LexError> {
        let (content, behind) = content.split_once("*/").ok_or_else(|| unclosed("/*!"))?;
        // If it contained quotes or comments, servers that skip the comment would read the following text differently.
        if content.contains(['\'', '"', '`', '#']) || content.contains("--") || content.contains("/*") {
            return Err(LexError::Unreadable(
                "an executable comment contains quotes or a comment",
            ));
        }
        let mut inside = Lexer {
            rest: content.trim_start_matches(|c: char| c.is_ascii_digit()),
            syntax: self.syntax,
            conditional: true,
            tokens: std::mem::take(&mut self.tokens),
        };
        inside.run()?;
        self.tokens = inside.tokens;
        Ok(behind)
    }

    /// The kind and length of the token that begins here.
    fn next(&self, first: char) -> Result<(Kind, usize), LexError> {
        let (rest, syntax) = (self.rest, self.syntax);
        let quoted = |kind, backslashes| quoted_end(rest, first, backslashes).map(|end| (kind, end));
        match first {
            '\'' => quoted(Kind::String, syntax.backslashes),
            '"' if syntax.double_quoted_strings => quoted(Kind::String, syntax.backslashes),
            '"' => quoted(Kind::Name, false),
            '`' if syntax.backticks => quoted(Kind::Name, false),
            '[' if syntax.brackets => quoted_end(rest, ']', false).map(|end| (Kind::Name, end)),
            '$' if syntax.escape_and_dollar_strings => match dollar_tag(rest) {
                None => Ok((Kind::Mark, 1)),
                Some(tag) => match rest[tag.len()..].find(tag) {
                    None => Err(unclosed(tag)),
                    Some(end) => Ok((Kind::String, end + 2 * tag.len())),
                },
            },
            'e' | 'E' if syntax.escape_and_dollar_strings && rest[1..].starts_with('\'') => self.escape_string(),
            'u' | 'U' if syntax.escape_and_dollar_strings && rest[1..].starts_with("&\"") => {
                Err(LexError::Unreadable("a name has Unicode escapes (`U&\"…\"`)"))
            }
            _ if begins_word(first) => Ok((Kind::Word, length_of(rest, continues_word))),
            _ if first.is_ascii_digit() => Ok((Kind::Number, length_of(rest, |c| c.is_ascii_digit()))),
            _ if OPERATORS.contains(first) => Ok((Kind::Operator, self.operator_end())),
            _ => Ok((Kind::Mark, first.len_utf8())),
        }
    }

    /// A string such as `E'…'`.
    fn escape_string(&self) -> Result<(Kind, usize), LexError> {
        let end = 1 + quoted_end(&self.rest[1..], '\'', true)?;
        // The string continues, with its escapes, if its next part is on a later line.
        let mut behind = &self.rest[end..];
        loop {
            behind = behind.trim_start_matches(is_space);
            match behind.strip_prefix("--") {
                Some(comment) => behind = comment.find(['\n', '\r']).map_or("", |at| &comment[at..]),
                None => break,
            }
        }
        if behind.starts_with('\'') {
            return Err(LexError::Unreadable("a string with escapes goes on in the next line"));
        }
        Ok((Kind::String, end))
    }

    /// The length of the operator that begins here. A comment ends it.
    fn operator_end(&self) -> usize {
        let run = length_of(self.rest, |c| OPERATORS.contains(c));
        let inside = |at: &usize| {
            let rest = &self.rest[*at..];
            rest.starts_with("--")
                || rest.starts_with("/*")
                || self.syntax.executable_comments && rest.starts_with('#')
                || self.syntax.backticks && rest.starts_with('`')
        };
        (1..run).find(inside).unwrap_or(run)
    }
}

fn unclosed(opening: &str) -> LexError {
    LexError::Unclosed(opening.to_owned())
}

fn length_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// The end of a string or quoted name, including its closing quote; a doubled quote doesn't end it.
fn quoted_end(text: &str, close: char, backslashes: bool) -> Result<usize, LexError> {
    let opening = text.chars().next().unwrap_or(close);
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == '\\' && backslashes {
            characters.next();
        } else if c == close {
            match characters.peek() {
                // SQLite's brackets have no escape; a doubled bracket ends the name and is then an error.
                Some((_, next)) if *next == close => characters.next(),
                _ => return Ok(at + close.len_utf8()),
            };
        }
    }
    Err(unclosed(&opening.to_string()))
}

/// The tag of a dollar-quoted string, such as `$$` or `$body$`.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 1;
    let tag = &text[1..end];
    let is_tag = tag.chars().next().is_none_or(begins_word) && tag.chars().all(|c| continues_word(c) && c != '$');
    is_tag.then(|| &text[..=end])
}

fn block_comment_end(text: &str, nested: bool) -> Option<usize> {
    let (mut depth, mut at) = (1_usize, 2);
    while depth > 0 {
        let rest = &text[at..];
        let close = rest.find("*/")?;
        match rest[..close].find("/*").filter(|_| nested) {
            Some(open) => {
                depth += 1;
                at += open + 2;
            }
            None => {
                depth -= 1;
                at += close + 2;
            }
        }
    }
    Some(at)
}

/// A name followed by an opening parenthesis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The name.
    pub name: String,
    /// Whether it follows a dot.
    pub qualified: bool,
    /// Whether it is a word and not a quoted name.
    pub is_word: bool,
    /// Whether its parentheses are empty.
    pub is_empty: bool,
}

/// The names that may be called: those followed by `(`, regardless of which executable comments the server skips.
///
/// Names of common table expressions and of aliases with a column list are left out if they are unambiguous.
pub fn calls(tokens: &[Token<'_>]) -> Vec<Call> {
    let conditional = tokens.iter().any(|token| token.conditional);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(name) = token.name() else { continue };
        let Some(open) = opening_behind(tokens, at) else {
            continue;
        };
        if !conditional && declares_columns(tokens, at, open) {
            continue;
        }
        found.push(Call {
            name,
            qualified: at > 0 && tokens[at - 1].is_mark("."),
            is_word: token.kind == Kind::Word,
            is_empty: tokens.get(open + 1).is_some_and(|next| next.is_mark(")")),
        });
    }
    found
}

/// The opening parenthesis that follows a name, or does if tokens in executable comments are skipped.
fn opening_behind(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    for (index, token) in tokens.iter().enumerate().skip(at + 1) {
        if token.is_mark("(") {
            return Some(index);
        }
        if !token.conditional {
            return None;
        }
    }
    None
}

/// Whether a name is a common table expression or an alias, and the parentheses contain column names.
fn declares_columns(tokens: &[Token<'_>], at: usize, open: usize) -> bool {
    let Some(close) = tokens[open..].iter().position(|token| token.is_mark(")")) else {
        return false;
    };
    let (columns, behind) = (&tokens[open + 1..open + close], &tokens[open + close + 1..]);
    let only_names = columns.iter().enumerate().all(|(index, token)| {
        if index % 2 == 0 {
            token.name().is_some()
        } else {
            token.is_mark(",")
        }
    });
    if columns.is_empty() || !only_names {
        return false;
    }
    // A call can't follow `)` or AS, and AS with a parenthesis can't follow a call.
    let is_alias = at > 0 && (tokens[at - 1].is_mark(")") || tokens[at - 1].is("as"));
    let is_common = matches!(behind, [first, second, ..] if first.is("as") && (second.is_mark("(") || second.is_one_of(&["materialized", "not"])));
    is_alias || is_common
}

/// Whether a statement only begins or ends a transaction or savepoint, and doesn't request write access.
pub fn only_controls_transaction(statement: &[Token<'_>]) -> bool {
    const FURTHER: [&str; 21] = [
        "and",
        "chain",
        "committed",
        "consistent",
        "deferrable",
        "immediate",
        "isolation",
        "level",
        "no",
        "not",
        "only",
        "read",
        "release",
        "repeatable",
        "serializable",
        "snapshot",
        "tran",
        "transaction",
        "uncommitted",
        "with",
        "work",
    ];
    let plain = statement
        .iter()
        .all(|token| !token.conditional && (token.kind == Kind::Word || token.is_mark(",")));
    let words: Vec<String> = statement.iter().filter_map(Token::name).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    plain
        && match words[..] {
            ["savepoint" | "release", _]
            | ["release", "savepoint", _]
            | ["rollback", "to", _]
            | ["rollback", "to", "savepoint", _]
            | ["rollback", "work" | "transaction", "to", _]
            | ["rollback", "work" | "transaction", "to", "savepoint", _] => true,
            ["start" | "set", "transaction", ref further @ ..]
            | ["begin" | "commit" | "end" | "rollback" | "abort", ref further @ ..] => {
                further.iter().all(|word| FURTHER.contains(word))
            }
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{mysql, postgresql, sqlite, sqlserver};

    fn called(sql: &str, syntax: &Syntax) -> Vec<String> {
        let tokens = tokenize(sql, syntax).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let is_function = |name: &String| !["as", "from", "select", "values", "materialized"].contains(&name.as_str());
        calls(&tokens)
            .into_iter()
            .map(|call| call.name)
            .filter(is_function)
            .collect()
    }

    #[test]
    fn calls_are_found_after_postgresql_strings_and_comments() {
        for (sql, expected) in [
            ("select f(1)", &["f"][..]),
            ("select F /* ( */ (1)", &["f"]),
            ("select \"F\"\"g\" (1), s.h()", &["F\"g", "h"]),
            ("select 'f(' || $$g($$ || $a$ $$ h( $a$", &[]),
            ("select e'\\', f(1), '", &[]),
            ("select '\\', f(1), ''", &["f"]),
            ("select e'\\'', f(1)", &["f"]),
            ("-- /*\nselect f(1) -- */", &["f"]),
            ("-- a\rselect f(1)", &["f"]),
            ("/* /* */ f(1) */ select g(1)", &["g"]),
            ("select a$b$(1), c$b$(2)", &["a$b$", "c$b$"]),
            ("with t(a, b) as (select 1, 2) select f(a) from t", &["f"]),
            ("with t as materialized (select f(1)) select 1", &["f"]),
            ("select * from (values (1)) as t(a), (values (2)) u(b)", &[]),
            ("select 1from f(1)", &["f"]),
        ] {
            assert_eq!(called(sql, &postgresql::SYNTAX), expected, "{sql}");
        }
    }

    #[test]
    fn executable_comments_are_code_and_may_be_skipped() {
        for (sql, expected) in [
            ("select /*! f(1) */ 1", &["f"][..]),
            ("select /*M!100100 f(1) */ 1", &["f"]),
            ("select f /*!99999 , x */ (1)", &["f", "x"]),
            ("select /*!40000 f */ /*!99999 x */ /*!40000 (1) */", &["f", "x"]),
            ("select f # (\n(1)", &["f"]),
            ("select 1--f(1)\n", &["f"]),
            ("select 1 -- f(1)\n", &[]),
            ("select \"f(1)\", `g`(1), 'a\\', h(1)'", &["g"]),
        ] {
            assert_eq!(called(sql, &mysql::SYNTAX), expected, "{sql}");
        }
        assert!(tokenize("select /*!99999 ' */ f(1) /* ' */", &mysql::SYNTAX).is_err());
    }

    #[test]
    fn names_in_brackets_may_contain_brackets() {
        let tokens = tokenize("select [a]]?], [b;c].f(1)", &sqlserver::SYNTAX).unwrap_or_default();
        assert_eq!(tokens[1].name().as_deref(), Some("a]?"));
        assert_eq!(
            called("select [a]]f(1)], [b;c].[g]](] (1)", &sqlserver::SYNTAX),
            ["g]("]
        );
    }

    #[test]
    fn unterminated_or_ambiguous_text_is_an_error() {
        for sql in [
            "select 'a",
            "select \"a",
            "select $$a",
            "/* /* */ select 1",
            "select e'a'\n'b\\', f(1), '",
            "select U&\"\\0066\"(1)",
        ] {
            assert!(tokenize(sql, &postgresql::SYNTAX).is_err(), "{sql}");
        }
        assert!(tokenize("select 1 /* open", &sqlite::SYNTAX).is_ok());
    }

    #[test]
    fn transaction_control_is_recognized() {
        for (sql, expected) in [
            ("begin", true),
            ("BEGIN /* a */;", true),
            ("begin isolation level repeatable read, read only", true),
            ("start transaction with consistent snapshot", true),
            ("set transaction isolation level serializable", true),
            ("commit and no chain", true),
            ("savepoint a", true),
            ("rollback to savepoint a", true),
            ("end", true),
            ("begin read write", false),
            ("start transaction read write", false),
            ("begin delete from t end", false),
            ("commit prepared 'a'", false),
            ("begin /*!40000 delete */", false),
            ("start slave", false),
            ("set transaction_read_only = off", false),
        ] {
            let tokens = tokenize(sql, &mysql::SYNTAX).expect(sql);
            assert!(
                statements(&tokens).all(|one| only_controls_transaction(one) == expected),
                "{sql}"
            );
        }
    }
}
