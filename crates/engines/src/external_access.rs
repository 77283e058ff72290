//! Which statements access something outside their own database, or outside the copy of a file: another database of the
//! server, the server itself, or other files and programs.
//!
//! A statement stays within its database if its beginning is known to, and no part of it is known to access something
//! outside.

use crate::tokens::{Syntax, Token, only_controls_transaction, statements, tokenize};

/// The operations of an engine that stay within the database.
pub struct Bounds {
    /// The lexical rules.
    pub syntax: Syntax,
    /// Words that statements may begin with.
    pub verbs: &'static [&'static str],
    /// Kinds of objects that they may create, alter and drop.
    pub kinds: &'static [&'static str],
    /// Why a statement with such a beginning accesses something outside the database, if it does.
    pub beyond: fn(&[Token<'_>]) -> Option<String>,
}

/// Prefix of the message for a statement that an engine denied on a copy of a file. The controller searches for it.
pub const DENIED: &str = "not allowed on a copy of a database";

/// Verbs followed by a kind of object.
const DEFINING: [&str; 4] = ["create", "alter", "drop", "rename"];

/// The kinds of objects, of all engines.
const KINDS: [&str; 43] = [
    "access",
    "aggregate",
    "assembly",
    "cast",
    "certificate",
    "collation",
    "configuration",
    "conversion",
    "credential",
    "database",
    "default",
    "dictionary",
    "domain",
    "endpoint",
    "event",
    "extension",
    "foreign",
    "function",
    "group",
    "index",
    "language",
    "logfile",
    "login",
    "macro",
    "operator",
    "policy",
    "procedure",
    "publication",
    "role",
    "rule",
    "schema",
    "secret",
    "sequence",
    "server",
    "statistics",
    "subscription",
    "system",
    "table",
    "tablespace",
    "trigger",
    "type",
    "user",
    "view",
];

/// The kinds of objects whose definition contains statements.
const CODE: [&str; 4] = ["function", "procedure", "trigger", "event"];

/// Words before the name of a database, if no dot follows it.
const BEFORE_NAMES: [&str; 4] = ["database", "schema", "use", "exists"];

/// Returns for each text why it accesses something outside its database, if it does. `others`: other databases of the
/// server, in lower case.
pub fn find_external_access(bounds: &Bounds, texts: &[String], others: &[String]) -> Vec<Option<String>> {
    let one = |text: &String| match tokenize(text, &bounds.syntax) {
        Err(error) => Some(error.to_string()),
        Ok(tokens) if defines_code(&tokens) => within(bounds, &tokens).or_else(|| other_database(&tokens, others)),
        Ok(tokens) => statements(&tokens)
            .find_map(|statement| within(bounds, statement))
            .or_else(|| other_database(&tokens, others)),
    };
    texts.iter().map(one).collect()
}

/// The kind of object that a statement creates, alters or drops.
pub fn kind_of<'a>(statement: &[Token<'a>]) -> Option<Token<'a>> {
    let [verb, rest @ ..] = statement else { return None };
    let defines = verb.is_one_of(&DEFINING);
    rest.iter().copied().find(|token| defines && token.is_one_of(&KINDS))
}

/// Whether a text defines a function or similar, or is a block (MariaDB's `BEGIN NOT ATOMIC`), and so contains further
/// statements.
fn defines_code(tokens: &[Token<'_>]) -> bool {
    let is_block =
        matches!(tokens, [begin, not, atomic, ..] if begin.is("begin") && not.is("not") && atomic.is("atomic"));
    is_block || kind_of(tokens).is_some_and(|kind| kind.is_one_of(&CODE))
}

/// Why a statement accesses something outside its database.
pub fn within(bounds: &Bounds, statement: &[Token<'_>]) -> Option<String> {
    let verb = statement.first()?;
    if only_controls_transaction(statement) {
        return None;
    }
    let leads = |what: &str| Some(format!("`{what}` accesses something outside its own database"));
    match kind_of(statement) {
        Some(kind) if kind.is_one_of(bounds.kinds) => {}
        Some(kind) => return leads(&format!("{verb} {kind}").to_lowercase()),
        // `table NAME` stands for the table.
        None if verb.is_mark("(") || verb.is("table") || verb.is_one_of(bounds.verbs) => {}
        None => return leads(&verb.text.to_lowercase()),
    }
    (bounds.beyond)(statement)
}

/// The other database that a text names, if any.
fn other_database(tokens: &[Token<'_>], others: &[String]) -> Option<String> {
    tokens.iter().enumerate().find_map(|(at, token)| {
        let name = token.name()?.to_lowercase();
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let is_path = tokens.get(at + 1).is_some_and(|next| next.is_mark("."));
        let is_named = is_path || before.is_some_and(|before| before.is_one_of(&BEFORE_NAMES));
        (is_named && others.contains(&name)).then(|| format!("it names the database `{name}`"))
    })
}

/// The databases that were not created for the statements, in lower case.
pub fn others(names: &[String], own: &[String]) -> Vec<String> {
    names
        .iter()
        .filter(|name| !own.contains(name) && !name.eq_ignore_ascii_case("information_schema"))
        .map(|name| name.to_lowercase())
        .collect()
}

/// Whether ATTACH opens no file: an in-memory or temporary database.
pub fn attaches_nothing(statement: &[Token<'_>]) -> bool {
    let names: Vec<&Token<'_>> = statement[1..]
        .iter()
        .filter(|token| !token.is_one_of(&["database", "if", "not", "exists"]))
        .collect();
    // With a type, an empty name denotes a server.
    !statement.iter().any(|token| token.is("type"))
        && matches!(names[..], [file, ..] if file.text == "':memory:'" || file.text == "''")
        && names.get(1).is_none_or(|next| next.is("as") || next.is_mark("("))
}
