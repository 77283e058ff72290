"""Effects of factors: each level compared with the first one, pooled over the other factors, and interactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from dbdyno.analysis.measured.cell_groups import cells_along
from dbdyno.analysis.measured.comparisons import (
    durability_differs,
    failures_differ,
    hardly_any,
    more_is_better,
    noise_of_cells,
    rows_differ,
)
from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.metrics import (
    ANSWERS,
    failing,
    lower_bounds,
    rates_by_block,
    usual_metric,
    values_by_block,
)
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.effects import Effect
from dbdyno.stats import Decision, decide
from dbdyno.stats.effects import Contrast, contrast_of_rates, contrast_of_values, difference, pooled
from dbdyno.stats.intervals import Noise

# Smaller interactions are ignored: the effect is reported as one value.
_DEPENDS = 1.1


@dataclass(frozen=True)
class _Context:
    """Two cells that differ only in the level of one factor, their other levels, and their contrast (b to a)."""

    a: Cell
    b: Cell
    others: Mapping[str, Any]
    contrast: Contrast = field(default_factory=Contrast)


@dataclass(frozen=True)
class _Change:
    """A level of a factor compared with its first level by one metric.

    ``usual``: whether cells are ranked by this metric; ``at``: the levels of other factors it is restricted to.
    """

    factor: str
    against: Any
    level: Any
    metric: str
    usual: bool
    contexts: Sequence[_Context]
    at: Mapping[str, Any]

    @property
    def contrasts(self) -> list[Contrast]:
        """The contrast in each context."""
        return [context.contrast for context in self.contexts]

    def at_level(self, other: str, level: Any) -> _Change:
        """Return the change restricted to a level of another factor."""
        contexts = [context for context in self.contexts if _key(context.others.get(other)) == _key(level)]
        return replace(self, contexts=contexts, at={other: level})


def effects(
    cells: Sequence[Cell],
    roles: Mapping[str, str],
    *,
    margin: float,
    confidence: float,
    factors: Mapping[str, Sequence[Any]],
    questions: Collection[str] = (),
    family: int = 1,
) -> list[Effect]:
    """Return the effects of all factors, in order: on throughput (p99 for open loops that keep up), then on p99.

    If an effect depends on another factor, its effect at each level of that factor is returned too. Cells that returned
    different rows or whose transactions mostly failed are left out. Changes of the durability class and of failures are
    reported as the price. ``factors``: the levels of each factor; others are compared with the first one.
    ``questions``: factors whose levels are different questions: they have no effects, but other effects may depend on
    them. ``family``: the number of comparisons in the run's table (:func:`dbdyno.stats.decide`).
    """
    tested = {name: levels for name, levels in factors.items() if name not in questions}
    changes = [each for name, levels in tested.items() for each in _changes(cells, name, levels)]
    noises = {metric: noise_of_cells(cells, metric) for metric in {change.metric for change in changes}}
    depends = _dependencies(changes, factors, noises, margin=margin, confidence=confidence, family=family)
    parts = {
        id(change): [
            change.at_level(other, level)
            for other in depends.get(id(change), ())
            for level in _levels_of(change, other, factors)
        ]
        for change in changes
    }
    every = [*changes, *(each for own in parts.values() for each in own)]
    ratios = [more_is_better(pooled(each.contrasts, confidence, noises[each.metric]), each.metric) for each in every]
    decided = {
        id(each): replace(decision, ratio=more_is_better(decision.ratio, each.metric))
        for each, decision in zip(every, decide(ratios, margin, family), strict=True)
    }
    made: list[Effect] = []
    for change in changes:
        made.append(_effect(change, decided[id(change)], roles, list(depends.get(id(change), ()))))
        made += [_effect(each, decided[id(each)], roles, []) for each in parts[id(change)]]
    return made


def _dependencies(
    changes: Sequence[_Change],
    factors: Mapping[str, Sequence[Any]],
    noises: Mapping[str, Noise | None],
    *,
    margin: float,
    confidence: float,
    family: int,
) -> dict[int, dict[str, None]]:
    """Return the factors on which the effects of changes depend, by the ``id`` of the change, as ordered sets."""
    pairs = [
        (change, other, a, b)
        for change in changes
        if change.usual
        for other in factors
        for a, b in _pairs_of_levels(change, other, factors)
    ]
    apart = [
        difference(
            change.at_level(other, a).contrasts,
            change.at_level(other, b).contrasts,
            confidence,
            noises[change.metric],
        )
        for change, other, a, b in pairs
    ]
    depends: dict[int, dict[str, None]] = {}
    for (change, other, _, _), ratio, decision in zip(pairs, apart, decide(apart, margin, family), strict=True):
        if ratio is None or decision.verdict not in ("faster", "slower"):
            continue
        if not 1 / _DEPENDS < ratio.mean < _DEPENDS:
            depends.setdefault(id(change), {})[other] = None
    return depends


def _changes(cells: Sequence[Cell], factor: str, levels: Sequence[Any]) -> Iterator[_Change]:
    groups = [{_key(cell.factors[factor]): cell for cell in group} for _, group in cells_along(cells, factor)]
    present = [each for each in levels if any(_key(each) in group for group in groups)]
    for level in present[1:]:
        a, b = _key(present[0]), _key(level)
        fair = [
            _Context(group[a], group[b], {name: own for name, own in group[a].factors.items() if name != factor})
            for group in groups
            if a in group and b in group and not rows_differ(group[a], group[b]) and not hardly_any(group[a], group[b])
        ]
        usual = Counter(usual_metric(context.a, context.b) for context in fair).most_common(1)
        for metric in dict.fromkeys((*(name for name, _ in usual), ANSWERS)):
            contexts = [replace(context, contrast=contrast_of(context.a, context.b, metric)) for context in fair]
            contexts = [context for context in contexts if context.contrast.values]
            if contexts:
                is_usual = metric == usual[0][0]
                yield _Change(factor, present[0], level, metric, is_usual, contexts, {})


def contrast_of(a: Cell, b: Cell, metric: str) -> Contrast:
    """Return the contrast of b to a by a metric; empty if the metric cannot compare them."""
    if metric == "throughput":
        return contrast_of_rates(rates_by_block(a), rates_by_block(b)) if usual_metric(a, b) == metric else Contrast()
    if any(lower_bounds(cell, metric) for cell in (a, b)):
        return Contrast()
    return contrast_of_values(values_by_block(a, metric), values_by_block(b, metric))


def _key(level: Any) -> tuple[str, Any]:
    # In a dictionary, True and 1 are the same key.
    return (type(level).__name__, level)


def _pairs_of_levels(change: _Change, other: str, factors: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of levels of another factor at which a change was measured: the first with each later one."""
    if other != change.factor:
        levels = _levels_of(change, other, factors)
        yield from ((levels[0], level) for level in levels[1:])


def _levels_of(change: _Change, other: str, factors: Mapping[str, Sequence[Any]]) -> list[Any]:
    measured = {_key(context.others.get(other)) for context in change.contexts}
    return [each for each in factors[other] if _key(each) in measured]


def _effect(change: _Change, decision: Decision, roles: Mapping[str, str], depends: list[str]) -> Effect:
    ratio = decision.ratio
    classes = _durability(change.contexts)
    return Effect(
        factor=change.factor,
        role="load" if roles.get(change.factor) == "load" else "choice",
        level=change.level,
        against=change.against,
        at=dict(change.at),
        metric=change.metric,
        ratio=None if ratio is None else ratio.mean,
        ci95=None if ratio is None else ratio.ends,
        verdict=decision.verdict,
        detectable=decision.detectable,
        more_rounds=decision.more_rounds,
        blocks=0 if ratio is None else ratio.count,
        cells=[[context.a.id, context.b.id] for context in change.contexts],
        depends_on=depends,
        durability=None if classes is None else classes[0],
        durability_in=0 if classes is None else classes[1],
        failed=_failed(change.contexts),
    )


def _durability(contexts: Sequence[_Context]) -> tuple[list[str], int] | None:
    """Return the durability classes before and after a change and the number of contexts; None if not unique."""
    found = [
        (class_of(context.a), class_of(context.b)) for context in contexts if durability_differs(context.a, context.b)
    ]
    if len(set(found)) != 1:
        return None
    a, b = found[0]
    return None if a is None or b is None else ([a, b], len(found))


def _failed(contexts: Sequence[_Context]) -> list[float] | None:
    """Return the shares of failed transactions before and after; None unless the difference is significant."""
    if not any(failures_differ(context.a, context.b) for context in contexts):
        return None
    return [
        fmean(failing(cell) for cell in side)
        for side in zip(*((context.a, context.b) for context in contexts), strict=True)
    ]
