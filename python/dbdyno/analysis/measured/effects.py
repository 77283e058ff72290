"""What each factor does: its levels against its first one, pooled over all else; and where that depends on another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from dbdyno.analysis.measured.alike import cells_along
from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.judging import (
    durability_differs,
    failures_differ,
    hardly_any,
    more_is_better,
    noise_of_cells,
    rows_differ,
)
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

# An effect that depends on another factor by less than this is told as one.
_DEPENDS = 1.1


@dataclass(frozen=True)
class _Context:
    """Two cells that differ in a factor's level alone, the levels that they share, and what leads from a to b."""

    a: Cell
    b: Cell
    others: Mapping[str, Any]
    contrast: Contrast = field(default_factory=Contrast)


@dataclass(frozen=True)
class _Change:
    """A factor's level against its first one, by what it is measured, and where.

    ``usual``: whether that is what its cells are compared by; ``at``: levels of others that it is restricted to.
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
        """What leads from one to the other, in each context."""
        return [each.contrast for each in self.contexts]

    def at_level(self, other: str, level: Any) -> _Change:
        """Give the same change where another factor has a level."""
        contexts = [each for each in self.contexts if _key(each.others.get(other)) == _key(level)]
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
    """Return the effects of all factors, in their order: on throughput (of open loops that keep up, on p99), then p99.

    A factor whose effect depends on another has an effect at each of that one's levels as well. Cells that returned
    other rows, or of which hardly a transaction ended well, are left out; another class of durability, or other
    failures, are told as the price. ``factors``: their levels in order, of which the first is what others are held
    against; ``questions``: those whose levels ask something else each, which have no effects, and which others' effects
    may depend on. ``family``: the number of comparisons of the run's table (:func:`dbdyno.stats.decide`).
    """
    asked = {name: levels for name, levels in factors.items() if name not in questions}
    changes = [each for name, levels in asked.items() for each in _changes(cells, name, levels)]
    pairs = [
        (change, other, a, b)
        for change in changes
        if change.usual
        for other in factors
        for a, b in _pairs_of_levels(change, other, factors)
    ]
    noises = {metric: noise_of_cells(cells, metric) for metric in {change.metric for change in changes}}
    apart = [
        difference(
            change.at_level(other, a).contrasts,
            change.at_level(other, b).contrasts,
            confidence,
            noises[change.metric],
        )
        for change, other, a, b in pairs
    ]
    # Each name once, in order.
    depends: dict[int, dict[str, None]] = {}
    for (change, other, _, _), ratio, decision in zip(pairs, apart, decide(apart, margin, family), strict=True):
        if ratio is None or decision.verdict not in ("faster", "slower"):
            continue
        if not 1 / _DEPENDS < ratio.mean < _DEPENDS:
            depends.setdefault(id(change), {})[other] = None
    parts = {
        id(change): [
            change.at_level(other, level)
            for other in depends.get(id(change), ())
            for level in _levels_of(change, other, factors)
        ]
        for change in changes
    }
    every = [*changes, *(each for of in parts.values() for each in of)]
    ratios = [more_is_better(pooled(each.contrasts, confidence, noises[each.metric]), each.metric) for each in every]
    told = {
        id(each): replace(decision, ratio=more_is_better(decision.ratio, each.metric))
        for each, decision in zip(every, decide(ratios, margin, family), strict=True)
    }
    made: list[Effect] = []
    for change in changes:
        made.append(_effect(change, told[id(change)], roles, list(depends.get(id(change), ()))))
        made += [_effect(each, told[id(each)], roles, []) for each in parts[id(change)]]
    return made


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
        usual = Counter(usual_metric(each.a, each.b) for each in fair).most_common(1)
        for metric in dict.fromkeys((*(name for name, _ in usual), ANSWERS)):
            contexts = [replace(each, contrast=contrast_of(each.a, each.b, metric)) for each in fair]
            contexts = [each for each in contexts if each.contrast.values]
            if contexts:
                is_usual = metric == usual[0][0]
                yield _Change(factor, present[0], level, metric, is_usual, contexts, {})


def contrast_of(a: Cell, b: Cell, metric: str) -> Contrast:
    """Give what leads from one cell to the other; nothing where the metric does not tell them apart."""
    if metric == "throughput":
        return contrast_of_rates(rates_by_block(a), rates_by_block(b)) if usual_metric(a, b) == metric else Contrast()
    if any(lower_bounds(cell, metric) for cell in (a, b)):
        return Contrast()
    return contrast_of_values(values_by_block(a, metric), values_by_block(b, metric))


def _key(level: Any) -> tuple[str, Any]:
    # True is 1 to a dictionary, and two levels to a person.
    return (type(level).__name__, level)


def _pairs_of_levels(change: _Change, other: str, factors: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, Any]]:
    """Give the levels of another factor at which a change was measured, each further one with the first."""
    if other != change.factor:
        levels = _levels_of(change, other, factors)
        yield from ((levels[0], each) for each in levels[1:])


def _levels_of(change: _Change, other: str, factors: Mapping[str, Sequence[Any]]) -> list[Any]:
    there = {_key(each.others.get(other)) for each in change.contexts}
    return [each for each in factors[other] if _key(each) in there]


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
        cells=[[each.a.id, each.b.id] for each in change.contexts],
        depends_on=depends,
        durability=None if classes is None else classes[0],
        durability_in=0 if classes is None else classes[1],
        failed=_failed(change.contexts),
    )


def _durability(contexts: Sequence[_Context]) -> tuple[list[str], int] | None:
    """Give the classes of durability that a change leads from and to, and in how many contexts it leads to another."""
    found = [(class_of(each.a), class_of(each.b)) for each in contexts if durability_differs(each.a, each.b)]
    if len(set(found)) != 1:
        return None
    a, b = found[0]
    return None if a is None or b is None else ([a, b], len(found))


def _failed(contexts: Sequence[_Context]) -> list[float] | None:
    """Give the shares of transactions that failed, from and to, where chance does not explain the difference."""
    if not any(failures_differ(each.a, each.b) for each in contexts):
        return None
    return [
        fmean(failing(cell) for cell in side) for side in zip(*((each.a, each.b) for each in contexts), strict=True)
    ]
