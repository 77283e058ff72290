"""Compare pairs of cells: whether they may be ranked, by which metric, and with what verdict.

All comparisons use this module: a run's table, headline and answer, ``compare``, ``gate``, ``history`` and the rule
that stops a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from dbdyno.analysis.measured.changing_rows import RowsAtStart, rows_at_start
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

# Random values differ between runs of the same work: by more than 4 standard errors in one of 16,000 comparisons.
_CHANCE = 4.0
# Numbers of rows per transaction that differ by at most this share count as equal.
_SAME_ROWS = 0.005
# Smaller differences between shares of failed transactions are ignored.
_FAILING = 0.01
# If a larger share of transactions fails, or all fail for a larger share of the window, the throughput of the
# successful ones does not measure speed.
_MAX_FAILED = 0.5
_NOTHING_ELSE = 0.1
# A side was disturbed if its clients waited for a CPU for longer than they make each other wait plus _QUEUED, or for
# longer than the other side's clients plus _APART. Both are shares of the clients' time.
_QUEUED = 0.3
_APART = 0.1

ROWS = "rows returned per transaction"
"""The start of the text that describes a difference in rows."""

VALUES = "values of the rows"
"""The start of the text that describes rows with other values or in another order."""

FAILED = "failed transactions"
"""The start of the text that describes a difference in failures."""

DURABILITY = "durability"
"""The start of the text that describes a difference in durability."""


@dataclass(frozen=True)
class RunNoise:
    """Variation of the logarithm of a cell's throughput between runs of the same system.

    ``deviation``: standard deviation; ``freedom``: its degrees of freedom; ``runs``: the number of runs it was
    estimated from, 0 if it is assumed.
    """

    deviation: float
    freedom: float
    runs: int

    @property
    def least(self) -> float:
        """Lower bound of the deviation with 95 % confidence."""
        from scipy.special import chdtri

        return self.deviation * math.sqrt(self.freedom / float(chdtri(self.freedom, 0.05)))


ASSUMED = RunNoise(0.05, 10.0, 0)
"""Default for machines without measured noise: the value found on shared virtual CPUs."""


@dataclass(frozen=True)
class Pair:
    """Two cells to compare, the baseline first.

    ``apart``: further reasons not to rank them. ``paired``: whether they share blocks. ``metric``: one of ``METRICS``,
    or None for the usual one. ``between``: the noise between runs if the cells belong to different runs.
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
        """The metric that the cells are compared by."""
        return self.metric or usual_metric(self.a, self.b)

    @property
    def drift(self) -> tuple[float, float] | None:
        """The standard deviation between runs and its degrees of freedom; None within one run."""
        return None if self.between is None else (self.between.deviation, self.between.freedom)

    @property
    def not_comparable(self) -> list[str]:
        """Reasons why the cells are not ranked; empty if they are."""
        return [*self.apart, *why_not_comparable(self.a, self.b)]

    @property
    def is_bounded(self) -> bool:
        """Whether the metric is a lower bound in either cell, so that more rounds cannot settle the comparison."""
        return any(lower_bounds(cell, self.by) for cell in (self.a, self.b))


def judge(
    pairs: Sequence[Pair], margin: float = MARGIN, family: int | None = None, cells: Sequence[Cell] = ()
) -> list[Comparison]:
    """Compare pairs of cells as one family (:func:`dbdyno.stats.decide`). ``margin``: as a share.

    ``family``: the number of comparisons in the family, by default the number of pairs. ``cells``: all cells of the
    run, used to estimate its noise; by default the cells of the pairs. For metrics other than throughput, less is
    better and the reciprocal is judged. Cells that are not comparable have a ratio but no verdict. If a time is a
    lower bound in either cell, the verdict is inconclusive.
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
    """Invert a ratio unless it is one of throughputs: from measured to more-is-better, or back."""
    return ratio if ratio is None or metric == "throughput" else inverse(ratio)


def ratios_of(pairs: Sequence[Pair], cells: Sequence[Cell] = ()) -> list[Ratio | None]:
    """Return the ratio b / a of each pair by its metric; None without a value on both sides or a shared round.

    ``cells``: as in :func:`judge`.
    """
    seen = cells or list({id(cell): cell for pair in pairs if pair.paired for cell in (pair.a, pair.b)}.values())
    noises = {metric: noise_of_cells(seen, metric) for metric in {pair.by for pair in pairs if pair.paired}}
    return [ratio_of_pair(each, noises.get(each.by)) for each in pairs]


def noise_of_cells(cells: Sequence[Cell], metric: str) -> Noise | None:
    """Return the noise of a trial, estimated from all cells of a run; None for too few cells or exact counts."""
    return None if metric == "instructions" else noise_of([logs_by_block(cell, metric) for cell in cells])


def ratio_of_pair(pair: Pair, noise: Noise | None = None) -> Ratio | None:
    """Return the ratio b / a of a pair by its metric. ``noise``: noise of a trial, from :func:`noise_of_cells`."""
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
    """Return why no verdict can follow from a ratio; empty if one can."""
    for cell in (pair.a, pair.b):
        bounds = lower_bounds(cell, pair.by)
        if bounds:
            return (
                f"{pair.by} is a lower bound in {bounds} of {len(done(cell))} rounds of {cell.id}: failed and "
                "skipped transactions have no response time"
            )
    if ratio is not None and ratio.count > 1 and ratio.low is None:
        return "all rounds gave exactly the same value, so its uncertainty is unknown"
    return ""


@dataclass(frozen=True, slots=True)
class Comparable:
    """Properties of a cell that decide whether it may be ranked with another one."""

    id: str
    system: str
    """The system's name."""
    factors: dict[str, object]
    durability: str | None
    """The durability class, marked if observations contradict it."""
    contradicted: bool
    writes: bool
    """Whether rows were changed, or may have been."""
    rows: float | None
    """Rows returned per transaction."""
    rows_error: float
    """Standard error of ``rows``; 0 if unknown."""
    rows_at_start: RowsAtStart | None
    """Rows returned before the load changed the data; None if it doesn't, or if they are unknown."""
    rows_differ: dict[str, str]
    """How its rows differ from those of other cells, by id."""
    failing: list[float]
    """Share of failed transactions in each round that started any."""
    lost: float
    """Share of the windows in which transactions failed and none succeeded."""
    queued: float | None
    """Share of the clients' time in which they waited for a CPU; None if unknown."""
    own_queue: float
    """Share of their time that clients wait for each other because they outnumber the CPUs."""


def comparable(cell: Cell | Comparable) -> Comparable:
    """Return the properties that decide whether a cell may be ranked."""
    if isinstance(cell, Comparable):
        return cell
    failing = failing_by_round(cell)
    return Comparable(
        id=cell.id,
        system=cell.system.name,
        factors=cell.factors,
        durability=class_of(cell),
        contradicted=bool(cell.observed.contradiction),
        writes=_writes(cell),
        rows=cell.rows_per_transaction,
        rows_error=cell.rows_standard_error or 0.0,
        rows_at_start=rows_at_start(cell, done(cell)),
        rows_differ=cell.rows_differ,
        failing=failing,
        lost=_nothing_but_failures(cell) if any(failing) else 0.0,
        queued=_queue_share(cell),
        own_queue=_own_queue_share(cell),
    )


def disturbed_by_queue(*sides: Sequence[Cell | Comparable]) -> list[str]:
    """Return for each of two sides how long its clients waited for a CPU; empty if undisturbed or unknown.

    A side has one or more runs, and their medians are compared. A disturbed side may be slower only for that reason.
    """
    waited = []
    for side in sides:
        runs = [comparable(each) for each in side]
        shares = [run.queued for run in runs if run.queued is not None]
        waited.append((median(shares), median(run.own_queue for run in runs)) if shares else None)
    known = [share for share, _ in filter(None, waited)]
    apart = max(known) - min(known) if len(known) == len(waited) else 0.0
    said = []
    for each in waited:
        disturbed = each is not None and (each[0] > each[1] + _QUEUED or (apart > _APART and each[0] == max(known)))
        said.append(f"clients waited for a CPU for {each[0] * 100:.0f} % of their time" if each and disturbed else "")
    return said


def why_not_comparable(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Return reasons not to rank two cells; empty if they may be ranked.

    Durability matters only if a cell wrote. A class contradicted by observations is not comparable to any. Rows are
    compared only if cells differ in nothing but the system, since other levels may ask for other rows. Rows and shares
    of failures differ if chance does not explain the difference. If failures differ, the measured times belong to
    different work.
    """
    a, b = comparable(a), comparable(b)
    return [*durability_differs(a, b), *rows_differ(a, b), *(hardly_any(a, b) or failures_differ(a, b))]


def durability_differs(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Return the durability classes if a cell wrote and they differ or one is contradicted; otherwise empty."""
    a, b = comparable(a), comparable(b)
    durability = (a.durability, b.durability)
    contradicted = a.contradicted or b.contradicted
    if not contradicted and (None in durability or durability[0] == durability[1] or not (a.writes or b.writes)):
        return []
    return [f"{DURABILITY}: {durability[0]} against {durability[1]}"]


def rows_differ(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Return how the rows of two systems differ for the same work, in number or in values; empty if they don't."""
    a, b = comparable(a), comparable(b)
    if a.system == b.system or _without_system(a.factors) != _without_system(b.factors):
        return []
    values = [f"{VALUES}: {a.rows_differ[b.id]}"] if b.id in a.rows_differ else []
    return other_rows(a, b) or values


def other_rows(a: Cell | Comparable, b: Cell | Comparable, work: int = 1) -> list[str]:
    """Return the numbers of rows of two cells if they differ, regardless of levels; otherwise empty.

    They don't if the load's own changes may explain the difference. ``work``: transactions of ``a`` that do the work of
    one transaction of ``b``.
    """
    a, b = comparable(a), comparable(b)
    if a.rows is None or b.rows is None:
        return []
    rows_b = b.rows / work
    least = _SAME_ROWS * max(a.rows, rows_b)
    if not _is_significant(a.rows - rows_b, [a.rows_error, b.rows_error / work], least):
        return []
    if a.rows_at_start is not None and b.rows_at_start is not None:
        first, second = a.rows_at_start, b.rows_at_start
        if not _is_significant(first.mean - second.mean / work, [first.error, second.error / work], least):
            return []
    return [f"{ROWS}: {a.rows:.4g} against {rows_b:.4g}"]


def hardly_any(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Return the failures if so many transactions failed that throughput is not meaningful; otherwise empty."""
    a, b = comparable(a), comparable(b)
    if not _any_failed(a, b):
        return []
    of_a, of_b = fmean(a.failing), fmean(b.failing)
    lost = max(a.lost, b.lost)
    if lost > _NOTHING_ELSE:
        return [f"{FAILED}: none succeeded for {lost * 100:.0f} % of the window"]
    if max(of_a, of_b) > _MAX_FAILED:
        return [f"{FAILED}: {of_a * 100:.3g} % against {of_b * 100:.3g} %, more than half"]
    return []


def failures_differ(a: Cell | Comparable, b: Cell | Comparable) -> list[str]:
    """Return the shares of failed transactions if chance does not explain their difference; otherwise empty."""
    a, b = comparable(a), comparable(b)
    if not _any_failed(a, b):
        return []
    of_a, of_b = fmean(a.failing), fmean(b.failing)
    if not _is_significant(of_a - of_b, [standard_error(a.failing), standard_error(b.failing)], _FAILING):
        return []
    return [f"{FAILED}: {of_a * 100:.3g} % against {of_b * 100:.3g} %"]


def _any_failed(a: Comparable, b: Comparable) -> bool:
    """Whether both cells started transactions and some failed."""
    return bool(a.failing and b.failing) and (any(a.failing) or any(b.failing))


def _nothing_but_failures(cell: Cell) -> float:
    """Return the share of a cell's windows in which transactions failed and none succeeded."""
    spans = [
        (float(interval["end_s"]) - float(interval["start_s"]), bool(interval["failed"]) and not interval["ok"])
        for one in done(cell)
        for interval in one.intervals
    ]
    total = sum(length for length, _ in spans)
    return sum(length for length, failing in spans if failing) / total if total else 0.0


def _queue_share(cell: Cell) -> float | None:
    rounds = [round_ for round_ in done(cell) if round_.client_s and round_.segments.get("run_queue") is not None]
    total = sum(round_.client_s or 0.0 for round_ in rounds)
    return sum(round_.segments["run_queue"] or 0.0 for round_ in rounds) / total if total else None


def _own_queue_share(cell: Cell) -> float:
    clients = max((round_.window.get("clients") or 1 for round_ in done(cell)), default=1)
    cores = cell.cpu_percent.cores
    return max(0.0, 1 - cores / clients) if cores else 0.0


def _is_significant(difference: float, errors: Sequence[float], least: float) -> bool:
    """Whether two means differ by more than ``least`` and by more than 4 standard errors."""
    return abs(difference) > max(least, _CHANCE * math.hypot(*errors))


def _writes(cell: Cell) -> bool:
    """Whether rows were changed, or may have been because clients cannot see it."""
    if not engine_of_product(cell.system.engine).shows_changes:
        return bool(done(cell))
    return any(round_.rows_changed != 0 for round_ in done(cell))


def other_factors(cell: Cell) -> dict[str, object]:
    """Return the levels of a cell without its system."""
    return _without_system(cell.factors)


def _without_system(factors: dict[str, object]) -> dict[str, object]:
    return {name: level for name, level in factors.items() if name != "system"}
