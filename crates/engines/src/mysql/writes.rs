//! Determines which statements are known to be reads. They are tokenized and prepared, but not executed.
//!
//! A read is a single statement of a form that returns rows and neither writes nor locks. Each function called by it or
//! by its views is a native one on a list, or a stored one that is declared to read and only calls such functions.

use super::MysqlEngine;
use super::functions::{is_keyword, only_reads};
use super::session::MysqlSession;
use crate::server::{ServerTarget, error_of};
use crate::tokens::{Call, Syntax, Token, calls, only_controls_transaction, statements, tokenize};
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
use std::collections::BTreeSet;

/// First words of a query, in addition to a parenthesis.
const QUERIES: [&str; 4] = ["select", "with", "values", "table"];

/// First words of a statement about the server or a plan.
const SHOWING: [&str; 4] = ["show", "describe", "desc", "explain"];

/// Reserved words of statements that write, lock or execute.
const WRITING: [&str; 6] = ["into", "update", "delete", "lock", "procedure", "analyze"];

/// Words in a stored function or view that do more than read. `insert` and `replace` are also functions.
const BODY_EFFECTS: [&str; 17] = [
    "outfile",
    "dumpfile",
    "kill",
    "global",
    "persist",
    "persist_only",
    "delete",
    "update",
    "truncate",
    "call",
    "lock",
    "load",
    "handler",
    "prepare",
    "execute",
    "create",
    "drop",
];

/// Errors of the statement itself: syntax, unknown column, unknown function. Other errors may depend on earlier
/// statements of the file.
const OWN_ERRORS: [&str; 3] = ["1064", "1054", "1305"];

/// The servers' own schemas, whose views only read.
const SYSTEM: &str = "('information_schema', 'mysql', 'performance_schema', 'sys')";

/// Returns for each statement whether it writes.
pub async fn writes(target: &ServerTarget, all: &[Statement]) -> Result<Vec<Writes>, Failure> {
    let target = ServerTarget {
        read_only: true,
        ..target.clone()
    };
    let mut session = MysqlSession::open(&target, MysqlEngine::texts(all), PrepareMode::PerTransaction).await?;
    session.query("set session lock_wait_timeout = 5").await?;
    let modes = session.query("select upper(@@sql_mode)").await?;
    let modes = modes.into_iter().flatten().flatten().next().unwrap_or_default();
    let has = |mode: &str| modes.split(',').any(|each| each == mode);
    let syntax = Syntax {
        backslashes: !has("NO_BACKSLASH_ESCAPES"),
        double_quoted_strings: !has("ANSI_QUOTES"),
        ..super::SYNTAX
    };
    let objects = objects(&mut session).await?;
    let mut answers = Vec::with_capacity(all.len());
    for (index, statement) in all.iter().enumerate() {
        let name = &statement.name;
        answers.push(match judge(&mut session, index, statement, &syntax, &objects).await {
            Err(failure) if failure.kind == FailureKind::Connection => return Err(failure),
            Err(failure) => Writes::Unknown(error_of(&failure, name)),
            Ok(answer) => answer,
        });
    }
    session.close().await?;
    Ok(answers)
}

async fn judge(
    session: &mut MysqlSession,
    index: usize,
    statement: &Statement,
    syntax: &Syntax,
    objects: &[Object],
) -> Result<Writes, Failure> {
    let name = &statement.name;
    let tokens = match tokenize(&statement.sql, syntax) {
        Ok(tokens) => tokens,
        Err(error) => {
            let unknown = Writes::Unknown(error.to_string());
            return Ok(rejected(session, index, name).await?.unwrap_or(unknown));
        }
    };
    let mut all = statements(&tokens);
    let only = match (all.next(), all.next()) {
        (Some(only), None) => only,
        (None, _) => return Ok(Writes::Unknown("it is empty".into())),
        _ => return Ok(Writes::Unknown("it is more than one statement".into())),
    };
    if only_controls_transaction(only) {
        return Ok(Writes::No);
    }
    if let Some(why) = writing_form(only) {
        let is_known = only[0].is_one_of(super::external_access::BOUNDS.verbs);
        let rejected = if is_known {
            None
        } else {
            rejected(session, index, name).await?
        };
        return Ok(rejected.unwrap_or(Writes::Yes(why)));
    }
    if let Some(why) = writing_call(&tokens, objects, &mut BTreeSet::new()) {
        return Ok(Writes::Unknown(why));
    }
    let columns = match session.columns_of(index).await {
        Err(failure) if failure.code.as_deref().is_some_and(|code| OWN_ERRORS.contains(&code)) => {
            return Ok(Writes::Rejected(error_of(&failure, name)));
        }
        columns => columns?,
    };
    Ok(match columns {
        // MySQL reports the columns of such statements only during execution.
        0 if !only[0].is_one_of(&SHOWING) => Writes::Yes("it returns no rows".into()),
        _ => Writes::No,
    })
}

/// The answer for a statement that the server can't parse. Preparing executes nothing.
async fn rejected(session: &mut MysqlSession, index: usize, name: &str) -> Result<Option<Writes>, Failure> {
    const SYNTAX_ERROR: &str = "1064";
    match session.columns_of(index).await {
        Err(failure) if failure.code.as_deref() == Some(SYNTAX_ERROR) => {
            Ok(Some(Writes::Rejected(error_of(&failure, name))))
        }
        Err(failure) if failure.kind == FailureKind::Connection => Err(failure),
        _ => Ok(None),
    }
}

/// Why a statement isn't a read, by its form.
fn writing_form(statement: &[Token<'_>]) -> Option<String> {
    let begin = statement.first()?;
    let reads = begin.is_mark("(") || begin.is_one_of(&QUERIES) || begin.is_one_of(&SHOWING);
    if !reads || begin.conditional {
        return Some(format!("`{begin}` is not a read"));
    }
    if let Some(word) = statement.iter().find(|token| token.is_one_of(&WRITING)) {
        return Some(format!("`{word}` is not part of a read"));
    }
    if statement
        .iter()
        .any(|token| token.name().is_some_and(|name| name.eq_ignore_ascii_case("nextval")))
    {
        return Some("it takes a value of a sequence".into());
    }
    // Regardless of which executable comments the server skips.
    let follows = |at: usize, words: &[&str]| {
        let behind = statement[at + 1..]
            .iter()
            .find(|token| !token.conditional || token.is_one_of(words));
        behind.is_some_and(|token| token.is_one_of(words))
    };
    statement.iter().enumerate().find_map(|(at, token)| {
        if token.is("for") && follows(at, &["share", "update"]) {
            return Some("it locks the rows that it reads".into());
        }
        (token.is("value") && follows(at, &["for"])).then(|| "it takes a value of a sequence".into())
    })
}

/// A view or a stored function of the server's users.
struct Object {
    name: String,
    is_function: bool,
    /// As in the server's dictionary; empty for a view.
    access: String,
    /// `None` if the user may not see it.
    definition: Option<String>,
}

/// Reads the definitions of all views and stored functions, except the server's own views.
async fn objects(session: &mut MysqlSession) -> Result<Vec<Object>, Failure> {
    let rows = session
        .query(&format!(
            "select lower(table_name), '', view_definition from information_schema.views
             where table_schema not in {SYSTEM}
             union all
             select lower(routine_name), sql_data_access, routine_definition from information_schema.routines
             where routine_type = 'FUNCTION'"
        ))
        .await?;
    let object = |row: Vec<Option<String>>| match <[Option<String>; 3]>::try_from(row) {
        Ok([Some(name), access, definition]) => {
            let access = access.unwrap_or_default();
            Some(Object {
                name,
                is_function: !access.is_empty(),
                access,
                definition: definition.filter(|text| !text.is_empty()),
            })
        }
        _ => None,
    };
    Ok(rows.into_iter().filter_map(object).collect())
}

/// The reason why code may do more than read, if it calls such a function directly or through views and stored
/// functions. `seen`: indexes of the objects already examined.
fn writing_call(tokens: &[Token<'_>], objects: &[Object], seen: &mut BTreeSet<usize>) -> Option<String> {
    let calls = calls(tokens);
    let is_stored = |call: &Call| {
        objects
            .iter()
            .any(|each| each.is_function && each.name == call.name.to_lowercase())
    };
    if let Some(call) = calls.iter().find(|call| !is_stored(call) && !is_native(call)) {
        return Some(format!("it calls `{}`, which is not known to only read", call.name));
    }
    let names: BTreeSet<String> = tokens
        .iter()
        .filter_map(Token::name)
        .map(|name| name.to_lowercase())
        .collect();
    for (index, object) in objects.iter().enumerate() {
        let is_used = names.contains(&object.name)
            && (!object.is_function || calls.iter().any(|call| call.name.to_lowercase() == object.name));
        if is_used && seen.insert(index) {
            let problem = object.problem(objects, seen);
            if problem.is_some() {
                return problem;
            }
        }
    }
    None
}

impl Object {
    /// Why it may do more than read.
    fn problem(&self, objects: &[Object], seen: &mut BTreeSet<usize>) -> Option<String> {
        let name = &self.name;
        if self.is_function && !["NO SQL", "READS SQL DATA"].contains(&self.access.as_str()) {
            return Some(format!(
                "the function `{name}` is not declared `reads sql data` or `no sql`"
            ));
        }
        let Some(definition) = &self.definition else {
            return Some(format!("the user may not see the definition of `{name}`"));
        };
        let tokens = match tokenize(definition, &super::SYNTAX) {
            Ok(tokens) => tokens,
            Err(error) => return Some(format!("the definition of `{name}` can't be read: {error}")),
        };
        let writing = |(at, token): &(usize, &Token<'_>)| {
            let is_function = tokens.get(at + 1).is_some_and(|next| next.is_mark("("));
            token.is_one_of(&BODY_EFFECTS) || token.is_one_of(&["insert", "replace"]) && !is_function
        };
        if let Some((_, word)) = tokens.iter().enumerate().find(writing) {
            return Some(format!("`{name}` contains `{word}`"));
        }
        writing_call(&tokens, objects, seen).map(|why| format!("of `{name}`: {why}"))
    }
}

/// Whether a call is a native function that only reads, or not a function call.
fn is_native(call: &Call) -> bool {
    let name = call.name.to_lowercase();
    !call.qualified
        && (call.is_word && is_keyword(&name) || only_reads(&name) || name == "last_insert_id" && call.is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(sql: &str) -> bool {
        let tokens = tokenize(sql, &crate::mysql::SYNTAX).expect(sql);
        let function = |name: &str, access: &str, definition: &str| Object {
            name: name.into(),
            is_function: !access.is_empty(),
            access: access.into(),
            definition: Some(definition.into()),
        };
        let objects = [
            function(
                "tax",
                "READS SQL DATA",
                "begin declare x int; select max(v) into x from t; return x; end",
            ),
            function("vague", "CONTAINS SQL", "return 1"),
            function("locking", "NO SQL", "return get_lock('a', 1)"),
            function("v", "", "select count(`t`.`a`) AS `n` from `t`"),
            function("locks", "", "select get_lock('a',1) AS `l`"),
            function("again", "", "select `locks`.`l` AS `l` from `locks`"),
        ];
        statements(&tokens).all(|one| writing_form(one).is_none())
            && writing_call(&tokens, &objects, &mut BTreeSet::new()).is_none()
    }

    #[test]
    fn reads_only_call_known_functions() {
        for sql in [
            "select count(*), max(v) from t where a in (1, 2) and b between (1) and (2)",
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9) select * from n",
            "select tax(1), app.tax(1) from v",
            "select insert('abc', 1, 1, 'x'), replace('a', 'b', 'c'), if(1, 2, 3)",
            "select @a := 1, last_insert_id()",
            "select /*+ set_var(sort_buffer_size = 16M) */ /*!40001 sql_no_cache */ * from t use index (a)",
            "explain select * from t",
            "select st_distance(point(1, 1), point(2, 2)), row_number() over (order by v) from t",
        ] {
            assert!(reads(sql), "{sql}");
        }
    }

    #[test]
    fn unknown_statements_are_not_reads() {
        for sql in [
            "select get_lock('a', 1)",
            "select `get_lock`('a', 1)",
            "select get_lock /*!99999 x */ ('a', 1)",
            "/*!99999 select */ delete from t",
            "/*!50000 delete */ from t",
            "select * from again",
            "select locking()",
            "select vague()",
            "select last_insert_id(5)",
            "select app.count(1)",
            "select load_file('/etc/passwd')",
            "select 1 into outfile 'x'",
            "select * from t for update",
            "select * from t for /*!40000 share */",
            "select next value for s",
            "select benchmark(9, 1)",
            "explain analyze select 1",
            "do sleep(1)",
        ] {
            assert!(!reads(sql), "{sql}");
        }
    }
}
