"""Rank configurations (combinations of choices) at equal load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dbdyno.analysis.answer.prices import other_rows_of_statement, price_of
from dbdyno.analysis.answer.short import Levels, configuration_names, unambiguous_levels
from dbdyno.analysis.measured.cell_groups import varied
from dbdyno.analysis.measured.comparisons import hardly_any, more_is_better, noise_of_cells, rows_differ
from dbdyno.analysis.measured.effects import contrast_of
from dbdyno.analysis.measured.metrics import ANSWERS, failing, usual_metric
from dbdyno.model.result.cell import Cell
from dbdyno.stats import Criteria, Decision, Ratio, decide
from dbdyno.stats.effects import Contrast, pooled
from dbdyno.stats.intervals import Noise

Price = Callable[[Sequence[tuple[Cell, Cell]]], tuple[list[str], list[str]]]
"""Returns the costs and the gains of the second cell of each pair."""


@dataclass(frozen=True)
class Standing:
    """A cell compared with the first configuration's at the same load: the ratio of throughputs or response times."""

    load: Levels
    ratio: Ratio | None
    decision: Decision
    metric: str


@dataclass
class Configuration:
    """A combination of choices with its cells by load.

    ``against``: ratio to the first configuration over all shared loads, and ``at`` each load; ``price`` and ``gain``:
    clauses that compare it with the first one; ``not_ranked``: why it cannot be compared with the first one.
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
        """Whether it is measurably faster than the first one over all loads."""
        return self.decision is not None and self.decision.verdict == "faster"

    @property
    def failed(self) -> float:
        """The largest share of failed transactions among its cells."""
        return max(map(failing, self.cells.values()))

    @property
    def fails_mostly(self) -> bool:
        """Whether so many transactions of a cell failed that its throughput cannot be compared."""
        return any(hardly_any(cell, cell) for cell in self.cells.values())

    @property
    def factor(self) -> float:
        """The ratio to the first configuration, more is better (inverted for times); 1 if unknown."""
        return 1.0 if self.against is None else self.against.mean


@dataclass(frozen=True)
class Ranking:
    """Configurations in the order of the run, the loads, and the metric that most pairs are compared by.

    ``price``: returns costs and gains of pairs of cells (:func:`dbdyno.analysis.answer.prices.price_of`).
    ``set_aside``: the run's first configuration if most of its transactions fail. The first working one replaces it.
    """

    configurations: Sequence[Configuration]
    loads: Sequence[Levels]
    metric: str
    price: Price
    set_aside: Configuration | None = None

    @property
    def first(self) -> Configuration:
        """The configuration that others are compared with."""
        return self.configurations[0]

    @property
    def free(self) -> list[Configuration]:
        """The ranked configurations without a price, including the first one."""
        return [
            configuration
            for configuration in self.configurations
            if not configuration.price and not configuration.not_ranked
        ]

    @property
    def best(self) -> Configuration:
        """The fastest free configuration that is measurably faster than the first one; otherwise the first one.

        A configuration without failures is preferred if it is not measurably slower than the fastest one.
        """
        shown = [configuration for configuration in self.free if configuration.faster]
        if not shown:
            return self.first
        fastest = max(shown, key=lambda configuration: configuration.factor)
        clean = [
            configuration for configuration in shown if not configuration.failed and not behind(configuration, fastest)
        ]
        return max(clean, key=lambda configuration: configuration.factor) if clean else fastest


def rank(
    measured: Sequence[Cell],
    planned: Sequence[Cell],
    roles: Mapping[str, str],
    systems: Mapping[str, str],
    criteria: Criteria,
) -> Ranking:
    """Rank the configurations of at least one measured cell. ``roles``: by factor, ``load`` or another role.

    ``planned``: all cells, so that names show each factor with several planned levels.
    """
    confidence = criteria.confidence
    factors = varied(planned)
    choices = [name for name in factors if roles.get(name) != "load"]
    loads = [name for name in factors if roles.get(name) == "load"]
    alone = unambiguous_levels({name: [cell.factors.get(name) for cell in planned] for name in choices})
    combinations = list(dict.fromkeys(_levels(cell, choices) for cell in measured))
    names = configuration_names(combinations, _levels(planned[0], choices), systems, alone)
    found = {own: Configuration(own, name, {}) for own, name in zip(combinations, names, strict=True)}
    for cell in measured:
        found[_levels(cell, choices)].cells.setdefault(_levels(cell, loads), cell)
    of_run = next(iter(found.values()))
    first = next((configuration for configuration in found.values() if not configuration.fails_mostly), of_run)
    others = [configuration for configuration in found.values() if configuration is not first]
    noises = {metric: noise_of_cells(measured, metric) for metric in ("throughput", ANSWERS)}
    price = partial(price_of, confidence=1 - (1 - confidence) / max(criteria.family, 1), noise=noises[ANSWERS])
    for configuration in others:
        _compare_with_first(first, configuration, confidence, noises)
        if not configuration.not_ranked:
            shared = [
                (cell, configuration.cells[load]) for load, cell in first.cells.items() if load in configuration.cells
            ]
            configuration.price, configuration.gain = price(shared)
    _decide(others, criteria.margin, criteria.family)
    metrics = [standing.metric for configuration in others for standing in configuration.at]
    metric = max(set(metrics), key=metrics.count) if metrics else "throughput"
    known_loads = list(dict.fromkeys(_levels(cell, loads) for cell in measured))
    return Ranking([first, *others], known_loads, metric, price, None if first is of_run else of_run)


def behind(configuration: Configuration, best: Configuration) -> bool:
    """Whether a configuration is measurably slower than ``best``: its interval ends below the other one."""
    return is_below(configuration.against, best.against)


def is_below(a: Ratio | None, b: Ratio | None) -> bool:
    """Whether the interval of ``a`` ends below the interval of ``b``; False if either has none."""
    return a is not None and b is not None and a.high is not None and b.low is not None and a.high < b.low


def _levels(cell: Cell, names: Sequence[str]) -> Levels:
    return tuple((name, cell.factors.get(name)) for name in names)


def _compare_with_first(
    first: Configuration, other: Configuration, confidence: float, noises: Mapping[str, Noise | None]
) -> None:
    shared = [load for load in first.cells if load in other.cells]
    if not shared:
        other.not_ranked = f"it has no load in common with {first.name}"
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
    """Set the verdict of each configuration over all loads and at each load."""
    for configuration, decision in zip(
        configurations, decide([each.against for each in configurations], margin, family), strict=True
    ):
        configuration.decision, configuration.against = decision, decision.ratio
        decisions = decide([standing.ratio for standing in configuration.at], margin, family)
        configuration.at = [
            replace(standing, ratio=decided.ratio, decision=decided)
            for standing, decided in zip(configuration.at, decisions, strict=True)
        ]
