"""The one place that decides what may be ranked, by what, and what a comparison shows.

The table of a run, its headline, the sentences about several cells, ``compare``, ``gate``, ``history`` and the rule
that ends a run ask here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.metrics import (
    done,
    failing_by_round,
    logs_by_block,
    lower_bounds,
    rates_by_block,
    usual_metric,
    values_by_block,
)
from dbdyno.engines.lookup import engine_of_product
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.shape import Comparison
from dbdyno.stats import (
    CONFIDENCE,
    MARGIN,
    Ratio,
    decide,
    inverse,
    paired_rates,
    paired_ratio,
    standard_error,
    unpaired_rates,
    unpaired_ratio,
)
from dbdyno.stats.intervals import Noise
from dbdyno.stats.moderation import noise_of

# What is drawn differs between runs of the same work: by so many standard errors once in 16,000 comparisons.
_CHANCE = 4.0
# Rows of a transaction that differ by so small a share are the same either way.
_SAME_ROWS = 0.005
# A share of failed transactions that differs by less is nothing either way.
_FAILING = 0.01
# Where more fail than this share, or nothing else happens for this share of the window, what ended well says how much
# there was room for, and not how fast it was.
_MOST = 0.5
_NOTHING_ELSE = 0.1
# Shares of the clients' time. They waited for a CPU for more than the first beyond what they make one another wait, or
# for more than the second beyond what the clients of the other side waited: a side was disturbed.
_QUEUED = 0.3
_APART = 0.1

ROWS = "rows returned by a transaction"
"""How a difference in rows begins."""

FAILED = "transactions that failed"
"""How a difference in failures begins."""

DURABILITY = "durability"
"""How a difference in what a power failure leaves begins."""


@dataclass(frozen=True)
class RunNoise:
    """How much the logarithm of a cell's throughput differs from run to run where nothing has changed.

    ``deviation``: its standard deviation; ``freedom``: the degrees of freedom that this is known with; ``runs``: from
    how many runs, 0 where it is assumed.
    """

    deviation: float
    freedom: float
    runs: int

    @property
    def least(self) -> float:
        """The deviation that runs have at least, with a confidence of 95 %."""
        from scipy.special import chdtri

        return self.deviation * math.sqrt(self.freedom / float(chdtri(self.freedom, 0.05)))


ASSUMED = RunNoise(0.05, 10.0, 0)
"""What is assumed of a machine of which nobody has measured it: what was found on shared virtual processors."""


@dataclass(frozen=True)
class Pair:
    """Two cells to compare, the baseline's first.

    ``apart``: what else is known that keeps them from being ranked. ``paired``: they have blocks in common. ``metric``:
    of ``METRICS``, or None for the usual one. ``between``: of two runs, how much runs differ
    of which nothing has changed.
    """

    a: Cell
    b: Cell
    apart: Sequence[str] = field(default_factory=tuple)
    paired: bool = True
    metric: str | None = None
    confidence: float = CONFIDENCE
    between: RunNoise | None = None

    @property
    def by(self) -> str:
        """What they are compared by."""
        return self.metric or usual_metric(self.a, self.b)

    @property
    def drift(self) -> tuple[float, float] | None:
        """The standard deviation from run to run, and its degrees of freedom."""
        return None if self.between is None else (self.between.deviation, self.between.freedom)

    @property
    def not_comparable(self) -> list[str]:
        """Why they are not ranked; empty where they are."""
        return [*self.apart, *why_not_comparable(self.a, self.b)]

    @property
    def is_bounded(self) -> bool:
        """Whether what they are compared by is a lower bound on either side, which no number of rounds settles."""
        return any(lower_bounds(cell, self.by) for cell in (self.a, self.b))


def judge(
    pairs: Sequence[Pair], margin: float = MARGIN, family: int | None = None, cells: Sequence[Cell] = ()
) -> list[Comparison]:
    """Compare pairs of cells as one family (:func:`dbdyno.stats.decide`). ``margin`` is a share.

    ``family``: the number of comparisons in the family, if it is not the number of pairs. ``cells``: all cells of the
    run, which show its noise together; by default those of the pairs. Less is better for every
    metric except throughput, so the reciprocal is judged. Two cells that are not comparable are not ranked: the ratio
    is there, the verdict is not. A time that is a lower bound on either side settles nothing.
    """
    ratios = [more_is_better(ratio, each.by) for each, ratio in zip(pairs, ratios_of(pairs, cells), strict=True)]
    made: list[Comparison] = []
    for pair, decision in zip(pairs, decide(ratios, margin, family), strict=True):
        ratio, apart = more_is_better(decision.ratio, pair.by), pair.not_comparable
        lacking = _lacking(pair, ratio)
        judged = not apart and not lacking
        made.append(
            Comparison(
                a=pair.a.id,
                b=pair.b.id,
                metric=pair.by,
                ratio=None if ratio is None else ratio.mean,
                ci95=None if ratio is None else ratio.ends,
                verdict=decision.verdict if judged else None if apart else "inconclusive",
                margin=margin,
                detectable=decision.detectable if judged else None,
                # More rounds don't reduce the noise between runs.
                more_rounds=decision.more_rounds if judged and pair.between is None else None,
                blocks=0 if ratio is None else ratio.count,
                not_comparable=apart,
                lacking=lacking,
            )
        )
    return made


def more_is_better(ratio: Ratio | None, metric: str) -> Ratio | None:
    """Return a ratio for which more is better, or such a ratio as it was measured: the reciprocal for a time."""
    return ratio if ratio is None or metric == "throughput" else inverse(ratio)


def ratios_of(pairs: Sequence[Pair], cells: Sequence[Cell] = ()) -> list[Ratio | None]:
    """Return the ratio b / a of each pair by its metric; None if either has no value, or they have no round in common.

    ``cells``: as in :func:`judge`.
    """
    seen = cells or list({id(cell): cell for pair in pairs if pair.paired for cell in (pair.a, pair.b)}.values())
    noises = {metric: noise_of_cells(seen, metric) for metric in {pair.by for pair in pairs if pair.paired}}
    return [ratio_of_pair(each, noises.get(each.by)) for each in pairs]


def noise_of_cells(cells: Sequence[Cell], metric: str) -> Noise | None:
    """Return the noise of a trial as all cells of a run show it; None of too few cells, and of exact counts."""
    return None if metric == "instructions" else noise_of([logs_by_block(cell, metric) for cell in cells])


def ratio_of_pair(pair: Pair, noise: Noise | None = None) -> Ratio | None:
    """Return the ratio b / a of a pair by its metric. ``noise``: of a trial, as all cells of the run show it."""
    a, b = pair.a, pair.b
    if pair.by == "throughput":
        rates = rates_by_block(a), rates_by_block(b)
        if pair.paired:
            return paired_rates(*rates, pair.confidence, noise)
        return unpaired_rates(list(rates[0].values()), list(rates[1].values()), pair.confidence, pair.drift)
    values = values_by_block(a, pair.by), values_by_block(b, pair.by)
    exact = pair.by == "instructions"
    if pair.paired:
        return paired_ratio(*values, pair.confidence, noise, exact=exact)
    drift = None if exact else pair.drift
    return unpaired_ratio(list(values[0].values()), list(values[1].values()), pair.confidence, drift, exact=exact)


def _lacking(pair: Pair, ratio: Ratio | None) -> str:
    """Say why a ratio settles nothing, whatever it is; empty where it may."""
    for cell in (pair.a, pair.b):
        bounds = lower_bounds(cell, pair.by)
        if bounds:
            return (
                f"{pair.by} is a lower bound in {bounds} of {len(done(cell))} rounds of {cell.id}: what failed or "
                "was skipped has no response time"
            )
    if ratio is not None and ratio.count > 1 and ratio.low is None:
        return "all rounds gave the same figure to the last digit, which says nothing of how sure it is"
    return ""


@dataclass(frozen=True, slots=True)
class Comparable:
    """What decides whether a cell may be ranked with another one: a few figures that stand for all of its rounds."""

    system: str
    """The system's name."""
    factors: dict[str, object]
    durability: str | None
    """Its class, marked if observations contradict it."""
    contradicted: bool
    writes: bool
    """Whether rows were changed, or may have been."""
    rows: float | None
    """Rows returned per transaction."""
    rows_error: float
    """Standard error of ``rows``; 0 if unknown."""
    failing: list[float]
    """Share of transactions that failed, of each round that began any."""
    lost: float
    """Share of the windows in which transactions failed and none succeeded."""
    queued: float | None
    """Share of the clients' time in which they waited for a CPU; None if unknown."""
    own_queue: float
    """The share that clients make one another wait because there are more of them than CPUs."""


def comparable(cell: Cell | Comparable) -> Comparable:
    """Return what decides whether a cell may be ranked."""
    if isinstance(cell, Comparable):
        return cell
    failing = failing_by_round(cell)
    return Comparable(
        system=cell.system.name,
        factors=cell.factors,
        durability=class_of(cell),
        contradicted=bool(cell.observed.contradiction),
        writes=_writes(cell),
        rows=cell.rows_per_transaction,
        rows_error=cell.rows_standard_error or 0.0,
        failing=failing,
        lost=_nothing_but_failures(cell) if any(failing) else 0.0,
        queued=_queue_share(cell),
        own_queue=_own_queue_share(cell),
    )


def disturbed_by_queue(*sides: Sequence[Cell | Comparable]) -> list[str]:
    """Say of each of two sides how long its clients waited for a CPU; empty if that disturbed nothing, or is unknown.

    A side is one run or several, of which the medians count. A disturbed side may be slower for that reason alone.
    """
    waited = []
    for side in sides:
        runs = [comparable(each) for each in side]
        shares = [each.queued for each in runs if each.queued is not None]
        waited.append((median(shares), median(each.own_queue for each in runs)) if shares else None)
    known = [share for share, _ in filter(None, waited)]
    apart = max(known) - min(known) if len(known) == len(waited) else 0.0
    said = []
    for each in waited:
        disturbed = each is not None and (each[0] > each[1] + _QUEUED or (apart > _APART and each[0] == max(known)))
        said.append(f"clients waited for a CPU for {each[0] * 100:.0f} % of their time" if each and disturbed else "")
    return said


def why_not_comparable(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Say why two cells must not be ranked; empty where they may be.

    Where nothing was written, there was nothing to be durable; a class that what was counted contradicts is none. Rows
    are looked at where nothing but the system differs: else the levels may ask for other ones. They differ, and so do
    shares of failures, where chance does not explain it. What failed may have been the greater part of the work, and
    the time is that of what is left.
    """
    a, b = comparable(a), comparable(b)
    return [*durability_differs(a, b), *rows_differ(a, b), *(hardly_any(a, b) or failures_differ(a, b))]


def durability_differs(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Say that one of two cells that wrote is less durable, or not what it claims; empty where neither is."""
    a, b = comparable(a), comparable(b)
    durability = (a.durability, b.durability)
    contradicted = a.contradicted or b.contradicted
    if not contradicted and (None in durability or durability[0] == durability[1] or not (a.writes or b.writes)):
        return []
    return [f"{DURABILITY}: {durability[0]} against {durability[1]}"]


def rows_differ(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Say that two systems returned other rows for the same work; empty where they did not."""
    a, b = comparable(a), comparable(b)
    if a.system == b.system or _without_system(a.factors) != _without_system(b.factors):
        return []
    return other_rows(a, b)


def other_rows(a: Cell | Comparable, b: Cell | Comparable, work: int = 1) -> list[str]:
    """Say that two cells returned other rows, whatever else they differ in; empty where they did not.

    ``work``: how many transactions of the first one of the second does.
    """
    a, b = comparable(a), comparable(b)
    if a.rows is None or b.rows is None:
        return []
    rows_b = b.rows / work
    if _is_no_chance(a.rows - rows_b, [a.rows_error, b.rows_error / work], _SAME_ROWS * max(a.rows, rows_b)):
        return [f"{ROWS}: {a.rows:.4g} against {rows_b:.4g}"]
    return []


def hardly_any(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Say that of one of two cells so much failed that the rate is that of what is left; empty where it is not so."""
    a, b = comparable(a), comparable(b)
    if not _any_failed(a, b):
        return []
    of_a, of_b = fmean(a.failing), fmean(b.failing)
    lost = max(a.lost, b.lost)
    if lost > _NOTHING_ELSE:
        return [f"{FAILED}: for {lost * 100:.0f} % of the window none ended well"]
    if max(of_a, of_b) > _MOST:
        return [f"{FAILED}: {of_a * 100:.3g} % against {of_b * 100:.3g} %, more than ended well"]
    return []


def failures_differ(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Say that more transactions failed of one of two cells than chance explains; empty where not."""
    a, b = comparable(a), comparable(b)
    if not _any_failed(a, b):
        return []
    of_a, of_b = fmean(a.failing), fmean(b.failing)
    if not _is_no_chance(of_a - of_b, [standard_error(a.failing), standard_error(b.failing)], _FAILING):
        return []
    return [f"{FAILED}: {of_a * 100:.3g} % against {of_b * 100:.3g} %"]


def _any_failed(a: Comparable, b: Comparable) -> bool:
    """Whether both cells began transactions, and some failed."""
    return bool(a.failing and b.failing) and (any(a.failing) or any(b.failing))


def _nothing_but_failures(cell: Cell) -> float:
    """Return the share of a cell's windows in which transactions failed and none ended well."""
    spans = [
        (float(each["end_s"]) - float(each["start_s"]), bool(each["failed"]) and not each["ok"])
        for one in done(cell)
        for each in one.intervals
    ]
    total = sum(length for length, _ in spans)
    return sum(length for length, failing in spans if failing) / total if total else 0.0


def _queue_share(cell: Cell) -> float | None:
    rounds = [each for each in done(cell) if each.client_s and each.segments.get("run_queue") is not None]
    total = sum(each.client_s or 0.0 for each in rounds)
    return sum(each.segments["run_queue"] or 0.0 for each in rounds) / total if total else None


def _own_queue_share(cell: Cell) -> float:
    clients = max((each.window.get("clients") or 1 for each in done(cell)), default=1)
    cores = cell.cpu_percent.cores
    return max(0.0, 1 - cores / clients) if cores else 0.0


def _is_no_chance(difference: float, errors: Sequence[float], least: float) -> bool:
    """Whether two means differ by more than ``least``, and by more than their standard ``errors`` explain."""
    return abs(difference) > max(least, _CHANCE * math.hypot(*errors))


def _writes(cell: Cell) -> bool:
    """Whether rows were changed, as far as clients see what they change; where they do not, they may have been."""
    if not engine_of_product(cell.system.engine).shows_changes:
        return bool(done(cell))
    return any(each.rows_changed != 0 for each in done(cell))


def other_factors(cell: Cell) -> dict[str, object]:
    """Return the levels of a cell without its system."""
    return _without_system(cell.factors)


def _without_system(factors: dict[str, object]) -> dict[str, object]:
    return {name: level for name, level in factors.items() if name != "system"}
