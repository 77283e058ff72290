//! MongoDB, and what speaks its protocol: the system, and what holds of it in its own words.

use crate::client::{Client, wait};
use crate::statements::{MODES, row};
use crate::systems::{
    COUNT, CREATE, DROP, INSERT, SELECT, System, UPDATE_ONE, WRONG, as_load, changed, server, statements,
};
use dbdyno_engines::mongodb::{self, MongodbEngine, MongodbSession};
use dbdyno_engines::rows::Loaded;
use dbdyno_engines::{Control, DurabilityClass, Engine, Failure, Rows};
use dbdyno_plan::document::{FailureKind, PrepareMode};
use dbdyno_plan::transaction::BeginMode;
use dbdyno_plan::value::{Owned, Value};
use serde_json::json;

pub struct Mongodb {
    target: serde_json::Value,
    table: String,
}

impl Mongodb {
    fn try_engine(&self, changes: serde_json::Value, texts: &[String]) -> Result<MongodbEngine, Failure> {
        let target = serde_json::from_value(changed(&self.target, changes)).unwrap();
        MongodbEngine::new(&target, &statements(texts))
    }

    /// A session whose target has other fields, for other texts, in which `{t}` is the collection.
    fn client_with(&self, changes: serde_json::Value, texts: &[&str]) -> Client<MongodbSession> {
        let texts: Vec<String> = texts.iter().map(|text| text.replace("{t}", &self.table)).collect();
        let engine = self.try_engine(changes, &texts).unwrap();
        Client(wait(engine.connect(0)).unwrap())
    }
}

impl Drop for Mongodb {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = self.client(PrepareMode::Once).run(DROP, &[]);
    }
}

impl System for Mongodb {
    type Engine = MongodbEngine;

    const TEXT: &str = "";
    const BYTES: &str = "";
    const ID: &str = "_id";
    const KEY: &str = "";
    const NAMES: &[&str] = &["FerretDB", "MongoDB"];
    const SHOWN: &str = "";
    const UNPREPARED: &str = "";

    fn new() -> Option<Self> {
        let (target, table) = server("DBDYNO_TEST_MONGODB", "mongodb")?;
        Some(Self { target, table })
    }

    fn table(&self) -> &str {
        &self.table
    }

    fn engine_for(&self, texts: &[String], _prepare: PrepareMode) -> MongodbEngine {
        self.try_engine(json!({}), texts).unwrap()
    }

    fn load(&self, load: serde_json::Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
        let target = serde_json::from_value(self.target.clone()).unwrap();
        let named = changed(&self.target, json!({"engine": "mongodb"}));
        mongodb::load(&target, &as_load(load, &named), seed)
    }

    fn fresh(&self, prepare: PrepareMode) -> Client<MongodbSession> {
        let mut client = self.client(prepare);
        // Some versions take it for a failure that there is none.
        let _ = client.run(DROP, &[]);
        client.run(CREATE, &[]).unwrap();
        client
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

/// The tests of the suite that say nothing here, and why; shown with `--nocapture`.
pub fn what_cannot_apply_is_named(_: &Mongodb) {
    for (tests, why) in [
        (
            "a_transaction_ends_as_it_is_told, a_failure_in_a_transaction_is_rolled_back, closing_ends_what_is_open, \
             a_deadlock_is_told_apart",
            "a single server has no transactions (a_transaction_cannot_be_begun)",
        ),
        (
            "statements_are_prepared_ahead_or_it_is_told_which_cannot_be",
            "there is nothing to prepare (a_statement_that_is_no_command_is_told_at_once)",
        ),
        (
            "a_statement_that_is_cancelled_is_a_timeout, a_session_that_is_ended_has_lost_its_connection, \
             a_session_that_is_ended_within_a_statement_has_lost_its_connection",
            "FerretDB ends no operation and no session of another's; that a server dies is tested from Python",
        ),
    ] {
        eprintln!("not on mongodb: {tests}: {why}");
    }
}

pub fn failures_have_their_kind_and_leave_the_session_usable(system: &Mongodb) {
    for prepare in MODES {
        let mut client = system.fresh(prepare);
        client.run(INSERT, &row(1)).unwrap();
        for _ in 0..2 {
            let twice = client.run(INSERT, &row(1)).unwrap_err();
            assert_eq!(twice.kind, FailureKind::Constraint, "{twice}");
            assert!(twice.message.contains("11000"), "{twice}");
        }
        let wrong = client.run(WRONG, &[]).unwrap_err();
        assert_eq!(wrong.kind, FailureKind::Other);
        assert!(wrong.message.contains("nowhere"), "{wrong}");
        // What does not fit into its place is never sent.
        let unfit = client.run(SELECT, &[Value::Real(0.5)]).unwrap_err();
        assert!(unfit.message.contains("24 hexadecimal digits"), "{unfit}");
        assert_eq!(client.run(UPDATE_ONE, &[Value::Integer(1)]).unwrap().changed, 1);
    }
}

pub fn a_transaction_cannot_be_begun(system: &Mongodb) {
    let mut client = system.fresh(PrepareMode::Once);
    for control in [Control::Begin(BeginMode::Immediate), Control::Commit] {
        let failure = client.control(control).unwrap_err();
        assert!(
            failure.message.contains("no transactions on a single server"),
            "{failure}"
        );
    }
    // None is open, which is what rolling back is to bring about.
    client.control(Control::Rollback).unwrap();
    assert_eq!(client.run(INSERT, &row(1)).unwrap().changed, 1);
}

pub fn a_statement_that_is_no_command_is_told_at_once(system: &Mongodb) {
    let texts = [r#"{"ping": 1}"#.to_owned(), "select 1".to_owned()];
    let failure = system.try_engine(json!({}), &texts).err().unwrap();
    assert!(
        failure.message.contains("not the JSON of a command") && failure.message.ends_with("in s1"),
        "{failure}"
    );
}

pub fn fields_have_the_types_of_the_server(system: &Mongodb) {
    drop(system.fresh(PrepareMode::Once));
    let insert = r#"{"insert": "{t}", "documents": [{
        "a": -5, "b": 5000000000, "c": 0.5, "d": true, "e": {"$date": 1709251198500}, "f": "ü", "g": null,
        "h": {"$oid": "00000000ffffffffffffffff"}, "i": {"$oid": "0102030405060708090a0b0c"}, "j": [1, {"k": "l"}],
        "m": {"$date": "?"}, "n": {"$numberLong": "7"}
    }]}"#;
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "m", "n"];
    let mut client = system.client_with(json!({}), &[insert, r#"{"find": "{t}"}"#]);
    client.run(0, &[Value::Integer(-1)]).unwrap();
    let (rows, columns) = client.fetch(1, &[], names.len()).unwrap();
    assert_eq!(rows.returned, 1);
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
        assert_eq!(seen, expected, "{name}");
    }
}

pub fn rows_come_in_batches_and_the_first_is_taken(system: &Mongodb) {
    let mut first = system.fresh(PrepareMode::Once);
    for id in 1..=20 {
        first.run(INSERT, &row(id)).unwrap();
    }
    for (more, returned) in [
        (r#""batchSize": 1"#, 20),
        (r#""batchSize": 20"#, 20),
        (r#""batchSize": 6, "limit": 13"#, 13),
        (r#""singleBatch": true, "batchSize": 5"#, 5),
    ] {
        // A field that is not there is null, and leaves the others where they are.
        let find =
            format!(r#"{{"find": "{{t}}", "sort": {{"_id": -1}}, "projection": {{"x": 1, "s": 1, "i": 1}}, {more}}}"#);
        let mut client = system.client_with(json!({}), &[&find]);
        for _ in 0..2 {
            let (rows, columns) = client.fetch(0, &[], 3).unwrap();
            assert_eq!((rows.returned, rows.changed), (returned, 0), "{more}");
            assert_eq!(columns, [Owned::Null, Owned::Text("x".into()), Owned::Integer(200)]);
        }
    }
}

pub fn each_kind_of_answer_gives_its_rows(system: &Mongodb) {
    let mut first = system.fresh(PrepareMode::Once);
    for id in 1..=4 {
        first.run(INSERT, &row(id)).unwrap();
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
        // It is as it is to be: found, and not changed.
        format!(r#"{{"update": "{{t}}", "updates": [{{"q": {id}, "u": {{"$set": {{"s": "x"}}}}}}]}}"#),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut client = system.client_with(json!({}), &texts);
    let mut of = |statement: usize, params: &[Value<'_>]| {
        let (rows, mut columns) = client.fetch(statement, params, 1).unwrap();
        (rows.returned, rows.changed, columns.remove(0))
    };
    let text = |text: &str| Owned::Text(text.into());
    assert_eq!(of(0, &[]), (1, 0, text("x")));
    assert_eq!(of(1, &[]), (1, 0, Owned::Integer(100)));
    assert_eq!(of(6, &[Value::Integer(1)]), (0, 1, Owned::Null));
    assert_eq!(of(2, &[Value::Integer(1)]), (1, 1, Owned::Integer(10)));
    assert_eq!(of(2, &[Value::Integer(9)]), (0, 0, Owned::Null));
    assert_eq!(of(5, &[Value::Integer(2)]), (1, 0, Owned::Integer(1)));
    assert_eq!(of(3, &[Value::Integer(2)]), (0, 1, Owned::Null));
    assert_eq!(of(5, &[Value::Integer(2)]), (1, 0, Owned::Integer(0)));
    assert_eq!(of(4, &[]), (0, 0, Owned::Null));
}

pub fn a_statement_that_takes_too_long_is_a_timeout(system: &Mongodb) {
    let table = json!({
        "name": system.table(),
        "rows": 20_000,
        "columns": [{"name": "s", "stream": 1, "fill": {"kind": "text", "min": 100, "max": 100}}],
    });
    system
        .load(json!({"before": [], "tables": [table], "after": []}), 1)
        .unwrap();
    // Of its kind, this reads and compares all documents.
    let slow = r#"{"find": "{t}", "filter": {"s": {"$regex": "^no such text"}}}"#;
    let mut client = system.client_with(json!({"session": [["maxTimeMS", "1"]]}), &[slow, r#"{"ping": 1}"#]);
    for _ in 0..2 {
        let failure = client.run(0, &[]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout, "{failure}");
        assert_eq!(client.run(1, &[]).unwrap(), Rows::default());
    }
    assert_eq!(system.client_with(json!({}), &[slow]).run(0, &[]).unwrap().returned, 0);
}

pub fn what_cannot_be_connected_to_is_told(system: &Mongodb) {
    for (changes, words) in [
        (json!({"host": "127.0.0.1", "port": 1}), "nothing listens there"),
        (json!({"host": "no-such-host.invalid"}), "no-such-host.invalid"),
        (json!({"host": "/nowhere/socket"}), "there is no such socket"),
        (json!({"user": "no_such_user", "password": "wrong"}), "no_such_user"),
    ] {
        let engine = system.try_engine(changes, &[]).unwrap();
        let failure = wait(engine.connect(0)).err().unwrap();
        assert!(failure.message.starts_with("connecting to "), "{failure}");
        assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
        assert!(failure.message.contains(words), "{failure}");
    }
    let failure = system.try_engine(json!({"session": [["no_such_setting", "1"]]}), &[]);
    let failure = failure.err().unwrap();
    assert!(failure.message.contains("no_such_setting"), "{failure}");
}

pub fn very_long_values_go_both_ways(system: &Mongodb) {
    // Nearly as long as a document may be.
    let long = "0123456789abcde\n".repeat((15 << 20) / 16);
    drop(system.fresh(PrepareMode::Once));
    let insert = r#"{"insert": "{t}", "documents": [{"_id": {"$oid": "?"}, "s": "?"}]}"#;
    let find = r#"{"find": "{t}", "filter": {"_id": {"$oid": "?"}}}"#;
    let mut client = system.client_with(json!({}), &[insert, find]);
    client.run(0, &[Value::Integer(1), Value::Text(&long)]).unwrap();
    let (rows, columns) = client.fetch(1, &[Value::Integer(1)], 1).unwrap();
    assert_eq!(rows.returned, 1);
    assert!(columns[0].view() == Value::Text(&long));
    assert_eq!(client.run(1, &[Value::Integer(2)]).unwrap().returned, 0);
}

pub fn an_engine_says_what_it_is_and_how_it_will_do_each_statement(system: &Mongodb) {
    let mut client = system.fresh(PrepareMode::Once);
    client.run(INSERT, &row(1)).unwrap();
    let facts = system.engine(PrepareMode::Once).facts().unwrap();
    assert!(Mongodb::NAMES.contains(&facts.engine.as_str()), "{}", facts.engine);
    assert!(
        facts.version.starts_with(|c: char| c.is_ascii_digit()),
        "{}",
        facts.version
    );
    assert!(facts.source_id.is_some() && !facts.durability.because.is_empty());
    let plan = facts.plans[&format!("s{SELECT}")].join("\n");
    if facts.engine == "FerretDB" {
        // The process was started for these tests, without syncing.
        assert_eq!(facts.settings["synchronous"], "off");
        assert_eq!(facts.durability.class, DurabilityClass::ProcessSafe);
        assert!(plan.contains(system.table()), "{plan}");
    } else {
        assert!(facts.settings.contains_key("storageEngine"), "{:?}", facts.settings);
        assert!(plan.contains("ID") || plan.contains("EXPRESS"), "{plan}");
    }
    assert!(facts.plans.contains_key(&format!("s{COUNT}")));
    for statement in [WRONG, UPDATE_ONE] {
        assert!(!facts.plans.contains_key(&format!("s{statement}")));
    }
    // Of a server that is not the laboratory's, FerretDB tells nothing.
    let facts = system
        .try_engine(json!({"process": null}), &[])
        .unwrap()
        .facts()
        .unwrap();
    assert!(facts.engine == "MongoDB" || facts.durability.class == DurabilityClass::None);
}
