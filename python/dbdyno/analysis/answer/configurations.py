"""Configurations, which are combinations of choices, ranked at equal load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dbdyno.analysis.answer.prices import other_rows_of_statement, price_of
from dbdyno.analysis.answer.short import Levels, by_themselves, configuration_names
from dbdyno.analysis.measured.alike import varied
from dbdyno.analysis.measured.effects import contrast_of
from dbdyno.analysis.measured.judging import hardly_any, more_is_better, noise_of_cells, rows_differ
from dbdyno.analysis.measured.metrics import ANSWERS, failing, usual_metric
from dbdyno.model.result.cell import Cell
from dbdyno.stats import Criteria, Decision, Ratio, decide
from dbdyno.stats.effects import Contrast, pooled
from dbdyno.stats.intervals import Noise

Price = Callable[[Sequence[tuple[Cell, Cell]]], tuple[list[str], list[str]]]
"""Returns what the second of each pair of cells costs, and what it improves."""


@dataclass(frozen=True)
class Standing:
    """How one cell stands to another at the same load: the ratio of rates, or of times that clients waited."""

    load: Levels
    ratio: Ratio | None
    decision: Decision
    metric: str


@dataclass
class Configuration:
    """A combination of choices with its cells by load.

    ``against``: how it stands to the first one, over all loads where they share them, and ``at`` each; ``price``: what
    it costs that the first one does not, clauses; ``not_ranked``: why it cannot be held against the first one.
    """

    levels: Levels
    name: str
    cells: dict[Levels, Cell]
    against: Ratio | None = None
    decision: Decision | None = None
    at: list[Standing] = field(default_factory=list)
    price: list[str] = field(default_factory=list)
    gain: list[str] = field(default_factory=list)
    not_ranked: str = ""

    @property
    def faster(self) -> bool:
        """Whether it is shown to be faster than the first one, over all loads."""
        return self.decision is not None and self.decision.verdict == "faster"

    @property
    def failed(self) -> float:
        """The greatest share of failed transactions among its cells."""
        return max(map(failing, self.cells.values()))

    @property
    def fails_mostly(self) -> bool:
        """Whether so much of one of its cells failed that its rate is that of what is left."""
        return any(hardly_any(cell, cell) for cell in self.cells.values())

    @property
    def factor(self) -> float:
        """By what it multiplies the first one's rate, as far as is known; that of a time is inverted."""
        return 1.0 if self.against is None else self.against.mean


@dataclass(frozen=True)
class Ranking:
    """Configurations in the order of the run; the loads; what most pairs of cells are compared by.

    ``price``: returns costs and gains of pairs of cells (:func:`dbdyno.analysis.answer.prices.price_of`).
    ``set_aside``: the run's first one, where most of its transactions fail: the first one that does better comes first.
    """

    configurations: Sequence[Configuration]
    loads: Sequence[Levels]
    metric: str
    price: Price
    set_aside: Configuration | None = None

    @property
    def first(self) -> Configuration:
        """The one that others are held against."""
        return self.configurations[0]

    @property
    def free(self) -> list[Configuration]:
        """Those that cost nothing that the first one does not, and can be held against it."""
        return [each for each in self.configurations if not each.price and not each.not_ranked]

    @property
    def best(self) -> Configuration:
        """The one to take: of the free ones that are shown to be faster than the first the fastest, else the first.

        Where some of its transactions fail, however few, one of which none fails is taken in its place, as long as the
        fastest is not shown to be ahead of that.
        """
        shown = [each for each in self.free if each.faster]
        if not shown:
            return self.first
        fastest = max(shown, key=lambda each: each.factor)
        clean = [each for each in shown if not each.failed and not behind(each, fastest)]
        return max(clean, key=lambda each: each.factor) if clean else fastest


def rank(
    measured: Sequence[Cell],
    roles: Mapping[str, str],
    systems: Mapping[str, str],
    criteria: Criteria,
) -> Ranking:
    """Rank the configurations of measured cells, of which there is at least one."""
    confidence = criteria.confidence
    factors = varied(measured)
    choices = [name for name in factors if roles.get(name) != "load"]
    loads = [name for name in factors if roles.get(name) == "load"]
    alone = by_themselves({name: [cell.factors.get(name) for cell in measured] for name in choices})
    combinations = list(dict.fromkeys(_levels(cell, choices) for cell in measured))
    names = configuration_names(combinations, systems, alone)
    found = {own: Configuration(own, name, {}) for own, name in zip(combinations, names, strict=True)}
    for cell in measured:
        found[_levels(cell, choices)].cells.setdefault(_levels(cell, loads), cell)
    of_run = next(iter(found.values()))
    first = next((each for each in found.values() if not each.fails_mostly), of_run)
    others = [each for each in found.values() if each is not first]
    noises = {metric: noise_of_cells(measured, metric) for metric in ("throughput", ANSWERS)}
    price = partial(price_of, confidence=1 - (1 - confidence) / max(criteria.family, 1), noise=noises[ANSWERS])
    for each in others:
        _hold_against(first, each, confidence, noises)
        if not each.not_ranked:
            shared = [(cell, each.cells[load]) for load, cell in first.cells.items() if load in each.cells]
            each.price, each.gain = price(shared)
    _decide(others, criteria.margin, criteria.family)
    metrics = [standing.metric for each in others for standing in each.at]
    metric = max(set(metrics), key=metrics.count) if metrics else "throughput"
    known_loads = list(dict.fromkeys(_levels(cell, loads) for cell in measured))
    return Ranking([first, *others], known_loads, metric, price, None if first is of_run else of_run)


def behind(each: Configuration, best: Configuration) -> bool:
    """Whether the interval of one lies below that of the best; both are held against the same first one."""
    return is_below(each.against, best.against)


def is_below(a: Ratio | None, b: Ratio | None) -> bool:
    """Whether the interval of ``a`` ends before that of ``b`` begins; not where one of them has no interval."""
    return a is not None and b is not None and a.high is not None and b.low is not None and a.high < b.low


def _levels(cell: Cell, names: Sequence[str]) -> Levels:
    return tuple((name, cell.factors.get(name)) for name in names)


def _hold_against(
    first: Configuration, other: Configuration, confidence: float, noises: Mapping[str, Noise | None]
) -> None:
    shared = [load for load in first.cells if load in other.cells]
    if not shared:
        other.not_ranked = f"it was measured at no load that {first.name} was"
        return
    pairs = [(load, first.cells[load], other.cells[load]) for load in shared]
    apart = [
        why
        for _, a, b in pairs
        for why in (*rows_differ(a, b), other_rows_of_statement(a, b), *hardly_any(a, b))
        if why
    ]
    if apart:
        other.not_ranked = apart[0]
        return
    metrics = [usual_metric(a, b) for _, a, b in pairs]
    contrasts: list[Contrast] = []
    for (load, a, b), metric in zip(pairs, metrics, strict=True):
        contrast = contrast_of(a, b, metric)
        contrasts.append(contrast)
        other.at.append(
            Standing(load, more_is_better(pooled([contrast], confidence, noises[metric]), metric), _OPEN, metric)
        )
    if len(set(metrics)) == 1:
        other.against = more_is_better(pooled(contrasts, confidence, noises[metrics[0]]), metrics[0])


_OPEN = Decision(None, "inconclusive", None, None)


def _decide(configurations: Sequence[Configuration], margin: float, family: int) -> None:
    """Decide each configuration over its loads, and at each of them."""
    for each, decision in zip(
        configurations, decide([each.against for each in configurations], margin, family), strict=True
    ):
        each.decision, each.against = decision, decision.ratio
        decisions = decide([standing.ratio for standing in each.at], margin, family)
        each.at = [
            replace(standing, ratio=decided.ratio, decision=decided)
            for standing, decided in zip(each.at, decisions, strict=True)
        ]
