//! Which SQL Server statements access something outside their database.

use crate::external_access::{Bounds, kind_of};
use crate::tokens::Token;

/// Statements that stay within the database.
pub const BOUNDS: Bounds = Bounds {
    syntax: super::SYNTAX,
    verbs: &[
        "begin", "commit", "declare", "delete", "exec", "execute", "if", "insert", "merge", "print", "rollback",
        "save", "select", "set", "truncate", "update", "values", "while", "with",
    ],
    kinds: &[
        "function",
        "index",
        "procedure",
        "schema",
        "sequence",
        "statistics",
        "table",
        "trigger",
        "type",
        "view",
    ],
    beyond,
};

/// Words that access something outside wherever they occur, because statements don't need semicolons between them.
const ELSEWHERE: [&str; 16] = [
    "backup",
    "bulk",
    "dbcc",
    "deny",
    "grant",
    "kill",
    "opendatasource",
    "openquery",
    "openrowset",
    "reconfigure",
    "restore",
    "revert",
    "revoke",
    "shutdown",
    "use",
    "writetext",
];

fn beyond(statement: &[Token<'_>]) -> Option<String> {
    // A second definition may follow the first one.
    let within = (1..statement.len()).find_map(|at| {
        let kind = kind_of(&statement[at..])?;
        (!kind.is_one_of(BOUNDS.kinds))
            .then(|| format!("`{} {kind}` accesses something outside its own database", statement[at]))
    });
    let executes_text = statement
        .windows(2)
        .any(|pair| pair[0].is_one_of(&["exec", "execute"]) && (pair[1].is_mark("(") || pair[1].text.starts_with('@')));
    if executes_text {
        return Some("`exec` of a string may access something outside its own database".into());
    }
    within.or_else(|| {
        statement.iter().find_map(|token| {
            let name = token.name()?.to_lowercase();
            let is_system = name.starts_with("sp_") || name.starts_with("xp_");
            let leads = is_system || token.is_one_of(&ELSEWHERE);
            leads.then(|| format!("`{name}` accesses something outside its own database"))
        })
    })
}
