//! Checks that apply to servers only.
#![allow(missing_docs, reason = "the name of a check says what it checks")]

use crate::client::{Client, wait};
use crate::statements::{MODES, row};
use crate::systems::{ALL, INSERT, SELECT, Server, System, UPDATE_ONE};
use crate::{Fails as _, Outcome, Problem, ensure, same};
use dbdyno_engine::{Capture, Control, Engine as _, Failure, Session as _};
use dbdyno_program::value::{Owned, Value};
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode};
use dbdyno_protocol::plan::transaction::BeginMode;
use serde_json::json;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

pub fn columns_have_the_types_of_the_server<S: Server>(system: &S) -> Outcome {
    for prepare in MODES {
        let (_, mut columns) = system.client_for(&[S::TYPES], prepare)?.fetch(0, &[], 8)?;
        // Servers differ in the number of fractional digits they show.
        if let Owned::Text(time) = &mut columns[7] {
            time.truncate(21);
        }
        same!(
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
    Ok(())
}

pub fn the_first_of_many_rows_is_captured<S: Server>(system: &S) -> Outcome {
    for prepare in MODES {
        let sql = "select 1, 'a' union all select 2, null union all select 3, 'c' order by 1";
        let mut client = system.client_for(&[sql], prepare)?;
        for _ in 0..2 {
            let (rows, columns) = client.fetch(0, &[], 2)?;
            same!((rows.returned, rows.changed), (3, 0));
            same!(columns, [Owned::Integer(1), Owned::Text("a".into())]);
        }
    }
    Ok(())
}

pub fn a_transaction_begins_with_an_isolation_level<S: Server>(system: &S) -> Outcome {
    let levels = [
        BeginMode::ReadUncommitted,
        BeginMode::ReadCommitted,
        BeginMode::RepeatableRead,
        BeginMode::Serializable,
    ];
    let mut client = system.fresh(PrepareMode::Once)?;
    let mut other = system.client(PrepareMode::Once)?;
    for (id, level) in (1..).zip(levels) {
        client.control(Control::Begin(level))?;
        client.run(INSERT, &row(id))?;
        client.control(Control::Rollback)?;
        client.control(Control::Begin(level))?;
        client.run(INSERT, &row(id))?;
        client.control(Control::Commit)?;
        same!(other.run(ALL, &[])?.returned, id as u64, "{level:?}");
        // The next transaction has the default again.
        client.control(Control::Begin(BeginMode::Deferred))?;
        same!(client.run(ALL, &[])?.returned, id as u64, "{level:?}");
        client.control(Control::Commit)?;
    }
    // Each statement sees what was committed before it.
    client.control(Control::Begin(BeginMode::ReadCommitted))?;
    same!(client.run(ALL, &[])?.returned, 4);
    other.run(INSERT, &row(5))?;
    same!(client.run(ALL, &[])?.returned, 5);
    client.control(Control::Commit)?;
    Ok(())
}

pub fn a_deadlock_is_recognized<S: Server>(system: &S) -> Outcome {
    let texts = system.texts();
    let update = texts[UPDATE_ONE].as_str();
    let mut first = system.fresh(PrepareMode::Once)?;
    first.run(INSERT, &row(1))?;
    first.run(INSERT, &row(2))?;
    // With the server's default lock timeout, which is longer.
    let engine = system.engine_with(json!({}), &[update])?;
    let connect = || wait(engine.connect(0)).map(Client);
    let (mut one, mut two) = (connect()?, connect()?);
    for (client, id) in [(&mut one, 1), (&mut two, 2)] {
        client.control(Control::Begin(BeginMode::Deferred))?;
        client.run(0, &[Value::Integer(id)])?;
    }
    ensure!(one.ask(0, &[Value::Integer(2)], Capture::nothing()).is_pending());
    ensure!(two.ask(0, &[Value::Integer(1)], Capture::nothing()).is_pending());
    let answers = [one.answer(Capture::nothing()), two.answer(Capture::nothing())];
    let failed: Vec<&Failure> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    ensure!(
        failed.len() == 1 && failed[0].kind == FailureKind::Deadlock,
        "{answers:?}"
    );
    one.control(Control::Rollback)?;
    two.control(Control::Rollback)?;
    same!(one.run(0, &[Value::Integer(2)])?.changed, 1);
    Ok(())
}

pub fn a_statement_that_takes_too_long_is_a_timeout<S: Server>(system: &S) -> Outcome {
    let engine = system.engine_with(json!({ "session": system.impatient()? }), &[S::SLOW, "select 1"])?;
    let mut client = Client(wait(engine.connect(0))?);
    for _ in 0..2 {
        let failure = client.run(0, &[]).failure()?;
        same!(failure.kind, FailureKind::Timeout, "{failure}");
        same!(client.run(1, &[])?.returned, 1);
    }
    Ok(())
}

pub fn a_statement_that_is_cancelled_is_a_timeout<S: Server>(system: &S) -> Outcome {
    let mut client = system.client_for(&[S::SLOW, S::NUMBER], PrepareMode::Never)?;
    let number = client.one(1)?;
    ensure!(client.ask(0, &[], Capture::nothing()).is_pending());
    pause();
    let mut other = system.client_for(&[S::CANCEL], PrepareMode::Never)?;
    other.run(0, &[number.view()])?;
    let failure = client.answer(Capture::nothing()).failure()?;
    same!(failure.kind, FailureKind::Timeout, "{failure}");
    same!(client.one(1)?, number);
    Ok(())
}

/// Time for a server to start a statement, so that a cancellation reaches it.
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(100));
}

pub fn a_terminated_session_reports_a_lost_connection<S: Server>(system: &S) -> Outcome {
    for prepare in MODES {
        let mut client = system.client_for(&[S::NUMBER], prepare)?;
        let number = client.one(0)?;
        let mut other = system.client_for(&[S::END, S::NUMBER], PrepareMode::Never)?;
        other.run(0, &[number.view()])?;
        pause();
        let failure = client.run(0, &[]).failure()?;
        same!(failure.kind, FailureKind::Connection, "{failure}");
        // Further calls fail the same way, and closing is harmless.
        let failure = client.control(Control::Begin(BeginMode::Deferred)).failure()?;
        same!(failure.kind, FailureKind::Connection, "{failure}");
        let _ = wait(client.0.close());
        let again = system.client_for(&[S::NUMBER], prepare)?.one(0)?;
        ensure!(again != number, "{again:?}");
    }
    Ok(())
}

pub fn a_session_terminated_during_a_statement_reports_a_lost_connection<S: Server>(system: &S) -> Outcome {
    let mut client = system.client_for(&[S::SLOW, S::NUMBER], PrepareMode::Once)?;
    let number = client.one(1)?;
    ensure!(client.ask(0, &[], Capture::nothing()).is_pending());
    pause();
    let mut other = system.client_for(&[S::END], PrepareMode::Never)?;
    other.run(0, &[number.view()])?;
    let failure = client.answer(Capture::nothing()).failure()?;
    same!(failure.kind, FailureKind::Connection, "{failure}");
    Ok(())
}

fn refused<S: Server>(system: &S, changes: serde_json::Value) -> Result<Failure, Problem> {
    let engine = system.engine_with(changes, &[])?;
    let failure = wait(engine.connect(0)).failure()?;
    ensure!(failure.message.starts_with("connecting to "), "{failure}");
    Ok(failure)
}

pub fn connection_errors_are_explained<S: Server>(system: &S) -> Outcome {
    for (changes, words) in [
        (json!({"host": "127.0.0.1", "port": 1}), "no server listens there"),
        (json!({"host": "no-such-host.invalid"}), "no-such-host.invalid"),
        (json!({"host": "/nowhere/socket"}), "no such socket"),
        (json!({"user": "no_such_user", "password": "wrong"}), "no_such_user"),
        (json!({"database": "no_such_database"}), "no_such_database"),
    ] {
        let failure = refused(system, changes)?;
        same!(failure.kind, FailureKind::Connection, "{failure}");
        ensure!(failure.message.contains(words), "{failure}");
    }
    let failure = refused(system, json!({"session": [["no_such_setting", "1"]]}))?;
    ensure!(failure.message.contains("no_such_setting"), "{failure}");
    Ok(())
}

pub fn session_settings_take_effect<S: Server>(system: &S) -> Outcome {
    let (name, show, value) = S::SETTING;
    let engine = system.engine_with(json!({"session": [[name, value]]}), &[show])?;
    let mut client = Client(wait(engine.connect(0))?);
    same!(client.one(0)?, Owned::Text(value.into()));
    Ok(())
}

pub fn very_long_values_are_sent_and_received<S: Server>(system: &S) -> Outcome {
    // Longer than the maximum MySQL packet.
    let long = "0123456789abcde\n".repeat((17 << 20) / 16);
    if let Some(longest) = system.longest()?.filter(|longest| *longest < long.len() + 1024) {
        let why = format!("the server accepts at most {longest} bytes per packet: raise max_allowed_packet to 32M");
        return Err(Problem::NotApplicable(why));
    }
    let insert = "insert into {t} (id, s) values (?, ?)";
    let select = "select s from {t} where id = ?";
    for prepare in [PrepareMode::Once, PrepareMode::Never] {
        drop(system.fresh(prepare)?);
        let mut client = system.client_for(&[insert, select], prepare)?;
        client.run(0, &[Value::Integer(1), Value::Text(&long)])?;
        let (rows, columns) = client.fetch(1, &[Value::Integer(1)], 1)?;
        same!(rows.returned, 1);
        same!(columns.first().map(Owned::view), Some(Value::Text(&long)));
        same!(client.run(1, &[Value::Integer(2)])?.returned, 0);
    }
    Ok(())
}

/// A proxy that accepts one connection on a port, forwards it to a socket, and returns the answers in small fragments.
fn start_fragmenting_proxy(socket: PathBuf) -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        // If forwarding fails, the session sees a closed connection.
        let _ = forward(&listener, &socket);
    });
    Ok(port)
}

fn forward(listener: &TcpListener, socket: &Path) -> io::Result<()> {
    let (mut client, _) = listener.accept()?;
    let mut server = UnixStream::connect(socket)?;
    client.set_nodelay(true)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let mut piece = [0; 7];
    while let Ok(length @ 1..) = server.read(&mut piece) {
        if client.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    client.shutdown(Shutdown::Both)
}

pub fn fragmented_answers_are_reassembled<S: Server>(system: &S) -> Outcome {
    let Some(socket) = system.socket() else {
        return Err(Problem::NotApplicable("the server has no Unix socket".into()));
    };
    let texts = system.texts();
    let texts = [&texts[INSERT], &texts[SELECT], &texts[ALL]].map(String::as_str);
    drop(system.fresh(PrepareMode::Never)?);
    let port = start_fragmenting_proxy(socket)?;
    let engine = system.engine_with(json!({"host": "127.0.0.1", "port": port}), &texts)?;
    let mut client = Client(wait(engine.connect(0))?);
    wait(client.0.prepare_all())?;
    let text = "long ".repeat(400);
    for id in 1..=20 {
        let values = [
            Value::Integer(id),
            Value::Null,
            Value::Real(0.5),
            Value::Text(&text),
            Value::Bytes(&[7]),
        ];
        client.run(0, &values)?;
        let (_, columns) = client.fetch(1, &[Value::Integer(id)], 4)?;
        let seen: Vec<Value<'_>> = columns.iter().map(Owned::view).collect();
        same!(seen, values[1..]);
    }
    same!(client.run(2, &[])?.returned, 20);
    wait(client.0.close())?;
    Ok(())
}

pub fn many_sessions_work_at_once<S: System>(system: &S) -> Outcome {
    let mut first = system.fresh(PrepareMode::Once)?;
    // Each session updates its own row: how long sessions wait for each other's commits depends on the machine's load.
    let mut clients = Vec::new();
    for number in 1..=20 {
        first.run(INSERT, &row(number))?;
        clients.push(system.client(PrepareMode::Once)?);
    }
    for _ in 0..5 {
        for (number, client) in (1..).zip(&mut clients) {
            let pending = client.ask(UPDATE_ONE, &[Value::Integer(number)], Capture::nothing());
            ensure!(pending.is_pending());
        }
        for client in &mut clients {
            same!(client.answer(Capture::nothing())?.changed, 1);
        }
    }
    Ok(())
}

pub fn a_password_is_checked<S: Server>(system: &S) -> Outcome {
    // Older servers limit user names to 16 characters.
    let user = system.table().replace("dbdyno_check", "dd");
    if !system.demand_password(&user) {
        let why =
            "the check creates a user and changes the access rules, so it runs only on servers that dbdyno started";
        return Err(Problem::NotApplicable(why.into()));
    }
    for create in S::CREATE_USER {
        let texts = create.iter().chain([&S::DROP_USER]);
        let texts: Vec<String> = texts.map(|text| text.replace("{u}", &user)).collect();
        let mut client = Client(wait(system.engine_for(&texts, PrepareMode::Never)?.connect(0))?);
        for text in 0..create.len() {
            client.run(text, &[])?;
        }
        let judged = judge_passwords(system, &user);
        client.run(create.len(), &[])?;
        judged?;
    }
    Ok(())
}

fn judge_passwords<S: Server>(system: &S, user: &str) -> Outcome {
    let engine = system.engine_with(json!({"user": user, "password": "it's right"}), &["select 1"])?;
    same!(Client(wait(engine.connect(0))?).run(0, &[])?.returned, 1);
    for password in [json!("wrong"), json!(null), json!("")] {
        let failure = refused(system, json!({"user": user, "password": password}))?;
        same!(failure.kind, FailureKind::Connection);
        ensure!(failure.message.contains("password"), "{failure}");
        ensure!(
            password != json!("wrong") || failure.message.contains(user),
            "{failure}"
        );
    }
    Ok(())
}
