"""Replays on servers: what was recorded through the proxy has the same rows and errors on a copy."""

import json
import re
import subprocess
import threading
from collections.abc import Callable
from datetime import date
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
