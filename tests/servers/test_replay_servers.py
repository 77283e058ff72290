"""Replays on servers: what was recorded through the proxy has the same rows and errors on a copy."""

import json
import re
import struct
import subprocess
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from authenticated import ENGINES, PASSWORD, Place
from conftest import Cli
from test_proxy import attempted, capture, connected, server_url

# Servers are started.
pytestmark = pytest.mark.slow

TABLE = "create table t (id int primary key, n int not null, v varchar(40))"


def connected_to(engine: str, port: int, database: str) -> Any:
    return connected(engine, port, **{"dbname" if engine == "postgresql" else "database": database})


def make_copies(engine: str, port: int) -> None:
    """Equal databases: one to record, and two to replay on."""
    connection = connected(engine, port)
    if engine == "postgresql":
        connection.autocommit = True
    rows = ", ".join(f"({number}, 0, 'row')" for number in range(50))
    for database in ("app", "copy1", "copy2"):
        connection.cursor().execute(f"create database {database}")
        with connected_to(engine, port, database) as made:
            made.cursor().execute(TABLE)
            made.cursor().execute(f"insert into t values {rows}")
            made.commit()
    connection.close()


def apply(engine: str, port: int, session: int) -> None:
    """What a session of the application does: transactions, a conflict, a rollback, errors, values of many kinds."""
    with connected_to(engine, port, "app") as connection:
        cursor = connection.cursor()
        for number in range(10):
            cursor.execute("select v, n from t where id = %s", (number,))
            cursor.fetchall()
            cursor.execute("update t set n = n + %s, v = %s where id = %s", (-1, r"it's \ ä", session))
            new = 100 + 20 * session + number
            cursor.execute("insert into t values (%s, %s, %s)", (new, number, None))
            connection.rollback() if number == 5 else connection.commit()
        assert attempted(lambda: cursor.execute("insert into t values (%s, 0, 'again')", (session,)))
        connection.rollback()
        cursor.execute("select count(*) from t where id < %s", (50,))
        connection.commit()
        if engine == "postgresql":
            typed = "select id from t where id = any(%b) and %b + interval '1 day' > '2020-01-01' and n < %b * 10"
            assert len(cursor.execute(typed, ([1, 2, 3], date(2024, 5, 6), Decimal("1e9"))).fetchall()) == 3
            assert cursor.execute("select %s || %s", (b"\0\1", b"\2")).fetchall() == [(b"\0\1\2",)]


def contents(engine: str, port: int, database: str) -> list[Any]:
    with connected_to(engine, port, database) as connection:
        cursor = connection.cursor()
        cursor.execute("select * from t order by id")
        return list(cursor.fetchall())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_replay_does_what_the_application_did(
    make_place: Callable[[str], Place], tmp_path: Path, engine: str
) -> None:
    here, cli = make_place(engine), Cli(tmp_path)
    with here.start(None, demanded=False) as server:
        make_copies(engine, server.port)
        with capture(cli, server_url(engine, server, sslmode="disable"), "--values", "keep") as (port, _):
            sessions = [threading.Thread(target=apply, args=(engine, port, session)) for session in range(4)]
            for each in sessions:
                each.start()
            for each in sessions:
                each.join()

        def url(database: str) -> str:
            return f"{engine}://{here.login}@127.0.0.1:{server.port}/{database}"

        refused = cli("replay", "day.trace", "--system", url("copy1"), code=2)
        assert "may write" in refused and "--allow-writes" in refused
        assert PASSWORD not in refused
        untouched = contents(engine, server.port, "copy2")
        assert contents(engine, server.port, "copy1") == untouched
        systems = ("--system", url("copy1"), "--system", url("copy2"))
        shown = cli("replay", "day.trace", *systems, "--allow-writes", "--json", "out.json")
        assert "Rows and errors are equal" in shown
        found = json.loads((tmp_path / "out.json").read_text())
        assert [each["statements"] for each in found["systems"]] == [found["statements"]] * 2
        assert found["left_out"] == {}
        assert [each["differing"] for each in found["comparisons"]] == [0, 0, 0]
        expected = contents(engine, server.port, "app")
        assert expected != untouched
        for database in ("copy1", "copy2"):
            assert contents(engine, server.port, database) == expected
        # Once more, on what the first replay has changed: the new rows are there already.
        shown = cli("replay", "day.trace", "--system", url("copy1"), "--speed", "max", "--allow-writes")
        # The server's processes are found by its socket.
        assert re.search(r"copy1: CPU [\d.]+ ms, .*log bytes.* per transaction\.", shown)
        assert f"New error {'23505' if engine == 'postgresql' else '1062'}, 36 times" in shown


@pytest.mark.parametrize("engine", ["postgresql"])
def test_pgbench_is_replayed(make_place: Callable[[str], Place], tmp_path: Path, engine: str) -> None:
    here, cli = make_place(engine), Cli(tmp_path)
    program = here.installation.programs["postgres"].with_name("pgbench")
    with here.start(None, demanded=False) as server:

        def pgbench(port: int, *options: str) -> None:
            command = [program, "-h", "127.0.0.1", "-p", str(port), "-U", "me", *options, "postgres"]
            environment = {"PGPASSWORD": PASSWORD, "PGSSLMODE": "disable"}
            subprocess.run(command, env=environment, check=True, capture_output=True)

        pgbench(server.port, "-i", "-q")
        with connected(engine, server.port, autocommit=True) as connection:
            connection.execute("create database copy template postgres")
        with capture(cli, server_url(engine, server, sslmode="disable"), "--values", "keep") as (port, _):
            pgbench(port, "-n", "-c", "4", "-t", "30", "-M", "prepared")
        url = f"{engine}://{here.login}@127.0.0.1:{server.port}/copy"
        for speed in ("1", "max"):
            shown = cli("replay", "day.trace", "--system", url, "--speed", speed, "--allow-writes")
            assert "Rows and errors are equal" in shown
        with connected(engine, server.port) as connection:
            recorded = connection.execute("select count(*), sum(delta) from pgbench_history").fetchone()
        with connected_to(engine, server.port, "copy") as connection:
            replayed = connection.execute("select count(*), sum(delta) from pgbench_history").fetchone()
        assert (replayed[0], replayed[1]) == (2 * recorded[0], 2 * recorded[1])


# More statements than a session of a replay keeps, each twice.
MANY = [*range(1100), *range(1100)]

# Named statements of the session that were executed this many times since they were parsed.
NAMED = "select name from pg_prepared_statements where custom_plans + generic_plans = 10"

PREPARED_VALUES = [
    ("int8", 1 << 62), ("int4", -7), ("text", "it's \\ ä"), ("text", None), ("bytea", b"\0\xff"), ("float8", 0.1),
    ("float8", float("-inf")), ("bool", True), ("date", date(2024, 2, 29)), ("numeric", Decimal("1.50")),
    ("timestamptz", datetime(2024, 2, 29, 1, 2, 3, 4, UTC)), ("int4[]", [1, None, 3]), ("json", "{}"),
]  # fmt: skip


def prepare_on_postgresql(port: int) -> None:
    """Named statements, and unnamed ones."""
    with connected_to("postgresql", port, "app") as connection:
        connection.autocommit = True
        for binary in (False, True):
            for prepare in (True, False):
                for number, (kind, value) in enumerate(PREPARED_VALUES):
                    text = f"select id from t where v = {'%b' if binary else '%t'}::{kind}::text or id = %s"
                    connection.execute(text, (value, number), prepare=prepare)
                    equal = f"select 1 where {'%b' if binary else '%t'}::{kind}::text is not distinct from %s"
                    shown = connection.execute(f"select %t::{kind}::text", (value,), prepare=prepare).fetchone()[0]
                    assert connection.execute(equal, (value, shown), prepare=prepare).rowcount == 1
        for _ in range(2):
            connection.execute("deallocate all")
            for number in range(10):
                connection.execute("update t set n = n + 1 where id = %s", (number,), prepare=True)
                # Its plan depends on the declared type.
                connection.execute("select %s + 1", (number,), prepare=True)
                connection.execute("select id from t where n = %s", (number,), prepare=False)
            assert connection.execute(NAMED, prepare=False).rowcount == 2
        connection.prepared_max = None
        for each in MANY:
            assert connection.execute(f"select id + {each} from t where id = %s", (7,), prepare=True).rowcount == 1
        for number in range(3):
            connection.execute("insert into other values (%s)", (number,), prepare=True)
            connection.execute("select count(*) from other where a = %s", (number,), prepare=True)


@pytest.mark.parametrize("engine", ["postgresql"])
def test_statements_are_prepared_as_the_application_did(
    make_place: Callable[[str], Place], tmp_path: Path, engine: str
) -> None:
    here, cli = make_place(engine), Cli(tmp_path)
    with here.start(None, demanded=False) as server:
        make_copies(engine, server.port)
        for database in ("app", "copy1"):
            with connected_to(engine, server.port, database) as connection:
                connection.execute("create table other (a int)")
        with capture(cli, server_url(engine, server, sslmode="disable"), "--values", "keep") as (port, _):
            prepare_on_postgresql(port)
        system = f"{engine}://{here.login}@127.0.0.1:{server.port}"
        shown = cli("replay", "day.trace", "--system", f"{system}/copy1", "--allow-writes", "--json", "out.json")
        assert "Rows and errors are equal" in shown
        assert json.loads((tmp_path / "out.json").read_text())["left_out"] == {}
        # A statement that can't be prepared is an error, and the session goes on.
        shown = cli("replay", "day.trace", "--system", f"{system}/copy2", "--allow-writes", "--json", "out.json")
        assert "New error 42P01, 6 times" in shown
        expected = contents(engine, server.port, "app")
        assert contents(engine, server.port, "copy1") == contents(engine, server.port, "copy2") == expected


class Prepared:
    """A statement of MySQL's binary protocol, which PyMySQL doesn't have."""

    def __init__(self, connection: Any, text: str) -> None:
        self.connection = connection
        connection._execute_command(0x16, text)
        answer = connection._read_packet().get_all_data()
        self.number, columns, parameters = struct.unpack("<xIHH", answer[:9])
        for count in (parameters, columns):
            # An end follows the definitions.
            for _ in range(count + 1 if count else 0):
                connection._read_packet()

    def execute(self, *values: tuple[int, bytes | None]) -> int:
        """Execute it with types and values. Return the rows that were returned or changed."""
        nulls = sum(1 << at for at, (_, value) in enumerate(values) if value is None)
        packet = struct.pack("<IBI", self.number, 0, 1)
        if values:
            packet += nulls.to_bytes((len(values) + 7) // 8, "little") + b"\1"
            packet += b"".join(struct.pack("<H", kind) for kind, _ in values)
            packet += b"".join(value for _, value in values if value is not None)
        self.connection._execute_command(0x17, packet)
        first = self.connection._read_packet()
        if first.is_ok_packet():
            return int(first.get_all_data()[1])
        packets, ends = 0, 0
        while ends < 2:
            ends += self.connection._read_packet().is_eof_packet()
            packets += ends == 1
        return packets - 1


def counted(text: str) -> bytes:
    content = text.encode()
    return bytes([len(content)]) + content


LONGLONG, DOUBLE, STRING, BLOB, DATETIME, UNSIGNED = 8, 5, 253, 252, 12, 0x8000


def prepare_on_mysql(engine: str, port: int) -> None:
    with connected_to(engine, port, "app") as connection:
        connection.autocommit(True)
        insert = Prepared(connection, "insert into typed values (?, ?, ?, ?, ?, ?)")
        find = Prepared(connection, "select id from typed where u = ? and r = ? and s = ? and b = ? and d = ?")
        values = [
            (LONGLONG | UNSIGNED, b"\xff" * 8), (DOUBLE, struct.pack("<d", 0.1)), (STRING, counted("it's \\ ä")),
            (BLOB, b"\2\0\xff"), (DATETIME, b"\4\xe8\x07\2\x1d"),
        ]  # fmt: skip
        for number in range(20):
            assert insert.execute((LONGLONG, struct.pack("<q", number)), *values) == 1
            assert find.execute(*values) == number + 1
        assert insert.execute((LONGLONG, struct.pack("<q", 20)), *((kind, None) for kind, _ in values)) == 1
        for number in range(10):
            # As drivers do that prepare each time.
            once = Prepared(connection, "select v from t where id = ?")
            assert once.execute((LONGLONG, struct.pack("<q", number))) == 1
            connection._execute_command(0x19, struct.pack("<I", once.number))
            with connection.cursor() as cursor:
                cursor.execute("select n from t where id = %s", (number,))
        for name, count in (("prepare", 12), ("execute", 51)):
            with connection.cursor() as cursor:
                # Of the session: the replay's has as many.
                text = "show session status where variable_name = %s and value = %s"
                assert cursor.execute(text, (f"Com_stmt_{name}", count)) == 1
        many = {each: Prepared(connection, f"select id + {each} from t where id = 7") for each in range(1100)}
        assert all(many[each].execute() == 1 for each in MANY)


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_statements_are_prepared_as_often_as_by_the_application(
    make_place: Callable[[str], Place], tmp_path: Path, engine: str
) -> None:
    here, cli = make_place(engine), Cli(tmp_path)
    with here.start(None, demanded=False) as server:
        make_copies(engine, server.port)
        typed = "create table typed (id int, u bigint unsigned, r double, s varchar(40), b blob, d datetime)"
        for database in ("app", "copy1"):
            with connected_to(engine, server.port, database).cursor() as cursor:
                cursor.execute(typed)
        with capture(cli, server_url(engine, server, sslmode="disable"), "--values", "keep") as (port, _):
            prepare_on_mysql(engine, port)
        system = f"{engine}://{here.login}@127.0.0.1:{server.port}/copy1"
        shown = cli("replay", "day.trace", "--system", system, "--allow-writes", "--json", "out.json")
        assert "Rows and errors are equal" in shown
        assert json.loads((tmp_path / "out.json").read_text())["left_out"] == {}
