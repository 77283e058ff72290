"""From a recording to a workload that runs, by the command line, and without the values of the application."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dbdyno.trace
from conftest import Cli
from dbdyno.trace.capture import record_totals

# Personal data, in all places where an application puts some.
SECRETS = ("Bob Miller", "bob@example.com", "4111111111111111", "tok_9f8e7d6c5b", "0612345678", "bobs_app", "s3cr3tpw")
STATEMENTS = (
    "select * from users where name = 'Bob Miller'",
    'select * from users where mail = "bob@example.com"',
    "select * from users where card = 4111111111111111 -- for bob@example.com",
    "/* tok_9f8e7d6c5b */ select * from users where token = 'tok_9f8e7d6c5b'",
    "select * from users where mail = bob@example.com",
    "insert into users (name, phone) values ('Bob Miller', '0612345678')",
    "set application_name = bobs_app",
    "create user bob password 's3cr3tpw'",
    "select 'tok_9f8e7d6c5b",
    "select 'Bob Miller' as x; select 'bob@example.com'",
)


@pytest.fixture
def shop(cli: Cli) -> Path:
    path = Path(cli.directory) / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table users (id integer primary key, name text, mail text unique)")
        made.executemany("insert into users (name, mail) values (?, ?)", ((f"n{i}", f"m{i}@x") for i in range(500)))
        made.commit()
    with closing(dbdyno.trace.sqlite(sqlite3.connect(path), path.with_name("day.trace"))) as made:
        for number in range(40):
            found = made.execute("select id from users where mail = ?", (f"m{number % 9}@x",)).fetchall()
            made.execute("insert into users (name, mail) values ('new', ?)", (f"new{number}@example.com",))
            made.execute("update users set name = 'Bob Miller' where id = ?", found[0])
            made.commit()
    dbdyno.trace.flush()
    return path


def test_a_recorded_application_runs_as_a_workload(cli: Cli, shop: Path) -> None:
    shown = cli("trace", "show", "day.trace", "--json", "trace.json")
    assert "the application, 200 statements of 1 session" in shown
    assert "40 transactions; no values, only keyed hashes" in shown
    document = json.loads((cli.directory / "trace.json").read_text())
    assert document["header"]["statements"] == 200
    assert sum(each["share"] for each in document["statements"]) == pytest.approx(1)
    told = cli("distil", "day.trace", "-o", "my.sql", "--system", "sqlite:shop.db")
    assert "dbdyno run my.sql --mix --clients 1 --system sqlite:shop.db" in told
    text = (cli.directory / "my.sql").read_text()
    assert "-- :mail = @mail of users zipf" not in text
    assert "('dbdyno-' || CAST(CAST(:mail" in text
    assert "example.com" not in text
    assert "Bob" not in text
    options = ("--mix", "--set", "seconds=0.3", "--rounds", "1", "--json", "out.json", "--report", "out.html")
    cli("run", "my.sql", "--system", "sqlite:shop.db?synchronous=off", *options)
    (cell,) = json.loads((cli.directory / "out.json").read_text())["cells"]
    counts = {each["name"]: each["count"] for each in cell["operations"]}
    assert counts["insert users"] == counts["update users"] > 0
    assert "m3@x" not in (cli.directory / "out.html").read_text()


def test_statements_of_a_trace_are_measured(cli: Cli, shop: Path) -> None:
    told = cli("queries", "day.trace", "--system", f"sqlite:{shop.name}", "--budget", "2s", "--no-try-indexes")
    assert "insert users" in told
    assert "select users" in told


def test_statements_that_the_database_rejects_are_left_out(cli: Cli, shop: Path) -> None:
    with closing(dbdyno.trace.sqlite(sqlite3.connect(":memory:"), shop.with_name("day.trace"))) as made:
        made.executescript("create table gone (a)")
        for _ in range(30):
            made.execute("select a from gone where a = 1").fetchall()
    dbdyno.trace.flush()
    cli("distil", "day.trace", "-o", "my.sql", "--system", "sqlite:shop.db")
    text = (cli.directory / "my.sql").read_text()
    assert "-- Left out: 30 times `select a from gone where a = ?` and its transaction, rejected: `" in text
    assert "no such table: gone" in text


def log(directory: Path) -> None:
    with (directory / "pg.csv").open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        for number, text in enumerate(STATEMENTS * 3):
            time = f"2026-11-28 10:00:{number:02}.500 UTC"
            head = [time, "Bob Miller", "shop", "11", "bob@example.com", "a.b", "1", "SELECT", time, "3/1", "0"]
            message = f"duration: 1.000 ms  statement: {text}"
            end = ["", "", "bobs_app", "", "", "0"]
            # PostgreSQL rejects these.
            if "= bob@" not in text and '= "bob@' not in text:
                lines.writerow([*head, "LOG", "00000", message, "parameters: $1 = 'tok_9f8e7d6c5b'", *[""] * 5, *end])
            wrong = ["ERROR", "42P01", 'value "Bob Miller" is wrong', "Key (0612345678)", *[""] * 4, text]
            lines.writerow([*head, *wrong, *end])


def test_no_personal_data_is_left(cli: Cli) -> None:
    log(cli.directory)
    written = cli("capture", "--from-log", "pg.csv", "-o", "day.trace")
    written += cli("trace", "show", "day.trace", "--json", "trace.json")
    written += cli("distil", "day.trace", "-o", "my.sql")
    files = ("day.trace", "trace.json", "my.sql")
    content = written.encode() + b"".join((cli.directory / each).read_bytes() for each in files)
    # Parquet compresses its pages, so look at its values, too.
    from pyarrow import parquet

    content += str(parquet.read_table(cli.directory / "day.trace").to_pylist()).encode()
    for secret in SECRETS:
        assert secret.encode() not in content, secret
    assert b"Bob" not in content
    kept = cli("capture", "--from-log", "pg.csv", "-o", "kept.trace", "--values", "keep")
    assert "keyed hashes" not in kept
    assert "It contains the values of the statements, so only you may read it." in kept
    assert "values are kept" in cli("trace", "show", "kept.trace")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("capture", "-o", "x.trace"), "capture: give one source to record from; give `-- PROGRAM`, `--listen"),
        (("capture", "-o", "x.trace", "--listen", "0"), "--listen: a proxy needs a server; name it with `--to URL`"),
        (("capture", "-o", "x.trace", "--to", "mysql:", "--from-log", "x"), "--to: it applies to a proxy only"),
        (("capture", "-o", "x.trace", "--from-log", "no.csv"), "no.csv: cannot read the log: no such file"),
        (
            ("capture", "-o", "x.trace", "--from-statistics", "sqlite:x.db"),
            "not a server with statistics of statements",
        ),
        (
            ("capture", "-o", "x.trace", "--listen", "127.0.0.1", "--to", "mysql://h"),
            "--listen 127.0.0.1: its port is missing; write `127.0.0.1:6543`",
        ),
        (
            ("capture", "-o", "x.trace", "--listen", "127.0.0.1:80000", "--to", "mysql://h"),
            "--listen 127.0.0.1:80000: `80000` is not a port",
        ),
        (("trace", "show", "no.trace"), "no.trace: cannot read the trace: no such file"),
        (("distil", "no.trace", "-o", "my.json"), "its name does not end in `.sql` or `.toml`"),
    ],
)
def test_wrong_arguments(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    assert words in cli(*arguments, code=2)
    assert not (cli.directory / "x.trace").exists()


def test_a_trace_and_its_database_are_of_one_engine(cli: Cli, shop: Path) -> None:
    told = cli("distil", "day.trace", "-o", "my.sql", "--system", "duckdb:", code=2)
    assert "the trace has statements of SQLite; name a database of this engine" in told
    assert shop.exists()


def test_keys_that_the_database_generates_are_used_again(cli: Cli) -> None:
    path = cli.directory / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript("""
            create table customers (id integer primary key, mail text unique, orders integer default 0);
            create table orders (id integer primary key, customer integer references customers, paid integer);
            create table items (order_id integer references orders, product integer);
        """)
        made.executemany("insert into customers (mail) values (?)", ((f"m{each}@x",) for each in range(100)))
        made.executemany(
            "insert into orders (customer, paid) values (?, 0)", ((each % 100 + 1,) for each in range(300))
        )
        made.executemany("insert into items values (?, 1)", ((each % 300 + 1,) for each in range(600)))
        made.commit()
    with closing(dbdyno.trace.sqlite(sqlite3.connect(path, isolation_level=None), path.with_name("day.trace"))) as made:
        for number in range(40):
            made.execute("begin")
            ((customer,),) = made.execute("select id from customers where mail = ?", (f"m{number % 9}@x",)).fetchall()
            order = made.execute("insert into orders (customer, paid) values (?, 0)", (customer,)).lastrowid
            for product in range(3):
                made.execute("insert into items (order_id, product) values (?, ?)", (order, product))
            made.execute("update orders set paid = 1 where id = ?", (order,))
            made.execute("update customers set orders = orders + 1 where id = ?", (customer,))
            made.execute("commit")
    dbdyno.trace.flush()
    cli("distil", "day.trace", "-o", "my.sql", "--system", "sqlite:shop.db")
    text = (cli.directory / "my.sql").read_text()
    assert "-- into: customer\nselect id from customers where mail = :mail;" in text
    assert text.count("insert into items (order_id, product) values (:order_id, :product") == 3
    assert "-- into: order_id\nselect last_insert_rowid();" in text
    with closing(sqlite3.connect(path)) as made:
        made.execute("create trigger only_new before insert on items when new.order_id <= 340 begin "
                     "select raise(abort, 'not the order of this transaction'); end")  # fmt: skip
    ran = cli.run("my.sql", "--mix", "--system", "sqlite:shop.db", "--rounds", "1", "--set", "seconds=1")
    assert ran["cells"][0]["failed"] == {}


def test_statements_of_loops_and_savepoints_are_measured_once(cli: Cli) -> None:
    path = cli.directory / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table items (id integer primary key, count integer)")
        made.executemany("insert into items (count) values (?)", ((each,) for each in range(500)))
        made.commit()
    with closing(dbdyno.trace.sqlite(sqlite3.connect(path, isolation_level=None), path.with_name("day.trace"))) as made:
        for number in range(40):
            made.execute("begin")
            for item in range(1, 4):
                made.execute("select count from items where id = ?", (number + item,)).fetchall()
            made.execute("savepoint one")
            made.execute("update items set count = count + 1 where id = ?", (number + 1,))
            made.execute("rollback to one" if number % 2 else "release savepoint one")
            made.execute("commit")
    dbdyno.trace.flush()
    options = ("--budget", "2s", "--no-try-indexes", "--json", "out.json")
    cli("queries", "day.trace", "--system", "sqlite:shop.db", *options)
    document = json.loads((cli.directory / "out.json").read_text())
    assert [each["factors"]["statement"] for each in document["cells"]] == ["select items", "update items"]
    assert document["report"]["weights"] == {"select items": 300, "update items": 100}
    changed = ("--from", "sqlite:shop.db", "--to", "sqlite:shop.db?cache_size=100", "--budget", "2s")
    assert "select items" in cli.invoke("upgrade", "day.trace", *changed).out
    cli("distil", "day.trace", "-o", "my.sql", "--system", "sqlite:shop.db")
    text = (cli.directory / "my.sql").read_text()
    assert "savepoint s;" in text and "release savepoint s;" in text and "rollback to s;" in text
    ran = cli.run("my.sql", "--mix", "--system", "sqlite:shop.db", "--rounds", "1", "--set", "seconds=0.3")
    assert ran["cells"][0]["failed"] == {}


def test_savepoints_in_statistics_are_left_out(cli: Cli) -> None:
    texts = ("select 1 from t where a = ?", "SAVEPOINT $1", "RELEASE $1", "ROLLBACK TO $1", "COMMIT")
    totals = [{"statement": each, "total_ms": 5.0, "rows": 1, "count": 10} for each in texts]
    record_totals("postgresql", json.dumps(totals), cli.directory / "day.trace", "a server")
    cli("distil", "day.trace", "-o", "my.sql")
    text = (cli.directory / "my.sql").read_text()
    assert "select 1 from t where a = :a" in text
    assert "savepoint" not in text.lower() and "rollback" not in text.lower()


def test_files_are_not_overwritten(cli: Cli, shop: Path) -> None:
    log(cli.directory)
    recorded = (cli.directory / "day.trace").read_bytes()
    told = cli("capture", "--from-log", "pg.csv", "-o", "day.trace", code=2)
    assert "--output day.trace: the file exists; remove it, or give another name" in told
    assert "the file exists" in cli("trace", "convert", "day.trace", "-o", "day.trace", code=2)
    assert (cli.directory / "day.trace").read_bytes() == recorded
    cli.write("my.sql", "select 1;\n")
    told = cli("distil", "day.trace", "-o", "my.sql", code=2)
    assert "--output my.sql: the file exists, and isn't a workload of a trace; give another name" in told
    assert (cli.directory / "my.sql").read_text() == "select 1;\n"
    for name in ("own.sql", "own.toml"):
        for _ in range(2):
            cli("distil", "day.trace", "-o", name)


def test_a_converted_journal_has_its_key(cli: Cli, shop: Path) -> None:
    assert "made.trace.key has the key" in cli("trace", "convert", "day.trace", "-o", "made.trace")
    key = cli.directory / "made.trace.key"
    assert key.read_bytes() == (cli.directory / "day.trace.key").read_bytes()
    assert key.stat().st_mode & 0o777 == 0o600
    # As a killed recording leaves a journal.
    (cli.directory / "day.trace").rename(cli.directory / "day.trace.journal")
    cli("trace", "convert", "day.trace.journal", "-o", "day.trace")
    cli("trace", "convert", "day.trace.journal", "-o", "again.trace")
    assert (cli.directory / "again.trace.key").read_bytes() == key.read_bytes()
    (cli.directory / "other.trace.key").write_text("00" * 32)
    told = cli("trace", "convert", "day.trace.journal", "-o", "other.trace", code=2)
    assert "other.trace.key: the key of another trace; remove it, or give another name for the trace" in told
    assert "a trace in Parquet, not a journal; use it as it is" in cli(
        "trace", "convert", "made.trace", "-o", "x.trace", code=2
    )
    assert "my.sql: not a journal" in cli("trace", "convert", cli.write("my.sql", "x" * 9), "-o", "x.trace", code=2)


def test_a_key_without_hashes_is_removed(cli: Cli, shop: Path) -> None:
    log(cli.directory)
    (cli.directory / "other.log").write_text("2026-11-29 10:00:00.000 UTC [1] LOG:  started\n")
    # Cut within the first member, however many there are: a journal whose last member is cut is read without it.
    (cli.directory / "bad.journal").write_bytes((cli.directory / "day.trace").read_bytes()[:40])
    (cli.directory / "bad.journal.key").write_bytes((cli.directory / "day.trace.key").read_bytes())
    key = cli.directory / "x.trace.key"
    failing = (
        ("capture", "--from-log", "pg.csv", "--from-log", "other.log", "-o", "x.trace"),
        ("capture", "--listen", "127.0.0.1:0", "--to", "mysql://h?no=1", "-o", "x.trace"),
        ("trace", "convert", "bad.journal", "-o", "x.trace"),
    )
    for each in failing:
        cli(*each, code=2)
        assert not key.exists()
    key.write_text("00" * 32)
    for each in failing[:2]:
        cli(*each, code=2)
        assert key.read_text() == "00" * 32


def test_the_command_for_a_server_allows_writes(cli: Cli) -> None:
    texts = ("select a from t where a = $1", "update t set a = $1")
    totals = [{"statement": each, "total_ms": 5.0, "rows": 1, "count": 10} for each in texts]
    for name, some in (("reads", totals[:1]), ("writes", totals)):
        record_totals("postgresql", json.dumps(some), cli.directory / f"{name}.trace", "a server")
    assert " --system URL\n" in cli("distil", "reads.trace", "-o", "my.sql")
    said = cli("distil", "writes.trace", "-o", "my.sql")
    assert " --system URL --allow-writes\n" in said
    assert "\ndbdyno trace compare writes.trace last" in said


def test_statements_with_other_values_are_compared_with_the_recorded_ones(cli: Cli, shop: Path) -> None:
    cli("distil", "day.trace", "-o", "my.sql", "--system", "sqlite:shop.db")
    # A new value of a unique column isn't a parameter alone.
    assert "('dbdyno-' || " in (cli.directory / "my.sql").read_text()
    cli("run", "my.sql", "--mix", "--system", "sqlite:shop.db", "--rounds", "1", "--set", "seconds=0.2")
    cli("trace", "compare", "day.trace", "last", "--json", "out.json")
    compared = json.loads((cli.directory / "out.json").read_text())["statements"]
    assert len(compared) == 5
    assert all(each["recorded"]["count"] and each["run"]["count"] for each in compared)


def test_other_numbers_of_rows_are_shown(cli: Cli, shop: Path) -> None:
    cli.write("my.sql", "select id from users where mail = 'nobody';\nselect 1;\n")
    cli("run", "my.sql", "--mix", "--system", "sqlite:shop.db", "--rounds", "1", "--set", "seconds=0.2")
    shown = cli("trace", "compare", "day.trace", "last")
    assert "! Rows per execution: 1.000 → 0: select id from users where mail = ?" in shown


def test_a_run_of_other_statements_is_not_compared(cli: Cli, shop: Path) -> None:
    cli.write("other.sql", "-- transaction: one\nselect 1;\nselect 2;\n-- end\n")
    cli("run", "other.sql", "--mix", "--system", "sqlite:shop.db", "--rounds", "1", "--set", "seconds=0.2")
    told = cli("trace", "compare", "day.trace", "last", code=2)
    assert "no statement of day.trace is in it; name a run of the trace's workload" in told


def test_a_run_of_several_systems_is_compared_by_cell(cli: Cli, shop: Path) -> None:
    cli.write("my.sql", "select id from users where mail = 'm1@x';\n")
    systems = ("--system", "sqlite:shop.db", "--system", "sqlite:shop.db?cache_size=10")
    cli("run", "my.sql", "--mix", *systems, "--rounds", "1", "--set", "seconds=0.2")
    told = cli("trace", "compare", "day.trace", code=2)
    first, second = (f"seconds=0.2,system={each}" for each in systems[1::2])
    assert f"choose it with `--cell ID`: `{first}`, `{second}`" in told
    shown = cli("trace", "compare", "day.trace", "--cell", "system=sqlite:shop.db?cache_size=10")
    assert "Shares of time differ" in shown
    told = cli("trace", "compare", "day.trace", "--cell", "seconds=0.2", code=2)
    assert f"--cell seconds=0.2: several cells fit; name one of `{first}`, `{second}`" in told
