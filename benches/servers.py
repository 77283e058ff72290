"""The load on servers against their own load programs: same server, same statement, one after the other.

PostgreSQL against pgbench and psql, MariaDB against sysbench and its own client, as far as they are installed. Prints a
line for each figure and ends with 1 when one misses its target; some ten minutes. `--only NAME` picks those whose name
contains it. CPU is the client's whole process, its start and its end included, divided by the transactions it did.
"""

import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from figures import Figure, NotMeasuredError, descriptors_of, in_turn, run

from dbdyno.engines.server.data import create_data
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.server import Server, start_server
from dbdyno.engines.statements import places
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import worker_path

BLOCKS = 10
SECONDS = 2
SCALE = 10
ACCOUNTS = 100_000 * SCALE
ROWS = 300_000

SELECT = "SELECT abalance FROM pgbench_accounts WHERE aid = ?"
# sysbench's.
SBTEST = "SELECT c FROM sbtest1 WHERE id=?"
SBTEST_ROWS = 100_000

BYTES = 200
FRESH = ["drop table if exists loaded", "create table loaded (a integer, b integer, c varchar(200))"]


class Servers:
    """Servers, each started when it is first needed."""

    def __init__(self, directory: Path) -> None:
        directory.chmod(0o711)
        self.directory = directory
        self.stack = ExitStack()
        self._of: dict[str, Server] = {}

    def close(self) -> None:
        self.stack.close()

    def server(self, engine: str, settings: dict[str, str]) -> Server:
        if engine not in self._of:
            found = find_installations(engine)
            if not found:
                raise NotMeasuredError(f"no {engine} server is installed")
            data = self.directory / engine
            create_data(found[0], data)
            server = start_server(found[0], data, self.directory, settings)
            self.stack.callback(server.stop, 5.0)
            self._of[engine] = server
        return self._of[engine]

    @property
    def postgresql(self) -> Server:
        fresh = "postgresql" not in self._of
        server = self.server(
            "postgresql", {"shared_buffers": "512MB", "max_connections": "1100", "max_wal_size": "8GB"}
        )
        if fresh:
            subprocess.run([*self.pgbench(server), "-i", "-q", "-s", str(SCALE)], check=True, capture_output=True)
        return server

    @property
    def mysql(self) -> Server:
        fresh = "mysql" not in self._of
        settings = {"innodb_buffer_pool_size": "512M", "max_connections": "1100"}
        server = self.server("mysql", settings)
        if fresh and shutil.which("sysbench"):
            subprocess.run([*self.sysbench(server), "prepare"], check=True, capture_output=True)
        return server

    def pgbench(self, server: Server) -> list[str]:
        program = server.installation.programs["postgres"].with_name("pgbench")
        return [str(program), "-h", str(server.socket), "-p", str(server.port), "-U", server.user, server.database]

    def sysbench(self, server: Server) -> list[str]:
        where = [f"--mysql-socket={server.socket}", f"--mysql-user={server.user}", f"--mysql-db={server.database}"]
        table = ["--tables=1", f"--table-size={SBTEST_ROWS}", "--rand-type=uniform"]
        return ["sysbench", "oltp_point_select", "--db-driver=mysql", *where, *table]


def timed(command: list[str], text: str = "") -> tuple[str, float, float]:
    """Run a command; its output, its CPU seconds, and seconds."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as out:
        given.write(text)
        given.seek(0)
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{command[0]} ended with {process.returncode}")
        out.seek(0)
        return out.read(), usage.ru_utime + usage.ru_stime, seconds


def ours(server: Server, clients: int, transaction: dict[str, Any], **task: Any) -> tuple[float, float, dict[str, Any]]:
    """Transactions a second, CPU seconds of a transaction, and the result."""
    plan = {
        "schema": PLAN,
        "seed": time.monotonic_ns() % 2**32,
        "task": {
            "kind": "trial",
            "target": target(server),
            "clients": clients,
            "threads": 1,
            "window": {"seconds": SECONDS},
            "statements": [
                {"name": f"s{i}", "sql": sql, "places": places(sql)} for i, sql in enumerate(transaction["statements"])
            ],
            "transactions": [{"name": "t", "steps": transaction["steps"]}],
        }
        | task,
    }
    out, cpu, _ = timed([str(worker_path())], json.dumps(plan))
    events = [json.loads(line) for line in out.splitlines()]
    result: dict[str, Any] = next(each for each in events if each["event"] == "result")
    done = result["accounting"]["ok"]
    if result["accounting"]["issued"] > done + clients:
        sys.exit(f"transactions failed: {result['failures']}")
    return done / result["elapsed_s"], cpu / done, result


@contextmanager
def one_processor(server: Server) -> Iterator[None]:
    """Keep the server and all that is started meanwhile on one processor, so that nobody is woken on another one.

    That wake-up is the kernel's, and in a virtual machine the host's: it costs both sides the same, and often more
    than all that they do themselves.
    """
    whole = os.sched_getaffinity(0)

    def keep(on: set[int]) -> None:
        os.sched_setaffinity(0, on)
        main = psutil.Process(server.pid)
        for process in (main, *main.children(recursive=True)):
            # It may have ended since.
            with suppress(psutil.NoSuchProcess):
                for thread in process.threads():
                    with suppress(ProcessLookupError):
                        os.sched_setaffinity(thread.id, on)

    keep({min(whole)})
    try:
        yield
    finally:
        keep(whole)


def select(sql: str, most: int) -> dict[str, Any]:
    step = {"do": "execute", "statement": 0, "params": [{"kind": "uniform", "low": 1, "high": most}]}
    return {"statements": [sql], "steps": [step]}


def by_pgbench(servers: Servers, server: Server, clients: int, threads: int, *options: str) -> tuple[float, float]:
    words = ["-n", "-M", "prepared", "-c", str(clients), "-j", str(threads), "-T", str(SECONDS), *options]
    out, cpu, _ = timed([*servers.pgbench(server), *words])
    done = int(re.search(r"actually processed: (\d+)", out)[1])  # type: ignore[index]
    rate = float(re.search(r"tps = ([\d.]+) \(without", out)[1])  # type: ignore[index]
    return rate, cpu / done


def by_sysbench(servers: Servers, server: Server, clients: int) -> tuple[float, float]:
    out, cpu, _ = timed([*servers.sysbench(server), f"--threads={clients}", f"--time={SECONDS}", "run"])
    found = re.search(r"queries: +(\d+) +\(([\d.]+) per sec", out)
    assert found is not None
    return float(found[2]), cpu / int(found[1])


def bare_client(servers: Servers) -> Path:
    program = servers.directory / "bare_client"
    subprocess.run(["cc", "-O2", "-o", program, Path(__file__).with_name("bare_client.c")], check=True)
    return program


def by_bare_client(program: Path, server: Server) -> tuple[float, float]:
    """Select by a client that only asks.

    The messages are those of MariaDB's client/server protocol: the answer to the server's greeting (protocol 4.1, no
    password), COM_STMT_PREPARE, COM_STMT_EXECUTE with one integer.
    """

    def packet(number: int, body: bytes) -> str:
        return (len(body).to_bytes(3, "little") + bytes([number]) + body).hex()

    # LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH.
    abilities = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000
    names = [server.user, "", server.database, "mysql_native_password"]
    greeting = struct.pack("<IIB23x", abilities, 1 << 24, 45) + b"".join(name.encode() + b"\0" for name in names)
    prepare = b"\x16" + SBTEST.encode()
    # A statement without a cursor, once; no nulls; the parameter is a LONG.
    execute = struct.pack("<BIBIBBHI", 0x17, 0, 0, 1, 0, 1, 3, 0)
    messages = [
        "read",
        f"send {packet(1, greeting)}",
        "read",
        f"send {packet(0, prepare)}",
        "read",
        f"ask {packet(0, execute)}",
    ]
    out, cpu, _ = timed([str(program), str(server.socket), str(SECONDS), str(SBTEST_ROWS)], "\n".join(messages) + "\n")
    asked, seconds = out.split()
    return int(asked) / float(seconds), cpu / int(asked)


def selects(
    whom: str,
    server: Server,
    look_up: dict[str, Any],
    theirs: Callable[[int, int], tuple[float, float]],
    cost: float,
    least: Callable[[], tuple[float, float]] | None = None,
) -> Iterator[Figure]:
    """Selects by one client and by eight, ours against theirs: the rate, and CPU of at most ``cost`` times theirs.

    Eight in a thread for each processor, as the worker has it by itself, and in one. One also with the server on the
    same processor. ``least``: one client that only asks; how its CPU is to ours and to theirs is told as well.
    """
    for clients, threads, together in ((1, 1, False), (1, 1, True), (8, os.cpu_count() or 1, False), (8, 1, False)):
        rates, costs, over, under = [], [], [], []
        with one_processor(server) if together else nullcontext():
            for block in range(BLOCKS):
                a, b = in_turn(
                    partial(rate_and_cpu, server, clients, look_up, threads), partial(theirs, clients, threads), block
                )
                rates.append(a[0] / b[0])
                costs.append(a[1] / b[1])
                if least is not None and clients == 1:
                    _, bare = least()
                    over.append(a[1] / bare)
                    under.append(bare / b[1])
        name = f"select, {clients} client(s) in {threads} thread(s), against {whom}"
        if together:
            name += ", one processor"
        yield Figure.of(f"{name}: rate", rates, 1.0, at_most=False)
        of_theirs = Figure.of(f"{name}: CPU", costs, 1.0 if together else cost, at_most=True)
        if under:
            of_theirs.spread += f", of a client that only asks {statistics.median(under):.3g}"
        yield of_theirs
        if over:
            yield Figure.of(f"{name}: CPU against a client that only asks", over, 1.2, at_most=True)


def rate_and_cpu(server: Server, clients: int, trial: dict[str, Any], threads: int = 1) -> tuple[float, float]:
    """The rate of our clients, and their CPU for a transaction."""
    rate, cpu, *_ = ours(server, clients, trial, threads=threads)
    return rate, cpu


def postgresql_select(servers: Servers) -> Iterator[Figure]:
    server = servers.postgresql
    look_up = select(SELECT, ACCOUNTS)
    theirs = partial(by_pgbench, servers, server)
    yield from selects("pgbench", server, look_up, lambda *many: theirs(*many, "-S"), 1.0)


def postgresql_tpcb(servers: Servers) -> Iterator[Figure]:
    server = servers.postgresql
    rates = []
    for block in range(BLOCKS):
        a, b = in_turn(lambda: rate_and_cpu(server, 8, tpcb()), lambda: by_pgbench(servers, server, 8, 1), block)
        rates.append(a[0] / b[0])
    yield Figure.of("TPC-B-like, 8 clients, against pgbench: rate", rates, 0.98, at_most=False)


def tpcb() -> dict[str, Any]:
    """pgbench's built-in script, as its documentation gives it."""

    def execute(statement: int, *names: str) -> dict[str, Any]:
        params = [{"kind": "variable", "name": name} for name in names]
        return {"do": "execute", "statement": statement, "params": params}

    def draw(name: str, low: int, high: int) -> dict[str, Any]:
        return {"do": "set", "variable": name, "value": {"kind": "uniform", "low": low, "high": high}}

    return {
        "statements": [
            "UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?",
            SELECT,
            "UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?",
            "UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?",
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP)",
        ],
        "steps": [
            draw("aid", 1, ACCOUNTS),
            draw("bid", 1, SCALE),
            draw("tid", 1, 10 * SCALE),
            draw("delta", -5000, 5000),
            {"do": "begin", "mode": "deferred"},
            execute(0, "delta", "aid"),
            execute(1, "aid"),
            execute(2, "delta", "tid"),
            execute(3, "delta", "bid"),
            execute(4, "tid", "bid", "aid", "delta"),
            {"do": "commit"},
        ],
    }


def mysql_select(servers: Servers) -> Iterator[Figure]:
    server = servers.mysql
    if shutil.which("sysbench") is None:
        raise NotMeasuredError("sysbench is not installed")
    # It has a thread for each client.
    theirs = partial(by_sysbench, servers, server)
    least = partial(by_bare_client, bare_client(servers), server)
    yield from selects("sysbench", server, select(SBTEST, SBTEST_ROWS), lambda clients, _: theirs(clients), 0.8, least)


def rows_file(servers: Servers) -> Path:
    path = servers.directory / "rows.tsv"
    if not path.exists():
        with path.open("w") as out:
            for row in range(1, ROWS + 1):
                out.write(f"{row}\t{row * 7919 % 1000003}\t{format(row, 'x') * 25:.{BYTES}}\n")
        path.chmod(0o644)
    return path


def loaded(server: Server, path: Path) -> float:
    """Seconds that our loading of the rows takes."""
    columns = [{"name": name, "stream": 1, "fill": {"kind": "constant", "value": None}} for name in ("a", "b", "c")]
    table = {"name": "loaded", "columns": columns, "rows": ROWS, "file": str(path)}
    task = {"kind": "load", "target": target(server), "before": FRESH}
    plan = {"schema": PLAN, "seed": 1, "task": task | {"tables": [table], "after": []}}
    out, _, _ = timed([str(worker_path())], json.dumps(plan))
    event = json.loads(out.splitlines()[-1])
    # What comes after the rows (vacuum, analyze) is not part of the other side's copy either.
    return float(event["tables"][0]["seconds"])


def loading(whom: str, server: Server, path: Path, shell: list[str], load: str) -> Figure:
    """Our loading of the rows against theirs: the rate.

    ``shell``: their client, to which a statement is added; ``load``: what it loads a file by, with ``{}`` for the file.
    """

    def theirs() -> float:
        for statement in FRESH:
            subprocess.run([*shell, statement], check=True, capture_output=True)
        return timed([*shell, load.format(path)])[2]

    ratios = []
    for block in range(BLOCKS):
        a, b = in_turn(lambda: loaded(server, path), theirs, block)
        ratios.append(b / a)
    return Figure.of(f"loading, rate against {whom}", ratios, 0.95, at_most=False)


def postgresql_loading(servers: Servers) -> Iterator[Figure]:
    server = servers.postgresql
    where = ["-h", str(server.socket), "-p", str(server.port), "-U", server.user, "-d", server.database, "-qX"]
    psql = [str(server.installation.programs["psql"]), *where]
    yield loading("psql \\copy", server, rows_file(servers), [*psql, "-c"], "\\copy loaded from '{}'")


def mysql_loading(servers: Servers) -> Iterator[Figure]:
    server = servers.mysql
    program = str(server.installation.programs["mariadb" if "mariadb" in server.installation.programs else "mysql"])
    shell = [program, "--no-defaults", "-S", str(server.socket), "-u", server.user, "--local-infile=1", server.database]
    load = "load data local infile '{}' into table loaded"
    yield loading("mariadb's LOAD DATA", server, rows_file(servers), [*shell, "-e"], load)


def many_clients(servers: Servers) -> Iterator[Figure]:
    server = servers.postgresql
    result = ours(server, 1000, select(SELECT, ACCOUNTS))[2]
    peak = result["memory"]["peak_rss_bytes"] / 1e6
    yield Figure("1,000 clients, memory of the worker, MB", peak, "n=1", 150, at_most=True)


def descriptors(servers: Servers) -> Iterator[Figure]:
    """A hundred connections a second, opened and closed, for a minute."""
    server = servers.postgresql
    plan = {
        "schema": PLAN,
        "seed": 1,
        "task": {
            "kind": "trial",
            "target": target(server),
            "clients": 4,
            "connect": "per-transaction",
            "arrival": {"loop": "open", "rate": 100},
            "window": {"seconds": 60},
            "statements": [{"name": "s", "sql": SELECT, "places": places(SELECT)}],
            "transactions": [{"name": "t", "steps": select(SELECT, ACCOUNTS)["steps"]}],
        },
    }
    result, seen = descriptors_of(plan, 10, 5.5)
    first, last = max(seen[:3]), min(seen[-3:])
    name = f"descriptors left by {result['accounting']['ok']:,} connections"
    yield Figure(name, last - first, f"{min(seen)} to {max(seen)}, n={len(seen)}", 0, at_most=True)


ALL = (
    postgresql_select,
    postgresql_tpcb,
    postgresql_loading,
    mysql_select,
    mysql_loading,
    many_clients,
    descriptors,
)


if __name__ == "__main__":
    # Where a server that runs as another user may go.
    sys.exit(run(Servers, ALL, __doc__, "/var/tmp"))
