"""Whether `dbdyno why` names the right cause: one is planted, again and again, and must come first.

Prints two lines for each cause and system: how often the cause is the first of the table, and how often it is shown to
be the bottleneck. Of systems in which nothing is planted, it prints how often something else than computing is. Ends
with 1 when a figure misses its target. `--only NAME` picks benches whose name contains it, `--system NAME` a system. It
takes a minute or two for each of the `--tries`.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from figures import DBDYNO, Figure, NotMeasuredError, run

from dbdyno.engines.server.installations import find_installations

# So many percent have to be right; and may be wrong where nothing is planted.
RIGHT, WRONG = 95, 5

OPTIONS = argparse.ArgumentParser(add_help=False)
OPTIONS.add_argument("--tries", type=int, default=20, help="how often each is asked")
OPTIONS.add_argument("--budget", default="1m", help="of each `dbdyno why`")
OPTIONS.add_argument("--system", default="", help="the only system to ask about")
ASKED, _ = OPTIONS.parse_known_args()
SYSTEMS = ("sqlite", "postgresql", "mysql")

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
        command = [str(DBDYNO), "why", *arguments, "--budget", ASKED.budget, "--json", str(told)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotMeasuredError(done.stderr.strip() or done.stdout[-500:])
        document: dict[str, Any] = json.loads(told.read_text())["why"]
        return document


# Systems whose caches hold all data: with others a lookup waits for reads as well.
CACHED = {"postgresql": "postgresql:?shared_buffers=512MB", "mysql": "mysql:?innodb_buffer_pool_size=512M"}


def named(
    bench: Bench,
    name: str,
    cause: str,
    planted: dict[str, Any],
    *arguments: str,
    system: str = "sqlite",
    url: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Figure]:
    """Say how often the planted cause is first, and how often it is shown to be the bottleneck.

    ``url``: of systems, where it is not the engine alone.
    """
    if ASKED.system not in ("", system):
        return
    if system != "sqlite" and not find_installations(system):
        raise NotMeasuredError(f"no {system} is installed")
    place = url.get(system, f"{system}:")
    found = [bench.why(planted, *arguments, "--system", place) for _ in range(ASKED.tries)]
    first = [each["resources"][0]["resource"] for each in found]
    yield _share(f"{name}, {system}, first, %", cause, first)
    yield _share(f"{name}, {system}, shown, %", cause, [each["bottleneck"] for each in found])


def _share(name: str, cause: str, found: Sequence[str | None]) -> Figure:
    right = sum(each == cause for each in found)
    others = sorted({str(each) for each in found if each != cause})
    told = f"{right} of {len(found)}" + (f", else {', '.join(others)}" if others else "")
    return Figure(name, 100 * right / len(found), told, RIGHT, at_most=False)


UPDATE = ("pk-update", "--set", "rows_per_transaction=1")
LOOKUP = ("pk-lookup", "--set", "threads=1", "--set", "cache=private")


def slow_flushes(bench: Bench) -> Iterator[Figure]:
    for system in SYSTEMS:
        yield from named(bench, "a flush of 5 ms", "flush", {"sync": 5000}, *UPDATE, system=system)


def busy_clients(bench: Bench) -> Iterator[Figure]:
    yield from named(bench, "a client that spins 50 us", "client", {"transaction": 50}, *LOOKUP)
    for system in SYSTEMS[1:]:
        # Of a server a statement takes longer.
        yield from named(bench, "a client that spins 500 us", "client", {"transaction": 500}, *LOOKUP, system=system)


def one_processor(bench: Bench) -> Iterator[Figure]:
    several = ("pk-lookup", "--set", "threads=4", "--set", "cache=private")
    for system in SYSTEMS:
        yield from named(bench, "one processor", "processors", {"processors": [0]}, *several, system=system, url=CACHED)


def far_servers(bench: Bench) -> Iterator[Figure]:
    for system in SYSTEMS[1:]:
        yield from named(bench, "a network of 1 ms", "message", {"message": 1000}, *LOOKUP, system=system)


def hot_rows(bench: Bench) -> Iterator[Figure]:
    experiment = bench.directory / "hot.toml"
    experiment.write_text(HOT_ROW)
    for system in SYSTEMS[1:]:
        yield from named(bench, "a hot row", "locks", {}, str(experiment), system=system)


def nothing_planted(bench: Bench) -> Iterator[Figure]:
    """Lookups compute, and nothing else is to be named."""
    for system in SYSTEMS:
        if ASKED.system not in ("", system):
            continue
        if system != "sqlite" and not find_installations(system):
            continue
        found = [bench.why({}, *LOOKUP, "--system", f"{system}:")["bottleneck"] for _ in range(ASKED.tries)]
        wrong = [each for each in found if each not in (None, "processors")]
        told = f"{len(wrong)} of {len(found)}" + (f": {', '.join(sorted(set(wrong)))}" if wrong else "")
        yield Figure(f"nothing planted, {system}, wrong, %", 100 * len(wrong) / len(found), told, WRONG, at_most=True)


BENCHES: tuple[Callable[[Bench], Iterator[Figure]], ...] = (
    slow_flushes,
    busy_clients,
    one_processor,
    far_servers,
    hot_rows,
    nothing_planted,
)

# Of these SQLite has none.
OF_SERVERS = (far_servers, hot_rows)

if __name__ == "__main__":
    chosen = [each for each in BENCHES if ASKED.system != "sqlite" or each not in OF_SERVERS]
    sys.exit(run(Bench, chosen, __doc__, options=OPTIONS))
