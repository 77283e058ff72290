//! Determines which statements are known to be reads. They are tokenized, prepared and planned, but not executed.
//!
//! A read is a single statement of a reading form, whose plan neither writes nor locks rows, and whose functions are
//! declared immutable or stable, apart from a short list. The planner may evaluate such functions, in a read-only
//! transaction.

use super::session::PostgresqlSession;
use super::{PostgresqlEngine, Text};
use crate::server::{ServerTarget, error_of};
use crate::tokens::{Syntax, Token, calls, only_controls_transaction, statements, tokenize};
use dbdyno_engine::writes::Writes;
use dbdyno_engine::{Failure, Session as _};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
use serde_json::Value;

/// Limits for preparing and planning. The lock timeout protects other users.
const LIMITS: &str = "set statement_timeout = '60s'; set lock_timeout = '5s'; set plan_cache_mode = force_generic_plan";

/// Volatile functions that only read, or only affect the session. PostgreSQL or an extension defines them.
pub(super) const READING: [&str; 36] = [
    "clock_timestamp",
    "current_query",
    "gen_random_bytes",
    "gen_random_uuid",
    "gen_salt",
    "pg_blocking_pids",
    "pg_current_wal_flush_lsn",
    "pg_current_wal_insert_lsn",
    "pg_current_wal_lsn",
    "pg_database_size",
    "pg_indexes_size",
    "pg_is_in_recovery",
    "pg_jit_available",
    "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp",
    "pg_partition_ancestors",
    "pg_partition_tree",
    "pg_relation_size",
    "pg_safe_snapshot_blocking_pids",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_table_size",
    "pg_tablespace_size",
    "pg_total_relation_size",
    "random",
    "random_normal",
    "setseed",
    "statement_timestamp",
    "timeofday",
    "uuid_generate_v1",
    "uuid_generate_v1mc",
    "uuid_generate_v4",
    "uuidv4",
    "uuidv7",
];

/// Functions that are declared stable, but assign a transaction ID or execute a string.
const EFFECTIVE: [&str; 10] = [
    "connectby",
    "crosstab",
    "crosstab2",
    "crosstab3",
    "crosstab4",
    "crosstab_hash",
    "crosstabn",
    "pg_current_xact_id",
    "txid_current",
    "xpath_table",
];

/// Operators that keywords stand for, such as LIKE, SIMILAR TO, IN, BETWEEN, ORDER BY.
const IMPLIED: [&str; 14] = [
    "=", "<>", "<", "<=", ">", ">=", "~~", "!~~", "~~*", "!~~*", "~", "!~", "~*", "!~*",
];

/// Errors of the statement itself: syntax, unknown column, unknown function. Other errors may depend on earlier
/// statements of the file.
const OWN_ERRORS: [&str; 3] = ["42601", "42703", "42883"];

/// First words of a query, in addition to a parenthesis.
const QUERIES: [&str; 4] = ["select", "with", "values", "table"];

/// Statements that `EXPLAIN` without `ANALYZE` plans without executing them.
const PLANNED: [&str; 8] = [
    "select", "with", "values", "table", "insert", "update", "delete", "merge",
];

/// The form of a statement, by its tokens.
enum Form {
    /// It begins or ends a transaction.
    Control,
    /// It returns rows, and has a plan.
    Query,
    /// `SHOW`, or `EXPLAIN` without `ANALYZE`.
    Shown,
    /// `SET`, of the setting with this name.
    Set(String),
}

/// Returns for each statement whether it writes.
pub async fn writes(target: &ServerTarget, statements: &[Statement]) -> Result<Vec<Writes>, Failure> {
    let target = ServerTarget {
        read_only: true,
        ..target.clone()
    };
    let texts = PostgresqlEngine::texts(statements);
    let mut session = PostgresqlSession::open(&target, texts.clone(), PrepareMode::Once).await?;
    session.query(LIMITS).await?;
    let conforming = session.query("show standard_conforming_strings").await?;
    let syntax = Syntax {
        backslashes: first(&conforming) != Some("on"),
        ..super::SYNTAX
    };
    let mut answers = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        session.query("begin read only").await?;
        let name = &text.statement.name;
        let answer = judge(&mut session, index, text, &syntax).await;
        session.query("rollback").await?;
        answers.push(match answer {
            Err(failure) if failure.kind == FailureKind::Connection => return Err(failure),
            Err(failure) => Writes::Unknown(error_of(&failure, name)),
            Ok(answer) => answer,
        });
    }
    session.close().await?;
    Ok(answers)
}

async fn judge(session: &mut PostgresqlSession, index: usize, text: &Text, syntax: &Syntax) -> Result<Writes, Failure> {
    let name = &text.statement.name;
    let tokens = match tokenize(&text.numbered, syntax) {
        Ok(tokens) => tokens,
        Err(error) => {
            return Ok(rejected(session, index, name)
                .await?
                .unwrap_or(Writes::Unknown(error.to_string())));
        }
    };
    let mut all = statements(&tokens);
    let form = match (all.next(), all.next()) {
        (Some(only), None) => form(only),
        (None, _) => return Ok(Writes::Unknown("it is empty".into())),
        _ => return Ok(Writes::Unknown("it is more than one statement".into())),
    };
    let form = match form {
        Ok(form) => form,
        Err(why) => return Ok(rejected(session, index, name).await?.unwrap_or(Writes::Yes(why))),
    };
    if matches!(form, Form::Control) {
        return Ok(Writes::No);
    }
    let prepared = match session.prepare_one(index).await {
        Err(failure) if failure.code.as_deref().is_some_and(|code| OWN_ERRORS.contains(&code)) => {
            return Ok(Writes::Rejected(error_of(&failure, name)));
        }
        prepared => prepared?,
    };
    match form {
        // EXPLAIN plans a statement without executing it.
        Form::Control | Form::Shown => return Ok(Writes::No),
        Form::Set(name) => {
            let rows = session.query(&setting_query(&name)).await?;
            return Ok(if first(&rows) == Some("t") {
                Writes::No
            } else {
                Writes::Yes(format!("`set {name}` changes more than how queries are planned"))
            });
        }
        Form::Query => {}
    }
    let rows = session.query(&unsafe_function_query(&tokens)).await?;
    if let Some([Some(why), Some(function)]) = rows.first().map(Vec::as_slice) {
        let why = format!("{why} `{function}`, which is not declared stable or immutable");
        return Ok(Writes::Unknown(why));
    }
    let arguments = vec!["null"; prepared.parameters].join(", ");
    let arguments = if arguments.is_empty() {
        arguments
    } else {
        format!("({arguments})")
    };
    let explain = format!("explain (format json) execute {}{arguments}", prepared.name);
    let rows = session.query(&explain).await?;
    let plan: Option<Value> = first(&rows).and_then(|text| serde_json::from_str(text).ok());
    Ok(match plan {
        None => Writes::Unknown("its plan can't be read".into()),
        Some(plan) => match writing_node(&plan) {
            Some(node) => Writes::Yes(format!("its plan has a step `{node}`")),
            None => Writes::No,
        },
    })
}

/// The answer for a statement that the server can't parse. Parsing executes nothing.
async fn rejected(session: &mut PostgresqlSession, index: usize, name: &str) -> Result<Option<Writes>, Failure> {
    const SYNTAX_ERROR: &str = "42601";
    match session.prepare_one(index).await {
        // For several statements, each may be valid on its own.
        Err(failure) if failure.code.as_deref() == Some(SYNTAX_ERROR) && !failure.message.contains("multiple") => {
            Ok(Some(Writes::Rejected(error_of(&failure, name))))
        }
        Err(failure) if failure.kind == FailureKind::Connection => Err(failure),
        _ => Ok(None),
    }
}

/// The first value of a result.
pub(super) fn first(rows: &[Vec<Option<String>>]) -> Option<&str> {
    rows.first()?.first()?.as_deref()
}

/// The form of a statement, or why it is not a read.
fn form(statement: &[Token<'_>]) -> Result<Form, String> {
    if only_controls_transaction(statement) {
        return Ok(Form::Control);
    }
    let [begin, rest @ ..] = statement else {
        return Err("it is empty".into());
    };
    if begin.is("show") {
        return Ok(Form::Shown);
    }
    if begin.is("explain") {
        // Options may be quoted names.
        let is_more = |token: &Token<'_>| {
            let name = token.name();
            name.is_some_and(|name| {
                ["analyze", "analyse", "execute", "declare", "create", "refresh"].contains(&name.as_str())
            })
        };
        return match rest.iter().position(|token| token.is_one_of(&PLANNED)) {
            Some(planned) if !rest[..planned].iter().any(is_more) => Ok(Form::Shown),
            _ => Err("`explain` of it is more than a plan".into()),
        };
    }
    if begin.is("set") {
        let rest = match rest {
            [scope, rest @ ..] if scope.is_one_of(&["session", "local"]) => rest,
            rest => rest,
        };
        return match rest {
            [name, to, _, ..] if name.name().is_some() && (to.is_mark("=") || to.is("to")) => {
                Ok(Form::Set(name.name().unwrap_or_default()))
            }
            _ => Err("`set` changes the session".into()),
        };
    }
    if !(begin.is_mark("(") || begin.is_one_of(&QUERIES)) {
        return Err(format!("`{begin}` is not a read"));
    }
    match statement.iter().find(|token| token.is("into")) {
        Some(_) => Err("`into` writes to a table".into()),
        None => Ok(Form::Query),
    }
}

/// The first step of a plan that writes, or locks rows.
fn writing_node(plan: &Value) -> Option<&str> {
    match plan {
        Value::Object(fields) => match fields.get("Node Type").and_then(Value::as_str) {
            Some(node @ ("ModifyTable" | "LockRows")) => Some(node),
            _ => fields.values().find_map(writing_node),
        },
        Value::Array(values) => values.iter().find_map(writing_node),
        _ => None,
    }
}

/// A query: may any user change this setting, and does it only affect planning and memory?
fn setting_query(name: &str) -> String {
    format!(
        "select context = 'user' and (category like 'Query Tuning%' or category like 'Resource Usage%') \
         from pg_settings where lower(name) = {}",
        literal(&name.to_lowercase())
    )
}

/// A query for a function that a statement may call and that isn't known to read: by its name, in any schema and with
/// any arguments, or through a view, a policy, a domain, an operator, an operator class, an aggregate or a cast.
fn unsafe_function_query(tokens: &[Token<'_>]) -> String {
    let names = array(tokens.iter().filter_map(Token::name));
    let called = array(calls(tokens).into_iter().map(|call| call.name));
    let casts = array(cast_names(tokens));
    // `row.function` calls a function of the row.
    let attributes = array(
        tokens
            .windows(2)
            .filter(|pair| pair[0].is_mark("."))
            .filter_map(|pair| pair[1].name()),
    );
    let operators = array(
        tokens
            .iter()
            .filter(|token| token.kind == crate::tokens::Kind::Operator)
            .map(|token| token.text.to_owned())
            .chain(IMPLIED.map(str::to_owned)),
    );
    let reading = array(READING.map(str::to_owned).into_iter());
    let effective = array(EFFECTIVE.map(str::to_owned).into_iter());
    format!(
        "with recursive relations(oid) as (
            select oid from pg_class where relname = any({names})
            union
            select d.refobjid from relations r
                join (
                    select ev_class, 'pg_rewrite'::regclass, oid from pg_rewrite where ev_type = '1'
                    union all
                    select polrelid, 'pg_policy'::regclass, oid from pg_policy
                ) part(relation, class, oid) on part.relation = r.oid
                join pg_depend d on d.classid = part.class and d.objid = part.oid
                    and d.refclassid = 'pg_class'::regclass
            where r.oid >= {FIRST_OWN}
        ), rules(why, tree) as (
            select format('its view `%s` calls', c.relname), w.ev_action::text
            from relations r join pg_class c on c.oid = r.oid join pg_rewrite w on w.ev_class = c.oid and w.ev_type = '1'
            where c.relkind = 'v' and c.oid >= {FIRST_OWN}
            union all
            select format('the policy `%s` calls', p.polname), p.polqual::text
            from relations r join pg_policy p on p.polrelid = r.oid where p.polqual is not null
        ), types(oid) as (
            select t.oid from pg_type t left join pg_class c on c.oid = t.typrelid
            where t.typname = any({casts}) or t.typname = any({names}) and coalesce(c.relkind, 'c') = 'c'
            union
            select f[1]::oid from rules, regexp_matches(tree, ':resulttype ([0-9]+)', 'g') f
            union
            select part.oid from types join (
                select oid, typbasetype from pg_type
                union all
                select oid, typelem from pg_type
                union all
                select rngtypid, rngsubtype from pg_range
                union all
                select t.oid, a.atttypid from pg_type t join pg_attribute a on a.attrelid = t.typrelid
                where a.attnum > 0 and not a.attisdropped
            ) part(whole, oid) on part.whole = types.oid and part.oid >= {FIRST_OWN}
        ), trees(why, tree) as (
            select why, tree from rules
            union all
            select format('the domain `%s` calls', t.typname), c.conbin::text
            from types join pg_type t on t.oid = types.oid join pg_constraint c on c.contypid = t.oid
        ), found(why, oid) as (
            select why, f[1]::oid
            from trees, regexp_matches(tree, ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([0-9]+)', 'g') f
            union all
            select why, o.oprcode::oid
            from trees, regexp_matches(tree, ':opno ([0-9]+)', 'g') f join pg_operator o on o.oid = f[1]::oid
            union all
            select 'it calls', oid from pg_proc where proname = any({called})
            union all
            select 'it calls', p.oid from pg_proc p join pg_type t on t.oid = p.proargtypes[0]
            where p.proname = any({attributes}) and p.pronargs - p.pronargdefaults <= 1 and t.typtype in ('c', 'p')
            union all
            select format('the operator `%s` calls', oprname), oprcode::oid from pg_operator
            where exists (select from unnest({operators}) run where position(oprname in run) > 0)
            union all
            select format('the operator class `%s` calls', c.opcname), p.amproc::oid from pg_opclass c
                join pg_amproc p on p.amprocfamily = c.opcfamily
            where p.oid >= {FIRST_OWN}
            union all
            select format('the cast from `%s` to `%s` calls', castsource::regtype, casttarget::regtype), castfunc
            from pg_cast where castfunc <> 0
        ), functions(why, oid) as (
            select why, oid from found
            union all
            select why, part from found join pg_aggregate a on a.aggfnoid = found.oid,
                unnest(array[aggtransfn, aggfinalfn, aggcombinefn, aggmtransfn, aggminvtransfn, aggmfinalfn]::oid[]) part
        )
        select f.why, p.proname from functions f join pg_proc p on p.oid = f.oid
        where (p.provolatile = 'v' or p.proname = any({effective})) and 'internal'::regtype::oid <> all (p.proargtypes::oid[])
            and not (p.proname = any({reading}) and (p.oid < {FIRST_OWN} or exists (select from pg_depend d
                where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')))
        limit 1"
    )
}

/// The names that may be the target type of a cast: those after `::` and AS, and those before a string.
///
/// Only there can a table's name denote its row type: reading a table doesn't check its domains.
fn cast_names(tokens: &[Token<'_>]) -> impl Iterator<Item = String> {
    let is_path = |token: &&Token<'_>| token.is_mark(".") || token.name().is_some();
    let behind = (0..tokens.len())
        .filter(|at| tokens[*at].is("as") || tokens[*at].is_mark(":"))
        .flat_map(move |at| tokens[at + 1..].iter().take_while(is_path));
    let before = tokens
        .windows(2)
        .filter(|pair| pair[1].kind == crate::tokens::Kind::String)
        .map(|pair| &pair[0]);
    behind.chain(before).filter_map(Token::name)
}

/// The first object identifier of user-defined objects (`FirstNormalObjectId`).
const FIRST_OWN: u32 = 16384;

/// An SQL array of names.
pub(super) fn array(names: impl Iterator<Item = String>) -> String {
    // PostgreSQL truncates longer names, in bytes.
    const LONGEST: usize = 63;
    let cut = |name: String| {
        let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
        literal(&name[..ends.take_while(|end| *end <= LONGEST).last().unwrap_or(0)])
    };
    // With a single-byte encoding, non-ASCII letters are converted to lower case too.
    let mut names: Vec<String> = names.flat_map(|name| [name.to_lowercase(), name]).map(cut).collect();
    names.sort_unstable();
    names.dedup();
    format!("array[{}]::text[]", names.join(", "))
}

/// A string literal that doesn't depend on how the server treats backslashes.
fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
