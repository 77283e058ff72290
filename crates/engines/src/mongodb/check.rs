//! Contract checks for MongoDB and servers that speak its protocol, including checks specific to them.

use super::{MongodbEngine, MongodbSession, MongodbTarget, bulk};
use dbdyno_contract::client::{Client, wait};
use dbdyno_contract::server::{changed, read, table_name};
use dbdyno_contract::statements::{MODES, row};
use dbdyno_contract::systems::{
    COUNT, CREATE, DROP, INSERT, SELECT, System, UPDATE_ONE, WRONG, as_load, statements, system_checks,
};
use dbdyno_contract::{Check, Fails as _, Outcome, Problem, carry_out, checks, ensure, same};
use dbdyno_engine::driver::Tell;
use dbdyno_engine::rows::Loaded;
use dbdyno_engine::{Control, DurabilityClass, Engine as _, Failure, Rows};
use dbdyno_program::value::{Owned, Value};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};
use dbdyno_protocol::plan::transaction::BeginMode;
use serde_json::json;

/// Runs the checks in the target's database.
pub fn check(target: &MongodbTarget, tell: Tell<'_>) -> Result<(), Failure> {
    carry_out::<Mongodb>(|number| Ok(Mongodb::new(serde_json::to_value(target)?, number)), tell);
    Ok(())
}

/// A database with one collection.
pub struct Mongodb {
    target: serde_json::Value,
    table: String,
}

impl Mongodb {
    /// Uses a collection in the target's database.
    pub fn new(target: serde_json::Value, number: u32) -> Self {
        let table = table_name(number);
        Self { target, table }
    }

    fn try_engine(&self, changes: serde_json::Value, texts: &[String]) -> Result<MongodbEngine, Failure> {
        MongodbEngine::new(&read(changed(&self.target, changes)?)?, &statements(texts))
    }

    /// A session with changed target fields and other statements; `{t}` stands for the collection.
    fn client_with(&self, changes: serde_json::Value, texts: &[&str]) -> Result<Client<MongodbSession>, Failure> {
        let texts: Vec<String> = texts.iter().map(|text| text.replace("{t}", &self.table)).collect();
        Ok(Client(wait(self.try_engine(changes, &texts)?.connect(0))?))
    }
}

impl System for Mongodb {
    type Engine = MongodbEngine;

    const TEXT: &str = "";
    const BYTES: &str = "";
    const ID: &str = "_id";
    // FerretDB scans the whole collection.
    const COMPARED: u64 = 64;
    const KEY: &str = "";
    const NAMES: &[&str] = &["FerretDB", "MongoDB"];
    const SHOWN: &str = "";
    const UNPREPARED: &str = "";

    fn checks() -> Vec<Check<Self>> {
        let mut all = system_checks::<Self>();
        all.retain(|check| !REPLACED.contains(&check.name));
        for check in all.iter_mut().filter(|check| EMPTY.contains(&check.name)) {
            check.run = not_applicable;
        }
        all.extend(checks!(servers: many_sessions_work_at_once));
        all.extend(checks!(
            failures_have_their_kind_and_leave_the_session_usable,
            transactions_are_refused,
            a_statement_that_is_not_a_command_is_refused_at_once,
            fields_have_the_types_of_the_server,
            rows_are_read_in_batches_and_the_first_is_captured,
            each_kind_of_response_returns_its_rows,
            a_statement_that_takes_too_long_is_a_timeout,
            connection_errors_are_explained,
            very_long_values_are_sent_and_received,
            an_engine_reports_its_version_and_query_plans,
        ));
        all
    }

    fn table(&self) -> &str {
        &self.table
    }

    fn engine_for(&self, texts: &[String], _prepare: PrepareMode) -> Result<MongodbEngine, Failure> {
        self.try_engine(json!({}), texts)
    }

    fn load(&self, load: serde_json::Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
        let named = changed(&self.target, json!({"engine": "mongodb"}))?;
        bulk::load(&read(self.target.clone())?, &as_load(load, &named)?, seed)
    }

    fn clean(&self) -> Result<(), Failure> {
        // Some versions report an error if the collection doesn't exist.
        let _ = self.client(PrepareMode::Once)?.run(DROP, &[]);
        Ok(())
    }

    fn fresh(&self, prepare: PrepareMode) -> Result<Client<MongodbSession>, Failure> {
        self.clean()?;
        let mut client = self.client(prepare)?;
        client.run(CREATE, &[])?;
        Ok(client)
    }

    fn create(&self) -> String {
        json!({ "create": self.table }).to_string()
    }

    fn create_index(&self) -> String {
        format!(
            r#"{{"createIndexes": "{}", "indexes": [{{"key": {{"i": 1}}, "name": "i"}}]}}"#,
            self.table
        )
    }

    fn texts(&self) -> Vec<String> {
        let many: Vec<_> = (1001..=1020)
            .map(|id| json!({"_id": {"$oid": format!("{id:024x}")}, "i": null}).to_string())
            .collect();
        let many = format!(r#"{{"insert": "{{t}}", "documents": [{}]}}"#, many.join(", "));
        let texts = [
            r#"{"insert": "{t}", "documents": [{"_id": {"$oid": "?"}, "i": "?", "r": "?", "s": "?", "b": "?"}]}"#,
            r#"{"find": "{t}", "filter": {"_id": {"$oid": "?"}}, "projection": {"i": 1, "r": 1, "s": 1, "b": 1}}"#,
            r#"{"update": "{t}", "updates": [{"q": {"_id": {"$lte": {"$oid": "?"}}}, "u": {"$inc": {"i": 1}}, "multi": true}]}"#,
            r#"{"count": "{t}"}"#,
            r#"{"nowhere": 1}"#,
            r#"{"find": "{t}", "projection": {"s": 1}, "sort": {"_id": 1}, "batchSize": 7}"#,
            &many,
            r#"{"update": "{t}", "updates": [{"q": {"_id": {"$oid": "?"}}, "u": {"$inc": {"i": 1}}}]}"#,
            r#"{"drop": "{t}"}"#,
        ];
        let texts = texts.iter().map(|text| text.replace("{t}", &self.table));
        std::iter::once(self.create()).chain(texts).collect()
    }
}

/// General checks that are replaced here.
const REPLACED: [&str; 2] = [
    "failures_have_their_kind_and_leave_the_session_usable",
    "an_engine_reports_its_version_and_query_plans",
];

/// General checks that don't apply here.
const EMPTY: [&str; 4] = [
    "a_transaction_commits_or_rolls_back",
    "a_failure_in_a_transaction_is_rolled_back",
    "statements_are_prepared_ahead_or_named_in_the_error",
    "closing_rolls_back_an_open_transaction",
];

fn not_applicable(_: &Mongodb) -> Outcome {
    let why = "a single server has neither transactions nor prepared statements";
    Err(Problem::NotApplicable(why.into()))
}

fn failures_have_their_kind_and_leave_the_session_usable(system: &Mongodb) -> Outcome {
    for prepare in MODES {
        let mut client = system.fresh(prepare)?;
        client.run(INSERT, &row(1))?;
        for _ in 0..2 {
            let twice = client.run(INSERT, &row(1)).failure()?;
            same!(twice.kind, FailureKind::Constraint, "{twice}");
            ensure!(twice.message.contains("11000"), "{twice}");
        }
        let wrong = client.run(WRONG, &[]).failure()?;
        same!(wrong.kind, FailureKind::Other);
        ensure!(wrong.message.contains("nowhere"), "{wrong}");
        // A value of the wrong type is never sent.
        let unfit = client.run(SELECT, &[Value::Real(0.5)]).failure()?;
        ensure!(unfit.message.contains("24 hexadecimal digits"), "{unfit}");
        same!(client.run(UPDATE_ONE, &[Value::Integer(1)])?.changed, 1);
    }
    Ok(())
}

fn transactions_are_refused(system: &Mongodb) -> Outcome {
    let mut client = system.fresh(PrepareMode::Once)?;
    for control in [Control::Begin(BeginMode::Immediate), Control::Commit] {
        let failure = client.control(control).failure()?;
        ensure!(failure.message.contains("doesn't support transactions"), "{failure}");
    }
    // No transaction is open, so a rollback succeeds.
    client.control(Control::Rollback)?;
    same!(client.run(INSERT, &row(1))?.changed, 1);
    Ok(())
}

fn a_statement_that_is_not_a_command_is_refused_at_once(system: &Mongodb) -> Outcome {
    let texts = [r#"{"ping": 1}"#.to_owned(), "select 1".to_owned()];
    let failure = system.try_engine(json!({}), &texts).failure()?;
    ensure!(
        failure.message.contains("not a command in JSON") && failure.message.ends_with("in s1"),
        "{failure}"
    );
    Ok(())
}

fn fields_have_the_types_of_the_server(system: &Mongodb) -> Outcome {
    drop(system.fresh(PrepareMode::Once)?);
    let insert = r#"{"insert": "{t}", "documents": [{
        "a": -5, "b": 5000000000, "c": 0.5, "d": true, "e": {"$date": 1709251198500}, "f": "ü", "g": null,
        "h": {"$oid": "00000000ffffffffffffffff"}, "i": {"$oid": "0102030405060708090a0b0c"}, "j": [1, {"k": "l"}],
        "m": {"$date": "?"}, "n": {"$numberLong": "7"}
    }]}"#;
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "m", "n"];
    let mut client = system.client_with(json!({}), &[insert, r#"{"find": "{t}"}"#])?;
    client.run(0, &[Value::Integer(-1)])?;
    let (rows, columns) = client.fetch(1, &[], names.len())?;
    same!(rows.returned, 1);
    let text = |text: &str| Owned::Text(text.into());
    let expected = [
        Owned::Integer(-5),
        Owned::Integer(5_000_000_000),
        Owned::Real(0.5),
        Owned::Integer(1),
        text("2024-02-29 23:59:58.500"),
        text("ü"),
        Owned::Null,
        Owned::Integer(-1),
        text("0102030405060708090a0b0c"),
        text(r#"[1, {"k": "l"}]"#),
        text("1969-12-31 23:59:59.999"),
        Owned::Integer(7),
    ];
    for ((name, seen), expected) in names.iter().zip(columns).zip(expected) {
        same!(seen, expected, "{name}");
    }
    Ok(())
}

fn rows_are_read_in_batches_and_the_first_is_captured(system: &Mongodb) -> Outcome {
    let mut first = system.fresh(PrepareMode::Once)?;
    for id in 1..=20 {
        first.run(INSERT, &row(id))?;
    }
    for (more, returned) in [
        (r#""batchSize": 1"#, 20),
        (r#""batchSize": 20"#, 20),
        (r#""batchSize": 6, "limit": 13"#, 13),
        (r#""singleBatch": true, "batchSize": 5"#, 5),
    ] {
        // A missing field is null and doesn't shift other columns.
        let find =
            format!(r#"{{"find": "{{t}}", "sort": {{"_id": -1}}, "projection": {{"x": 1, "s": 1, "i": 1}}, {more}}}"#);
        let mut client = system.client_with(json!({}), &[&find])?;
        for _ in 0..2 {
            let (rows, columns) = client.fetch(0, &[], 3)?;
            same!((rows.returned, rows.changed), (returned, 0), "{more}");
            same!(columns, [Owned::Null, Owned::Text("x".into()), Owned::Integer(200)]);
        }
    }
    Ok(())
}

fn each_kind_of_response_returns_its_rows(system: &Mongodb) -> Outcome {
    let mut first = system.fresh(PrepareMode::Once)?;
    for id in 1..=4 {
        first.run(INSERT, &row(id))?;
    }
    let id = r#"{"_id": {"$oid": "?"}}"#;
    let texts = [
        r#"{"distinct": "{t}", "key": "s"}"#.to_owned(),
        r#"{"aggregate": "{t}", "pipeline": [{"$group": {"_id": "$s", "n": {"$sum": "$i"}}}], "cursor": {}}"#
            .to_owned(),
        format!(r#"{{"findAndModify": "{{t}}", "query": {id}, "update": {{"$set": {{"s": "y"}}}}, "new": true}}"#),
        format!(r#"{{"delete": "{{t}}", "deletes": [{{"q": {id}, "limit": 1}}]}}"#),
        r#"{"ping": 1}"#.to_owned(),
        format!(r#"{{"count": "{{t}}", "query": {id}}}"#),
        // The document already has this value: found, but not changed.
        format!(r#"{{"update": "{{t}}", "updates": [{{"q": {id}, "u": {{"$set": {{"s": "x"}}}}}}]}}"#),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut client = system.client_with(json!({}), &texts)?;
    let mut run = |statement: usize, params: &[Value<'_>]| -> Result<_, Failure> {
        let (rows, columns) = client.fetch(statement, params, 1)?;
        let column = columns.into_iter().next().unwrap_or(Owned::Null);
        Ok((rows.returned, rows.changed, column))
    };
    let text = |text: &str| Owned::Text(text.into());
    same!(run(0, &[])?, (1, 0, text("x")));
    same!(run(1, &[])?, (1, 0, Owned::Integer(100)));
    same!(run(6, &[Value::Integer(1)])?, (0, 1, Owned::Null));
    same!(run(2, &[Value::Integer(1)])?, (1, 1, Owned::Integer(10)));
    same!(run(2, &[Value::Integer(9)])?, (0, 0, Owned::Null));
    same!(run(5, &[Value::Integer(2)])?, (1, 0, Owned::Integer(1)));
    same!(run(3, &[Value::Integer(2)])?, (0, 1, Owned::Null));
    same!(run(5, &[Value::Integer(2)])?, (1, 0, Owned::Integer(0)));
    same!(run(4, &[])?, (0, 0, Owned::Null));
    Ok(())
}

fn a_statement_that_takes_too_long_is_a_timeout(system: &Mongodb) -> Outcome {
    let table = json!({
        "name": system.table(),
        "rows": 20_000,
        "columns": [{"name": "s", "stream": 1, "fill": {"kind": "text", "min": 100, "max": 100}}],
    });
    system.load(json!({"before": [], "tables": [table], "after": []}), 1)?;
    // Unlike the other checks' statements, this one compares all documents.
    let slow = r#"{"find": "{t}", "filter": {"s": {"$regex": "^no such text"}}}"#;
    let mut client = system.client_with(json!({"session": [["maxTimeMS", "1"]]}), &[slow, r#"{"ping": 1}"#])?;
    for _ in 0..2 {
        let failure = client.run(0, &[]).failure()?;
        same!(failure.kind, FailureKind::Timeout, "{failure}");
        same!(client.run(1, &[])?, Rows::default());
    }
    same!(system.client_with(json!({}), &[slow])?.run(0, &[])?.returned, 0);
    Ok(())
}

fn connection_errors_are_explained(system: &Mongodb) -> Outcome {
    for (changes, words) in [
        (json!({"host": "127.0.0.1", "port": 1}), "no server listens there"),
        (json!({"host": "no-such-host.invalid"}), "no-such-host.invalid"),
        (json!({"host": "/nowhere/socket"}), "no such socket"),
        (json!({"user": "no_such_user", "password": "wrong"}), "no_such_user"),
    ] {
        let engine = system.try_engine(changes, &[])?;
        let failure = wait(engine.connect(0)).failure()?;
        ensure!(failure.message.starts_with("connecting to "), "{failure}");
        same!(failure.kind, FailureKind::Connection, "{failure}");
        ensure!(failure.message.contains(words), "{failure}");
    }
    let failure = system.try_engine(json!({"session": [["no_such_setting", "1"]]}), &[]);
    let failure = failure.failure()?;
    ensure!(failure.message.contains("no_such_setting"), "{failure}");
    Ok(())
}

fn very_long_values_are_sent_and_received(system: &Mongodb) -> Outcome {
    // Close to the maximum document size.
    let long = "0123456789abcde\n".repeat((15 << 20) / 16);
    drop(system.fresh(PrepareMode::Once)?);
    let insert = r#"{"insert": "{t}", "documents": [{"_id": {"$oid": "?"}, "s": "?"}]}"#;
    let find = r#"{"find": "{t}", "filter": {"_id": {"$oid": "?"}}}"#;
    let mut client = system.client_with(json!({}), &[insert, find])?;
    client.run(0, &[Value::Integer(1), Value::Text(&long)])?;
    let (rows, columns) = client.fetch(1, &[Value::Integer(1)], 1)?;
    same!(rows.returned, 1);
    same!(columns.first().map(Owned::view), Some(Value::Text(&long)));
    same!(client.run(1, &[Value::Integer(2)])?.returned, 0);
    Ok(())
}

fn an_engine_reports_its_version_and_query_plans(system: &Mongodb) -> Outcome {
    let mut client = system.fresh(PrepareMode::Once)?;
    client.run(INSERT, &row(1))?;
    let facts = system.engine(PrepareMode::Once)?.facts()?;
    ensure!(Mongodb::NAMES.contains(&facts.engine.as_str()), "{}", facts.engine);
    ensure!(
        facts.version.starts_with(|c: char| c.is_ascii_digit()),
        "{}",
        facts.version
    );
    ensure!(facts.source_id.is_some() && !facts.durability.because.is_empty());
    let Some(plan) = facts.plans.get(&format!("s{SELECT}")) else {
        return Err(Problem::Failed("the query plan of a lookup is missing".into()));
    };
    let plan = plan.join("\n");
    if facts.engine == "FerretDB" {
        // FerretDB's settings come from its process, if it is local.
        let synchronous = facts.settings.get("synchronous").map(String::as_str);
        let unsynced = facts.durability.class == DurabilityClass::ProcessSafe;
        same!(unsynced, synchronous == Some("off"), "synchronous={synchronous:?}");
        ensure!(plan.contains(system.table()), "{plan}");
    } else {
        ensure!(facts.settings.contains_key("storageEngine"), "{:?}", facts.settings);
        ensure!(plan.contains("ID") || plan.contains("EXPRESS"), "{plan}");
    }
    ensure!(facts.plans.contains_key(&format!("s{COUNT}")));
    for statement in [WRONG, UPDATE_ONE] {
        ensure!(!facts.plans.contains_key(&format!("s{statement}")));
    }
    // FerretDB reports no settings for a server that dbdyno didn't start.
    let facts = system.try_engine(json!({"process": null}), &[])?.facts()?;
    ensure!(facts.engine == "MongoDB" || facts.durability.class == DurabilityClass::None);
    Ok(())
}
