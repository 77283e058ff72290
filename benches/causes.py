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


ONE_TABLE = """
name = "one"
title = "One table"
[tables.t]
rows = {rows}
[tables.t.columns]
id = {{ type = "integer", primary_key = true, fill = {{ serial = 1 }} }}
v = {{ type = "integer", fill = {{ serial = 1 }} }}
[load]
clients = 1
stop = {{ seconds = {seconds} }}
{load}
[[transactions]]
name = "one"
steps = [{steps}]
"""
LOOK = '{ execute = "select v from t where id = ?", params = [{ key = "t.id" }] }'
ADD = (
    '{ begin = "immediate" }, '
    '{ execute = "update t set v = v + 1 where id = ?", params = [{ key = "t.id" }] }, { commit = true }'
)

SWALLOWS = """
int fsync(int file) { (void)file; return 0; }
int fdatasync(int file) { (void)file; return 0; }
"""

# Locks each database below a directory for 40 of 50 ms, by the bytes by which SQLite locks it.
HOLDS = """
import fcntl, pathlib, sys, time
files = {}
while True:
    for path in pathlib.Path(sys.argv[1]).rglob("trial.db"):
        try:
            if path.stat().st_ino not in files:
                files[path.stat().st_ino] = path.open("r+b")
        except OSError:
            pass
    held, end = [], time.monotonic() + 0.02
    while len(held) < len(files) and time.monotonic() < end:
        for file in files.values():
            try:
                if file not in held:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 512, 0x40000000)
                    held.append(file)
            except OSError:
                pass
        time.sleep(0.0002)
    time.sleep(0.04)
    for file in held:
        fcntl.lockf(file, fcntl.LOCK_UN, 512, 0x40000000)
    time.sleep(0.01)
"""

DELAYED_WHY = Path(__file__).parent / "delayed_why.py"


@dataclass
class Bench:
    """Where runs are kept."""

    directory: Path

    def why(self, planted: dict[str, Any], *arguments: str) -> dict[str, Any]:
        """Ask why, and give what is concluded."""
        program = [sys.executable, str(DELAYED_WHY), json.dumps(planted)]
        found: dict[str, Any] = self._document([*program, "why", *arguments, "--budget", ASKED.budget])["why"]
        return found

    def run(self, *arguments: str, environment: Mapping[str, str] = MappingProxyType({}), group: str = "") -> Any:
        """Run one cell and return its document. ``group``: the directory of a control group that dbdyno runs in."""
        return self._document([str(DBDYNO), "run", *arguments, "--rounds", "2"], environment, group)

    def _document(
        self, command: Sequence[str], environment: Mapping[str, str] = MappingProxyType({}), group: str = ""
    ) -> Any:
        told = self.directory / "told.json"
        command = [*command, "--json", str(told)]
        if group:
            command = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group, *command]
        variables = os.environ | {"XDG_DATA_HOME": str(self.directory)} | dict(environment)
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotMeasuredError(done.stderr.strip() or done.stdout[-500:])
        return json.loads(told.read_text())


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


def _inferred(name: str, cause: str, run: Callable[[], dict[str, Any]]) -> Iterator[Figure]:
    """Report how often the bottleneck of a run, or its first warning, is the planted cause."""
    if ASKED.system not in ("", "sqlite"):
        return
    found = []
    for _ in range(ASKED.tries):
        document = run()
        (cell,) = document["cells"]
        warning = next((each["kind"] for each in document["findings"]), None)
        resource = cell["bottleneck"] and cell["bottleneck"]["resource"]
        found.append(cause if cause in (warning, resource) else resource)
    yield _share(f"{name}, sqlite, first, %", cause, found)


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


def _experiment(bench: Bench, steps: str, seconds: float = 1.0, rows: int = 1000, load: str = "") -> str:
    file = bench.directory / "one.toml"
    file.write_text(ONE_TABLE.format(steps=steps, seconds=seconds, rows=rows, load=load))
    return str(file)


def slow_reads(bench: Bench) -> Iterator[Figure]:
    """A slow disk: the planted delay is that of each read that the cache of pages does not serve."""
    yield from named(bench, "a read of 2 ms", "read", {"read": 2000}, *LOOKUP)


def slow_writes(bench: Bench) -> Iterator[Figure]:
    yield from named(bench, "a write of 5 ms", "write", {"write": 5000}, *UPDATE)


def thinking_clients(bench: Bench) -> Iterator[Figure]:
    experiment = _experiment(bench, f"{LOOK}, {{ think = 10 }}")
    yield from named(bench, "a client that thinks 10 ms", "thinking", {}, experiment)


def held_locks(bench: Bench) -> Iterator[Figure]:
    place = bench.directory / "held"
    place.mkdir()
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(place)]) as holder:
        try:
            url = {"sqlite": "sqlite:?busy_timeout=5000&synchronous=off"}
            asked = (_experiment(bench, ADD), "--dir", str(place))
            yield from named(bench, "a lock held by another program", "locks", {}, *asked, url=url)
        finally:
            holder.kill()


def swallowed_syncs(bench: Bench) -> Iterator[Figure]:
    source, library = bench.directory / "swallows.c", bench.directory / "swallows.so"
    source.write_text(SWALLOWS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    experiment, environment = _experiment(bench, ADD), {"LD_PRELOAD": str(library)}
    cause = "durability contradicted"
    yield from _inferred("swallowed fsync", cause, lambda: bench.run(experiment, environment=environment))


def cpu_quotas(bench: Bench) -> Iterator[Figure]:
    group = _control_group("cpu", {"cpu.max": "20000 100000", "cpu.cfs_quota_us": "20000"})
    experiment = _experiment(bench, LOOK)
    try:
        yield from _inferred("a CPU quota of 0.2", "CPU quota", lambda: bench.run(experiment, group=str(group)))
    finally:
        group.rmdir()


def little_memory(bench: Bench) -> Iterator[Figure]:
    """A limit to memory of 16 MB for data of 100 MB and more: their pages are read again and again."""
    experiment = _experiment(bench, LOOK, rows=8_000_000, load="memory_limit_mb = 16")
    yield from _inferred("little memory", "device reads", lambda: bench.run(experiment))


def _control_group(controller: str, limits: Mapping[str, str]) -> Path:
    """Make a control group with those of the limits that its version knows. Raises NotMeasuredError."""
    root = Path("/sys/fs/cgroup")
    parent = root if (root / "cgroup.controllers").exists() else root / controller
    group = parent / f"dbdyno-causes-{os.getpid()}"
    try:
        group.mkdir()
        known = [(name, value) for name, value in limits.items() if (group / name).exists()]
        for name, value in known:
            (group / name).write_text(value)
    except OSError as error:
        raise NotMeasuredError(f"no control group can be made: {error}") from None
    if not known:
        group.rmdir()
        raise NotMeasuredError(f"{parent} does not limit {controller}")
    return group


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
    slow_reads,
    slow_writes,
    thinking_clients,
    held_locks,
    swallowed_syncs,
    cpu_quotas,
    little_memory,
    nothing_planted,
)

# Of these SQLite has none.
OF_SERVERS = (far_servers, hot_rows)

if __name__ == "__main__":
    chosen = [each for each in BENCHES if ASKED.system != "sqlite" or each not in OF_SERVERS]
    sys.exit(run(Bench, chosen, __doc__, options=OPTIONS))
