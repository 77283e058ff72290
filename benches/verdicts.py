"""Whether verdicts are right: how often equal cells differ, and how often a planted slowdown is found.

Prints a line for each figure and ends with 1 when one misses its target. It takes some half an hour. `--only NAME`
picks those whose name contains it.
"""

import json
import math
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import LOOKUP, Bench, rate
from figures import DBDYNO, Figure, run
from gates import gates_of_equal_code, gates_of_slower_code
from looks import (
    blocks_of_a_machine_whose_noise_lingers,
    blocks_of_cells_whose_noise_lingers,
    history_with_a_loss,
    history_with_a_step,
    history_without_a_change,
)
from windows import equal_rates_of_few_transactions, open_loops_that_hang, windows_of_few_transactions

from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.reading import read_task
from dbdyno.model.plan.tasks import TrialTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.run.coordinated_workers import CoordinatedWorkers
from dbdyno.runtime.worker import WorkerFailed, worker_path
from dbdyno.stats import verdict
from dbdyno.stats.intervals import ratio_of

COMPARISONS = 200
BLOCKS = 5
OPERATIONS = 15_000
# Longer than those of equal cells: the spread of short windows is greater than the slowdown looked for.
LONGER = 150_000
CACHE = 2000

TRIES = 20
MAX_BLOCKS = 15
SLOWDOWN = 0.03

# Seconds that each of two trials has that are interleaved, and milliseconds of a slice.
INTERLEAVED_S = 0.7
SLICE_MS = 20.0

# A comparison of each built-in experiment, on embedded SQLite.
FIXED = 30
EXPERIMENTS = (
    ("pk-lookup", "threads=1,2", "cache=private"),
    ("bulk-insert", "mode=one_transaction_text,one_transaction_prepared"),
    ("pk-update", "rows_per_transaction=1000,10000"),
    ("dictionary-search", "search=like_create,computer", "sorted=no"),
    ("promo-code", "step=1_rollback_journal,2_wal"),
    ("promo-code-engines",),
)

COUNTS = 5
COUNTED = 60_000


def throughput(bench: Bench, operations: int, planted: int = 0) -> float:
    return rate(bench.ours(LOOKUP, 1, operations, CACHE, planted_work=planted))


def block(bench: Bench, number: int, operations: int, planted: int = 0) -> float:
    """The logarithm of b / a in one block, a and b in turn first."""
    if number % 2:
        b, a = throughput(bench, operations, planted), throughput(bench, operations)
    else:
        a, b = throughput(bench, operations), throughput(bench, operations, planted)
    return math.log(b / a)


def false_verdicts(bench: Bench) -> Iterator[Figure]:
    found = 0
    logs: list[float] = []
    for _ in range(COMPARISONS):
        own = [block(bench, number, OPERATIONS) for number in range(BLOCKS)]
        logs += own
        found += verdict(ratio_of(own)) in ("faster", "slower")
    spread = f"{found} of {COMPARISONS}, {BLOCKS} blocks each"
    yield Figure("false verdicts of equal cells, %", 100 * found / COMPARISONS, spread, 2, at_most=True)
    # By randomisation on the noise just recorded: which of two equal cells is called the first is chance.
    draw = random.Random(1)
    again = 20_000
    found = 0
    for _ in range(again):
        own = [draw.choice(logs) * draw.choice((-1, 1)) for _ in range(BLOCKS)]
        found += verdict(ratio_of(own)) in ("faster", "slower")
    deviation = math.sqrt(sum(each**2 for each in logs) / len(logs))
    spread = f"n={again}, noise {100 * deviation:.2g} %"
    yield Figure("false verdicts, drawn from that noise, %", 100 * found / again, spread, 3, at_most=True)


def power(bench: Bench) -> Iterator[Figure]:
    planted = calibrated(bench)
    found, needed = 0, []
    for _ in range(TRIES):
        logs = [block(bench, number, LONGER, planted) for number in range(MAX_BLOCKS)]
        found += verdict(ratio_of(logs)) == "slower"
        needed.append(math.exp(sum(logs) / len(logs)) - 1)
    spread = f"{found} of {TRIES}, mean change {100 * sum(needed) / TRIES:.2g} %"
    yield Figure(f"{100 * SLOWDOWN:g} % slowdown found in 15 blocks, %", 100 * found / TRIES, spread, 95, at_most=False)


def interleaved_block(bench: Bench, number: int, planted: int) -> float:
    """The same of trials that are interleaved."""
    plans = []
    for index in range(2):
        interleaving = {"length_ms": SLICE_MS, "index": index, "of": 2, "cpu": number}
        work = planted if index == number % 2 else 0
        window = {"seconds": INTERLEAVED_S}
        plan = bench.plan(LOOKUP, 1, 0, CACHE, interleaving=interleaving, window=window, planted_work=work)
        task = read_task(plan)
        assert isinstance(task, TrialTask)
        plans.append(WorkerPlan(task=task))
    rates = {}
    for who, heard in CoordinatedWorkers(plans, 60.0, [0, 0]):
        if isinstance(heard, WorkerFailed):
            raise heard
        if who is not None and isinstance(heard.event, TrialResult):
            rates[who] = rate(heard.event)
    return math.log(rates[number % 2] / rates[1 - number % 2])


def power_interleaved(bench: Bench) -> Iterator[Figure]:
    """Equal trials that are interleaved, and the planted slowdown."""
    equal = [interleaved_block(bench, number, 0) for number in range(TRIES * 5)]
    deviation = statistics.stdev(equal)
    alarms = sum(verdict(ratio_of(equal[at : at + 5])) in ("faster", "slower") for at in range(0, len(equal), 5))
    told = f"{alarms} of {TRIES} comparisons of 5 blocks differ"
    yield Figure("noise of a block interleaved, %", 100 * deviation, told, 3, at_most=True)
    planted = calibrated(bench)
    found, logs = 0, []
    for _ in range(TRIES):
        own = [interleaved_block(bench, number, planted) for number in range(MAX_BLOCKS)]
        found += verdict(ratio_of(own)) == "slower"
        logs += own
    spread = f"{found} of {TRIES}, mean change {100 * (math.exp(sum(logs) / len(logs)) - 1):.2g} %"
    name = f"interleaved, {100 * SLOWDOWN:g} % slowdown found in 15 blocks, %"
    yield Figure(name, 100 * found / TRIES, spread, 95, at_most=False)


def calibrated(bench: Bench) -> int:
    """The iterations of the empty loop that make a lookup longer by the slowdown wanted."""
    iterations = 2000
    plain, slowed = [], []
    for _ in range(10):
        plain.append(1 / throughput(bench, LONGER))
        slowed.append(1 / throughput(bench, LONGER, iterations))
    each = (sum(slowed) - sum(plain)) / 10 / iterations
    return max(1, round(SLOWDOWN * sum(plain) / 10 / each))


def counting(bench: Bench) -> Iterator[Figure]:
    """Instructions of a run with and without two iterations of the empty loop a lookup."""
    found, more = 0, 0.0
    for _ in range(COUNTS):
        counts = []
        for planted in (0, 2):
            # What depends on time (intervals, calls timed while they are slow) would count as instructions.
            record = {"interval_ms": 60_000, "io": False}
            plan = bench.plan(LOOKUP, 1, COUNTED, CACHE, planted_work=planted, record=record)
            counts.append(bench.instructions([str(worker_path())], json.dumps(plan)))
        more = (counts[1] - counts[0]) / counts[0]
        found += counts[1] > counts[0]
    spread = f"{found} of {COUNTS}, {100 * more:.2g} % more"
    yield Figure("more instructions found by counting, %", 100 * found / COUNTS, spread, 100, at_most=False)


def time_to_a_verdict(bench: Bench) -> Iterator[Figure]:
    """The machine time that `--rounds auto` takes to the precision that 30 rounds, one trial after another, come to."""
    shares, told = [], []
    for name, *settings in EXPERIMENTS:
        fixed = measured(bench, name, settings, "--rounds", str(FIXED), "--interleave", "none")
        low, high = fixed["comparisons"][0]["ci95"]
        reach = math.sqrt(high / low) - 1
        longest = ("--max-rounds", str(2 * FIXED))
        auto = measured(bench, name, settings, "--rounds", "auto", "--target", f"{100 * reach:.4f}%", *longest)
        shares.append(machine_time(auto) / machine_time(fixed))
        turns = "interleaved" if auto["options"]["slice_s"] else "one after another"
        rounds = len(auto["cells"][0]["rounds"])
        told.append(f"{name} {shares[-1]:.2f} (±{100 * reach:.1f} %: {rounds} rounds {turns})")
    yield Figure(f"auto's time against {FIXED} rounds", statistics.median(shares), "; ".join(told), 0.5, at_most=True)


EQUAL = """
name = "equal"
title = "Two systems that are equal"
[tables.t]
rows = 20000
[tables.t.columns]
id = {{ type = "integer", primary_key = true, fill = {{ serial = 1 }} }}
v = {{ type = "integer", fill = {{ serial = 1 }} }}
[load]
clients = {clients}
warmup = {{ seconds = 0.1 }}
stop = {{ seconds = 0.4 }}
{arrival}
"""
ONE = '[[transactions]]\nname = "{name}"\nweight = {weight}\nsteps = [{step}]\n'
LOOK_UP = '{ execute = "select v from t where id = ?", params = [{ key = "t.id" }] }'
SUM = '{{ execute = "select sum(v) from t where id between ? and {most}", params = [{{ key = "t.id" }}] }}'
CHANGE = '{ execute = "update t set v = v + 1 where id = ?", params = [{ key = "t.id" }] }'
INSERT = '{ execute = "insert into t (v) select v from t limit 200" }'


@dataclass(frozen=True)
class Load:
    """A load that two equal systems carry. ``steps``: of its transactions, each with its weight."""

    name: str
    steps: Sequence[tuple[int, str]]
    clients: int = 1
    system: str = "sqlite:"
    rate: float = 0.0
    beside: str = ""

    def experiment(self) -> str:
        """Return it as a file says it."""
        arrival = f"arrival = {{ rate = {self.rate:g} }}" if self.rate else ""
        made = [ONE.format(name=f"t{i}", weight=weight, step=step) for i, (weight, step) in enumerate(self.steps)]
        return EQUAL.format(clients=self.clients, arrival=arrival) + "".join(made)


# A program that computes for a second or two, and then waits as long.
NEIGHBOR = (
    "import time\nwhile True:\n    end = time.time() + 1.7\n    while time.time() < end: pass\n    time.sleep(1.3)\n"
)
LOADS = (
    Load("1 client", [(1, LOOK_UP)]),
    Load("8 clients", [(1, LOOK_UP)], clients=8),
    Load("synced file", [(1, CHANGE)]),
    Load("file in memory", [(1, CHANGE)], system="sqlite:?synchronous=off&journal_mode=memory"),
    Load("server", [(1, LOOK_UP)], clients=4, system="postgresql:"),
    Load("open loop", [(1, LOOK_UP)], clients=4, rate=2000),
    Load("heavy tail", [(1, SUM.format(most=20_000))]),
    Load("two kinds of transactions", [(20, LOOK_UP), (1, SUM.format(most=20_000))]),
    Load("drifting: a table that grows", [(1, SUM.format(most=10**9)), (1, INSERT)]),
    Load("neighbor that comes and goes", [(1, LOOK_UP)], clients=2, beside=NEIGHBOR),
)
RUNS_OF_EACH = 10


def equal_systems(bench: Bench) -> Iterator[Figure]:
    """How often a run tells two equal systems apart, of ten kinds of load."""
    told = []
    for load in LOADS:
        file = bench.directory / "equal.toml"
        file.write_text(load.experiment())
        with ExitStack() as stack:
            if load.beside:
                neighbor = stack.enter_context(subprocess.Popen([sys.executable, "-c", load.beside]))
                stack.callback(neighbor.kill)
            for _ in range(RUNS_OF_EACH):
                systems = [word for name in "ab" for word in ("--system", f"{name}={load.system}")]
                document = measured(bench, str(file), [], *systems, "--rounds", "5")
                if any(each["verdict"] in ("faster", "slower") for each in document["comparisons"]):
                    told.append(load.name)
    count = RUNS_OF_EACH * len(LOADS)
    spread = f"{len(told)} of {count}" + (f": {', '.join(told)}" if told else "")
    yield Figure("runs that tell equal systems apart, %", 100 * len(told) / count, spread, 5, at_most=True)


def measured(bench: Bench, name: str, settings: list[str], *options: str) -> dict[str, Any]:
    """The document of a run."""
    out = bench.directory / f"{Path(name).stem}.json"
    chosen = [word for setting in settings for word in ("--set", setting)]
    command: list[str | Path] = [DBDYNO, "run", name, *chosen, *options]
    subprocess.run(
        [*command, "--store", str(bench.directory / "runs.db"), "--json", str(out)], check=True, capture_output=True
    )
    document: dict[str, Any] = json.loads(out.read_text())
    return document


def machine_time(document: dict[str, Any]) -> float:
    """Seconds of all blocks; trials that are interleaved are there together."""
    together = max if document["options"]["slice_s"] else sum
    blocks = zip(*(cell["rounds"] for cell in document["cells"]), strict=True)
    return float(sum(together(each["durations"]["total_s"] for each in block) for block in blocks))


ALL: tuple[Callable[[Bench], Iterator[Figure]], ...] = (
    false_verdicts,
    power,
    power_interleaved,
    counting,
    time_to_a_verdict,
    equal_systems,
    gates_of_equal_code,
    gates_of_slower_code,
    history_without_a_change,
    history_with_a_loss,
    history_with_a_step,
    blocks_of_a_machine_whose_noise_lingers,
    blocks_of_cells_whose_noise_lingers,
    windows_of_few_transactions,
    equal_rates_of_few_transactions,
    open_loops_that_hang,
)


if __name__ == "__main__":
    sys.exit(run(Bench, ALL, __doc__))
