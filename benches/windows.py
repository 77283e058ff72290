"""Windows in which little ends: few transactions, and arrivals that never begin.

The first are drawn, and go through the functions that decide; the others are run and gated by the command line.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
from bench import Bench
from figures import DBDYNO, Figure

from dbdyno.stats import decide, paired_rates, rate_interval

sys.path.insert(0, str(Path(__file__).parent.parent / "tests/support"))

from simulated_windows import Kind, blocks

RUNS = 400
CLIENTS = (1, 8, 64)
ROUNDS = (3, 10)
# Transactions of a client in a window.
FEW = (1.0, 2.0, 10.0, 100.0)
MANY = (1e4, 1e6)
KINDS: dict[Kind, tuple[float, ...]] = {
    "exponential": (*FEW, *MANY),
    "uniform": FEW,
    "steady": FEW,
    "lognormal": FEW,
}

GATES = 10
# Ten clients, a thousand arrivals a second, and one client that hangs from the 20th arrival on.
_HANG = """
name = "hang"
title = "An open loop in which one client hangs"
question = "Does the gate see it?"
rounds = 5
[factors]
hang = [{hang}]
[load]
clients = 10
arrival = {{ rate = 1000, gaps = "even" }}
stop = {{ seconds = 0.5 }}
[[transactions]]
name = "t"
steps = [
  {{ set = "n", value = {{ serial = 1 }} }},
  {{ when = "n = ${{hang}}", then = [{{ think = 700 }}], else = [{{ think = 1 }}] }},
]
"""


def windows_of_few_transactions(_bench: Bench) -> Iterator[Figure]:
    """In how many runs the interval of 95 % holds the rate, by how much the times of transactions differ."""
    for kind, lengths in KINDS.items():
        random = numpy.random.default_rng(31)
        held = {}
        for clients, length, rounds in ((c, n, r) for c in CLIENTS for n in lengths for r in ROUNDS):
            found = 0
            for _ in range(RUNS):
                interval = rate_interval(list(blocks(random, kind, clients, length, rounds).values()))
                assert interval.low is not None
                assert interval.high is not None
                found += interval.low <= clients <= interval.high
            held[f"{clients} x {length:g}, {rounds} rounds"] = 100 * found / RUNS
        worst = min(held, key=lambda case: held[case])
        told = f"{worst}; at most {max(held.values()):.1f}, {len(held)} cases of {RUNS} runs"
        yield Figure(f"{kind} times: interval holds, least, %", held[worst], told, 94, at_most=False)


def equal_rates_of_few_transactions(_bench: Bench) -> Iterator[Figure]:
    """How many cells of one rate seem to differ, where their transactions take different times."""
    random = numpy.random.default_rng(32)
    differ = {}
    for clients, length, rounds in ((c, n, r) for c in CLIENTS for n in FEW for r in ROUNDS):
        found = 0
        for _ in range(RUNS):
            a, b = (blocks(random, kind, clients, length, rounds) for kind in ("exponential", "uniform"))
            found += decide([paired_rates(a, b)])[0].verdict in ("faster", "slower")
        differ[f"{clients} x {length:g}, {rounds} rounds"] = 100 * found / RUNS
    worst = max(differ, key=lambda case: differ[case])
    mean = sum(differ.values()) / len(differ)
    told = f"worst {worst}: {differ[worst]:.2g}; {len(differ)} cases of {RUNS} runs"
    yield Figure("equal rates of few transactions: differ, %", mean, told, 2, at_most=True)


def open_loops_that_hang(bench: Bench) -> Iterator[Figure]:
    """Gates on p99 of open loops in which a tenth of the arrivals never begin; and of the same where all do."""
    for hang, name, target in ((20, "one of ten clients hangs", 0), (0, "none hangs", 50)):
        file = bench.directory / f"hang-{hang}.toml"
        file.write_text(_HANG.format(hang=hang))
        answers, bounds = [], 0
        for _ in range(GATES):
            done = _dbdyno(bench, "gate", str(file), "--against", str(file), "--metric", "p99", "--margin", "90%")
            if done.returncode not in (0, 3, 4):
                raise RuntimeError(done.stdout + done.stderr)
            answers.append(done.returncode)
            bounds += "lower bound" in " ".join(done.stdout.split())
        passed = answers.count(0)
        told = f"{passed} of {GATES} passed, {answers.count(3)} regressions, {bounds} with a bound"
        yield Figure(f"open loops, {name}: p99 passes, %", 100 * passed / GATES, told, target, at_most=hang > 0)


def _dbdyno(bench: Bench, *arguments: str) -> "subprocess.CompletedProcess[str]":
    store = ["--store", str(bench.directory / "hangs.db")]
    return subprocess.run([DBDYNO, *arguments, *store], capture_output=True, text=True, check=False)
