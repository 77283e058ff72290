"""Advice on each choice: take it, consider it, skip it, or measure more."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.analysis.answer.configurations import Configuration, Price, Ranking, behind
from dbdyno.analysis.answer.prices import failures_words, is_cure
from dbdyno.analysis.answer.short import SYSTEM, level_name
from dbdyno.analysis.answer.words import shortened_list
from dbdyno.analysis.measured.metrics import failing
from dbdyno.base.numbers import factor_words, times
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.effects import Advice, Effect

# More rounds are not worthwhile if the largest possible gain is at most this ratio.
_SMALL_GAIN = 1.1
UNKNOWN = 100
"""From this ratio on, the largest possible gain carries no information."""
# Modes of SQLite's BEGIN, which decide when it takes locks.
_BEGINS = frozenset({"deferred", "immediate", "exclusive", "concurrent"})

Pairs = Sequence[tuple[Cell, Cell]]
Levels = Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """A change of levels and its measured effect compared with the first configuration.

    ``pairs``: cells without and with the change; ``ratio`` and ``ci95``: more is better; ``slower_than``: the faster
    configuration that is recommended instead; ``pooled``: whether the ratio is a mean over levels of other choices.
    """

    levels: Levels
    name: str
    pairs: Pairs
    ratio: float | None
    ci95: Sequence[float] | None
    verdict: str
    more_rounds: int | None
    price: Sequence[str] = ()
    gain: Sequence[str] = ()
    slower_than: str = ""
    pooled: bool = False

    @property
    def cures(self) -> bool:
        """Whether it reduces failures without a price."""
        return any(each.startswith("failures") for each in self.gain) and not self.price

    @property
    def gains(self) -> bool:
        """Whether it is measurably faster, or improves failures or durability."""
        return self.verdict == "faster" or any(not each.startswith("slowest") for each in self.gain)

    @property
    def most(self) -> float:
        """The largest gain that the interval does not exclude."""
        return self.ci95[1] if self.ci95 is not None else math.inf


@dataclass(frozen=True)
class Advised:
    """Advice rows, and the levels of all choices to take."""

    rows: list[Advice]
    takes: Levels


def advise(
    ranking: Ranking,
    effects: Sequence[Effect],
    cells: Sequence[Cell],
    systems: Mapping[str, str],
    *,
    apply: Callable[[Cell, Cell], Sequence[str]],
    settle: Callable[[Sequence[Choice]], str],
) -> Advised:
    """Return advice on each choice, from effects if there are several factors and from configurations otherwise.

    ``apply``: returns the statements that change the first cell's system into the second's; ``settle``: returns how to
    settle open choices.
    """
    factors = [name for name, _ in ranking.first.levels]
    chosen = [
        each for each in effects if each.role == "choice" and each.metric == ranking.metric and each.ratio is not None
    ]
    if len(factors) > 1 and chosen:
        taken, rest = _by_effects(ranking, chosen, cells, systems)
        if not taken and ranking.best is not ranking.first:
            # A combination may gain even if none of its levels does so alone.
            best = _of_configuration(ranking.best, ranking)
            taken, rest = [best], [choice for choice in rest if not choice.levels.items() <= best.levels.items()]
    else:
        taken, rest = _by_configurations(ranking)
    rows = [_row("take", choice, apply) for choice in taken]
    levels: dict[str, Any] = {}
    for choice in reversed(taken):
        levels |= choice.levels
    maybe = [choice for choice in rest if choice.gains and choice.price]
    left = [choice for choice in rest if choice not in maybe]
    open_ones = [choice for choice in left if _is_open(choice)]
    skipped = [choice for choice in left if choice not in open_ones]
    rows += [_row("maybe", choice, apply) for choice in maybe]
    rows += _skipped(skipped)
    if open_ones:
        first = open_ones[0]
        alone = len(open_ones) == 1
        most = max(choice.most for choice in open_ones)
        effect = _ratio(first) if alone else f"at most {times(most)}x" if most < UNKNOWN else "too noisy to tell"
        rows.append(_named_row("open", open_ones, effect, settle(open_ones)))
    return Advised(rows, levels)


def _is_open(choice: Choice) -> bool:
    """Whether the result is inconclusive and a gain worth measuring is still possible."""
    if choice.gains or choice.verdict != "inconclusive":
        return False
    return choice.ratio is not None and choice.most > _SMALL_GAIN


def _by_effects(
    ranking: Ranking, effects: Sequence[Effect], cells: Sequence[Cell], systems: Mapping[str, str]
) -> tuple[list[Choice], list[Choice]]:
    """Return the levels to take and the others. Levels that reduce failures come first, then the largest gains.

    Prices are relative to the first configuration with all levels chosen so far. A price that a chosen level removes,
    such as failures, is therefore not counted.
    """
    by_id = {cell.id: cell for cell in cells}
    base = dict(ranking.first.levels)
    whole = [effect for effect in effects if not effect.at]
    taken: list[Choice] = []
    open_factors = list(dict.fromkeys(effect.factor for effect in whole))

    def choice(effect: Effect) -> Choice:
        return _choice(effect, effects, by_id, base, systems=systems, price_of=ranking.price)

    while open_factors:
        choices = [choice(effect) for effect in whole if effect.factor in open_factors]
        free = [each for each in choices if each.gains and not each.price]
        if not free:
            return taken, choices + _left_behind(whole, taken, choice)
        best = max(free, key=lambda each: (each.cures, each.ratio or 0.0))
        taken.append(best)
        base |= best.levels
        open_factors = [name for name in open_factors if name not in best.levels]
    return taken, _left_behind(whole, taken, choice)


def _left_behind(
    whole: Sequence[Effect], taken: Sequence[Choice], choice_of: Callable[[Effect], Choice]
) -> list[Choice]:
    """Return levels that gain more than the level taken for the same factor but have a price."""
    made = []
    for effect in whole:
        best = next((one for one in taken if effect.factor in one.levels), None)
        if best is None or best.levels[effect.factor] == effect.level:
            continue
        choice = choice_of(effect)
        if choice.price and (choice.ratio or 0.0) > (best.ratio or 0.0):
            made.append(choice)
    return made


def _choice(
    effect: Effect,
    effects: Sequence[Effect],
    by_id: Mapping[str, Cell],
    base: Levels,
    *,
    systems: Mapping[str, str],
    price_of: Price,
) -> Choice:
    """Make a choice from an effect, measured at the levels taken so far if it depends on them."""
    factor, level = effect.factor, effect.level
    same = [each for each in effects if each.factor == factor and each.level == level and each.at]
    at_base = next((each for each in same if all(base.get(name) == own for name, own in each.at.items())), effect)
    pairs = [(by_id[a], by_id[b]) for a, b in effect.cells if a in by_id and b in by_id]
    near = [(a, b) for a, b in pairs if all(b.factors.get(name) == own for name, own in base.items() if name != factor)]
    price, gain = price_of(near or pairs)
    failed = effect.failed
    if failed is not None and failed[1] < failed[0] and not any("failures" in each for each in (*price, *gain)):
        # The difference is significant over all contexts; report the shares of the context that is changed.
        before, after = (max(failing(cell) for cell in side) for side in zip(*(near or pairs), strict=True))
        gain += [failures_words(before, after)] if is_cure(before, after) else []
    return Choice(
        {factor: level},
        _change_name(factor, level, systems),
        near or pairs,
        *_gain_of(at_base),
        at_base.verdict,
        at_base.more_rounds,
        price,
        gain,
        pooled=at_base is effect and len(pairs) > 1,
    )


def _gain_of(effect: Effect) -> tuple[float | None, Sequence[float] | None]:
    """Return the ratio of an effect and its interval, inverted for times, so that more is better."""
    ratio, ends = effect.ratio, effect.ci95
    if effect.metric == "throughput":
        return ratio, ends
    return 1 / ratio if ratio else None, None if ends is None or not all(ends) else [1 / ends[1], 1 / ends[0]]


def _change_name(factor: str, level: Any, systems: Mapping[str, str]) -> str:
    if str(level).lower() in _BEGINS and factor != SYSTEM:
        return f"BEGIN {str(level).upper()}"
    return level_name(factor, level, systems)


def _by_configurations(ranking: Ranking) -> tuple[list[Choice], list[Choice]]:
    """Return the best configuration with those that do not differ from it measurably, and the other ones."""
    first, best = ranking.first, ranking.best
    choices = {
        configuration.name: _of_configuration(configuration, ranking)
        for configuration in ranking.configurations[1:]
        if not configuration.not_ranked
    }
    if best is first:
        cures = [each for each in choices.values() if each.cures]
        return cures[:1], [each for each in choices.values() if each not in cures[:1]]
    taken = [choices.pop(best.name)]
    rest = []
    for configuration in ranking.configurations[1:]:
        choice = choices.get(configuration.name)
        if choice is None:
            continue
        if configuration.price and behind(configuration, best):
            choice = replace(choice, verdict="slower", price=(), gain=(), slower_than=best.name)
        elif not configuration.price and configuration.faster:
            if not behind(configuration, best):
                taken.append(replace(choice, price=(f"no price; no measurable difference from {best.name}",)))
                continue
            choice = replace(choice, verdict="slower", gain=(), slower_than=best.name)
        rest.append(choice)
    return taken, rest


def _of_configuration(configuration: Configuration, ranking: Ranking) -> Choice:
    ratio, decision = configuration.against, configuration.decision
    changed = {
        name: level
        for (name, level), (_, old) in zip(configuration.levels, ranking.first.levels, strict=True)
        if level != old
    }
    shared = [load for load in ranking.first.cells if load in configuration.cells]
    return Choice(
        changed,
        configuration.name,
        [(ranking.first.cells[load], configuration.cells[load]) for load in shared],
        None if ratio is None else ratio.mean,
        None if ratio is None else ratio.ends,
        "inconclusive" if decision is None else decision.verdict,
        None if decision is None else decision.more_rounds,
        configuration.price,
        configuration.gain,
    )


def _row(action: Any, choice: Choice, apply: Callable[[Cell, Cell], Sequence[str]]) -> Advice:
    statements = {line for a, b in choice.pairs[:1] for line in apply(a, b)}
    change = statements.pop().rstrip(";") if len(statements) == 1 else choice.name
    gains = sorted(choice.gain, key=lambda one: not one.startswith("failures"))
    faster = [_ratio(choice)] if choice.verdict == "faster" else []
    effects = [*gains[:1], *faster, *gains[1:]] if choice.cures else [*faster, *gains]
    slower = [f"rate {_ratio(choice)}"] if effects and choice.verdict == "slower" else []
    return Advice(
        action=action,
        change=change,
        levels=dict(choice.levels),
        effect=", ".join(effects) or _ratio(choice),
        price=", ".join([*choice.price, *slower]) or "no price",
    )


def _skipped(skipped: Sequence[Choice]) -> list[Advice]:
    """Make one row for the choices without a gain, with the largest gain that is not excluded."""
    if not skipped:
        return []
    most = max((choice.most for choice in skipped if choice.verdict != "slower"), default=None)
    if most is None:
        than = {choice.slower_than for choice in skipped}
        effect = _ratio(skipped[0]) if len(skipped) == 1 else "slower"
        return [
            _named_row("skip", skipped, f"slower than {than.pop()}" if than != {""} and len(than) == 1 else effect, "")
        ]
    return [_named_row("skip", skipped, "" if math.isinf(most) else f"at most {times(most)}x", "")]


def _named_row(action: Any, choices: Sequence[Choice], effect: str, price: str) -> Advice:
    alone = len(choices) == 1
    names = [choice.name for choice in choices]
    if len({name for choice in choices for name in choice.levels}) == len(choices) and not alone:
        # One level of each factor: the factors' names are enough.
        names = [next(iter(choice.levels)) if "=" in choice.name else choice.name for choice in choices]
    return Advice(
        action=action,
        change=shortened_list(names),
        levels=dict(choices[0].levels) if alone else {},
        effect=effect,
        price=price,
    )


def _ratio(choice: Choice) -> str:
    if choice.ratio is None:
        return ""
    return factor_words(choice.ratio, choice.ci95) + (" on average" if choice.pooled else "")
