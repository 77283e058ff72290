"""Noise of a machine: within a run (a cell compared with itself) and between runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import fmean, median, stdev

from dbdyno.analysis.measured.comparisons import ASSUMED, RunNoise
from dbdyno.analysis.measured.metrics import rates_by_block
from dbdyno.model.result.reading import JsonObject, count, number, part
from dbdyno.model.result.shape import Document
from dbdyno.stats import MARGIN, Ratio, detectable, paired_rates, pooled, standard_error, unpaired_rates, verdict
from dbdyno.stats.intervals import ratio_of, usual_allowance
from dbdyno.stats.rates import block_values, own_values
from dbdyno.store.same_machine import same_machine

ROUNDS = (5, 10, 20, 30)
"""Numbers of rounds for which the smallest detectable change is reported."""

_TRIES = 4000

# Assumed standard deviations of the logarithm between runs, for metrics that vary more than throughput.
_USUAL = {"p90": 0.08, "p99": 0.15, "p99_9": 0.25, "max": 0.4}
_ASSUMED_RUNS = 3


@dataclass(frozen=True)
class Sight:
    """The smallest change (a share) that a run with ``rounds`` rounds detects, and its length in seconds."""

    rounds: int
    seconds: float
    change: float


@dataclass(frozen=True)
class Noise:
    """The noise between two identical cells.

    ``deviation``: standard deviation of the logarithm of their ratio within blocks; ``ratio``: over all blocks, whose
    interval should contain 1; ``false_alarms``: the share of comparisons of ``alarm_rounds`` rounds, drawn from the
    measured blocks, that find a difference although there is none (nominally 5 %); ``beyond_margin``: the share that
    also exceed ``margin``; ``block_s``: seconds per block of both cells.
    """

    ratio: Ratio
    deviation: float
    blocks: int
    alarm_rounds: int
    false_alarms: float
    beyond_margin: float
    margin: float
    block_s: float
    sights: list[Sight]


@dataclass(frozen=True)
class RunsNoise:
    """The noise between runs of the same system.

    ``deviation``: standard deviation of the logarithm of a run's throughput; ``within``: the same, estimated from the
    rounds of each run; ``false_alarms``: the share of pairs of runs found different by their rounds alone; ``rounds``:
    mean number of rounds per run.
    """

    deviation: float
    within: float
    runs: int
    rounds: float
    false_alarms: float

    @property
    def known(self) -> RunNoise:
        """The noise as used by comparisons of two runs."""
        return RunNoise(self.deviation, self.runs - 1, self.runs)


MIN_RUNS = 3
"""Minimum number of runs to estimate their noise; 10 are usual."""


def noise_of_runs(documents: Sequence[Document]) -> RunsNoise | None:
    """Return the noise between runs of one cell; None with fewer than three runs with a result."""
    runs = [rates for document in documents if (rates := list(rates_by_block(document.cells[0]).values()))]
    if len(runs) < MIN_RUNS:
        return None
    pairs = list(combinations(runs, 2))
    verdicts = [verdict(unpaired_rates(a, b)) for a, b in pairs]
    return RunsNoise(
        stdev(math.log(pooled(each)) for each in runs),
        math.sqrt(fmean(standard_error(list(own_values(dict(enumerate(each))).values())) ** 2 for each in runs)),
        len(runs),
        fmean(len(each) for each in runs),
        sum(each in ("faster", "slower") for each in verdicts) / len(pairs),
    )


def stored_noise(measured: JsonObject | None, host: JsonObject) -> RunNoise | None:
    """Read a stored noise between runs; None if it is missing, invalid or from another machine."""
    if measured is None or not same_machine(part(measured, "host"), host):
        return None
    deviation, runs = number(measured, "deviation"), count(measured, "runs")
    if deviation is None or deviation < 0 or runs is None or runs < MIN_RUNS:
        return None
    return RunNoise(deviation, runs - 1, runs)


def between_runs(metric: str, earlier: Sequence[float], rounds: Sequence[Sequence[float]]) -> RunNoise:
    """Estimate the noise of a metric between runs of the same system.

    ``earlier``: values of earlier runs of the same work on this machine, oldest first; ``rounds``: values of the rounds
    of each run to compare. The estimate uses differences of successive runs, so that an old change affects only one
    difference. An assumed deviation counts like 3 runs: the usual one, or the deviation between rounds if it is larger,
    since disturbances of rounds disturb runs too.
    """
    usual = max(_USUAL.get(metric, ASSUMED.deviation), _within(rounds))
    logs = [math.log(value) for value in earlier if value > 0]
    if len(logs) < MIN_RUNS:
        return RunNoise(usual, ASSUMED.freedom, 0)
    # The variance from successive differences has 2/3 of the degrees of freedom (von Neumann 1941).
    freedom = (len(logs) - 1) * 2 / 3
    variance = fmean((after - before) ** 2 for before, after in pairwise(logs)) / 2
    total = _ASSUMED_RUNS + freedom
    return RunNoise(math.sqrt((_ASSUMED_RUNS * usual**2 + freedom * variance) / total), total, len(logs))


def _within(rounds: Sequence[Sequence[float]]) -> float:
    """Return the deviation of the logarithms of rounds within their run."""
    logs = [[math.log(value) for value in run if value > 0] for run in rounds]
    squares = sum((len(run) - 1) * stdev(run) ** 2 for run in logs if len(run) > 1)
    freedom = sum(len(run) - 1 for run in logs if len(run) > 1)
    return math.sqrt(squares / freedom) if freedom else 0.0


# Fewer common blocks are not enough to estimate the noise.
_MIN_BLOCKS = 4


def noise_of(document: Document, margin: float = MARGIN) -> Noise | None:
    """Return the noise between the first two cells of a run; None with fewer than 4 common blocks."""
    a, b = document.cells[:2]
    rates = rates_by_block(a), rates_by_block(b)
    logs, ratio = block_values(*rates), paired_rates(*rates)
    if ratio is None or len(logs) < _MIN_BLOCKS:
        return None
    seconds = [
        float(round_.durations.get("total_s") or 0.0)
        for cell in (a, b)
        for round_ in cell.rounds
        if round_.status == "done"
    ]
    # Interleaved trials run concurrently, so each takes as long as the block.
    in_turn = 1 if document.options.get("slice_s") else 2
    block_s = in_turn * median(seconds) if seconds else 0.0
    deviation = stdev(logs)
    alarm_rounds = min(10, len(logs))
    alarms, beyond = false_alarms(logs, alarm_rounds, margin)
    sights = []
    for rounds in ROUNDS:
        error = deviation / math.sqrt(rounds) * usual_allowance(rounds)
        change = detectable(Ratio(1.0, error, rounds - 1, rounds))
        if change is not None:
            sights.append(Sight(rounds, rounds * block_s, change))
    return Noise(ratio, deviation, len(logs), alarm_rounds, alarms, beyond, margin, block_s, sights)


def false_alarms(logs: Sequence[float], rounds: int, margin: float) -> tuple[float, float]:
    """Return the shares of comparisons that find a difference by chance, and one beyond the margin.

    The order of two equal cells is arbitrary, so each block's logarithm is equally likely with the opposite sign
    (randomization; Fisher 1935, The Design of Experiments, ch. 3). ``rounds`` blocks are drawn 4,000 times, with
    replacement, random signs and a fixed seed.
    """
    import numpy

    random = numpy.random.default_rng(0)
    values = numpy.asarray(logs)
    alarms = beyond = 0
    for _ in range(_TRIES):
        draws = random.choice(values, rounds) * random.choice((-1.0, 1.0), rounds)
        ratio = ratio_of([float(draw) for draw in draws])
        if ratio is not None and verdict(ratio, 0.0) in ("faster", "slower"):
            alarms += 1
            beyond += abs(math.log(ratio.mean)) > math.log1p(margin)
    return alarms / _TRIES, beyond / _TRIES
