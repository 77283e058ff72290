"""`dbdyno replay` on SQLite: what an application did is done again, on a copy."""

import json
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dbdyno.trace
from conftest import Cli
from dbdyno.base.numbers import figure
from dbdyno.trace.header import Header
from dbdyno.trace.parquet import Execution, TraceWriter
from dbdyno.trace.reading import open_trace
from dbdyno.trace.sent import Sent
from waiting import wait_until


def made(path: Path, extra: str = "") -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (id integer primary key, n int, v text unique)")
        connection.executemany("insert into t values (?, 0, ?)", [(number, f"row {number}") for number in range(100)])
        connection.executescript(extra)
    connection.close()


def record(directory: Path, work: Callable[[Any], object], values: Any = "keep") -> None:
    """Record an application in `app.journal`. Its database was `start.db`."""
    for name in ("start.db", "app.db"):
        made(directory / name)
    recorded = sqlite3.connect(directory / "app.db", timeout=20)
    work(dbdyno.trace.sqlite(recorded, directory / "app.journal", values=values))
    recorded.close()
    dbdyno.trace.flush()


def application(connection: Any) -> None:
    for number in range(30):
        connection.execute("select * from t where n <= ? order by id", (number,)).fetchall()
        connection.execute("update t set n = n + ? where id = ?", (1, number))
        connection.execute("insert into t (v) values (?)", (f"it's {number}",))
        connection.rollback() if number % 10 == 9 else connection.commit()
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("insert into t (v) values ('row 5')")
    connection.commit()


def compared(directory: Path, number: int = -1) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "out.json").read_text())["comparisons"][number]
    return found


@pytest.mark.parametrize("speed", ["1", "20", "max"])
def test_a_replay_has_the_rows_and_errors_of_the_recording(cli: Cli, speed: str) -> None:
    record(cli.directory, application)
    before = (cli.directory / "start.db").read_bytes()
    shown = cli("replay", "app.journal", "--system", "sqlite:start.db", "--speed", speed, "--json", "out.json")
    assert "Rows and errors are equal" in shown
    assert (cli.directory / "start.db").read_bytes() == before, "it is replayed on a copy"
    found = compared(cli.directory)
    by_text = {each["statement"]: each for each in found["statements"]}
    # 30 and the one that failed, each with its `begin`.
    assert {text: each["count"] for text, each in by_text.items()} == {
        "begin": 31, "commit": 28, "insert into t (v) values (?)": 31, "rollback": 3,
        "select * from t where n <= ? order by id": 30, "update t set n = n + ? where id = ?": 30,
    }  # fmt: skip
    assert all(not each["failed"] and not each["rows"] for each in found["statements"])


def test_other_data_shows_as_other_rows_and_errors(cli: Cli) -> None:
    record(cli.directory, application)
    made(cli.directory / "other.db", "delete from t where id >= 40; insert into t (v) values ('it''s 3');")
    shown = cli("replay", "app.journal", "--system", "sqlite:other.db", "--json", "out.json")
    assert "New error SQLITE_CONSTRAINT_UNIQUE, 1 times: UNIQUE constraint failed: t.v" in shown
    by_text = {each["statement"]: each for each in compared(cli.directory)["statements"]}
    assert by_text["insert into t (v) values (?)"]["failed"] == {"SQLITE_CONSTRAINT_UNIQUE": 1}
    assert by_text["select * from t where n <= ? order by id"]["rows"] == 30
    assert "executions have other rows or errors" in shown


def test_a_missing_table_is_an_error_of_each_statement(cli: Cli) -> None:
    record(cli.directory, application)
    sqlite3.connect(cli.directory / "empty.db").execute("create table other (a)")
    shown = cli("replay", "app.journal", "--system", "sqlite:empty.db", "--json", "out.json")
    assert "Is its data as it was when the recording began?" in shown
    assert "New error SQLITE_ERROR, 90 times: no such table: t" in shown


PARAMETERS = st.none() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats() | st.text() | st.binary()
EQUAL = "select id from v where id = ? and a is ?2 and typeof(a) = typeof(?2)"


def with_values(directory: Path, values: list[Any]) -> None:
    """Databases that contain values, to record and to replay."""
    for name in ("start.db", "app.db"):
        (directory / name).unlink(missing_ok=True)
        with sqlite3.connect(directory / name) as connection:
            connection.execute("create table v (id integer primary key, a)")
            connection.executemany("insert into v values (?, ?)", enumerate(values))
        connection.close()


@given(st.lists(PARAMETERS, min_size=1))
@example([None, 0, -1, (1 << 63) - 1, -(1 << 63), 0.1, -0.0, 1e308, 5e-324, float("inf"), float("-inf")])
@example(["", "it's", "\0", "a\0b", "\\", '"', "ä\U0001f600", "null", "7", b"", b"\0", b"\xff'"])
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_parameter_is_bound_as_it_was(cli: Cli, values: list[Any]) -> None:
    with_values(cli.directory, values)
    # A process has one recorder per journal.
    name = f"app{time.monotonic_ns()}.journal"
    connection = sqlite3.connect(cli.directory / "app.db")
    recorded = dbdyno.trace.sqlite(connection, cli.directory / name, values="keep")
    for number, value in enumerate(values):
        assert len(recorded.execute(EQUAL, (number, value)).fetchall()) == 1
    connection.close()
    dbdyno.trace.flush()
    shown = cli("replay", name, "--system", "sqlite:start.db", "--speed", "max")
    assert f"{len(values)} statements" in shown and "Rows and errors are equal" in shown


VALUES = [None, (1 << 63) - 1, 0.1, float("inf"), "it's a\0b", b"\0\xff"]


def test_a_program_and_sqlalchemy_prepare_statements(cli: Cli) -> None:
    with_values(cli.directory, VALUES)
    text = EQUAL.replace("?2", ":a").replace("?", ":id")
    program = cli.directory / "program.py"
    program.write_text(
        "import sqlite3\n"
        "connection = sqlite3.connect('app.db')\n"
        f"for number, value in enumerate({VALUES!r}):\n".replace("inf", "float('inf')") +
        f"    assert len(connection.execute({EQUAL!r}, (number, value)).fetchall()) == 1\n"
        f"    assert len(connection.execute({text!r}, {{'a': value, 'id': number}}).fetchall()) == 1\n"
    )  # fmt: skip
    cli("capture", "--values", "keep", "-o", "program.trace", "--", sys.executable, "program.py")
    engine = sqlalchemy.create_engine(f"sqlite:///{cli.directory / 'app.db'}")
    dbdyno.trace.sqlalchemy(engine, cli.directory / "alchemy.journal", values="keep")
    with engine.connect() as connection:
        for number, value in enumerate(VALUES):
            assert len(connection.execute(sqlalchemy.text(text), {"id": number, "a": value}).fetchall()) == 1
    engine.dispose()
    dbdyno.trace.flush()
    for name, once in (("program.trace", [False] * 2 + [True] * 10), ("alchemy.journal", [True] * 6)):
        trace = open_trace(cli.directory / name)
        prepared = [json.loads(one) for batch in trace.batches for one in batch.prepared if one is not None]
        assert [one["once"] for one in prepared if one["parameters"]] == once
        assert "Rows and errors are equal" in cli("replay", name, "--system", "sqlite:start.db", "--speed", "max")


def test_many_statements_are_prepared(cli: Cli) -> None:
    def work(connection: Any) -> None:
        # More than a session keeps.
        for _ in range(2):
            for number in range(1500):
                assert connection.execute(f"select id + {number} from t where id = ?", (5,)).fetchall()

    record(cli.directory, work)
    shown = cli("replay", "app.journal", "--system", "sqlite:start.db", "--speed", "max")
    assert "Rows and errors are equal" in shown


def test_two_systems_replay_in_turns(cli: Cli) -> None:
    record(cli.directory, application)
    systems = ("--system", "sqlite:start.db", "--system", "sqlite:start.db?cache_size=20")
    shown = cli("replay", "app.journal", *systems, "--speed", "max", "--json", "out.json")
    assert "sqlite:start.db?cache_size=20 compared with sqlite:start.db: Rows and errors are equal" in shown
    document = json.loads((cli.directory / "out.json").read_text())
    assert document["segments"] > 1
    assert [(each["base"], each["differing"]) for each in document["comparisons"]] == [
        ("recorded", 0), ("recorded", 0), ("sqlite:start.db", 0),
    ]  # fmt: skip
    assert document["comparisons"][-1]["speed_ci95"] is not None


def test_what_differs_from_the_recording_on_both_systems_is_shown(cli: Cli) -> None:
    record(cli.directory, application)
    sqlite3.connect(cli.directory / "empty.db").execute("create table other (a)")
    made(cli.directory / "other.db", "delete from t where id >= 40; insert into t (v) values ('it''s 3');")

    def replayed(database: str) -> str:
        systems = ("--system", f"sqlite:{database}", "--system", f"sqlite:{database}?cache_size=20")
        return cli("replay", "app.journal", *systems, "--speed", "max")

    assert "! Error SQLITE_ERROR on both systems, 90 times, but not in the recording: no such table: t" in replayed(
        "empty.db"
    )
    shown = replayed("other.db")
    assert "! Error SQLITE_CONSTRAINT_UNIQUE on both systems, 1 times, but not in the recording" in shown
    assert "executions have other rows on both systems than in the recording." in shown
    assert "on both systems" not in replayed("start.db")


def test_two_systems_of_a_server_are_two_databases(cli: Cli) -> None:
    with TraceWriter(cli.directory / "day.trace", Header("postgresql", "test", values="kept")) as writer:
        writer.add(1, "update t set a = ?", Execution(start_us=1, sent=Sent("update t set a = 1")))
    one = ("--system", "postgresql://me@localhost/one")
    for other in ("/one?work_mem=1MB", ":5432/one"):
        two = ("--system", f"postgresql://me@localhost{other}", "--allow-writes")
        told = cli("replay", "day.trace", *one, *two, code=2)
        assert "both systems are one database, which the first replay of a statement changes" in told


def test_without_times_a_transaction_waits_for_those_that_ended_before_it(cli: Cli) -> None:
    def work(writer: Any) -> None:
        reader = dbdyno.trace.sqlite(
            sqlite3.connect(cli.directory / "app.db", timeout=20), cli.directory / "app.journal", values="keep"
        )
        for number in range(50):
            writer.execute("insert into t (v) values (?)", (f"new {number}",))
            writer.execute("update t set n = n + 1")
            writer.commit()
            assert len(reader.execute("select * from t where v like 'new%'").fetchall()) == number + 1
        reader.close()

    record(cli.directory, work)
    shown = cli("replay", "app.journal", "--system", "sqlite:start.db", "--speed", "max")
    assert "of 2 sessions" in shown and "as fast as possible" in shown
    assert "Rows and errors are equal" in shown


def test_a_slow_system_is_named_as_the_cause(cli: Cli) -> None:
    # Quick in the recording, where no other session holds the lock.
    def work(connection: Any) -> None:
        for number in range(200):
            connection.execute("update t set n = ? where id = 1", (number,))
            connection.commit()

    record(cli.directory, work)
    holder = "with recursive c (n) as (select 1 union all select n + 1 from c where n < 200000) "
    made(
        cli.directory / "slow.db",
        f"create trigger slow after update on t begin select ({holder}select max(n) from c); end;",
    )
    shown = cli("replay", "app.journal", "--system", "sqlite:slow.db", "--json", "out.json")
    assert "It fell behind" in shown and "the system needed longer than in the recording" in shown
    lag = json.loads((cli.directory / "out.json").read_text())["systems"][0]["lag"]
    assert lag["causes"]["system"] > 0.5 and not lag["kept_up"]


def test_an_interrupted_replay_shows_what_it_has(cli: Cli) -> None:
    def work(connection: Any) -> None:
        connection.execute("select 1").fetchall()
        time.sleep(0.5)
        connection.execute("select 2").fetchall()

    record(cli.directory, work)
    process = cli.start("replay", "app.journal", "--system", "sqlite:start.db", "--speed", "0.01")
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(
        lambda: any(b"replay" in Path(f"/proc/{each}/cmdline").read_bytes() for each in workers.read_text().split())
    )
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, (out, errors)
    assert "Interrupted" in out and errors == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("hashed.journal", "--system", "sqlite:start.db"), "contains no values"),
        (("app.journal", "--system", "postgresql:"), "has statements of SQLite"),
        (("app.journal",), "0 systems are named"),
        (("app.journal", "--system", "sqlite:nosuch.db"), "no such file"),
        (("app.journal", "--system", "sqlite:start.db", "--speed", "0"), "not a positive number"),
        (("nosuch.trace", "--system", "sqlite:start.db"), "cannot read the trace"),
    ],
)
def test_what_is_wrong_is_told(cli: Cli, arguments: tuple[str, ...], expected: str) -> None:
    record(cli.directory, lambda connection: connection.execute("select 1").fetchall())
    other = dbdyno.trace.sqlite(sqlite3.connect(":memory:"), cli.directory / "hashed.journal")
    other.execute("select 1").fetchall()
    dbdyno.trace.flush()
    assert expected in cli("replay", *arguments, code=2)


def test_a_trace_is_compared_with_a_run_of_its_workload(cli: Cli) -> None:
    record(cli.directory, application)
    cli("distil", "app.journal", "-o", "app.sql", "--system", "sqlite:start.db")
    cli("run", "app.sql", "--mix", "--system", "sqlite:start.db", "--set", "seconds=1", "--rounds", "1")
    shown = cli("trace", "compare", "app.journal", "--json", "agreement.json")
    assert "Shares of time differ by at most" in shown
    document = json.loads((cli.directory / "agreement.json").read_text())
    by_text = {one["statement"]: one for one in document["statements"]}
    for text in ("select * from t where n <= ? order by id", "update t set n = n + ? where id = ?", "commit"):
        one = by_text[text]
        assert one["run"]["count"] > 0
        assert one["run_count_share"] == pytest.approx(one["recorded_count_share"], abs=0.15)
        assert one["run"]["p99_ms"] >= one["run"]["p50_ms"]
    # Rows that are returned or changed.
    for text in ("update t set n = n + ? where id = ?", "insert into t (v) values (?)"):
        assert by_text[text]["run"]["rows"] == pytest.approx(by_text[text]["run"]["count"], rel=0.05)
    for side in ("recorded", "run"):
        assert sum(one[f"{side}_time_share"] for one in by_text.values()) == pytest.approx(1)


def test_a_workload_opens_connections_as_often_as_its_application(cli: Cli) -> None:
    for name in ("start.db", "app.db"):
        made(cli.directory / name)
    for number in range(40):
        recorded = sqlite3.connect(cli.directory / "app.db")
        connection: Any = dbdyno.trace.sqlite(recorded, cli.directory / "app.journal", values="keep")
        connection.execute("pragma foreign_keys = on")
        for (found,) in connection.execute("select id from t where n <= ? limit 3", (number,)).fetchall():
            connection.execute("select v from t where id = ?", (found,)).fetchall()
        connection.execute("update t set n = n + ? where id = ?", (1, number))
        connection.commit()
        recorded.close()
    dbdyno.trace.flush()
    cli("distil", "app.journal", "-o", "app.sql", "--system", "sqlite:start.db", "--think", "none")
    text = (cli.directory / "app.sql").read_text()
    assert "-- request: update t and others\n" in text and "-- An N+1 loop: repeated 3 times.\n" in text
    run = ("run", "app.sql", "--mix", "--system", "sqlite:start.db", "--set", "seconds=1", "--rounds", "1")
    shown = cli(*run)
    assert "Connecting for each transaction took" in shown
    header = open_trace(cli.directory / "app.journal").header
    assert header.sessions == 40 and header.seconds
    # Begin, five queries and commit. A workload sets pragmas in its URL.
    rate = figure(40 * 7 / header.seconds)
    assert f"app.journal: {rate} statements/s;" in cli("trace", "compare", "app.journal", "last")


def lookups(connection: Any) -> None:
    for number in range(100):
        connection.execute("select v from t where n = ?", (number % 2,)).fetchall()
        connection.execute("update t set v = v || ? where id = ?", (".", number))
        connection.commit()


CHANGE = "Another plan: select v from t where n = ?: was scan of t; is index of_n"


def test_a_replay_as_a_trace_has_costs_and_plans_to_compare(cli: Cli) -> None:
    record(cli.directory, lookups)
    shown = cli("replay", "app.journal", "--system", "sqlite:start.db", "-o", "replayed.trace")
    assert re.search(r"sqlite:start.db: CPU [\d.]+ ms, [\d.]+ syncs, .*bytes written.* per transaction\.", shown)
    recorded, replayed = (
        json.loads(cli.invoke("trace", "show", name, "--json", "-").out) for name in ("app.journal", "replayed.trace")
    )
    for name in ("statement", "count", "rows", "errors"):
        assert [each[name] for each in sorted(recorded["statements"], key=itemgetter("statement"))] == [
            each[name] for each in sorted(replayed["statements"], key=itemgetter("statement"))
        ]
    cli("distil", "replayed.trace", "-o", "app.sql", "--system", "sqlite:start.db")
    made(cli.directory / "indexed.db", "create index of_n on t (n)")
    cli("run", "app.sql", "--mix", "--system", "sqlite:indexed.db", "--set", "seconds=1", "--rounds", "1")
    shown = cli("trace", "compare", "replayed.trace", "--json", "agreement.json")
    assert re.search(r"Per transaction: CPU [\d.]+ ms → [\d.]+ ms, syncs [\d.]+ → [\d.]+", shown)
    assert CHANGE in shown
    costs = json.loads((cli.directory / "agreement.json").read_text())["costs"]
    assert costs[1]["counters"]["syncs"] == pytest.approx(costs[0]["counters"]["syncs"], rel=0.2)
    error = cli.invoke("replay", "app.journal", "--system", "sqlite:start.db", "--system", "sqlite:x.db", "-o", "t")
    assert "name one system to write its replay as a trace" in error.errors
    recorded = (cli.directory / "app.journal").read_bytes()
    error = cli.invoke("replay", "app.journal", "--system", "sqlite:start.db", "-o", "app.journal")
    assert "the file exists" in error.errors and (cli.directory / "app.journal").read_bytes() == recorded


def test_two_systems_differ_in_plans(cli: Cli) -> None:
    record(cli.directory, lookups)
    made(cli.directory / "indexed.db", "create index of_n on t (n)")
    systems = ("--system", "sqlite:start.db", "--system", "sqlite:indexed.db")
    shown = cli("replay", "app.journal", *systems, "--speed", "max", "--json", "out.json")
    assert CHANGE in shown
    assert [each["statement"] for each in compared(cli.directory)["plans"]] == ["select v from t where n = ?"]


def test_a_trace_is_compared_with_one_cell(cli: Cli) -> None:
    record(cli.directory, application)
    cli("distil", "app.journal", "-o", "app.sql", "--system", "sqlite:start.db")
    cli("run", "app.sql", "--mix", "--system", "sqlite:start.db", "--set", "seconds=0.2,0.3", "--rounds", "1")
    error = cli.invoke("trace", "compare", "app.journal").errors
    assert "choose it with `--cell ID`: `seconds=0.2,system=sqlite:start.db`" in error
    assert "statements/s" in cli("trace", "compare", "app.journal", "--cell", "seconds=0.3")
