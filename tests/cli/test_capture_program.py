"""Recording what programs send to SQLite: each statement, with values and times, and without disturbing the program."""

import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.base.resources import library_path
from dbdyno.trace.program import ObservedProgram, record_program
from dbdyno.trace.reading import open_trace
from dbdyno.trace.reports import Observer

OBSERVER: Observer[[]] = Observer(lambda: None, pytest.fail)

pytestmark = pytest.mark.skipif(library_path("sqlite_observer") is None, reason="the library isn't installed: make dev")

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler here")


def python(tmp_path: Path, text: str) -> list[str]:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(text))
    return [sys.executable, str(program), str(tmp_path / "my.db")]


def recorded(path: Path) -> list[dict[str, Any]]:
    """The executions of a trace."""
    trace = open_trace(path)
    return [
        {
            "session": batch.session[at], "transaction": batch.transaction[at],
            "text": trace.texts[batch.statement[at]], "rows": batch.rows[at], "error": batch.error[at],
            "values": list(batch.values[at]), "start": batch.start[at], "duration_ns": batch.duration_ns[at],
        }
        for batch in trace.batches
        for at in range(len(batch))
    ]  # fmt: skip


def record(tmp_path: Path, command: list[str], *, keep: bool = True) -> list[dict[str, Any]]:
    header, code = record_program(command, tmp_path / "day.trace", OBSERVER, keep=keep)
    assert code == 0
    assert header is not None
    assert header.dropped == 0
    return recorded(tmp_path / "day.trace")


def shown(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(each["text"], each["rows"], each["error"], each["values"]) for each in rows]


APPLICATION = """
    import sqlite3, sys
    connection = sqlite3.connect(sys.argv[1])
    connection.execute("create table users (id integer primary key, name text, size real, picture blob)")
    add = "insert into users (name, size, picture) values (?, ?, ?)"
    connection.executemany(add, [("planted-name", 1.5, b"\\x00\\xff"), (None, 2, "12"), ("Zoë", 3.25, None)])
    connection.commit()
    again = {"name": "planted-name", "least": 1}
    connection.execute("select id from users where name = :name and id >= :least or name = :name", again).fetchall()
    some = connection.execute("select * from users")
    some.fetchone()
    some.close()
    for wrong in ("select planted_column from users", "insert into users (id) values (1)"):
        try:
            connection.execute(wrong)
        except sqlite3.Error as error:
            print(error)
    connection.rollback()
    connection.executescript("update users set size = 7; delete from users where id = 3; select 'planted-text';")
    connection.execute("create virtual table words using fts5(word)")
    connection.execute("insert into words values ('planted-word')")
    connection.commit()
"""


def test_statements_of_a_program(tmp_path: Path) -> None:
    rows = record(tmp_path, python(tmp_path, APPLICATION))
    statements = [each for each in shown(rows) if each[0] not in ("begin", "commit", "rollback")]
    add = "insert into users (name, size, picture) values (?, ?, ?)"
    assert statements == [
        ("create table", 0, None, []),
        (add, 1, None, ["'planted-name'", "1.5", "'00ff'"]),
        (add, 1, None, ["null", "2", "'12'"]),
        (add, 1, None, ["'Zoë'", "3.25", "null"]),
        (
            "select id from users where name = ? and id >= ? or name = ?", 1, None,
            ["'planted-name'", "1", "'planted-name'"],
        ),
        # One step after the row that was read.
        ("select * from users", 2, None, []),
        ("select (failed)", None, "SQLITE_ERROR", []),
        ("insert (failed)", None, "SQLITE_CONSTRAINT_PRIMARYKEY", ["1"]),
        ("update users set size = ?", 3, None, ["7"]),
        ("delete from users where id = ?", 1, None, ["3"]),
        ("select ?", 1, None, ["'planted-text'"]),
        # Full-text search executes more statements, which aren't the program's.
        ("create", 1, None, []),
        ("insert into words values (?)", 1, None, ["'planted-word'"]),
    ]  # fmt: skip
    transactions = [each["transaction"] for each in rows if each["text"] == add]
    assert transactions[0] is not None
    assert len(set(transactions)) == 1
    assert [each["transaction"] for each in rows if each["text"] == "update users set size = ?"] == [None]
    assert {each["session"] for each in rows} == {0}
    times = [(each["start"], each["start"] + each["duration_ns"] // 1000) for each in rows]
    assert times == sorted(times)
    assert all(each["duration_ns"] > 0 for each in rows)


def test_no_byte_of_values_gets_to_the_disk(tmp_path: Path) -> None:
    command = python(tmp_path, APPLICATION)
    rows = record(tmp_path, command, keep=False)
    assert any(each.startswith("string:16:") for row in rows for each in row["values"])
    content = f"{rows}"
    assert "planted" not in content
    assert "12" not in {value for row in rows for value in row["values"]}
    assert open_trace(tmp_path / "day.trace").header.values == "hashed"


def test_threads_have_sessions_of_their_own(tmp_path: Path) -> None:
    rows = record(tmp_path, python(tmp_path, """
        import sqlite3, sys, threading
        def work(number):
            connection = sqlite3.connect(":memory:")
            for each in range(2000):
                assert connection.execute("select ?", (each + number,)).fetchone() == (each + number,)
        threads = [threading.Thread(target=work, args=(10_000 * number,)) for number in range(4)]
        [each.start() for each in threads]
        [each.join() for each in threads]
    """))  # fmt: skip
    for session in range(4):
        numbers = [int(each["values"][0]) for each in rows if each["session"] == session]
        assert numbers == [numbers[0] + each for each in range(2000)]


def test_child_processes_are_recorded(tmp_path: Path) -> None:
    command = python(tmp_path, """
        import os, sqlite3, subprocess, sys
        def work(value):
            connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
            for each in range(50):
                connection.execute("insert into t values (?)", (value,))
            return connection
        if len(sys.argv) > 2:
            work(3)
            sys.exit()
        sqlite3.connect(sys.argv[1]).execute("create table t (a)")
        kept = work(1)
        child = os.fork()
        if child == 0:
            work(2)
            # As multiprocessing ends its processes.
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        subprocess.run([*sys.orig_argv, "again"], check=True)
        kept.execute("insert into t values (1)")
    """)  # fmt: skip
    rows = [each for each in record(tmp_path, command) if each["text"] == "insert into t values (?)"]
    counts = Counter((each["session"], *each["values"]) for each in rows)
    assert sorted((value, count) for (_, value), count in counts.items()) == [("1", 51), ("2", 50), ("3", 50)]
    assert len({session for session, _ in counts}) == 3


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 here")
def test_the_sqlite3_shell_is_recorded(cli: Cli) -> None:
    script = "create table t (a); insert into t values (1), (2); select * from t where a > 1;"
    told = cli.spawn("capture", "-o", "day.trace", "--", "sqlite3", "my.db", script)
    assert told.splitlines()[0] == "2", "its output is unchanged"
    assert [each["text"] for each in recorded(cli.directory / "day.trace")] == [
        "create table", "insert into t values (?), (?)", "select * from t where a > ?"
    ]  # fmt: skip


def shared_sqlite() -> Path:
    """The shared library of SQLite that Python uses."""
    import sqlite3

    assert sqlite3.sqlite_version
    mapped = Path("/proc/self/maps").read_text().split()
    found = next((each for each in mapped if "/libsqlite3.so" in each), None)
    if found is None:
        pytest.skip("Python contains SQLite itself")
    return Path(found)


def compiled(tmp_path: Path, name: str, text: str, *options: str | Path) -> Path:
    source = tmp_path / f"{name}.c"
    source.write_text(text)
    subprocess.run([str(COMPILER), "-w", "-o", tmp_path / name, source, *options], check=True)
    return tmp_path / name


@needs_compiler
def test_all_functions_that_prepare_and_bind(tmp_path: Path) -> None:
    program = compiled(tmp_path, "calls", r"""
        #include <assert.h>
        #include <stdlib.h>
        #include <string.h>
        typedef struct sqlite3 sqlite3;
        typedef struct sqlite3_stmt sqlite3_stmt;
        int sqlite3_open(const char *, sqlite3 **);
        int sqlite3_prepare(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
        int sqlite3_prepare_v3(sqlite3 *, const char *, int, unsigned, sqlite3_stmt **, const char **);
        int sqlite3_prepare16_v2(sqlite3 *, const void *, int, sqlite3_stmt **, const void **);
        int sqlite3_prepare16_v3(sqlite3 *, const void *, int, unsigned, sqlite3_stmt **, const void **);
        int sqlite3_bind_double(sqlite3_stmt *, int, double);
        int sqlite3_bind_int64(sqlite3_stmt *, int, long long);
        int sqlite3_bind_text(sqlite3_stmt *, int, const char *, int, void (*)(void *));
        int sqlite3_bind_text16(sqlite3_stmt *, int, const void *, int, void (*)(void *));
        int sqlite3_bind_text64(sqlite3_stmt *, int, const char *, unsigned long long, void (*)(void *), unsigned char);
        int sqlite3_bind_blob64(sqlite3_stmt *, int, const void *, unsigned long long, void (*)(void *));
        int sqlite3_bind_zeroblob(sqlite3_stmt *, int, int);
        double sqlite3_column_double(sqlite3_stmt *, int);
        long long sqlite3_column_int64(sqlite3_stmt *, int);
        static int count(void *to, int n, char **values, char **names) { ++*(int *)to; return 0; }
        int main(void) {
            sqlite3 *db;
            sqlite3_stmt *stmt;
            const char *tail;
            const void *tail16;
            int rows = 0;
            assert(sqlite3_open(":memory:", &db) == 0);
            assert(sqlite3_prepare_v3(db, "select ?1, ?2; rest", -1, 1, &stmt, &tail) == 0 && !strcmp(tail, " rest"));
            assert(sqlite3_bind_double(stmt, 1, 0.5) == 0 && sqlite3_bind_int64(stmt, 2, 1LL << 40) == 0);
            assert(sqlite3_step(stmt) == 100 && sqlite3_column_double(stmt, 0) == 0.5);
            assert(sqlite3_column_int64(stmt, 1) == 1LL << 40 && sqlite3_step(stmt) == 101);
            assert(sqlite3_reset(stmt) == 0 && sqlite3_clear_bindings(stmt) == 0 && sqlite3_step(stmt) == 100);
            assert(sqlite3_finalize(stmt) == 0);
            assert(sqlite3_prepare(db, "values (?, ?), (?, ?)", 13, &stmt, &tail) == 0);
            assert(sqlite3_bind_text(stmt, 1, strdup("freed"), 4, free) == 0);
            assert(sqlite3_bind_text64(stmt, 2, "whole", 5, 0, 1) == 0);
            assert(sqlite3_bind_text(stmt, 3, "no such parameter", -1, 0) == 25);
            assert(sqlite3_step(stmt) == 100 && sqlite3_step(stmt) == 101 && sqlite3_finalize(stmt) == 0);
            assert(sqlite3_prepare16_v2(db, u"select ?, ?", -1, &stmt, &tail16) == 0);
            assert(sqlite3_bind_text16(stmt, 1, u"é", -1, 0) == 0 && sqlite3_bind_zeroblob(stmt, 2, 9) == 0);
            assert(sqlite3_step(stmt) == 100 && sqlite3_finalize(stmt) == 0);
            assert(sqlite3_prepare16_v3(db, u"select ?", -1, 0, &stmt, &tail16) == 0);
            assert(sqlite3_bind_blob64(stmt, 1, "\1\2", 2, (void (*)(void *))-1) == 0);
            assert(sqlite3_step(stmt) == 100 && sqlite3_finalize(stmt) == 0);
            assert(sqlite3_exec(db, "select 1; select 2 union select 3", count, &rows, 0) == 0 && rows == 3);
            assert(sqlite3_step(0) == 21 && sqlite3_finalize(0) == 0);
            assert(sqlite3_prepare_v3(db, "-- nothing", -1, 0, &stmt, 0) == 0 && stmt == 0);
            return sqlite3_close(db);
        }
    """, shared_sqlite())  # fmt: skip
    assert [(each["text"], each["rows"], each["values"]) for each in record(tmp_path, [str(program)])] == [
        ("select ?, ?", 1, ["0.5", str(1 << 40)]),
        ("select ?, ?", 1, ["null", "null"]),
        ("values (?, ?)", 1, ["'free'", "'whole'"]),
        ("select ?, ?", 1, ["'é'", "unknown"]),
        ("select ?", 1, ["'0102'"]),
        ("select 1", 1, []),
        ("select 2 union select 3", 2, []),
    ]


@needs_compiler
def test_a_plugin_with_a_copy_of_sqlite_keeps_it(tmp_path: Path) -> None:
    # Its calls of its own functions pass the dynamic linker, too. One function ends with a jump to another.
    plugin = compiled(tmp_path, "plugin.so", """
        int sqlite3_step(void *stmt) { return stmt ? 42 : 43; }
        int sqlite3_close(void *db) { return 44; }
        int sqlite3_bind_int64(void *stmt, int at, long long value) { return at + value; }
        int sqlite3_bind_int(void *stmt, int at, int value) { return sqlite3_bind_int64(stmt, at, value); }
        int own(int first, int second) {
            return sqlite3_step(0) * 10000 + sqlite3_close(0) * 100 + sqlite3_bind_int(0, first, second);
        }
    """, "-shared", "-fPIC", "-O2")  # fmt: skip
    rows = record(tmp_path, python(tmp_path, f"""
        import ctypes, sqlite3
        connection = sqlite3.connect(":memory:")
        assert ctypes.CDLL({str(plugin)!r}).own(1, 2) == 434403
        connection.execute("select 1")
        assert ctypes.CDLL({str(plugin)!r}).own(1, 2) == 434403
    """))  # fmt: skip
    assert [each["text"] for each in rows] == ["select 1"]


def test_a_program_may_close_all_descriptors(tmp_path: Path) -> None:
    command = python(tmp_path, """
        import os, sqlite3, sys, time
        connection = sqlite3.connect(":memory:")
        connection.execute("select 1 as a")
        os.closerange(3, 4096)
        file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
        for each in range(100, 140):
            os.dup2(file, each)
        for each in range(3):
            time.sleep(0.03)
            connection.execute("select 1 as b")
        assert os.fstat(file).st_size == 0
    """)  # fmt: skip
    header, code = record_program(command, tmp_path / "day.trace", OBSERVER)
    assert code == 0
    assert header is not None
    # What waited when it lost its connection is lost.
    assert (header.statements, header.dropped) == (3, 1)
    assert [each["text"] for each in recorded(tmp_path / "day.trace")] == ["select 1 as a", *["select 1 as b"] * 2]


def test_a_recorder_that_is_behind_drops_statements_and_counts_them(tmp_path: Path) -> None:
    command = python(tmp_path, f"""
        import os, pathlib, sqlite3, sys, time
        here = pathlib.Path({str(tmp_path)!r})
        connection = sqlite3.connect(":memory:")
        for each in range(2000):
            connection.execute("select ?", ("x" * 10_000,))
        (here / "done").touch()
        while not (here / "read").exists():
            time.sleep(0.001)
        connection.execute("select ?", ("x" * 10_000,))
    """)  # fmt: skip
    program = ObservedProgram(command, tmp_path)
    # Nothing is read until then.
    appears(tmp_path / "done")
    reports = program.reports()
    first = next(report for _, report in reports if report is not None)
    (tmp_path / "read").touch()
    found = [first, *(report for _, report in reports if report is not None)]
    assert program.process.wait() == 0
    executed = sum(isinstance(each[0], int) for each in found)
    dropped = sum(each[1] for each in found if each[0] == "dropped")
    assert executed + dropped == 2001
    assert dropped > 0


def test_a_program_goes_on_when_the_recorder_is_killed(cli: Cli) -> None:
    command = python(cli.directory, """
        import pathlib, sqlite3, sys, time
        connection = sqlite3.connect(":memory:")
        connection.execute("select 1")
        pathlib.Path("begun").touch()
        while not pathlib.Path("killed").exists():
            connection.execute("select 1")
            time.sleep(0.001)
        for each in range(1000):
            connection.execute("select ?", ("x" * 5000,))
        pathlib.Path("done").touch()
    """)  # fmt: skip
    process = cli.start("capture", "-o", "day.trace", "--", *command)
    appears(cli.directory / "begun")
    process.kill()
    process.wait()
    (cli.directory / "killed").touch()
    appears(cli.directory / "done")
    process.communicate()


def appears(path: Path) -> None:
    """Wait for a file."""
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.01)


def test_sigterm_ends_the_program_and_keeps_its_statements(cli: Cli) -> None:
    command = python(cli.directory, """
        import pathlib, sqlite3, time
        connection = sqlite3.connect(":memory:")
        connection.execute("select 1")
        pathlib.Path("begun").touch()
        time.sleep(600)
    """)  # fmt: skip
    process = cli.start("capture", "-o", "day.trace", "--", *command)
    appears(cli.directory / "begun")
    # A shell sends Ctrl-C to both; alone it ends neither.
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "day.trace: 1 statement of 1 session" in errors
    assert f"{sys.executable} was ended by signal 15" in errors
    assert [each["text"] for each in recorded(cli.directory / "day.trace")] == ["select 1"]


def test_problems_of_programs(cli: Cli) -> None:
    told = cli.spawn("capture", "-o", "day.trace", "--", "true", code=2)
    assert "true: no statement was recorded; it may contain SQLite itself" in told
    process = cli.start("capture", "-o", "day.trace", "--", "false")
    assert "false: no statement was recorded, and the program ended with code 1" in process.communicate()[1]
    assert process.returncode == 1
    told = cli.spawn("capture", "-o", "day.trace", "--", "./nowhere", code=2)
    assert "./nowhere: no such file or directory; give a program that can be run" in told
    told = cli.spawn("capture", "-o", "day.trace", "--listen", "127.0.0.1:0", "--", "true", code=2)
    assert "give one source to record from" in told
    assert not list(cli.directory.glob("day.trace*"))
