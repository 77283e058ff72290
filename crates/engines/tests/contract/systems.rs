//! The systems that the suite runs on.

use crate::client::{Client, wait};
use dbdyno_engines::rows::Loaded;
use dbdyno_engines::sqlite::{self, SqliteEngine, Watch};
use dbdyno_engines::{Engine, Failure};
use dbdyno_plan::document::{Load, PrepareMode, Statement};
use dbdyno_plan::target::SqliteTarget;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

pub const CREATE: usize = 0;
pub const INSERT: usize = 1;
pub const SELECT: usize = 2;
pub const UPDATE: usize = 3;
pub const COUNT: usize = 4;
pub const WRONG: usize = 5;
pub const ALL: usize = 6;
pub const MANY: usize = 7;
pub const UPDATE_ONE: usize = 8;
pub const DROP: usize = 9;

/// A system with a table that is not there yet and nobody else's, and engines for it.
pub trait System: Sized {
    type Engine: Engine;

    /// The types of the table's columns for long text and for bytes.
    const TEXT: &str;
    const BYTES: &str;
    /// The name of the table's key.
    const ID: &str = "id";
    /// What the plan of a look-up says of the table's key.
    const KEY: &str;
    /// The names the engine may have, and a setting that is shown.
    const NAMES: &[&str];
    const SHOWN: &str;
    /// What is said of the first statement that cannot be prepared when the table is there.
    const UNPREPARED: &str;

    /// A new one, or `None` where there is no such system here, which is said.
    fn new() -> Option<Self>;

    fn table(&self) -> &str;

    /// An engine for some texts.
    fn engine_for(&self, texts: &[String], prepare: PrepareMode) -> Self::Engine;

    fn load(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure>;

    /// An engine for the statements of the suite.
    fn engine(&self, prepare: PrepareMode) -> Self::Engine {
        self.engine_for(&self.texts(), prepare)
    }

    fn client(&self, prepare: PrepareMode) -> Client<<Self::Engine as Engine>::Session> {
        Client(wait(self.engine(prepare).connect(0)).unwrap())
    }

    /// A session, and the table empty.
    fn fresh(&self, prepare: PrepareMode) -> Client<<Self::Engine as Engine>::Session> {
        let mut client = self.client(prepare);
        client.run(DROP, &[]).unwrap();
        client.run(CREATE, &[]).unwrap();
        client
    }

    /// A session for other texts, in which `{t}` is the table.
    fn client_for(&self, texts: &[&str], prepare: PrepareMode) -> Client<<Self::Engine as Engine>::Session> {
        let texts: Vec<String> = texts.iter().map(|text| text.replace("{t}", self.table())).collect();
        Client(wait(self.engine_for(&texts, prepare).connect(0)).unwrap())
    }

    /// The definition of the table.
    fn create(&self) -> String {
        let (table, text, bytes) = (self.table(), Self::TEXT, Self::BYTES);
        format!("create table {table} (id integer primary key, i bigint, r double precision, s {text}, b {bytes})")
    }

    /// The definition of an index of the column `i`.
    fn create_index(&self) -> String {
        format!("create index {t}_i on {t} (i)", t = self.table())
    }

    fn texts(&self) -> Vec<String> {
        let texts = [
            "insert into {t} values (?, ?, ?, ?, ?)",
            "select i, r, s, b from {t} where id = ?",
            "update {t} set i = i + 1 where id <= ?",
            "select count(*) from {t}",
            "select missing from nowhere",
            "select id, s from {t} order by id",
            "insert into {t} (id) select id + 1000 from {t}",
            "update {t} set i = i + 1 where id = ?",
            "drop table if exists {t}",
        ];
        let texts = texts.iter().map(|text| text.replace("{t}", self.table()));
        std::iter::once(self.create()).chain(texts).collect()
    }
}

/// A system that is a server.
pub trait Server: System {
    /// Settings of sessions that end a statement after a tenth of a second.
    fn impatient(&self) -> Value;
    /// A statement that takes some seconds.
    const SLOW: &str;
    /// What gives a session's number, and what ends a session or its statement by it.
    const NUMBER: &str;
    const END: &str;
    const CANCEL: &str;
    /// A setting of sessions: what sets it, what shows it, and what is shown.
    const SETTING: (&str, &str, &str);
    /// Columns of many types, and what is read of them.
    const TYPES: &str;

    /// What makes the user `{u}` with the password `it's right`, in each way that it can be kept, and what removes it.
    const CREATE_USER: &[&[&str]];
    const DROP_USER: &str;

    /// Has the server ask a user for a password; tells whether it does.
    fn demand_password(&self, user: &str) -> bool;

    /// The server's Unix socket, if that is where it is.
    fn socket(&self) -> Option<PathBuf>;

    /// An engine whose target has other fields.
    fn engine_with(&self, changes: Value, texts: &[&str]) -> Self::Engine;
}

pub fn statements(texts: &[String]) -> Vec<Statement> {
    let statement = |(index, sql): (usize, &String)| Statement {
        name: format!("s{index}"),
        sql: sql.clone(),
        example: Vec::new(),
    };
    texts.iter().enumerate().map(statement).collect()
}

pub fn as_load(mut load: Value, target: &Value) -> Load {
    load["target"] = target.clone();
    serde_json::from_value(load).unwrap()
}

pub struct Sqlite {
    directory: tempfile::TempDir,
}

impl Sqlite {
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("contract.db")
    }

    fn target(&self) -> Value {
        json!({"path": self.path().to_str().unwrap(), "busy_timeout_ms": 50})
    }
}

impl System for Sqlite {
    type Engine = SqliteEngine;

    const TEXT: &str = "text";
    const BYTES: &str = "blob";
    const KEY: &str = "PRIMARY KEY";
    const NAMES: &[&str] = &["sqlite"];
    const SHOWN: &str = "busy_timeout";
    const UNPREPARED: &str = "already exists";

    fn new() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        Some(Self { directory })
    }

    fn table(&self) -> &str {
        "t"
    }

    fn engine_for(&self, texts: &[String], prepare: PrepareMode) -> SqliteEngine {
        let target: SqliteTarget = serde_json::from_value(self.target()).unwrap();
        SqliteEngine::new(&target, &statements(texts), prepare, Watch::default()).unwrap()
    }

    fn load(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
        let mut target = self.target();
        target["engine"] = "sqlite".into();
        sqlite::load(
            &serde_json::from_value(self.target()).unwrap(),
            &as_load(load, &target),
            seed,
        )
    }
}

/// A target from the environment, and a name for a table that no other test has.
pub fn server(variable: &str, engine: &str) -> Option<(Value, String)> {
    static TABLES: AtomicU32 = AtomicU32::new(0);
    let Ok(text) = std::env::var(variable) else {
        eprintln!("skipped: no {engine} to test is named by {variable} (tests/servers.py starts one)");
        return None;
    };
    let target = serde_json::from_str(&text).expect(variable);
    let number = TABLES.fetch_add(1, Ordering::Relaxed);
    Some((target, format!("contract_{}_{number}", std::process::id())))
}

/// A target with other fields.
pub fn changed(target: &Value, changes: Value) -> Value {
    let mut target = target.clone();
    for (name, value) in changes.as_object().unwrap() {
        target[name] = value.clone();
    }
    target
}

macro_rules! server {
    ($system:ident, $engine:ty, $target:ty, $load:path, $variable:literal, $name:literal, $locks:expr) => {
        pub struct $system {
            target: Value,
            table: String,
        }

        impl $system {
            /// An engine whose target has other fields, for some texts.
            pub fn engine_of(&self, changes: Value, texts: &[String], prepare: PrepareMode) -> $engine {
                let target: $target = serde_json::from_value(changed(&self.target, changes)).unwrap();
                <$engine>::new(&target, &statements(texts), prepare)
            }

            fn make() -> Option<Self> {
                let (target, table) = server($variable, $name)?;
                Some(Self { target, table })
            }

            fn fill(&self, load: Value, seed: u64) -> Result<Vec<Loaded>, Failure> {
                let target: $target = serde_json::from_value(self.target.clone()).unwrap();
                let engine = json!({ "engine": $name });
                $load(&target, &as_load(load, &changed(&self.target, engine)), seed)
            }

            /// With a short wait for locks.
            fn standard(&self, texts: &[String], prepare: PrepareMode) -> $engine {
                self.engine_of(json!({ "session": $locks }), texts, prepare)
            }
        }

        impl Drop for $system {
            fn drop(&mut self) {
                let drop = format!("drop table if exists {}", self.table);
                let engine = self.engine_of(json!({}), &[drop], PrepareMode::Never);
                let dropped = wait(engine.connect(0)).and_then(|session| Client(session).run(0, &[]));
                if let Err(failure) = dropped {
                    eprintln!("{} stays: {failure}", self.table);
                }
            }
        }
    };
}

mod mysql;
mod postgresql;

pub use mysql::Mysql;
pub use postgresql::Postgresql;
