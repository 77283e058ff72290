"""What measuring costs: the worker against a bare C loop over the same library and statement.

Prints a line for each figure (name, figure, spread, target) and ends with 1 when one misses its target. `--only NAME`
picks those whose name contains it.
"""

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from figures import DBDYNO, Figure, NotMeasuredError, run, spread

from dbdyno.cpu.own_cost import BARE_LOOP
from dbdyno.engines.provisioner import ProvisioningContext
from dbdyno.engines.sqlite.library import find_library
from dbdyno.engines.sqlite.provisioner import SqliteProvisioner
from dbdyno.engines.sqlite.settings import SqliteSettings
from dbdyno.engines.sqlite.targets import load_target
from dbdyno.engines.statements import places
from dbdyno.experiment import load_experiment
from dbdyno.experiment.compile import compile_cell
from dbdyno.experiment.design import make_cells, parse_set
from dbdyno.model.events.answers import Ready
from dbdyno.model.events.reading import ReceivedEvent
from dbdyno.model.events.trial import TrialResult
from dbdyno.runtime.worker import Worker, ask, worker_path
from dbdyno.runtime.workspace.interruption import Interruption
from dbdyno.runtime.workspace.workspace import Workspace

KEYS = 100_000
LOOKUP = "select * from user where id = ?"
CHEAP = "select c1 from user where id = ?"
BLOCKS = 10

# Of the throughput, which is measured interleaved: nanoseconds of a slice, and between two; a client's work.
SLICE_NS = 20_000_000
GAP_NS = 100_000
INTERLEAVED_OPERATIONS = 100_000
INTERLEAVED_BLOCKS = 40


class Bench:
    """The database, the library both sides use, and the bare loop, built once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        settings = SqliteSettings(cflags="-O2")
        library = find_library(settings)
        assert library.path is not None
        self.library = library.path
        experiment = load_experiment("pk-lookup")
        cells = make_cells(experiment, parse_set(["threads=1", "cache=private"], experiment), [])
        self.compiled = compile_cell(experiment, cells.cells[0])
        host = SqliteProvisioner(ProvisioningContext(Workspace(directory), Interruption()))
        with host.ready(self.compiled, 0) as ready:
            self.database = Path(ready.target["path"])
        source = directory / "source"
        source.mkdir()
        subprocess.run([worker_path(), "amalgamation", source], check=True)
        self.bare = directory / "bare"
        subprocess.run(
            ["cc", "-O2", f"-I{source}", "-o", self.bare, BARE_LOOP, self.library, "-lpthread", "-lrt"], check=True
        )

    def plan(self, sql: str, clients: int, operations: int, cache_size: int, **trial: Any) -> dict[str, Any]:
        target = {"engine": "sqlite", "path": str(self.database), "library": self.library}
        step = {"do": "execute", "statement": 0, "params": [{"kind": "uniform", "low": 1, "high": KEYS}]}
        task = {
            "kind": "trial",
            "target": target | {"pragmas": [["cache_size", str(cache_size)]]},
            "clients": clients,
            "window": {"transactions": operations},
            "statements": [{"name": "s", "sql": sql, "places": places(sql)}],
            "transactions": [{"name": "t", "steps": [step]}],
        }
        return {"schema": "dbdyno.plan/1", "seed": 1, "task": task | trial}

    def ours(self, *arguments: Any, **trial: Any) -> TrialResult:
        return ask(self.plan(*arguments, **trial), TrialResult)

    def command(self, sql: str, clients: int, operations: int, cache_size: int) -> list[str]:
        return [str(self.bare), str(self.database), sql, str(KEYS), str(clients), str(operations), str(cache_size)]

    def instructions(self, command: list[str], text: str | None) -> int:
        out = self.directory / "callgrind.out"
        counting = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        if text is not None:
            # The worker has its window counted, and nothing else.
            counting.append("--collect-atstart=no")
        subprocess.run([*counting, *command], input=text, capture_output=True, text=True, check=True)
        line = next(line for line in out.read_text().splitlines() if line.startswith(("summary:", "totals:")))
        return int(line.split()[1])


def per_operation(bench: Bench, sql: str, cache_size: int) -> tuple[float, float]:
    """Instructions of an operation, ours and theirs: what n more operations cost."""
    # Past the first n the page cache is full, where it is to hold the table.
    first, more = 60_000, 40_000
    ours, theirs = [], []
    for operations in (first, first + more):
        # Under valgrind all but the clock is some thirty times slower: a longer interval holds as many operations.
        record = {"interval_ms": 30_000}
        plan = json.dumps(bench.plan(sql, 1, operations, cache_size, record=record))
        ours.append(bench.instructions([str(worker_path())], plan))
        theirs.append(bench.instructions(bench.command(sql, 1, operations, cache_size), None))
    return (ours[1] - ours[0]) / more, (theirs[1] - theirs[0]) / more


def instructions(bench: Bench) -> Iterator[Figure]:
    for name, sql, cache_size, target in (
        ("pk-lookup", LOOKUP, 2000, 1.03),
        ("cheapest statement", CHEAP, 200_000, 1.15),
    ):
        ours, theirs = per_operation(bench, sql, cache_size)
        yield Figure(f"instructions, {name}", ours / theirs, f"{ours:.0f} / {theirs:.0f}", target, at_most=True)


def throughput(bench: Bench) -> Iterator[Figure]:
    for clients in (1, 2, 4):
        ratios = [beside_the_bare_loop(bench, clients, block) for block in range(INTERLEAVED_BLOCKS)]
        yield Figure(f"throughput, {clients} client(s)", statistics.median(ratios), spread(ratios), 0.98, at_most=False)


def beside_the_bare_loop(bench: Bench, clients: int, block: int) -> float:
    """Our throughput by the bare loop's, measured interleaved, so that both saw the same machine."""
    operations, index = INTERLEAVED_OPERATIONS, block % 2
    slot = SLICE_NS + GAP_NS
    interleaving = {"length_ms": SLICE_NS / 1e6, "index": index, "of": 2, "cpu": block}
    worker = Worker(bench.plan(LOOKUP, clients, operations, 2000, interleaving=interleaving), 120.0, coordinated=True)
    ours, bare = 0.0, None
    for event in (heard.event for heard in worker):
        if isinstance(event, TrialResult):
            ours = rate(event)
        elif isinstance(event, Ready):
            # Time enough for the bare loop to open the database.
            start = time.monotonic_ns() + 150_000_000
            if event.phase == "window":
                moments = [str(start + (1 - index) * slot), str(SLICE_NS), str(2 * slot), str(block)]
                command = [*bench.command(LOOKUP, clients, operations, 2000), *moments]
                bare = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            worker.send(json.dumps({"start_ns": start}))
    assert bare is not None
    told, _ = bare.communicate()
    return ours / float(told.split()[0])


# Lookups between a begin and a commit: the shortest statements that anybody times one by one.
LOOKUPS = 5


def timing_statements(bench: Bench) -> Iterator[Figure]:
    """What it costs to time each statement: the throughput with it by that without."""
    param = {"kind": "uniform", "low": 1, "high": KEYS}
    lookups = [{"do": "execute", "statement": 0, "params": [param]}] * LOOKUPS
    steps: list[dict[str, Any]] = [{"do": "begin"}, *lookups, {"do": "commit"}]
    counts = {timed: instructions_of(bench, steps, timed) for timed in (True, False)}
    name = "instructions, timing each statement"
    yield Figure(name, counts[True] / counts[False], f"{counts[True]:.0f} / {counts[False]:.0f}", 1.01, at_most=True)
    for clients in (1, 2):
        ratios = [timed_by_untimed(bench, steps, clients, block) for block in range(INTERLEAVED_BLOCKS)]
        name = f"timing each statement, {clients} client(s)"
        yield Figure(name, statistics.median(ratios), spread(ratios), 0.99, at_most=False)


def instructions_of(bench: Bench, steps: list[dict[str, Any]], timed: bool) -> float:
    """Instructions of one of these transactions: what n more cost."""
    first, more = 20_000, 10_000
    record = {"interval_ms": 30_000, "operations": timed}
    trial = {"transactions": [{"name": "t", "steps": steps}], "record": record}
    plans = [json.dumps(bench.plan(LOOKUP, 1, many, 200_000, **trial)) for many in (first, first + more)]
    counts = [bench.instructions([str(worker_path())], plan) for plan in plans]
    return (counts[1] - counts[0]) / more


def timed_by_untimed(bench: Bench, steps: list[dict[str, Any]], clients: int, block: int) -> float:
    """The throughput with each statement timed by that without, of two workers in slices that take turns."""
    workers = []
    for place in range(2):
        interleaving = {"length_ms": SLICE_NS / 1e6, "index": (place + block) % 2, "of": 2, "cpu": block}
        trial = {
            "interleaving": interleaving,
            "transactions": [{"name": "t", "steps": steps}],
            "record": {"operations": place == 0},
        }
        plan = bench.plan(LOOKUP, clients, INTERLEAVED_OPERATIONS // LOOKUPS, 200_000, **trial)
        workers.append(Worker(plan, 120.0, coordinated=True))
    heard = [iter(worker) for worker in workers]
    for _ in ("warmup", "window"):
        for each in heard:
            next(event for event in (line.event for line in each) if isinstance(event, Ready))
        start = json.dumps({"start_ns": time.monotonic_ns() + 100_000_000})
        for worker in workers:
            worker.send(start)
    with ThreadPoolExecutor() as pool:
        rates = list(pool.map(rate_at_end, heard))
    return rates[0] / rates[1]


def rate_at_end(heard: Iterator[ReceivedEvent]) -> float:
    """The rate that a worker tells in the end."""
    return rate(next(event for event in (line.event for line in heard) if isinstance(event, TrialResult)))


def null_engine(bench: Bench) -> Iterator[Figure]:
    window = {"seconds": 1}
    results = (bench.ours(LOOKUP, 1, None, 2000, target={"engine": "null"}, window=window) for _ in range(BLOCKS))
    rates = [rate(result) / 1e6 for result in results]
    yield Figure("null engine, million operations/s", statistics.median(rates), spread(rates), 15, at_most=False)


# Kinds of identifiers, random to ordered.
IDENTIFIERS: dict[str, Any] = {
    "v4": "v4",
    "v7": "v7",
    "v7_monotonic": "v7_monotonic",
    "ulid": "ulid",
    "time_blocked": {"time_blocked": {"interval_length": 60, "interval_count": 65536}},
    "sequence_blocked": {"sequence_blocked": {"block_size": 65536, "block_count": 65536}},
}


# Identifiers in a transaction: so many that what a transaction costs besides does not count.
MANY = 16


def identifiers(bench: Bench) -> Iterator[Figure]:
    """Identifiers that one client makes, on the engine that does nothing: a statement takes many."""
    for name, version in IDENTIFIERS.items():
        for form in ("bytes", "hex"):
            param = {"kind": "uuid", "version": version, "format": form}
            steps = [{"do": "execute", "statement": 0, "params": [param] * MANY}]
            trial = {
                "target": {"engine": "null"},
                "window": {"seconds": 0.5},
                "transactions": [{"name": "t", "steps": steps}],
            }
            rates = [MANY * rate(bench.ours(LOOKUP, 1, None, 2000, **trial)) / 1e6 for _ in range(BLOCKS)]
            yield Figure(f"{name} as {form}, million/s", statistics.median(rates), spread(rates), 20, at_most=False)


def memory(bench: Bench) -> Iterator[Figure]:
    results = (bench.ours(LOOKUP, 2, None, 2000, window={"seconds": seconds}) for seconds in (10, 60))
    peaks = [result.memory.peak_rss_bytes / 1e6 for result in results]
    yield Figure(
        "memory, 60 s against 10 s", peaks[1] / peaks[0], f"{peaks[0]:.1f} MB, {peaks[1]:.1f} MB", 1.02, at_most=True
    )


def loading(bench: Bench) -> Iterator[Figure]:
    shell = shutil.which("sqlite3")
    if shell is None:
        raise NotMeasuredError("the sqlite3 shell is not on the PATH")
    rows = bench.directory / "rows.tsv"
    with rows.open("w") as out:
        subprocess.run([shell, "-separator", "\t", bench.database, "select * from user"], stdout=out, check=True)
    ratios = []
    for block in range(5):
        order = (_import, _load) if block % 2 else (_load, _import)
        taken = {side: side(bench, shell, rows) for side in order}
        ratios.append(taken[_import] / taken[_load])
    yield Figure("loading, rate against .import", statistics.median(ratios), spread(ratios), 1.0, at_most=False)


def _load(bench: Bench, _shell: str, _rows: Path) -> float:
    new = bench.directory / "loaded.db"
    new.unlink(missing_ok=True)
    plan = bench.compiled.load_plan(load_target(bench.compiled, str(new), bench.library)).json
    plan["task"]["tables"] = [table for table in plan["task"]["tables"] if table["name"] == "user"]
    start = time.monotonic()
    for _ in Worker(plan):
        pass
    return time.monotonic() - start


def _import(bench: Bench, shell: str, rows: Path) -> float:
    new = bench.directory / "imported.db"
    new.unlink(missing_ok=True)
    create = next(sql for sql in bench.compiled.before if "user" in sql)
    start = time.monotonic()
    # The same settings as our own loading, so that neither waits for what the other does not.
    commands = ["pragma journal_mode=off", "pragma synchronous=off", create]
    script = ";\n".join(commands) + f";\n.mode tabs\n.import {rows} user\n"
    subprocess.run([shell, new], input=script, text=True, capture_output=True, check=True)
    subprocess.run(["sync", new], check=True)
    return time.monotonic() - start


def start_up(_bench: Bench) -> Iterator[Figure]:
    times = []
    for _ in range(BLOCKS):
        start = time.monotonic()
        subprocess.run([DBDYNO, "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append(time.monotonic() - start)
    yield Figure("dbdyno --help, s", statistics.median(times), spread(times), 0.3, at_most=True)


def showing(bench: Bench) -> Iterator[Figure]:
    from dataclasses import replace

    from dbdyno.store import open_store

    place = str(bench.directory / "runs.db")
    command: list[str | Path] = [DBDYNO, "run", "pk-lookup", "--set", "threads=1,2", "--rounds", "1", "--store", place]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    store = open_store(place)
    run_id = store.run("last").id
    for trial in store.trials(run_id):
        for block in range(1, 25):
            store.add_trial(run_id, replace(trial, block=block, id=None))
    store.close()
    times = []
    for _ in range(5):
        start = time.monotonic()
        subprocess.run([DBDYNO, "show", run_id, "--store", place], stdout=subprocess.DEVNULL, check=True)
        times.append(time.monotonic() - start)
    yield Figure("dbdyno show of 100 trials, s", statistics.median(times), spread(times), 1.0, at_most=True)


def rate(result: TrialResult) -> float:
    return result.accounting.ok / result.elapsed_s


ALL = (instructions, throughput, timing_statements, null_engine, identifiers, loading, start_up, showing, memory)


if __name__ == "__main__":
    sys.exit(run(Bench, ALL, __doc__))
