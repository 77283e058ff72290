"""Whether `dbdyno why` names the right cause: one is planted, again and again, and must come first.

Prints a line for each cause and system, and for systems in which nothing is planted, and ends with 1 when one misses
its target. `--only NAME` picks those whose name contains it. It takes a minute for each of `TRIES` times.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import DBDYNO, Figure, NotMeasuredError, run

from dbdyno.engines.server.installations import find_installations

TRIES = 20
# Of these so many have to be right, in percent; and may be wrong where nothing is planted.
RIGHT, WRONG = 95, 5

HOT_ROW = """
name = "hot"
title = "Updates of one row, which each client holds for a while"
[tables.t]
rows = 1000
[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
n = { type = "integer", fill = { uniform = [0, 9] } }
[load]
clients = 8
stop = { seconds = 5 }
[system.postgresql]
synchronous_commit = "off"
[system.mysql]
innodb_flush_log_at_trx_commit = "2"
[[transactions]]
name = "update"
steps = [
    { begin = "deferred" },
    { execute = "update t set n = n + 1 where id = ?", params = [{ constant = 1 }] },
    { think = 3 },
    { commit = true },
]
"""


@dataclass
class Bench:
    """Where runs are kept."""

    directory: Path

    def why(self, planted: dict[str, Any], *arguments: str) -> dict[str, Any]:
        """Ask why, and give what is concluded."""
        told = self.directory / "why.json"
        environment = os.environ | {"DBDYNO_PLANTED": json.dumps(planted), "XDG_DATA_HOME": str(self.directory)}
        command = [str(DBDYNO), "why", *arguments, "--json", str(told)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotMeasuredError(done.stderr.strip() or done.stdout[-500:])
        document: dict[str, Any] = json.loads(told.read_text())["why"]
        return document


def named(
    bench: Bench, name: str, cause: str, planted: dict[str, Any], *arguments: str, system: str = "sqlite"
) -> Iterator[Figure]:
    """Say how often the planted cause is named."""
    if system != "sqlite" and not find_installations(system):
        raise NotMeasuredError(f"no {system} is installed")
    found = [bench.why(planted, *arguments, "--system", f"{system}:")["bottleneck"] for _ in range(TRIES)]
    right = sum(each == cause for each in found)
    others = sorted({str(each) for each in found if each != cause})
    told = f"{right} of {TRIES}" + (f", else {', '.join(others)}" if others else "")
    yield Figure(f"{name}, {system}, named first, %", 100 * right / TRIES, told, RIGHT, at_most=False)


UPDATE = ("pk-update", "--set", "rows_per_transaction=1")
LOOKUP = ("pk-lookup", "--set", "threads=1", "--set", "cache=private")


def slow_flushes(bench: Bench) -> Iterator[Figure]:
    for system in ("sqlite", "postgresql", "mysql"):
        yield from named(bench, "a flush of 5 ms", "flush", {"sync": 5000}, *UPDATE, system=system)


def busy_clients(bench: Bench) -> Iterator[Figure]:
    yield from named(bench, "a client that spins 50 us", "client", {"transaction": 50}, *LOOKUP)
    for system in ("postgresql", "mysql"):
        # Of a server a statement takes longer.
        yield from named(bench, "a client that spins 500 us", "client", {"transaction": 500}, *LOOKUP, system=system)


def one_processor(bench: Bench) -> Iterator[Figure]:
    several = ("pk-lookup", "--set", "threads=4", "--set", "cache=private")
    for system in ("sqlite", "postgresql", "mysql"):
        yield from named(bench, "one processor", "processors", {"processors": [0]}, *several, system=system)


def far_servers(bench: Bench) -> Iterator[Figure]:
    for system in ("postgresql", "mysql"):
        yield from named(bench, "a network of 1 ms", "message", {"message": 1000}, *LOOKUP, system=system)


def hot_rows(bench: Bench) -> Iterator[Figure]:
    experiment = bench.directory / "hot.toml"
    experiment.write_text(HOT_ROW)
    for system in ("postgresql", "mysql"):
        yield from named(bench, "a hot row", "locks", {}, str(experiment), system=system)


def nothing_planted(bench: Bench) -> Iterator[Figure]:
    """Lookups compute, and nothing else is to be named."""
    for system in ("sqlite", "postgresql", "mysql"):
        if system != "sqlite" and not find_installations(system):
            continue
        found = [bench.why({}, *LOOKUP, "--system", f"{system}:")["bottleneck"] for _ in range(TRIES)]
        wrong = [each for each in found if each not in (None, "processors")]
        told = f"{len(wrong)} of {TRIES}" + (f": {', '.join(sorted(set(wrong)))}" if wrong else "")
        yield Figure(f"nothing planted, {system}, wrong, %", 100 * len(wrong) / TRIES, told, WRONG, at_most=True)


BENCHES: tuple[Callable[[Bench], Iterator[Figure]], ...] = (
    slow_flushes,
    busy_clients,
    one_processor,
    far_servers,
    hot_rows,
    nothing_planted,
)

if __name__ == "__main__":
    sys.exit(run(Bench, BENCHES, __doc__))
