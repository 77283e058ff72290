//! Which PostgreSQL statements access something outside their database. They cannot name tables of another database.

use super::session::PostgresqlSession;
use super::writes::{READING, array, first};
use crate::external_access::{Bounds, find_external_access as find, kind_of, within};
use crate::server::ServerTarget;
use crate::tokens::{Kind, Token, calls, statements, tokenize};
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::PrepareMode;
use std::sync::Arc;

/// Statements that stay within the database.
const BOUNDS: Bounds = Bounds {
    syntax: super::SYNTAX,
    verbs: &[
        "analyze",
        "call",
        "close",
        "cluster",
        "comment",
        "copy",
        "deallocate",
        "declare",
        "delete",
        "discard",
        "do",
        "execute",
        "explain",
        "fetch",
        "insert",
        "listen",
        "lock",
        "merge",
        "move",
        "notify",
        "prepare",
        "refresh",
        "reindex",
        "reset",
        "select",
        "set",
        "show",
        "table",
        "truncate",
        "unlisten",
        "update",
        "vacuum",
        "values",
        "with",
    ],
    kinds: &[
        "aggregate",
        "cast",
        "collation",
        "configuration",
        "conversion",
        "dictionary",
        "domain",
        "extension",
        "function",
        "index",
        "operator",
        "policy",
        "procedure",
        "rule",
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

/// Volatile functions whose effects stay within the database or the session, in addition to [`READING`].
const OWN: &str = "currval lastval brin_desummarize_range brin_summarize_new_values brin_summarize_range gin_clean_pending_list lo_close \
    lo_creat lo_create lo_from_bytea lo_get lo_lseek lo_lseek64 lo_open lo_put lo_tell lo_tell64 lo_truncate \
    lo_truncate64 lo_unlink loread lowrite nextval pg_advisory_lock pg_advisory_lock_shared pg_advisory_unlock \
    pg_advisory_unlock_all pg_advisory_unlock_shared pg_advisory_xact_lock pg_advisory_xact_lock_shared pg_notify \
    pg_stat_clear_snapshot pg_try_advisory_lock pg_try_advisory_lock_shared pg_try_advisory_xact_lock \
    pg_try_advisory_xact_lock_shared pg_xact_status set_config setval txid_status";

/// Words in code that run programs, access files or the whole server, or execute strings.
const IN_CODE: [&str; 9] = [
    "checkpoint",
    "copy",
    "database",
    "execute",
    "load",
    "role",
    "subscription",
    "system",
    "tablespace",
];

/// Catalogs and views through which a statement could change the whole server, or settings that need other rights.
const SHARED: [&str; 11] = [
    "pg_auth_members",
    "pg_authid",
    "pg_database",
    "pg_db_role_setting",
    "pg_parameter_acl",
    "pg_replication_origin",
    "pg_settings",
    "pg_shdepend",
    "pg_shseclabel",
    "pg_subscription",
    "pg_tablespace",
];

/// Returns for each text why it accesses something outside its database, if it does. The server's catalog lists
/// the built-in functions and the extensions that any user may create.
pub async fn find_external_access(target: &ServerTarget, texts: &[String]) -> Result<Vec<Option<String>>, Failure> {
    let target = ServerTarget {
        read_only: true,
        ..target.clone()
    };
    let mut session = PostgresqlSession::open(&target, Arc::new([]), PrepareMode::Once).await?;
    let mut answers = find(&BOUNDS, texts, &[]);
    for (text, answer) in texts.iter().zip(&mut answers) {
        let Ok(tokens) = tokenize(text, &BOUNDS.syntax) else {
            continue;
        };
        // Unreadable code has been refused already.
        let codes = codes(&tokens).unwrap_or_default();
        let inside = codes.iter().filter_map(|code| tokenize(code, &BOUNDS.syntax).ok());
        let called = std::iter::once(tokens.clone())
            .chain(inside)
            .flat_map(|tokens| calls(&tokens));
        let called = array(called.map(|call| call.name));
        let extensions = array(extension(&tokens).into_iter());
        let own = array(OWN.split_ascii_whitespace().chain(READING).map(str::to_owned));
        if answer.is_none() {
            let rows = session
                .query(&format!(
                    "select format('`%s` accesses something outside its own database', name) from (
                        select proname from pg_proc
                        where proname = any({called}) and provolatile = 'v' and pronamespace = 'pg_catalog'::regnamespace
                            and 'internal'::regtype::oid <> all (proargtypes::oid[]) and proname <> all ({own})
                        union all
                        select wanted.name from unnest({extensions}) wanted(name) where not exists (select
                            from pg_available_extension_versions v where v.name = wanted.name and v.trusted)
                    ) found(name) limit 1"
                ))
                .await?;
            *answer = first(&rows).map(str::to_owned);
        }
    }
    session.close().await?;
    Ok(answers)
}

/// The extension that a statement creates.
fn extension(tokens: &[Token<'_>]) -> Option<String> {
    let at = tokens.iter().position(|token| token.is("extension"))?;
    kind_of(tokens)?.is("extension").then_some(())?;
    let name = tokens[at + 1..]
        .iter()
        .find(|token| !token.is_one_of(&["if", "not", "exists"]))?;
    name.name()
}

/// The code in the strings of DO, CREATE FUNCTION and CREATE PROCEDURE, or why it can't be read.
fn codes(tokens: &[Token<'_>]) -> Result<Vec<String>, &'static str> {
    let has_code = |statement: &[Token<'_>]| {
        statement[0].is("do") || kind_of(statement).is_some_and(|kind| kind.is_one_of(&["function", "procedure"]))
    };
    let mut codes = Vec::new();
    for statement in statements(tokens).filter(|statement| has_code(statement)) {
        for (at, token) in statement.iter().enumerate() {
            if token.kind == Kind::String {
                let has_unicode_escapes = at > 1
                    && statement[at - 1].is_mark("&")
                    && statement[at - 2].is("u")
                    && !token.text.starts_with('$');
                let goes_on = statement.get(at + 1).is_some_and(|next| next.kind == Kind::String);
                if has_unicode_escapes || goes_on {
                    return Err("write it as one string without Unicode escapes");
                }
                codes.push(content(token.text).ok_or("write it as a string without escapes, such as `$$…$$`")?);
            }
        }
    }
    Ok(codes)
}

/// The content of a string, unless it has escapes.
fn content(string: &str) -> Option<String> {
    if let Some(rest) = string.strip_prefix('$') {
        let tag = rest.find('$').map_or(1, |end| end + 2);
        return string.get(tag..string.len() - tag).map(str::to_owned);
    }
    let quoted = string.trim_start_matches(['e', 'E']);
    let has_escapes = quoted.len() < string.len() && quoted.contains('\\');
    let inside = quoted.get(1..quoted.len().saturating_sub(1))?;
    (!has_escapes).then(|| inside.replace("''", "'"))
}

fn beyond(statement: &[Token<'_>]) -> Option<String> {
    let [verb, rest @ ..] = statement else { return None };
    let leads = |what: &str| Some(format!("`{what}` accesses something outside its own database"));
    let defines_routine = kind_of(statement).is_some_and(|kind| kind.is_one_of(&["function", "procedure"]));
    if (verb.is("set") || defines_routine) && sets_role(statement) || sets_role_by_call(statement) {
        return leads("set role");
    }
    if let Some(catalog) = written_catalog(statement) {
        return leads(&catalog);
    }
    if verb.is("prepare") && rest.first().is_some_and(|next| next.is("transaction")) {
        return leads("prepare transaction");
    }
    if verb.is("comment") && !rest.get(1).is_some_and(is_object_of_database) {
        return leads("comment");
    }
    if verb.is("copy") && !copies_to_client(rest) {
        return leads("copy");
    }
    let codes = match codes(statement) {
        Err(how) => return Some(format!("its code can't be read: {how}")),
        Ok(codes) => codes,
    };
    for code in codes {
        match tokenize(&code, &BOUNDS.syntax) {
            Err(error) => return Some(format!("its code can't be read: {error}")),
            Ok(tokens) => {
                if let Some(catalog) = written_catalog(&tokens) {
                    return leads(&catalog);
                }
                if let Some(word) = tokens.iter().find(|token| token.is_one_of(&IN_CODE)) {
                    return leads(&word.text.to_lowercase());
                }
                if sets_role(&tokens) || sets_role_by_call(&tokens) {
                    return leads("set role");
                }
            }
        }
    }
    let language = rest
        .iter()
        .position(|token| token.is("language"))
        .and_then(|at| rest.get(at + 1));
    let name = language.map(|token| {
        let name = token.name().or_else(|| content(token.text));
        name.unwrap_or_else(|| token.text.to_owned())
    });
    match name {
        Some(name) if !["sql", "plpgsql"].contains(&name.to_lowercase().as_str()) => leads(&format!("language {name}")),
        _ => statements(statement)
            .skip(1)
            .find_map(|further| match further[0].is("return") {
                true => None,
                false => within(&BOUNDS, further),
            }),
    }
}

/// The shared catalog that a statement writes, or the view `pg_settings`.
fn written_catalog(tokens: &[Token<'_>]) -> Option<String> {
    let defines_view = tokens.iter().any(|token| token.is_one_of(&["rule", "view"]));
    tokens.iter().enumerate().find_map(|(at, token)| {
        let name = token.name().filter(|name| SHARED.contains(&name.as_str()))?;
        let mut before = tokens[..at].iter().rev().peekable();
        if before.next_if(|mark| mark.is_mark(".")).is_some() {
            before.next();
        }
        before.next_if(|word| word.is("only"));
        let verb = before.next()?;
        let is_written = verb.is_one_of(&["copy", "into", "update"])
            || verb.is("from") && before.next().is_some_and(|verb| verb.is("delete"));
        (is_written || defines_view && name == "pg_settings").then_some(name)
    })
}

/// Whether SET changes the role. The setting's name may be quoted.
fn sets_role(tokens: &[Token<'_>]) -> bool {
    let sets = |at: usize| {
        let mut behind = tokens[at + 1..]
            .iter()
            .skip_while(|token| token.is_one_of(&["session", "local"]));
        tokens[at].is("set") && behind.next().and_then(Token::name).is_some_and(|name| is_role(&name))
    };
    (0..tokens.len()).any(sets)
}

/// Whether `set_config` changes the role, or a setting whose name is not a literal.
fn sets_role_by_call(tokens: &[Token<'_>]) -> bool {
    tokens.windows(2).enumerate().any(|(at, pair)| {
        let calls = pair[0].name().is_some_and(|name| name == "set_config") && pair[1].is_mark("(");
        calls
            && !matches!(tokens[at + 2..], [setting, comma, ..]
                if setting.kind == Kind::String && comma.is_mark(",")
                    && content(setting.text).is_some_and(|setting| !is_role(&setting)))
    })
}

/// Whether a setting is a role.
fn is_role(setting: &str) -> bool {
    ["authorization", "role", "session_authorization"]
        .iter()
        .any(|role| setting.eq_ignore_ascii_case(role))
}

/// Whether the kind of object that COMMENT names belongs to one database.
fn is_object_of_database(kind: &Token<'_>) -> bool {
    const FURTHER: [&str; 7] = [
        "access",
        "column",
        "constraint",
        "large",
        "materialized",
        "routine",
        "text",
    ];
    kind.is_one_of(BOUNDS.kinds) || kind.is_one_of(&FURTHER)
}

/// Whether COPY is from or to the client.
fn copies_to_client(rest: &[Token<'_>]) -> bool {
    let mut depth = 0_i32;
    let direction = rest.iter().position(|token| {
        depth += i32::from(token.is_mark("(")) - i32::from(token.is_mark(")"));
        depth == 0 && token.is_one_of(&["from", "to"])
    });
    direction
        .and_then(|at| rest.get(at + 1))
        .is_some_and(|place| place.is_one_of(&["stdin", "stdout"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_to_the_server_or_its_machine_is_reported() {
        for (sql, expected) in [
            ("create role a", true),
            ("alter system set work_mem = '1MB'", true),
            ("drop database app", true),
            ("-- /*\ndrop database app", true),
            ("create table role (x int)", false),
            ("create unique index on t (role)", false),
            ("create or replace temporary view v as select 1", false),
            ("create foreign table f (x int) server s", true),
            ("create event trigger e on ddl_command_end execute function f()", true),
            ("alter default privileges grant select on tables to public", true),
            ("copy t to '/tmp/out.csv'", true),
            ("copy (select 1) to E'/tmp/a' csv", true),
            ("select 1; copy t from program 'id'", true),
            ("copy t\nto'/tmp/out.csv'", true),
            ("copy t to $$/tmp/out.csv$$", true),
            ("copy stdout from '/tmp/x'", true),
            ("copy t to stdout", false),
            ("copy t from stdin", false),
            ("insert into copy values (' to ')", false),
            ("do $$ begin copy (select 1) to program 'x'; end $$", true),
            ("do $$ begin execute 'drop ' || 'database app'; end $$", true),
            ("do 'begin copy t to ''/tmp/x''; end'", true),
            ("do $$ begin insert into t values (1); end $$", false),
            (
                "create function f() returns int language plpython3u as 'import os'",
                true,
            ),
            ("create function f() returns int language sql as 'select 1'", false),
            ("set role postgres", true),
            ("set \"role\" = postgres", true),
            ("set local \"role\" to postgres", true),
            ("set session authorization default", true),
            ("set session_authorization = postgres", true),
            ("select set_config('role', 'postgres', false)", true),
            ("select set_config(E'ro' || 'le', 'postgres', false)", true),
            ("select set_config('work_mem', '1MB', false)", false),
            (
                "create function f() returns int language sql set \"role\" = postgres as 'select 1'",
                true,
            ),
            ("do $$ begin set \"role\" = postgres; end $$", true),
            ("update t set role = 1", false),
            (r"select set_config(E'\x72ole', 'postgres', false)", true),
            (r"select set_config(U&'\0072ole', 'postgres', false)", true),
            ("select set_config('ro'\n'le', 'postgres', false)", true),
            (r"do E'begin \x65xecute ''drop database app''; end'", true),
            (r"do U&'begin \0065xecute ''drop database app''; end'", true),
            (r"do u&'begin !0065xecute ''x''; end' uescape '!'", true),
            ("do 'begin exe'\n'cute ''drop database app''; end'", true),
            ("do E'begin insert into t values (1); end'", false),
            (
                r"create function f() returns int language plpgsql as E'begin \x65xecute ''x''; end'",
                true,
            ),
            (
                r"create function f() returns text language sql as $$ select E'a\nb' $$",
                false,
            ),
            (
                r"create function f() returns text language sql as 'select ''\d'''",
                false,
            ),
            (r"insert into t values (E'role\n') on conflict do nothing", false),
            (
                "create trigger r before insert on t for each row execute function f()",
                false,
            ),
            (
                "create trigger r before insert on t for each row execute function f(); drop database app",
                true,
            ),
            (
                "create trigger r before insert on t for each row execute function f(); do 'begin execute x; end'",
                true,
            ),
            (
                "create procedure p() begin atomic insert into t values (1); delete from t; end",
                false,
            ),
            (
                "create function f() returns int begin atomic select 1; return 2; end; drop database app",
                true,
            ),
            ("update pg_settings set setting = 'postgres' where name = 'role'", true),
            ("update only pg_catalog.\"pg_settings\" set setting = 'x'", true),
            ("do $$ begin update pg_settings set setting = 'x'; end $$", true),
            ("create view v as select * from pg_settings", true),
            ("insert into pg_db_role_setting values (0, 0, '{a=b}')", true),
            ("delete from pg_catalog.pg_db_role_setting", true),
            ("update pg_authid set rolsuper = true", true),
            ("select setting from pg_settings where name = 'work_mem'", false),
            ("insert into t select datname from pg_database", false),
            ("create table t as select name from pg_settings", false),
            ("prepare transaction 'a'", true),
            ("prepare p as select 1", false),
            ("comment on database app is 'a'", true),
            ("comment on role postgres is 'a'", true),
            ("comment on tablespace pg_default is 'a'", true),
            ("comment on column t.a is 'database'", false),
            ("comment on table database is 'a'", false),
            ("set work_mem = '1MB'", false),
        ] {
            assert_eq!(find(&BOUNDS, &[sql.to_owned()], &[])[0].is_some(), expected, "{sql}");
        }
    }
}
