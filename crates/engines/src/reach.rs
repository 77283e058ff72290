//! Which statements name something beyond the database that they run in: another database of their server, the server
//! itself, another file.
//!
//! A statement that runs in a database can only write to another if it names it, be it in what it defines, as a view or a
//! trigger. So what names none writes to its own. Which names there are, the server tells; that a name is meant where it
//! stands is taken for granted where it might be.

use crate::sql_text::first_words;
use dbdyno_engine::writes::Beyond;

/// The words by which statements of an engine lead beyond their database.
pub struct Ways {
    /// The beginnings of statements about a whole server, or another file.
    pub beginnings: Beginnings,
    /// Words that lead elsewhere wherever they stand: to other servers, files of the server's machine, its variables.
    pub leading: Leading,
    /// Those among them that a transaction which only reads does not hold; a word that ends with `*` stands for all that
    /// begin so. Of functions that others define on them nothing is known.
    pub unheld: Leading,
    /// What else such a transaction does not hold, of a statement in lower case and without comments.
    pub also: fn(&str) -> Option<&'static str>,
}

/// The beginnings of statements: a verb, and what follows it; where nothing does, any.
pub type Beginnings = &'static [(&'static [&'static str], &'static [&'static str])];

/// Words.
pub type Leading = &'static [&'static str];

/// Names that are attached and are no files of anybody's.
const NOBODYS: [&str; 2] = ["':memory:'", "''"];

/// What makes a variable that is set the server's.
const SCOPES: [&str; 3] = ["global", "persist", "persist_only"];

/// What stands before the name of a database, where no dot follows it.
const BEFORE_NAMES: [&str; 4] = ["database", "schema", "use", "exists"];

/// Tells for each statement what it names beyond its database, if it does. `names`: the names of the server's databases;
/// `own`: those among them that were made for the statements.
pub fn reach(ways: &Ways, names: &[String], own: &[String], statements: &[String]) -> Vec<Option<Beyond>> {
    let others: Vec<String> = names
        .iter()
        .filter(|name| !own.contains(name) && !name.eq_ignore_ascii_case("information_schema"))
        .map(|name| name.to_lowercase())
        .collect();
    let one = |sql: &String| {
        let text = plain(sql);
        match unheld_word(&text, ways.unheld).or_else(|| (ways.also)(&text)) {
            Some(word) => Some(Beyond {
                why: format!("`{word}` leads beyond its database"),
                held: false,
            }),
            None => beyond(&text, ways.beginnings, ways.leading, &others).map(|why| Beyond { why, held: true }),
        }
    };
    statements.iter().map(one).collect()
}

/// There is nothing else.
pub fn nothing_else(_: &str) -> Option<&'static str> {
    None
}

/// The words of a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

/// Whether a character is part of a word.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '@' | '$')
}

/// A statement as the functions below want it: in lower case and without comments.
fn plain(sql: &str) -> String {
    without_comments(sql).to_lowercase()
}

/// The word in a statement that a transaction which only reads does not hold.
fn unheld_word(text: &str, unheld: Leading) -> Option<&str> {
    words(text).find(|word| {
        unheld.iter().any(|each| match each.strip_suffix('*') {
            Some(begins) => word.starts_with(begins),
            None => word == each,
        })
    })
}

/// What a statement names beyond its database.
fn beyond(text: &str, beginnings: Beginnings, leading: Leading, others: &[String]) -> Option<String> {
    let has = |part: &str, wanted: &[&str]| words(part).any(|word| wanted.contains(&word));
    for part in text.split(';') {
        let words = first_words(part, 3);
        let at = |index: usize| words.get(index).map_or("", String::as_str);
        let (first, second) = (at(0), at(1));
        let about = |(verbs, what): &(&[&str], &[&str])| {
            verbs.contains(&first) && (what.is_empty() || what.contains(&second) && at(2) != "mapping")
        };
        // A database in memory, or one that goes with its connection, is nobody's.
        let nobodys = first == "attach" && NOBODYS.iter().any(|name| part.contains(name));
        if !nobodys && beginnings.iter().any(about) || first == "set" && has(part, &SCOPES) {
            return Some(format!("`{first}` leads beyond its database"));
        }
    }
    if let Some(word) = leading.iter().find(|word| has(text, &[word])) {
        return Some(format!("`{word}` leads beyond its database"));
    }
    others.iter().find_map(|name| {
        let named = text.match_indices(name.as_str()).any(|(at, _)| {
            let (before, behind) = (&text[..at], &text[at + name.len()..]);
            if before.ends_with(is_word) || behind.starts_with(is_word) {
                return false;
            }
            let behind = behind.trim_start_matches(['`', '"', ']', '\'']).trim_start();
            let before = before.trim_end_matches(['`', '"', '[', '\'']).trim_end();
            behind.starts_with('.') || BEFORE_NAMES.iter().any(|word| before.ends_with(word))
        });
        named.then(|| format!("it names the database `{name}`"))
    })
}

/// A text whose comments are spaces, but for those that a server carries out.
fn without_comments(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(at) = rest.find("/*") {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let executed = rest.starts_with("/*!") || rest.starts_with("/*M!");
        let end = rest.find("*/").map_or(rest.len(), |end| end + 2);
        text.push(' ');
        if executed {
            text.push_str(rest[..end].trim_matches(|c: char| "/*!M".contains(c) || c.is_ascii_digit()));
        }
        text.push(' ');
        rest = &rest[end..];
    }
    text + rest
}
