"""The standard workloads against the programs that define them: data, statements, keys and throughput.

sysbench on PostgreSQL and MariaDB, go-ycsb on PostgreSQL, go-tpc on MariaDB. Each side has its own database on the same
server, of the same scale, and the same number of connections. Blocks of both sides alternate. The server counts the
statements; the keys are read from its log. Both sides commit without waiting for the device.

It installs missing programs: sysbench by apt-get, go-ycsb and go-tpc by go. Prints one line per result, and ends with
1 if a result misses its target. `--only NAME` selects benches by name. Takes about thirty minutes.
"""

import json
import math
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import psutil
from figures import Figure, NotMeasuredError, in_turn, run

from dbdyno.engines.server.data import create_data
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.server import Server, start_server
from dbdyno.engines.url import parse_url
from dbdyno.experiment import load_experiment
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells, parse_set
from dbdyno.model.events.answers import Loaded
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.tasks import Warmup, Window
from dbdyno.runtime.worker import ask, worker_path
from servers import timed

BLOCKS = 6
SECONDS = 6
CLIENTS = 4

ROWS = 100_000
RECORDS = 20_000

GO_YCSB = "github.com/pingcap/go-ycsb@v1.0.3"
GO_TPC = "github.com/pingcap/go-tpc@v1.0.7"

OURS, THEIRS = "ours", "theirs"

# The critical value of the two-sample Kolmogorov-Smirnov test at 1%, divided by the root of 1/n + 1/m.
KS_AT_1_PERCENT = 1.628
MAX_KEYS = 20_000

# Beginning of each entry in PostgreSQL's log.
MARK = "@@@"

Statement = tuple[str, list[str]]
"""A statement as the server logged it, in lower case, and its parameters or literals."""


@dataclass
class Side:
    """A block of one program: transactions per second, CPU seconds of the client and the server per transaction."""

    rate: float
    client: float
    server: float


@dataclass
class Comparison:
    """A workload and its reference. ``classes``: regular expressions of the statements to count, by name."""

    name: str
    experiment: str
    levels: Sequence[str]
    classes: Mapping[str, str]
    keys: Mapping[str, Callable[[Statement], str | None]]
    theirs: Callable[[float], list[str]]
    """Their command that runs the load for some seconds."""
    done: Callable[[str], tuple[float, float]]
    """The number of transactions in its output, and the seconds that they took."""
    prepare: Sequence[list[str]]
    table: str
    scattered: bool = False
    """Whether keys are the hashes of numbers, so that only their ranks can be compared."""
    logged_seconds: float = 2
    per: Mapping[str, int] = field(default_factory=dict)
    """How many statements of a class a transaction has, if not one."""
    shifts: Sequence[int] = ()
    """Constants to add to their keys before they are compared; the best is taken."""
    insert: Callable[[Statement], str | None] | None = None
    """The key that a statement inserts, if keys are drawn by how recently they were inserted."""
    used: int = 0
    """The counter at which our clients continue."""


class Database:
    """A server with a database for each side."""

    SESSIONS: str
    """Counts the sessions of both sides."""

    def __init__(self, directory: Path, engine: str, settings: Mapping[str, str], *, tcp: bool) -> None:
        found = find_installations(engine)
        if not found:
            raise NotMeasuredError(f"no {engine} server is installed")
        directory.chmod(0o711)
        data = directory / engine
        create_data(found[0], data)
        port = free_port() if tcp else None
        self.server: Server = start_server(found[0], data, directory, settings, tcp_port=port)
        self.installation = found[0]

    def sql(self, text: str, database: str | None = None) -> list[list[str]]:
        raise NotImplementedError

    def fresh(self) -> None:
        """Drop and create both databases."""
        for name in (OURS, THEIRS):
            self.sql(f"drop database if exists {name}")
            self.sql(f"create database {name}")

    def cpu(self) -> float:
        """CPU seconds of the server and of its processes that have ended."""
        while self.sql(self.SESSIONS) != [["0"]]:
            time.sleep(0.05)
        times = psutil.Process(self.server.pid).cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)

    def target(self, database: str) -> dict[str, object]:
        return target(self.server) | {"database": database}


class Postgresql(Database):
    SESSIONS = f"select count(*) from pg_stat_activity where datname in ('{OURS}', '{THEIRS}')"

    def __init__(self, directory: Path) -> None:
        settings = {
            "shared_buffers": "512MB",
            "max_wal_size": "8GB",
            "synchronous_commit": "off",
            "shared_preload_libraries": "pg_stat_statements",
            "log_line_prefix": f"{MARK}%d|",
        }
        super().__init__(directory, "postgresql", settings, tcp=False)
        self.began: dict[str, int] = {}
        self.sql("create extension pg_stat_statements")

    def sql(self, text: str, database: str | None = None) -> list[list[str]]:
        where = ["-h", str(self.server.socket), "-p", str(self.server.port), "-U", self.server.user]
        words = [str(self.installation.programs["psql"]), *where, "-qAtX", "-d", database or self.server.database]
        out = subprocess.run([*words, "-c", text], check=True, capture_output=True, text=True).stdout
        return [line.split("|") for line in out.splitlines()]

    def bytes(self, database: str, table: str) -> int:
        return int(self.sql(f"select pg_total_relation_size('{table}')", database)[0][0])

    def keys(self, database: str) -> list[str]:
        return [key for (key,) in self.sql("select ycsb_key from usertable order by ctid", database)]

    def settle(self, database: str) -> None:
        self.sql("vacuum analyze", database)
        self.sql("checkpoint")

    def forget(self) -> None:
        self.sql("select pg_stat_statements_reset()")

    def counts(self, database: str) -> Counter[str]:
        query = "select calls, translate(query, E'\\n|', '  ') from pg_stat_statements join pg_database on oid = dbid"
        counted: Counter[str] = Counter()
        for calls, text in self.sql(f"{query} where datname = '{database}'"):
            counted[plain(text)] += int(calls)
        return counted

    def log(self, database: str, *, on: bool) -> None:
        """Log the statements of the sessions that begin from now on."""
        self.sql(f"alter database {database} set log_statement = '{'all' if on else 'none'}'")
        if on:
            self.began[database] = self.server.log.stat().st_size

    def logged(self, database: str) -> Iterator[Statement]:
        text = self.server.log.read_bytes()[self.began[database] :].decode(errors="replace")
        statement: str | None = None
        for entry in text.split(MARK):
            whose, _, said = entry.partition("|")
            if whose != database:
                continue
            if found := re.match(r"LOG:  (?:execute \S+|statement): (.*)", said, re.DOTALL):
                if statement is not None:
                    yield of_literals(statement)
                statement = found[1]
            elif statement is not None and (found := re.match(r"DETAIL:  parameters: (.*)", said, re.DOTALL)):
                yield plain(statement), re.findall(r"\$\d+ = '((?:[^']|'')*)'", found[1])
                statement = None
        if statement is not None:
            yield of_literals(statement)


class Mariadb(Database):
    SESSIONS = f"select count(*) from information_schema.processlist where db in ('{OURS}', '{THEIRS}')"

    def __init__(self, directory: Path) -> None:
        settings = {
            "innodb_buffer_pool_size": "512M",
            "innodb_log_file_size": "512M",
            "innodb_flush_log_at_trx_commit": "2",
            "general_log_file": "statements.log",
        }
        super().__init__(directory, "mysql", settings, tcp=True)
        self.sql("create user bench@'127.0.0.1'")
        self.sql("grant all on *.* to bench@'127.0.0.1'")

    def sql(self, text: str, database: str | None = None) -> list[list[str]]:
        programs = self.installation.programs
        client = str(programs["mariadb" if "mariadb" in programs else "mysql"])
        words = [client, "--no-defaults", "-S", str(self.server.socket), "-u", self.server.user, "-N", "-B"]
        out = subprocess.run([*words, "-e", text, database or "mysql"], check=True, capture_output=True, text=True)
        return [line.split("\t") for line in out.stdout.splitlines()]

    def target(self, database: str) -> dict[str, object]:
        return super().target(database) | {"host": "127.0.0.1", "user": "bench"}

    def bytes(self, database: str, table: str) -> int:
        self.sql(f"analyze table {table}", database)
        where = f"table_schema = '{database}' and table_name = '{table}'"
        return int(self.sql(f"select data_length + index_length from information_schema.tables where {where}")[0][0])

    def settle(self, database: str) -> None:
        del database

    def log(self, database: str, *, on: bool) -> None:
        path = self.server.data / "statements.log"
        if on:
            path.unlink(missing_ok=True)
            self.sql("flush general logs")
        self.sql(f"set global general_log = {'on' if on else 'off'}")
        if not on:
            shutil.copy(path, path.with_suffix(f".{database}"))

    def logged(self, database: str) -> Iterator[Statement]:
        text = (self.server.data / f"statements.{database}").read_text(encoding="utf-8", errors="replace")
        # The time is only written if it is another one.
        for entry in re.split(r"\n(?=\d{6} .{8}\t|\t\t)", text):
            if found := re.match(r"(?:\d{6} .{8}\t|\t\t) *\d+ (?:Execute|Query)\t(.*)", entry, re.DOTALL):
                yield of_literals(found[1])


def plain(statement: str) -> str:
    """Write a statement in lower case, with `?` for values and single blanks."""
    text = re.sub(r"'(?:[^'\\]|''|\\.)*'|\$\d+|\b\d+(?:\.\d+)?\b", "?", statement)
    # Statements that dbdyno explains and executes are one to the server, under the name of the first.
    text = (
        re.sub(r"/\*.*?\*/|^prepare dbdyno_plan as ", "", text, flags=re.DOTALL)
        .replace('"', "")
        .replace("`", "")
        .lower()
    )
    return re.sub(r"\s*([,()<>=+])\s*", r"\1", re.sub(r"\s+", " ", text)).strip().rstrip(";")


def of_literals(statement: str) -> Statement:
    found = re.findall(r"'((?:[^'\\]|''|\\.)*)'|\b(\d+(?:\.\d+)?)\b", statement)
    return plain(statement), [quoted or number for quoted, number in found]


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


class References:
    """The servers and the programs, each started or installed when it is first needed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.stack = ExitStack()

    def close(self) -> None:
        self.stack.close()

    @cached_property
    def postgresql(self) -> Postgresql:
        made = Postgresql(self.directory)
        self.stack.callback(made.server.stop, 5.0)
        return made

    @cached_property
    def mariadb(self) -> Mariadb:
        made = Mariadb(self.directory)
        self.stack.callback(made.server.stop, 5.0)
        return made

    @cached_property
    def sysbench(self) -> str:
        if shutil.which("sysbench") is None:
            installed("apt-get", "install", "--yes", "sysbench")
        return "sysbench"

    @cached_property
    def go_ycsb(self) -> Path:
        # Its go.mod replaces a module, so that `go install` doesn't build it.
        module = installed("go", "mod", "download", "-json", GO_YCSB)
        found = re.search(r'"Dir": "(.*)"', module)
        assert found is not None
        source = self.directory / "go-ycsb-source"
        shutil.copytree(found[1], source, copy_function=shutil.copyfile)
        source.chmod(0o755)
        program = self.directory / "go-ycsb"
        installed("go", "build", "-o", str(program), "./cmd/go-ycsb", directory=source)
        return program

    @cached_property
    def go_tpc(self) -> Path:
        os.environ["GOBIN"] = str(self.directory)
        installed("go", "install", GO_TPC.replace("@", "/cmd/go-tpc@"))
        return self.directory / "go-tpc"


def installed(*command: str, directory: Path | None = None) -> str:
    if shutil.which(command[0]) is None:
        raise NotMeasuredError(f"{command[0]} is not installed")
    made = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if made.returncode:
        raise NotMeasuredError(f"`{' '.join(command)}` failed: {made.stderr.strip().splitlines()[-1:]}")
    return made.stdout


def compiled(database: Database, comparison: Comparison, seconds: float) -> CompiledCell:
    experiment = load_experiment(comparison.experiment)
    spec = parse_url(f"{database.installation.engine}:")
    chosen = parse_set([*comparison.levels, f"clients={CLIENTS}"], experiment)
    made = compile_cell(experiment, make_cells(experiment, chosen, [spec]).cells[0])
    task = replace(made.task, window=Window(seconds=seconds), warmup=Warmup())
    return replace(made, task=task)


def by_dbdyno(database: Database, comparison: Comparison, seconds: float, seed: int) -> Side:
    plan = compiled(database, comparison, seconds).plan(database.target(OURS), seed, comparison.used)
    before = database.cpu()
    out, cpu, _ = timed([str(worker_path())], json.dumps(as_json(plan)))
    result = next(each for each in map(json.loads, out.splitlines()) if each["event"] == "result")
    done = result["accounting"]["ok"]
    if sum(result["accounting"]["failed"].values()) > done / 100:
        raise NotMeasuredError(f"transactions failed: {result['failures']}")
    comparison.used = result.get("next_use", 0)
    return Side(done / result["elapsed_s"], cpu / done, (database.cpu() - before) / done)


def by_reference(database: Database, comparison: Comparison, seconds: float) -> Side:
    before = database.cpu()
    out, cpu, _ = timed(comparison.theirs(seconds))
    done, elapsed = comparison.done(out)
    return Side(done / elapsed, cpu / done, (database.cpu() - before) / done)


def compare(database: Postgresql | Mariadb, comparison: Comparison) -> Iterator[Figure]:
    name = comparison.name
    database.fresh()
    ask(compiled(database, comparison, 1).load_plan(database.target(OURS)), Loaded)
    for command in comparison.prepare:
        timed(command)
    for side in (OURS, THEIRS):
        database.settle(side)
    sizes = [database.bytes(side, comparison.table) for side in (OURS, THEIRS)]
    yield Figure(f"{name}: bytes of {comparison.table}", sizes[0] / sizes[1], f"{sizes[0]:,}", 1.05, at_most=True)

    # Keys first: some tests delete rows.
    orders: list[list[str]] = []
    if isinstance(database, Postgresql) and comparison.insert:
        orders = [database.keys(side) for side in (OURS, THEIRS)]
    for side in (OURS, THEIRS):
        database.log(side, on=True)
        if side == OURS:
            by_dbdyno(database, comparison, comparison.logged_seconds, 1)
        else:
            by_reference(database, comparison, comparison.logged_seconds)
        database.log(side, on=False)
    logged = [list(database.logged(side)) for side in (OURS, THEIRS)]
    counts = [Counter(statement for statement, _ in each) for each in logged]
    for key, of in comparison.keys.items():
        if comparison.insert:
            drawn = [
                list(recency(order, side, of, comparison.insert)) for order, side in zip(orders, logged, strict=True)
            ]
        else:
            drawn = [[found for each in side if (found := of(each)) is not None] for side in logged]
        yield kolmogorov_smirnov(f"{name}: keys of {key}", drawn[0], drawn[1], comparison)

    if isinstance(database, Postgresql) and comparison.scattered:
        database.forget()
    sides = [
        in_turn(
            partial(by_dbdyno, database, comparison, SECONDS, 100 + block),
            partial(by_reference, database, comparison, SECONDS),
            block,
        )
        for block in range(BLOCKS)
    ]
    if isinstance(database, Postgresql) and comparison.scattered:
        counts = [database.counts(side) for side in (OURS, THEIRS)]
    yield mix(name, comparison, *counts)
    ratios = [a.rate / b.rate for a, b in sides]
    ours, theirs = ([each[side] for each in sides] for side in (0, 1))
    client, server = (
        [statistics.median(getattr(each, part) * 1e6 for each in side) for side in (ours, theirs)]
        for part in ("client", "server")
    )
    figure = Figure.of(f"{name}: rate", ratios, 0.97, at_most=False)
    # If the machine's CPUs are the bottleneck, the rates are in this proportion.
    by_cpu = (client[1] + server[1]) / (client[0] + server[0])
    figure.spread += f"; by CPU {by_cpu:.3g} (µs of client and server: "
    figure.spread += f"{client[0]:.0f} + {server[0]:.0f} / {client[1]:.0f} + {server[1]:.0f})"
    yield figure


def mix(name: str, comparison: Comparison, ours: Counter[str], theirs: Counter[str]) -> Figure:
    """The largest difference between the shares of a class of statements, in points.

    The target is 0.1 point, or the 99.9% bound of chance. Also gives the statements that each side sent per counted
    statement.
    """
    shares: list[dict[str, float]] = []
    numbers: list[float] = []
    sent: list[float] = []
    for counts in (ours, theirs):
        of: dict[str, float] = dict.fromkeys(comparison.classes, 0.0)
        for statement, count in counts.items():
            kind = next((kind for kind, pattern in comparison.classes.items() if re.match(pattern, statement)), None)
            if kind is not None:
                of[kind] += count / comparison.per.get(kind, 1)
        numbers.append(sum(of.values()))
        sent.append(counts.total() / numbers[-1])
        shares.append({kind: number / numbers[-1] * 100 for kind, number in of.items()})
    differences = {kind: abs(shares[0][kind] - shares[1][kind]) for kind in comparison.classes}
    worst = max(differences, key=lambda kind: differences[kind])
    share = shares[1][worst] / 100
    chance = 329 * math.sqrt(share * (1 - share) * (1 / numbers[0] + 1 / numbers[1]))
    about = f"{worst}; n={numbers[0]:,.0f} and {numbers[1]:,.0f}, sent {sent[0]:.3g} / {sent[1]:.3g}"
    return Figure(f"{name}: mix, points", differences[worst], about, max(0.1, chance), at_most=True)


def kolmogorov_smirnov(name: str, ours: list[str], theirs: list[str], comparison: Comparison) -> Figure:
    """The largest distance between the distributions, divided by the critical value at 1%."""
    if len(ours) < 100 or len(theirs) < 100:
        raise NotMeasuredError(f"{name}: {len(ours)} and {len(theirs)} keys in the log")
    if comparison.scattered and not comparison.insert:
        # Ranks of more keys are more exact.
        most = min(len(ours), len(theirs), 2 * MAX_KEYS)
        a, b = ranks(ours[:most]), ranks(theirs[:most])
    else:
        a, b = ([float(key) for key in each[:MAX_KEYS]] for each in (ours, theirs))
    if comparison.shifts:
        few = max(1, len(b) // 2_000)
        by = min(comparison.shifts, key=lambda shift: distance(a[::few], shifted(b[::few], shift)))
        b = shifted(b, by)
    found = distance(a, b)
    critical = KS_AT_1_PERCENT * math.sqrt(1 / len(a) + 1 / len(b))
    return Figure(name, found / critical, f"D={found:.4f}, n={len(a):,} and {len(b):,}", 1.0, at_most=True)


def shifted(keys: Iterable[float], shift: int) -> list[float]:
    """TPC-C's items if their random numbers had another constant."""
    return [(key - 1 + shift) % 100_000 + 1 for key in keys]


def distance(a: Iterable[float], b: Iterable[float]) -> float:
    """The largest difference between two distribution functions."""
    a, b = sorted(a), sorted(b)
    found, i, j = 0.0, 0, 0
    while i < len(a) and j < len(b):
        value = min(a[i], b[j])
        while i < len(a) and a[i] == value:
            i += 1
        while j < len(b) and b[j] == value:
            j += 1
        found = max(found, abs(i / len(a) - j / len(b)))
    return found


def recency(
    keys: list[str],
    statements: Iterable[Statement],
    read: Callable[[Statement], str | None],
    insert: Callable[[Statement], str | None],
) -> Iterator[str]:
    """How many keys are newer than each that is read. ``keys``: those before the statements, in order of insertion."""
    places = {key: place for place, key in enumerate(keys)}
    for statement in statements:
        if (new := insert(statement)) is not None:
            places[new] = len(places)
        elif (key := read(statement)) is not None and key in places:
            yield str(len(places) - places[key])


def ranks(keys: list[str]) -> list[float]:
    """The popularity ranks that half of the keys have in the second half; missing keys are last."""
    half = len(keys) // 2
    order = {key: rank for rank, (key, _) in enumerate(Counter(keys[:half]).most_common())}
    return sorted(float(order.get(key, half)) for key in keys[half:])


# sysbench.

POINT = r"select c from sbtest1 where id=\?$"
SYSBENCH = {
    "begin": r"begin|start transaction",
    "commit": r"commit",
    "point": POINT,
    "range": r"select c from sbtest1 where id between \? and \?$",
    "sum": r"select sum\(k\) from sbtest1",
    "order": r"select c from sbtest1 where id between \? and \? order by c",
    "distinct": r"select distinct c",
    "index update": r"update sbtest1 set k=k\+\? where id=\?",
    "non-index update": r"update sbtest1 set c=\? where id=\?",
    "delete": r"delete from sbtest1 where id=\?",
    "insert": r"insert into sbtest1",
}
SYSBENCH_KEYS = {
    "point_select": ("a point select", r"select c from sbtest1 where id=\?$", -1),
    "read_only": ("a point select", r"select c from sbtest1 where id=\?$", -1),
    "read_write": ("a non-index update", SYSBENCH["non-index update"], -1),
    "write_only": ("a delete", SYSBENCH["delete"], -1),
    "update_index": ("an update", r"update sbtest1", -1),
    "update_non_index": ("an update", r"update sbtest1", -1),
    "delete": ("a delete", r"delete", -1),
    "insert": ("an insert, k", r"insert into sbtest1\(k|insert into sbtest1\(id", -3),
}


def parameter(pattern: str, index: int) -> Callable[[Statement], str | None]:
    compiled = re.compile(pattern)

    def of(statement: Statement) -> str | None:
        return statement[1][index] if compiled.match(statement[0]) else None

    return of


def by_sysbench(references: References, database: Postgresql | Mariadb, test: str) -> Comparison:
    server = database.server
    if isinstance(database, Postgresql):
        where = ["--db-driver=pgsql", f"--pgsql-host={server.socket}", f"--pgsql-port={server.port}"]
        where += [f"--pgsql-user={server.user}", f"--pgsql-db={THEIRS}"]
    else:
        where = ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={server.port}"]
        where += ["--mysql-user=bench", f"--mysql-db={THEIRS}"]
    common = [references.sysbench, f"oltp_{test}", *where, "--tables=1", f"--table-size={ROWS}"]

    def command(seconds: float) -> list[str]:
        return [*common, f"--threads={CLIENTS}", f"--time={seconds:g}", "run"]

    def done(out: str) -> tuple[float, float]:
        found = re.search(r"transactions: +(\d+).*total time: +([\d.]+)s", out, re.DOTALL)
        assert found is not None
        return int(found[1]), float(found[2])

    engine = "PostgreSQL" if isinstance(database, Postgresql) else "MariaDB"
    key, pattern, index = SYSBENCH_KEYS[test]
    return Comparison(
        name=f"sysbench {test}, {engine}",
        experiment="sysbench-oltp",
        levels=[f"rows={ROWS}", f"test={test}"],
        classes=SYSBENCH,
        keys={key: parameter(pattern, index)},
        theirs=command,
        done=done,
        prepare=[[*common, "prepare"]],
        table="sbtest1",
    )


def sysbench_postgresql(references: References) -> Iterator[Figure]:
    for test in SYSBENCH_KEYS:
        yield from compare(references.postgresql, by_sysbench(references, references.postgresql, test))


def sysbench_mariadb(references: References) -> Iterator[Figure]:
    for test in SYSBENCH_KEYS:
        yield from compare(references.mariadb, by_sysbench(references, references.mariadb, test))


# YCSB.

YCSB = {
    "read": r"select [\w,*]+ from usertable where ycsb_key=\?",
    "scan": r"select [\w,*]+ from usertable where ycsb_key>=\?",
    "update": r"update usertable set field\d=\? where ycsb_key=\?",
    "insert": r"insert into usertable",
}


def by_go_ycsb(references: References, letter: str) -> Comparison:
    database = references.postgresql
    server = database.server
    # The address of a socket isn't possible in its URL, except after another option.
    properties = {
        "pg.host": "",
        "pg.port": server.port,
        "pg.user": server.user,
        "pg.db": THEIRS,
        "pg.sslmode": f"disable&host={server.socket}",
        "recordcount": RECORDS,
        "fieldlength": 100,
        "requestdistribution": "latest" if letter == "d" else "zipfian",
    }
    source = references.go_ycsb.with_name("go-ycsb-source")
    common = [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]
    file = ["-P", str(source / "workloads" / f"workload{letter}")]

    rate = 3_000.0

    def command(seconds: float) -> list[str]:
        # It ends after a number of operations only. Workload E also reserves keys for all inserts.
        number = f"operationcount={seconds * rate:.0f}"
        return [str(references.go_ycsb), "run", "pg", *file, *common, "-p", number, "-p", f"threadcount={CLIENTS}"]

    def done(out: str) -> tuple[float, float]:
        lines = re.findall(
            r"^(\w+) +- Takes\(s\): ([\d.]+), Count: (\d+)", out.rpartition("Run finished")[2], re.MULTILINE
        )
        of = {kind: (int(count), float(seconds)) for kind, seconds, count in lines}
        # A read-modify-write counts as a read and as an update, too.
        nonlocal rate
        number, seconds = of["READ" if letter == "f" else "TOTAL"]
        rate = number / seconds
        return number, seconds

    load = [str(references.go_ycsb), "load", "pg", *file, *common, "-p", "threadcount=1"]
    read = "scan" if letter == "e" else "read"
    return Comparison(
        name=f"ycsb-{letter}, PostgreSQL",
        experiment=f"ycsb-{letter}",
        levels=[f"records={RECORDS}"],
        classes=YCSB,
        keys={f"a {read}": parameter(YCSB[read], 0)},
        theirs=command,
        done=done,
        prepare=[load],
        table="usertable",
        scattered=True,
        insert=parameter(YCSB["insert"], 0) if letter == "d" else None,
    )


def ycsb(references: References) -> Iterator[Figure]:
    for letter in "abcdef":
        yield from compare(references.postgresql, by_go_ycsb(references, letter))


# TPC-C.

TPCC = {
    "new order": r"insert into orders",
    "payment": r"insert into history",
    "order status": r"select o_id,.* from orders where .* order by o_id desc",
    "delivery": r"select no_o_id from new_order",
    "stock level": r"select count\(distinct",
}


def updated_item(statement: Statement) -> str | None:
    text, values = statement
    if not text.startswith("update stock set"):
        return None
    return values[-1 if text.endswith("s_i_id=?") else -2]


def orders_entry(references: References) -> Iterator[Figure]:
    database = references.mariadb
    where = ["-H", "127.0.0.1", "-P", str(database.server.port), "-U", "bench", "-D", THEIRS, "--warehouses", "1"]
    program = [str(references.go_tpc), "tpcc"]

    def command(seconds: float) -> list[str]:
        return [*program, "run", *where, "-T", str(CLIENTS), "--time", f"{seconds:g}s"]

    def done(out: str) -> tuple[float, float]:
        found = re.findall(r"\[Summary\] (?!\w+_ERR)\w+ +- Takes\(s\): ([\d.]+), Count: (\d+)", out)
        return sum(int(count) for _, count in found), max(float(seconds) for seconds, _ in found)

    yield from compare(
        database,
        Comparison(
            name="orders-entry, MariaDB",
            experiment="orders-entry",
            levels=["warehouses=1"],
            classes=TPCC,
            keys={"an update of stock": updated_item},
            logged_seconds=10,
            # The constant of its random numbers is a random one below 1,024 in each run, ours is 7,911.
            shifts=range(7_911 - 1_023, 7_911 + 1),
            # One for each district.
            per={"delivery": 10},
            theirs=command,
            done=done,
            prepare=[[*program, "prepare", *where, "-T", "1"]],
            table="order_line",
        ),
    )


ALL = (sysbench_postgresql, sysbench_mariadb, ycsb, orders_entry)


if __name__ == "__main__":
    # A directory that a server of another user may enter.
    sys.exit(run(References, ALL, __doc__, "/var/tmp"))
