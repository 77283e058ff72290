"""Delays on purpose: whether a transaction takes as much longer as was asked for, and what the preloaded library costs.

Of each kind of call, on SQLite, PostgreSQL and MariaDB, one client: by how much longer a transaction took, as a
multiple of what the worker says that it added, and that as a multiple of what was asked for; in blocks with all sizes
and none in random order. On a machine with other work a delay ends late, which the second shows and not the first.
Servers that time their own calls say by how much longer one took: what else a transaction does has no part in that.
Prints a line for each figure and ends with 1 when one misses its target; some 15 minutes. `--only NAME` picks those
whose name contains it.
"""

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from figures import Figure, NotMeasuredError, in_turn, run, spread

from dbdyno.engines.server.data import create_data
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.server import Server, start_server
from dbdyno.engines.statements import places
from dbdyno.model.events.answers import Answer, Loaded
from dbdyno.model.events.changes import Calls
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import ask

SIZES_US = (50, 200, 1000, 5000)
BLOCKS = 7
SECONDS = 0.5
TARGET = 0.05

# Of the library's cost.
PAIRS = 30
PAIR_SECONDS = 1.0

ROWS = 200_000

SELECT = "select v from t where id = ?"
UPDATE = "update t set n = n + 1 where id = ?"

# Nothing but the client's own calls: no page is written behind its back, and commits reach the device one by one.
POSTGRESQL = {
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "1h",
    "full_page_writes": "off",
    "max_wal_size": "8GB",
    "wal_sync_method": "fdatasync",
    "wal_writer_delay": "10s",
}
MARIADB = {
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_max_dirty_pages_pct": "99",
    "innodb_max_dirty_pages_pct_lwm": "0",
    "innodb_log_file_size": "2G",
}
# A cache that holds all, and one that holds little.
LARGE = {"postgresql": {"shared_buffers": "512MB"}, "mysql": {"innodb_buffer_pool_size": "512M"}}
SMALL = {"postgresql": {"shared_buffers": "1MB"}, "mysql": {"innodb_buffer_pool_size": "8M"}}
SETTINGS = {"postgresql": POSTGRESQL, "mysql": MARIADB}

# By kind of call: what servers answer of their own clocks, and what has them look at these.
TIMED = {
    "postgresql": {
        "track_io_timing": "on",
        "track_wal_io_timing": "on",
        "shared_preload_libraries": "pg_stat_statements",
    },
    "mysql": {"performance_schema": "ON"},
}
CLOCKS = {
    "postgresql": {
        "sync": "select wal_sync || ' ' || wal_sync_time from pg_stat_wal",
        "write": "select wal_write || ' ' || wal_write_time from pg_stat_wal",
        # Of the statement alone: a session reads its catalogue before delays begin.
        "read": "select coalesce(sum(shared_blks_read), 0) || ' ' || coalesce(sum(blk_read_time), 0) "
        "from pg_stat_statements where query like 'select v from t%'",
    },
    # It times no call on its log.
    "mysql": {
        "read": "select concat(sum(count_read), ' ', sum(sum_timer_read) / 1e9) from "
        "performance_schema.file_summary_by_event_name where event_name = 'wait/io/file/innodb/innodb_data_file'",
    },
}


@dataclass
class System:
    """A system with a table; ``changes`` are added to those of each trial."""

    target: dict[str, Any]
    changes: dict[str, Any] = field(default_factory=dict)

    def tried(self, changes: Mapping[str, Any] | None, sql: str, seconds: float = SECONDS, **task: Any) -> TrialResult:
        """Run a trial of one client that runs a statement."""
        step = {"do": "execute", "statement": 0, "params": [{"kind": "uniform", "low": 1, "high": ROWS}]}
        trial = {
            "kind": "trial",
            "target": self.target,
            "clients": 1,
            "warmup": {"seconds": 0.1},
            "window": {"seconds": seconds},
            # A session that looks what others wait for reads too.
            "record": {"waits": False},
            "statements": [{"name": "s", "sql": sql, "places": places(sql)}],
            "transactions": [{"name": "t", "steps": [step]}],
        }
        if changes is not None:
            trial["changes"] = {**changes, **self.changes}
        return ask({"schema": PLAN, "seed": time.monotonic_ns() % 2**32, "task": trial | task}, TrialResult)

    def asked(self, question: str) -> list[float]:
        """Return the numbers that answer a question."""
        task = {"kind": "ask", "target": self.target, "sql": question}
        return [float(each) for each in (ask({"schema": PLAN, "seed": 1, "task": task}, Answer).answer or "").split()]

    def filled(self) -> "System":
        """Fill the table."""
        fills = {
            "id": {"kind": "serial", "start": 1},
            "n": {"kind": "constant", "value": 0},
            "v": {"kind": "constant", "value": "x" * 100},
        }
        columns = [{"name": name, "stream": at, "fill": fill} for at, (name, fill) in enumerate(fills.items())]
        table = {"name": "t", "rows": ROWS, "columns": columns}
        self.do("create table t (id integer primary key, n integer, v varchar(200))", table)
        return self

    def do(self, statement: str, *tables: Mapping[str, Any]) -> None:
        """Run a statement, and fill tables."""
        load = {"kind": "load", "target": self.target, "before": [statement], "tables": tables, "after": []}
        ask({"schema": PLAN, "seed": 1, "task": load}, Loaded)


class Systems:
    """Where systems are, each begun when it is first needed."""

    def __init__(self, directory: Path) -> None:
        directory.chmod(0o711)
        self.directory = directory
        self.stack = ExitStack()

    def close(self) -> None:
        self.stack.close()

    def server(self, engine: str, settings: Mapping[str, str], *, preloaded: bool) -> tuple[System, Server]:
        """Start a server on fresh data, and fill its table."""
        found = [each for each in find_installations(engine) if each.product in ("PostgreSQL", "MariaDB")]
        if not found:
            raise NotMeasuredError(f"no {engine} server is installed")
        data = self.directory / f"{engine}-{len(list(self.directory.iterdir()))}"
        create_data(found[0], data)
        server = start_server(found[0], data, self.directory, settings, preloaded=preloaded)
        self.stack.callback(server.stop, 5.0)
        return System(target(server)).filled(), server

    def changed(
        self, engine: str, cache: Mapping[str, Mapping[str, str]], more: Mapping[str, str] | None = None
    ) -> tuple[System, System]:
        """Give a server as trials change its own calls, and as they change their clients'."""
        system, server = self.server(engine, {**SETTINGS[engine], **cache[engine], **(more or {})}, preloaded=True)
        assert server.preload is not None
        return System(system.target, {"server": {"file": str(server.preload.page)}}), system

    def sqlite(self, cache_pages: int) -> System:
        path = self.directory / f"t{cache_pages}.db"
        pragmas = [["cache_size", str(cache_pages)]]
        return System({"engine": "sqlite", "path": str(path), "pragmas": pragmas}).filled()


def calibrated(
    name: str, system: System, kind: str, sql: str, own: Mapping[str, Any] | None = None, **task: Any
) -> Iterator[Figure]:
    """Give, for each size of a delay, how near what a transaction took longer came to what was added, and that to it.

    ``own``: what is changed besides, as well where nothing is delayed.
    """
    observed: dict[int, list[float]] = {size: [] for size in SIZES_US}
    injected: dict[int, list[float]] = {size: [] for size in SIZES_US}
    for _ in range(BLOCKS):
        sizes = [0, *SIZES_US]
        random.shuffle(sizes)
        results = {size: system.tried({kind: {**(own or {}), "delay_us": size}}, sql, **task) for size in sizes}
        usual = seconds(results[0])
        for size in SIZES_US:
            calls = counted(results[size], kind)
            observed[size].append((seconds(results[size]) - usual) * results[size].completed / calls.added_s)
            injected[size].append(calls.added_s / (calls.calls * size / 1e6))
    for size in SIZES_US:
        yield off(f"{name}, {kind} +{size} µs, observed by injected", observed[size])
        yield off(f"{name}, {kind} +{size} µs, injected by asked", injected[size])


def off(what: str, ratios: Sequence[float]) -> Figure:
    return Figure(f"{what}: off by", abs(statistics.median(ratios) - 1), told(ratios), TARGET, at_most=True)


def by_own_clock(
    name: str, system: System, kind: str, sql: str, question: str, own: Mapping[str, Any] | None = None
) -> Iterator[Figure]:
    """Give, for each size of a delay, how near what calls took longer by the server's clock came to what was added.

    ``question``: SQL whose answer is how many calls of the kind the server has made, and their milliseconds. What it
    takes to be asked is taken off, as that has no delay. ``own``: as :func:`calibrated`.
    """
    observed: dict[int, list[float]] = {size: [] for size in SIZES_US}
    for _ in range(BLOCKS):
        usual = 0.0
        for size in [0, *random.sample(SIZES_US, len(SIZES_US))]:
            first, before = system.asked(question), system.asked(question)
            result = system.tried({kind: {**(own or {}), "delay_us": size}}, sql)
            after = system.asked(question)
            asking = [each - one for each, one in zip(before, first, strict=True)]
            calls, ms = (each - one - of_asking for each, one, of_asking in zip(after, before, asking, strict=True))
            if calls <= 0:
                raise NotMeasuredError(f"{name} counts no {kind} of its own")
            if size:
                told_of = counted(result, kind)
                observed[size].append((ms / calls / 1e3 - usual) / (told_of.added_s / told_of.calls))
            else:
                usual = ms / calls / 1e3
    for size in SIZES_US:
        yield off(f"{name}, {kind} +{size} µs, by its own clock", observed[size])


def told(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.3f} ({spread(ratios)})"


def seconds(result: TrialResult) -> float:
    """Return how long a transaction took."""
    return result.cycles.seconds / result.cycles.count


def counted(result: TrialResult, kind: str) -> Calls:
    calls: Calls | None = None if result.changes is None else getattr(result.changes, kind)
    if calls is None or calls.calls == 0:
        raise NotMeasuredError(f"no {kind} was counted")
    return calls


# What the device takes for a flush differs by more than the delays: it is left out.
WITHOUT = {"skip": True}


def sqlite(systems: Systems) -> Iterator[Figure]:
    large, small = systems.sqlite(100_000), systems.sqlite(10)
    yield from calibrated("SQLite", large, "sync", UPDATE, WITHOUT)
    yield from calibrated("SQLite", System(large.target, {"sync": WITHOUT}), "write", UPDATE)
    yield from calibrated("SQLite", small, "read", SELECT)
    yield from calibrated("SQLite", large, "connect", SELECT, connect="per-transaction")
    yield from calibrated("SQLite", large, "transaction", SELECT)


def server_figures(name: str, engine: str, systems: Systems) -> Iterator[Figure]:
    files, clients = systems.changed(engine, LARGE)
    yield from calibrated(name, files, "sync", UPDATE, WITHOUT)
    yield from calibrated(name, System(files.target, {**files.changes, "sync": WITHOUT}), "write", UPDATE)
    yield from calibrated(name, systems.changed(engine, SMALL)[0], "read", SELECT)
    yield from calibrated(name, clients, "message", SELECT)
    # Beside a second client in its thread it may not hold that one up.
    yield from calibrated(f"{name}, 2 clients in a thread", clients, "message", SELECT, clients=2, threads=1)
    yield from calibrated(name, clients, "connect", SELECT, connect="per-transaction")
    yield from calibrated(name, clients, "transaction", SELECT)


def postgresql(systems: Systems) -> Iterator[Figure]:
    yield from server_figures("PostgreSQL", "postgresql", systems)


def mariadb(systems: Systems) -> Iterator[Figure]:
    yield from server_figures("MariaDB", "mysql", systems)


def own_clocks(systems: Systems) -> Iterator[Figure]:
    """How much longer a call takes by the server's own clock."""
    for name, engine in (("PostgreSQL", "postgresql"), ("MariaDB", "mysql")):
        for kind, question in CLOCKS[engine].items():
            cache, sql = (SMALL, SELECT) if kind == "read" else (LARGE, UPDATE)
            system, _ = systems.changed(engine, cache, TIMED[engine])
            if engine == "postgresql":
                system.do("create extension pg_stat_statements")
            yield from by_own_clock(name, system, kind, sql, question, WITHOUT if kind == "sync" else None)


def cost_of_the_library(systems: Systems) -> Iterator[Figure]:
    """Rates of a server without the library by those of one with it, which nobody asks for anything."""
    settings = SETTINGS["postgresql"] | {"shared_buffers": "16MB", "synchronous_commit": "off"}
    (without, _), (loaded, server) = (systems.server("postgresql", settings, preloaded=each) for each in (False, True))
    assert server.preload is not None
    place = {"server": {"file": str(server.preload.page)}}
    counting = {"sync": {"delay_us": 0}, "read": {"delay_us": 0}, "write": {"delay_us": 0}, **place}
    for name, sql in (("selects", SELECT), ("updates", UPDATE)):
        for what, changes in (("loaded", None), ("counting", counting)):
            ratios = []
            for block in range(PAIRS):
                a, b = in_turn(partial(rate, without, None, sql), partial(rate, loaded, changes, sql), block)
                ratios.append(a / b)
            low, high = interval(ratios)
            figure = Figure.of(f"library {what}, {name}: rate without", ratios, 1.005, at_most=True)
            figure.spread += f", 95 % [{low:.4f}, {high:.4f}]"
            yield figure


def interval(values: list[float]) -> tuple[float, float]:
    """Return an interval of the median, by order statistics, that has it in 95 of 100 cases or more."""
    ordered, n = sorted(values), len(values)
    margin = 0.98 * n**0.5
    return ordered[max(int(n / 2 - margin), 0)], ordered[min(int(n / 2 + margin), n - 1)]


def rate(system: System, changes: Mapping[str, Any] | None, sql: str) -> float:
    """Return transactions a second of two clients."""
    return 2 / seconds(system.tried(changes, sql, PAIR_SECONDS, clients=2))


PROGRAM = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv) {
    static char page[8192];
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (argc != 2 || pwrite(file, page, sizeof page, 0) < 0) return 1;
    double best = 1e18;
    for (int round = 0; round < 50; round++) {
        double begun = now();
        for (int call = 0; call < 2000; call++) if (pread(file, page, sizeof page, 0) < 0) return 1;
        double each = (now() - begun) / 2000;
        if (each < best) best = each;
    }
    printf("%f", best);
    return 0;
}
"""


def share_of_a_transaction(systems: Systems, ns: float) -> Iterator[Figure]:
    """Say which share of a transaction calls of PostgreSQL take that are longer by so many nanoseconds.

    Two starts of a server differ by more than the library costs, so that two rates would not tell it.
    """
    for name, cache, sql in (("selects that read", SMALL, SELECT), ("updates", LARGE, UPDATE)):
        system, _ = systems.changed("postgresql", cache, {"synchronous_commit": "off"})
        shares = []
        for _ in range(BLOCKS):
            result = system.tried({kind: {"delay_us": 0} for kind in ("sync", "read", "write")}, sql)
            made = [each for _, each in result.changes or () if isinstance(each, Calls)]
            shares.append(sum(each.calls for each in made) / result.completed * ns / 1e9 / seconds(result))
        yield Figure.of(f"library loaded, {name}: share of a transaction", shares, 0.005, at_most=True)


def cost_of_a_call(systems: Systems) -> Iterator[Figure]:
    """What the library adds to a read of a page, which nobody asks it to count; and where somebody does."""
    from dbdyno.engines.server.preload import Preload

    source, program = systems.directory / "reads.c", systems.directory / "reads"
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    preload = Preload.make(systems.directory, None)

    def nanoseconds(environment: Mapping[str, str]) -> float:
        command = [str(program), str(systems.directory / "read")]
        done = subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=True)
        return float(done.stdout)

    for what, on, most in (("loaded", 0, 5.0), ("counting", 1, 150.0)):
        page = bytearray(preload.page.read_bytes())
        # The reads' (crates/delays/src/page.rs).
        page[128:132] = on.to_bytes(4, "little")
        preload.page.write_bytes(page)
        added = []
        for block in range(2 * PAIRS):
            with_it = partial(nanoseconds, preload.environment({}))
            a, b = in_turn(partial(nanoseconds, {}), with_it, block)
            added.append(b - a)
        yield Figure.of(f"library {what}, a read of a page, ns more", added, most, at_most=True)
        if not on:
            yield from share_of_a_transaction(systems, statistics.median(added))


ALL: tuple[Callable[[Systems], Iterator[Figure]], ...] = (
    sqlite,
    postgresql,
    mariadb,
    own_clocks,
    cost_of_the_library,
    cost_of_a_call,
)


if __name__ == "__main__":
    # Where a server that runs as another user may go.
    sys.exit(run(Systems, ALL, __doc__, "/var/tmp"))
