//! What holds of servers only.

use crate::client::{Client, wait};
use crate::statements::{MODES, row};
use crate::systems::{ALL, INSERT, Mysql, SELECT, Server, System, UPDATE_ONE};
use dbdyno_engines::{Capture, Control, DurabilityClass, Engine, Failure, Session as _};
use dbdyno_plan::document::{FailureKind, PrepareMode};
use dbdyno_plan::transaction::BeginMode;
use dbdyno_plan::value::{Owned, Value};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::os::unix::net::UnixStream;

pub fn columns_have_the_types_of_the_server<S: Server>(system: &S) {
    for prepare in MODES {
        let (_, mut columns) = system.client_for(&[S::TYPES], prepare).fetch(0, &[], 8).unwrap();
        // How many digits of a second are shown is the server's affair.
        if let Owned::Text(time) = &mut columns[7] {
            time.truncate(21);
        }
        assert_eq!(
            columns,
            [
                Owned::Integer(-5),
                Owned::Integer(7),
                Owned::Real(1.25),
                Owned::Real(0.5),
                Owned::Integer(1),
                Owned::Text("2024-02-29".into()),
                Owned::Text("ü".into()),
                Owned::Text("2024-02-29 23:59:58.5".into()),
            ],
            "{prepare:?}"
        );
    }
}

pub fn the_first_row_is_taken_of_many<S: Server>(system: &S) {
    for prepare in MODES {
        let sql = "select 1, 'a' union all select 2, null union all select 3, 'c' order by 1";
        let mut client = system.client_for(&[sql], prepare);
        for _ in 0..2 {
            let (rows, columns) = client.fetch(0, &[], 2).unwrap();
            assert_eq!((rows.returned, rows.changed), (3, 0));
            assert_eq!(columns, [Owned::Integer(1), Owned::Text("a".into())]);
        }
    }
}

pub fn a_deadlock_is_told_apart<S: Server>(system: &S) {
    let texts = system.texts();
    let update = texts[UPDATE_ONE].as_str();
    let mut first = system.fresh(PrepareMode::Once);
    first.run(INSERT, &row(1)).unwrap();
    first.run(INSERT, &row(2)).unwrap();
    // With the server's own wait for locks, which is longer.
    let connect = || Client(wait(system.engine_with(json!({}), &[update]).connect(0)).unwrap());
    let (mut one, mut two) = (connect(), connect());
    for (client, id) in [(&mut one, 1), (&mut two, 2)] {
        client.control(Control::Begin(BeginMode::Deferred)).unwrap();
        client.run(0, &[Value::Integer(id)]).unwrap();
    }
    assert!(one.ask(0, &[Value::Integer(2)], Capture::nothing()).is_pending());
    assert!(two.ask(0, &[Value::Integer(1)], Capture::nothing()).is_pending());
    let answers = [one.answer(Capture::nothing()), two.answer(Capture::nothing())];
    let failed: Vec<&Failure> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert!(
        failed.len() == 1 && failed[0].kind == FailureKind::Deadlock,
        "{answers:?}"
    );
    one.control(Control::Rollback).unwrap();
    two.control(Control::Rollback).unwrap();
    assert_eq!(one.run(0, &[Value::Integer(2)]).unwrap().changed, 1);
}

pub fn a_statement_that_takes_too_long_is_a_timeout<S: Server>(system: &S) {
    let engine = system.engine_with(json!({ "session": system.impatient() }), &[S::SLOW, "select 1"]);
    let mut client = Client(wait(engine.connect(0)).unwrap());
    for _ in 0..2 {
        let failure = client.run(0, &[]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout, "{failure}");
        assert_eq!(client.run(1, &[]).unwrap().returned, 1);
    }
}

pub fn a_statement_that_is_cancelled_is_a_timeout<S: Server>(system: &S) {
    let mut client = system.client_for(&[S::SLOW, S::NUMBER], PrepareMode::Never);
    let number = client.one(1);
    assert!(client.ask(0, &[], Capture::nothing()).is_pending());
    pause();
    let mut other = system.client_for(&[S::CANCEL], PrepareMode::Never);
    other.run(0, &[number.view()]).unwrap();
    let failure = client.answer(Capture::nothing()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout, "{failure}");
    assert_eq!(client.one(1), number);
}

/// Time for a server to begin with what it was asked, so that a cancellation finds it.
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(100));
}

pub fn a_session_that_is_ended_has_lost_its_connection<S: Server>(system: &S) {
    for prepare in MODES {
        let mut client = system.client_for(&[S::NUMBER], prepare);
        let number = client.one(0);
        let mut other = system.client_for(&[S::END, S::NUMBER], PrepareMode::Never);
        other.run(0, &[number.view()]).unwrap();
        pause();
        let failure = client.run(0, &[]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
        // Whatever else is asked of it fails alike, and closing it does no harm.
        let failure = client.control(Control::Begin(BeginMode::Deferred)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
        let _ = wait(client.0.close());
        let again = system.client_for(&[S::NUMBER], prepare).one(0);
        assert_ne!(again, number);
    }
}

pub fn a_session_that_is_ended_within_a_statement_has_lost_its_connection<S: Server>(system: &S) {
    let mut client = system.client_for(&[S::SLOW, S::NUMBER], PrepareMode::Once);
    let number = client.one(1);
    assert!(client.ask(0, &[], Capture::nothing()).is_pending());
    pause();
    let mut other = system.client_for(&[S::END], PrepareMode::Never);
    other.run(0, &[number.view()]).unwrap();
    let failure = client.answer(Capture::nothing()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
}

fn refused<S: Server>(system: &S, changes: serde_json::Value) -> Failure {
    let engine = system.engine_with(changes, &[]);
    let failure = wait(engine.connect(0)).err().unwrap();
    assert!(failure.message.starts_with("connecting to "), "{failure}");
    failure
}

pub fn what_cannot_be_connected_to_is_told<S: Server>(system: &S) {
    for (changes, words) in [
        (json!({"host": "127.0.0.1", "port": 1}), "nothing listens there"),
        (json!({"host": "no-such-host.invalid"}), "no-such-host.invalid"),
        (json!({"host": "/nowhere/socket"}), "there is no such socket"),
        (json!({"user": "no_such_user", "password": "wrong"}), "no_such_user"),
        (json!({"database": "no_such_database"}), "no_such_database"),
    ] {
        let failure = refused(system, changes);
        assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
        assert!(failure.message.contains(words), "{failure}");
    }
    let failure = refused(system, json!({"session": [["no_such_setting", "1"]]}));
    assert!(failure.message.contains("no_such_setting"), "{failure}");
}

pub fn settings_of_the_session_are_in_force<S: Server>(system: &S) {
    let (name, show, value) = S::SETTING;
    let engine = system.engine_with(json!({"session": [[name, value]]}), &[show]);
    let mut client = Client(wait(engine.connect(0)).unwrap());
    assert_eq!(client.one(0), Owned::Text(value.into()));
}

pub fn very_long_values_go_both_ways<S: Server>(system: &S) {
    // Longer than one packet of MySQL's protocol can be.
    let long = "0123456789abcde\n".repeat((17 << 20) / 16);
    let insert = "insert into {t} (id, s) values (?, ?)";
    let select = "select s from {t} where id = ?";
    for prepare in [PrepareMode::Once, PrepareMode::Never] {
        drop(system.fresh(prepare));
        let mut client = system.client_for(&[insert, select], prepare);
        client.run(0, &[Value::Integer(1), Value::Text(&long)]).unwrap();
        let (rows, columns) = client.fetch(1, &[Value::Integer(1)], 1).unwrap();
        assert_eq!(rows.returned, 1);
        assert!(columns[0].view() == Value::Text(&long));
        assert_eq!(client.run(1, &[Value::Integer(2)]).unwrap().returned, 0);
    }
}

/// Takes one connection on a port, and passes it on to a socket; what comes back goes in small pieces.
fn in_pieces(socket: std::path::PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = UnixStream::connect(socket).unwrap();
        client.set_nodelay(true).unwrap();
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
        let mut piece = [0; 7];
        while let Ok(length @ 1..) = server.read(&mut piece) {
            if client.write_all(&piece[..length]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
    });
    port
}

pub fn answers_that_come_in_pieces_are_put_together<S: Server>(system: &S) {
    let Some(socket) = system.socket() else {
        eprintln!("skipped: the server is not at a socket");
        return;
    };
    let texts = system.texts();
    let texts = [&texts[INSERT], &texts[SELECT], &texts[ALL]].map(String::as_str);
    drop(system.fresh(PrepareMode::Never));
    let port = in_pieces(socket);
    let engine = system.engine_with(json!({"host": "127.0.0.1", "port": port}), &texts);
    let mut client = Client(wait(engine.connect(0)).unwrap());
    wait(client.0.prepare_all()).unwrap();
    let text = "long ".repeat(400);
    for id in 1..=20 {
        let values = [
            Value::Integer(id),
            Value::Null,
            Value::Real(0.5),
            Value::Text(&text),
            Value::Bytes(&[7]),
        ];
        client.run(0, &values).unwrap();
        let (_, columns) = client.fetch(1, &[Value::Integer(id)], 4).unwrap();
        let seen: Vec<Value<'_>> = columns.iter().map(Owned::view).collect();
        assert_eq!(seen, values[1..]);
    }
    assert_eq!(client.run(2, &[]).unwrap().returned, 20);
    wait(client.0.close()).unwrap();
}

pub fn many_sessions_work_at_once<S: System>(system: &S) {
    let mut first = system.fresh(PrepareMode::Once);
    first.run(INSERT, &row(1)).unwrap();
    let mut clients: Vec<_> = (0..20).map(|_| system.client(PrepareMode::Once)).collect();
    for _ in 0..5 {
        for client in &mut clients {
            let pending = client.ask(UPDATE_ONE, &[Value::Integer(1)], Capture::nothing());
            assert!(pending.is_pending());
        }
        for client in &mut clients {
            assert_eq!(client.answer(Capture::nothing()).unwrap().changed, 1);
        }
    }
}

pub fn a_password_is_checked<S: Server>(system: &S) {
    let user = format!("u{}", system.table());
    if !system.demand_password(&user) {
        eprintln!("skipped: the server cannot be told to ask for a password");
        return;
    }
    for create in S::CREATE_USER {
        let texts = create.iter().chain([&S::DROP_USER]);
        let texts: Vec<String> = texts.map(|text| text.replace("{u}", &user)).collect();
        let mut client = Client(wait(system.engine_for(&texts, PrepareMode::Never).connect(0)).unwrap());
        for text in 0..create.len() {
            client.run(text, &[]).unwrap();
        }
        let engine = system.engine_with(json!({"user": user, "password": "it's right"}), &["select 1"]);
        let entered = wait(engine.connect(0)).map(|session| Client(session).run(0, &[]));
        let wrong = [json!("wrong"), json!(null), json!("")]
            .map(|password| refused(system, json!({"user": user, "password": password})));
        client.run(create.len(), &[]).unwrap();
        assert_eq!(entered.unwrap().unwrap().returned, 1);
        for failure in &wrong {
            assert_eq!(failure.kind, FailureKind::Connection);
            assert!(failure.message.contains("password"), "{failure}");
        }
        assert!(wrong[0].message.contains(&user), "{}", wrong[0]);
    }
}

pub fn text_in_the_text_is_what_it_was_whatever_backslashes_mean(system: &Mysql) {
    for mode in ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"] {
        let session = json!({"session": [["sql_mode", mode]]});
        let engine = system.engine_of(session, &["select ?".into()], PrepareMode::Never);
        let mut client = Client(wait(engine.connect(0)).unwrap());
        for text in ["a\\b'c\\", "\\'", "'", "\"\\n\""] {
            let (_, columns) = client.fetch(0, &[Value::Text(text)], 1).unwrap();
            assert_eq!(columns, [Owned::Text(text.into())], "{mode}");
        }
    }
}

pub fn the_durability_is_that_of_the_tables(system: &Mysql) {
    // A database of its own: what others have in theirs must not count.
    let database = format!("d{}", system.table());
    let texts = [
        format!("create database {database}"),
        format!("create table {database}.t (a int) engine = innodb"),
        format!("create table {database}.m (a int) engine = myisam"),
        format!("drop database {database}"),
    ];
    let mut client = Client(wait(system.engine_for(&texts, PrepareMode::Never).connect(0)).unwrap());
    let durability = || {
        system
            .engine_with(json!({"database": database}), &[])
            .facts()
            .unwrap()
            .durability
    };
    client.run(0, &[]).unwrap();
    client.run(1, &[]).unwrap();
    let with_innodb = durability();
    client.run(2, &[]).unwrap();
    let with_myisam = durability();
    client.run(3, &[]).unwrap();
    assert!(
        with_innodb.because.starts_with("innodb_flush_log_at_trx_commit="),
        "{with_innodb:?}"
    );
    assert_eq!(with_myisam.class, DurabilityClass::None);
    assert!(with_myisam.because.starts_with("MyISAM"), "{with_myisam:?}");
}
