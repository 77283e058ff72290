"""The proxy: an application has the same results through it as without it, and its statements are recorded."""

import gzip
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet
import pytest

from authenticated import ENGINES, PASSWORD, Place
from conftest import Cli
from dbdyno.base.errors import SystemFailed
from dbdyno.engines.server.server import Server
from dbdyno.engines.url import parse_url
from dbdyno.trace.journal import journal_of
from dbdyno.trace.proxy import Proxy, ProxyOptions
from dbdyno.trace.reading import open_trace
from test_check_command import lines_of

# Servers are started.
pytestmark = pytest.mark.slow

pymysql = pytest.importorskip("pymysql", reason="there is no PyMySQL here")

# What an application sends besides names of tables and columns.
PLANTED = ("planted-value", "planted-row", "planted-password", "planted-comment", "planted-name", PASSWORD)

Row = tuple[str, int | None, int | None, str | None]


def connected(engine: str, port: int, **options: Any) -> Any:
    if engine == "postgresql":
        return psycopg.connect(
            host="127.0.0.1", port=port, user="me", password=PASSWORD,
            application_name="planted-name", **({"sslmode": "disable", "dbname": "postgres"} | options),
        )  # fmt: skip
    return pymysql.connect(
        host="127.0.0.1", port=port, user="me", password=PASSWORD, program_name="planted-name",
        local_infile=True, client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS, **({"database": "dbdyno"} | options),
    )  # fmt: skip


def attempted(execute: Callable[[], Any]) -> Any:
    """What a statement returns, or the code of its error."""
    try:
        return execute()
    except psycopg.Error as error:
        return error.sqlstate
    except pymysql.err.MySQLError as error:
        return error.args[0]


def work(engine: str, port: int, file: Path, **options: Any) -> list[Any]:
    """Do what an application does, and return all results."""
    found: list[Any] = []
    connection = connected(engine, port, **options)
    with connection, connection.cursor() as cursor:
        cursor.execute("drop table if exists t")
        cursor.execute("create table t (a int primary key, b varchar(60))")
        connection.commit()
        for number in range(8):
            cursor.execute("insert into t values (%s, %s)", (number, f"planted-value {number}"))
            cursor.execute("select * from t where a = %s /* planted-comment */", (number,))
            found.append(cursor.fetchall())
            connection.commit()
        found.append(attempted(lambda: cursor.execute("insert into t values (1, 'planted-value')")))
        connection.rollback()
        found += (copy if engine == "postgresql" else load)(cursor, file)
        connection.commit()
        cursor.execute("select a, b from t order by a")
        found.append(cursor.fetchall())
        connection.commit()
    if engine == "postgresql":
        found += pipeline(port, **options)
    return found


def copy(cursor: Any, _file: Path) -> list[Any]:
    with cursor.copy("copy t from stdin") as into:
        for number in range(100, 3000):
            into.write_row((number, "planted-row"))
    with cursor.copy("copy t to stdout") as out:
        read = b"".join(out)
    cursor.execute("create role bob password 'planted-password'")
    cursor.execute("drop role bob")
    return [read]


def load(cursor: Any, file: Path) -> list[Any]:
    file.write_text("".join(f"{number}\tplanted-row\n" for number in range(100, 30_000)))
    found = [cursor.execute(f"load data local infile '{file}' into table t")]
    cursor.execute("create user bob identified by 'planted-password'")
    cursor.execute("drop user bob")
    cursor.execute("select 1; select a from t limit 2")
    found.append(cursor.fetchall())
    cursor.nextset()
    return [*found, cursor.fetchall()]


def pipeline(port: int, **options: Any) -> list[Any]:
    """Prepared statements in a pipeline, a cursor, a cancelled statement."""
    found: list[Any] = []
    with connected("postgresql", port, autocommit=True, prepare_threshold=0, **options) as connection:
        with connection.pipeline():
            cursors = [connection.execute("select %s::text", (f"planted-value {each}",)) for each in range(3)]
            cursors.append(connection.execute("update t set b = b where a < %s", (5,)))
            found += [each.fetchall() for each in cursors[:3]]
        with connection.transaction(), connection.cursor("c") as cursor:
            cursor.execute("select a from t order by a")
            found.append(cursor.fetchmany(3))
        with subprocess.Popen(["sleep", "0.2"]) as sleeping:
            found.append(attempted(lambda: cancelled(connection, sleeping)))
    return found


def cancelled(connection: Any, sleeping: "subprocess.Popen[bytes]") -> None:
    import threading

    threading.Thread(target=lambda: (sleeping.wait(), connection.cancel())).start()
    connection.execute("select pg_sleep(20)")


@contextmanager
def capture(cli: Cli, url: str, *options: str) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    """Record to `day.trace`. The recording ends with the context."""
    (cli.directory / "day.trace").unlink(missing_ok=True)
    process = cli.start("capture", "--listen", "127.0.0.1:0", "--to", url, "-o", "day.trace", *options)
    assert process.stdout is not None
    first = process.stdout.readline()
    found = re.match(r"Listening at 127\.0\.0\.1:(\d+)\.", first)
    assert found, (first, process.communicate())
    try:
        yield int(found[1]), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode == 0) is ("statements of" in out), (out, errors)


def recorded(path: Path) -> list[Row]:
    """The statements of a trace with their transaction, rows and error, in order."""
    trace = open_trace(path)
    return [
        (trace.texts[text], number, rows, error)
        for each in trace.batches
        for text, number, rows, error in zip(each.statement, each.transaction, each.rows, each.error, strict=True)
    ]


def no_byte_of_values(directory: Path) -> None:
    trace = directory / "day.trace"
    content = f"{pyarrow.parquet.read_metadata(trace).metadata} {pyarrow.parquet.read_table(trace).to_pylist()}"
    assert "insert into t values" in content
    assert [each for each in PLANTED if each in content] == []


def server_url(engine: str, server: Server, **options: str) -> str:
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return f"{engine}://127.0.0.1:{server.port}/?{query}".rstrip("?")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_application_gets_the_same_through_the_proxy(
    make_place: Callable[[str], Place], tmp_path: Path, engine: str
) -> None:
    here = make_place(engine)
    cli = Cli(tmp_path)
    with here.start(None, demanded=False) as server:
        if engine == "mysql":
            with connected(engine, server.port) as connection:
                connection.cursor().execute("set global local_infile = 1")
        direct = work(engine, server.port, tmp_path / "rows")
        with capture(cli, server_url(engine, server, sslmode="disable")) as (port, _):
            assert work(engine, port, tmp_path / "rows") == direct
            journal = journal_of(tmp_path / "day.trace")
            time.sleep(1.2)
            written = gzip.decompress(journal.read_bytes())
            assert b"insert into t values" in written
            assert [each for each in PLANTED if each.encode() in written] == []
    no_byte_of_values(tmp_path)
    rows = recorded(tmp_path / "day.trace")
    texts = [each[0] for each in rows]
    inserts = [each for each in rows if each[0] == "insert into t values (?, ?)"]
    assert [(each[2], each[3]) for each in inserts[:8]] == [(1, None)] * 8
    # Each is in a transaction of its own, with its query.
    assert len({each[1] for each in inserts[:8]}) == 8
    assert None not in {each[1] for each in inserts}
    of_first = [each[0] for each in rows if each[1] == inserts[0][1]]
    assert of_first[-3:] == ["insert into t values (?, ?)", "select * from t where a = ?", "commit"]
    errors = [each[3] for each in rows if each[3] is not None]
    assert errors == (["23505", "57014"] if engine == "postgresql" else ["1062"])
    if engine == "postgresql":
        assert [each[2] for each in rows if each[0] == "copy"] == [2900, 2908]
        assert [each[2] for each in rows if each[0] == "select ?::text"] == [1, 1, 1]
        assert ("update t set b = b where a < ?", None, 5, None) in rows
        assert "create role" in texts
    else:
        assert [each[2] for each in rows if each[0] == "load"] == [29_900]
        assert ("(several statements)", None, 3, None) in [(*each[:1], None, *each[2:]) for each in rows]
        assert "create user" in texts


@pytest.mark.parametrize("engine", ENGINES)
def test_both_sides_may_be_encrypted(make_place: Callable[[str], Place], tmp_path: Path, engine: str) -> None:
    here = make_place(engine)
    cli = Cli(tmp_path)
    encrypted: dict[str, Any] = (
        {"sslmode": "require", "channel_binding": "disable"}
        if engine == "postgresql"
        else {"ssl": {"ca": str(here.work / "ca.crt"), "check_hostname": False}}
    )
    plain: dict[str, Any] = {} if engine == "postgresql" else {"ssl_disabled": True}
    with here.start("server", demanded=False) as server:
        own = ("--tls-certificate", str(here.work / "server.crt"), "--tls-key", str(here.work / "server.key"))
        for of_server in ({"sslmode": "verify-ca", "sslrootcert": str(here.work / "ca.crt")}, {"sslmode": "disable"}):
            with capture(cli, server_url(engine, server, **of_server), *own, "--values", "keep") as (port, _):
                for options in (encrypted, plain):
                    with connected(engine, port, **options) as connection, connection.cursor() as cursor:
                        cursor.execute("select '0123', '123', 123")
                        assert [tuple(each) for each in cursor.fetchall()] == [("0123", "123", 123)]
            trace = open_trace(tmp_path / "day.trace")
            assert trace.header.values == "kept"
            kept = [values for each in trace.batches for values in each.values if values]
            # A number after `select` may be a flag, which belongs to the statement.
            assert [each[:2] for each in kept] == [["'0123'", "'123'"]] * 2


@pytest.mark.parametrize("engine", ENGINES)
def test_dbdyno_checks_a_server_through_the_proxy(
    make_place: Callable[[str], Place], tmp_path: Path, engine: str
) -> None:
    here = make_place(engine)
    cli = Cli(tmp_path)
    with here.start(None, demanded=False) as server:
        with capture(cli, server_url(engine, server, sslmode="disable")) as (port, _):
            # Values of all types in prepared statements, long values, loads, lost connections, errors.
            lines = lines_of(cli("check", f"{engine}://{here.login}@127.0.0.1:{port}/"))
        assert len(lines) == len(lines_of(cli("check", f"{engine}://{here.login}@127.0.0.1:{server.port}/")))
    assert set(lines.values()) == {"ok", "not applicable"}
    texts = {each[0] for each in recorded(tmp_path / "day.trace")}
    assert "create table" in texts
    assert len(texts) > 20


@pytest.fixture
def postgresql(make_place: Callable[[str], Place]) -> Iterator[Server]:
    with make_place("postgresql").start(None, demanded=False) as server:
        yield server


def test_a_killed_recording_has_all_but_the_last_second(postgresql: Server, tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    with capture(cli, server_url("postgresql", postgresql)) as (port, process):
        with connected("postgresql", port, autocommit=True) as connection:
            end, sent = time.monotonic() + 2.5, []
            while time.monotonic() < end:
                connection.execute("select 1")
                sent.append(time.monotonic())
            process.kill()
            killed = time.monotonic()
            process.wait()
        # The proxy ends with its recorder.
        with pytest.raises(psycopg.OperationalError):
            connected("postgresql", port, connect_timeout=5)
    shown = cli("capture", "--listen", "127.0.0.1:0", "--to", server_url("postgresql", postgresql), "-o", "day.trace",
                code=2)  # fmt: skip
    assert "day.trace.journal: a recording that has not ended, or was killed" in shown
    assert "statements of 1 session" in cli("trace", "convert", "day.trace.journal", "-o", "day.trace")
    rows = [each for each in recorded(tmp_path / "day.trace") if each[0] == "select 1"]
    assert sum(each < killed - 1 for each in sent) <= len(rows) <= len(sent)


def test_a_killed_proxy_ends_the_recording(postgresql: Server, tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    with capture(cli, server_url("postgresql", postgresql)) as (port, process):
        with connected("postgresql", port, autocommit=True) as connection:
            connection.execute("select 1")
            time.sleep(0.5)
            (proxy,) = (int(each) for each in children(process.pid))
            os.kill(proxy, signal.SIGKILL)
            process.wait(timeout=20)
            with pytest.raises(psycopg.OperationalError):
                connection.execute("select 1")
        assert process.returncode == 1
        assert process.stderr is not None
        assert "the proxy was killed by signal 9" in process.stderr.read()
    assert [each[0] for each in recorded(tmp_path / "day.trace")] == ["select 1"]


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_slow_recorder_delays_no_statement(postgresql: Server) -> None:
    url = server_url("postgresql", postgresql)
    proxy = Proxy(parse_url(url), ProxyOptions("127.0.0.1:0", queue_bytes=1_000_000))
    try:
        reports = proxy.reports()
        listening = next(reports)
        assert listening is not None
        port = int(listening[1].rpartition(":")[2])
        number, long = 1000, "x" * 20_000
        with connected("postgresql", port, autocommit=True) as connection:
            for each in range(number):
                connection.execute(f"select '{each}{long}'")
        # Only now are its reports read.
        proxy.stop()
        found = [each for each in reports if each is not None]
        dropped = sum(each[1] for each in found if each[0] == "dropped")
        assert dropped > 0
        assert dropped + sum(isinstance(each[0], int) for each in found) == number
    finally:
        proxy.kill()


def test_a_stopped_recorder_loses_statements_and_reports_them(postgresql: Server, tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    with capture(cli, server_url("postgresql", postgresql)) as (port, process):
        process.send_signal(signal.SIGSTOP)
        with connected("postgresql", port, autocommit=True) as connection:
            long = "x" * 200_000
            for each in range(300):
                connection.execute(f"select '{each}{long}'")
        process.send_signal(signal.SIGCONT)
    shown = " ".join(cli("trace", "show", "day.trace").split())
    found = re.search(r"a proxy, (\d+) statements of 1 session.*! (\d+) statements were dropped", shown)
    assert found is not None, shown
    assert int(found[1]) + int(found[2]) == 300


def test_what_is_wrong_is_told(postgresql: Server, tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    url = server_url("postgresql", postgresql)
    options = ("-o", "day.trace", "--listen")
    assert "the proxy can't connect to it" in cli("capture", *options, "0", "--to", "sqlite:x.db", code=2)
    assert "work_mem: the proxy can't apply settings" in cli(
        "capture", *options, "0", "--to", f"{url}?work_mem=1MB", code=2
    )
    taken = f"127.0.0.1:{postgresql.port}"
    assert f"{taken}: address already in use" in cli.invoke("capture", *options, taken, "--to", url).errors
    wrong = ("--tls-certificate", __file__, "--tls-key", __file__)
    assert "it contains no certificate" in cli.invoke("capture", *options, "0", "--to", url, *wrong).errors
    assert list(tmp_path.glob("day.trace*")) == []
    with capture(cli, "postgresql://127.0.0.1:1/") as (port, process):
        with pytest.raises(psycopg.OperationalError, match=r"dbdyno capture: 127\.0\.0\.1:1: connection refused"):
            connected("postgresql", port)
        assert process.stdout is not None
        assert "! 127.0.0.1:1: connection refused" in process.stdout.readline()


def test_a_proxy_that_cannot_start_fails() -> None:
    proxy = Proxy(parse_url("postgresql://127.0.0.1/"), ProxyOptions("nowhere"))
    with pytest.raises(SystemFailed, match="nowhere: "):
        list(proxy.reports())
