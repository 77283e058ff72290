"""Evaluation of fixes: the gain over the unchanged cell, the measured price, and the recommendation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from dbdyno.analysis.measured.comparisons import (
    Pair,
    durability_differs,
    failures_differ,
    hardly_any,
    more_is_better,
    noise_of_cells,
    other_rows,
    ratio_of_pair,
)
from dbdyno.analysis.measured.durable import class_of
from dbdyno.analysis.measured.metrics import done, failing, keeps_up, rates_by_block, values_by_block
from dbdyno.analysis.why.fix_advice import advise
from dbdyno.analysis.why.fix_cells import Planned
from dbdyno.analysis.why.fix_sentences import fix_sentences
from dbdyno.analysis.why.metric import Metric, is_bounded, is_overloaded, metric_of, p99_beside
from dbdyno.base.numbers import times
from dbdyno.engines import engine_of
from dbdyno.engines.fixes import StatementFacts
from dbdyno.engines.server.facts import size
from dbdyno.model.plan.change import CHANGE, UNCHANGED
from dbdyno.model.plan.fix import SERIOUS, Fix, conflict, together
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.fixes import ConfigurationLines, FixEffect, Fixes, FixPrice, FixSource, FixVerdict
from dbdyno.model.result.reading import number
from dbdyno.stats import CONFIDENCE, Rates, Ratio, paired_rates, standard_error, verdict
from dbdyno.stats.intervals import Noise

_FixedCell = tuple[Cell, Fix | None]

#: Smallest relative gain at which a fix counts as helpful.
MIN_GAIN = 0.05

# Differences in changed rows up to this share, or up to this number of standard errors, are chance: not every update
# finds its row.
_SAME_CHANGES = 0.05
_CHANCE = 4.0
# Slowdown of writes (share) and growth of the data (bytes) from which they are reported as the price of an index.
_SLOWER = 0.05
# An unsettled fix is combined with others from this gain on, or if its gain is this far from none, in half widths of
# its interval.
_LARGE = 1.25
_DOUBT = 0.25
_SPACE = 1 << 16
# A combination whose members aren't all proven to help must gain so many times as much as a fix that is.
_MUCH_MORE = 2.0


@dataclass(frozen=True)
class _Comparison:
    """How fixes are compared. ``unit``: the unit that throughput counts; ``confidence``: of each interval."""

    unit: str
    metric: Metric
    confidence: float

    def ratio(self, a: _FixedCell, b: _FixedCell, noise: Noise | None = None) -> Ratio | None:
        """Return the speed of the second cell as a multiple of the first one's; None if it is unknown."""
        if self.metric == "throughput":
            rates = [work_rates(cell, fix, self.unit) for cell, fix in (a, b)]
            return paired_rates(rates[0], rates[1], self.confidence, noise)
        if is_bounded(b[0]):
            return None
        pair = Pair(a[0], b[0], metric=self.metric, confidence=self.confidence)
        return more_is_better(ratio_of_pair(pair, noise), self.metric)


@dataclass(frozen=True)
class _Measured:
    """A fix with its cell, and the cell's speed as a multiple of the unchanged cell's."""

    fix: Fix
    cell: Cell
    ratio: Ratio | None
    not_same: str
    carried: bool
    """Whether it serves all of the offered load and the unchanged cell doesn't: the gain is then a lower bound."""


def judge_fixes(planned: Planned, cells: Sequence[Cell], unit: str, confidence: float = CONFIDENCE) -> Fixes | None:
    """Return the results of the fixes; None if none was measured yet. ``unit``: the unit that throughput counts."""
    by_level = {str(cell.factors.get(CHANGE)): cell for cell in cells}
    base = by_level.get(UNCHANGED)
    if base is None:
        return None
    metric = metric_of(base)
    noise = noise_of_cells(cells, metric)
    there = [fix for fix in planned.fixes if fix.level in by_level and by_level[fix.level].rounds]
    if not there and planned.fixes:
        return None
    # The confidence is simultaneous over all gains, but not over choices between fixes that are proven to help.
    comparison = _Comparison(unit, metric, 1 - (1 - confidence) / max(len(there), 1))
    choice = _Comparison(unit, metric, confidence)
    most_bytes = planned.index_budget_bytes
    measured = [_measure(fix, base, by_level[fix.level], comparison, noise, most_bytes) for fix in there]
    tried = [_effect(each, base, planned, comparison) for each in measured]
    tried.sort(key=lambda fix_effect: (_ORDER.index(fix_effect.verdict), -(fix_effect.gain or 0.0)))
    best, dearer = recommend(tried, {each.fix.name: each for each in measured}, choice)
    fixes: Fixes = Fixes(
        tried=tried,
        metric=metric,
        p99_ms=p99_beside(values_by_block(base, "p99"), [by_level[fix.level] for fix in there]),
        p99_is_bound=is_bounded(base),
        left_out=list(planned.left_out),
        recommended=None if best is None else best.fix,
        at_a_price=None if dearer is None else dearer.fix,
        advice=[],
        text=[],
    )
    fixes.advice = advise(fixes)
    fixes.text = fix_sentences(fixes)
    return fixes


_ORDER: tuple[FixVerdict, ...] = ("helps", "inconclusive", "no", "disqualified")


def verdict_of(ratio: Ratio | None, not_same: str, *, carried: bool = False) -> FixVerdict:
    """Decide from the interval of its gain whether a fix helps. ``carried``: the gain is a lower bound."""
    if not_same:
        return "disqualified"
    if ratio is None or ratio.low is None or ratio.high is None:
        return "inconclusive"
    if carried:
        return "helps" if ratio.low > 1 else "inconclusive"
    if ratio.high < 1 + MIN_GAIN or verdict(ratio) in ("equivalent", "slower"):
        return "no"
    return "helps" if ratio.low > 1 and ratio.mean >= 1 + MIN_GAIN else "inconclusive"


def settled_fixes(fixes: Fixes | None, planned: Planned) -> bool:
    """Whether the last stage needs no further round, because each of its fixes has a verdict."""
    if fixes is None or not planned.stages:
        return False
    own = {fix.name for fix in planned.stages[-1].fixes}
    told = {fix_effect.fix: fix_effect.verdict for fix_effect in fixes.tried}
    return all(told.get(name, "inconclusive") != "inconclusive" for name in own)


def promising(fixes: Fixes) -> list[FixEffect]:
    """Return the single fixes worth more rounds, best first: helpful fixes, and unsettled fixes with a gain."""
    single = [fix_effect for fix_effect in fixes.tried if not fix_effect.members and fix_effect.gain is not None]
    kept = [
        fix_effect
        for fix_effect in single
        if fix_effect.verdict == "helps" or (fix_effect.verdict == "inconclusive" and _gains(fix_effect))
    ]
    return sorted(kept, key=lambda fix_effect: -(fix_effect.gain or 0.0))


def promising_unsettled(fixes: Fixes) -> list[FixEffect]:
    """Return the promising fixes that are not proven to help, best first."""
    return [fix_effect for fix_effect in promising(fixes) if fix_effect.verdict == "inconclusive"]


def all_unsettled(fixes: Fixes) -> list[FixEffect]:
    """Return the measured single fixes without a verdict, in the order of their gains, the largest first."""
    unsettled = [
        fix_effect
        for fix_effect in fixes.tried
        if fix_effect.verdict == "inconclusive" and not fix_effect.members and fix_effect.gain is not None
    ]
    return sorted(unsettled, key=lambda fix_effect: -(fix_effect.gain or 0.0))


def _gains(fix_effect: FixEffect) -> bool:
    return fix_effect.gain is not None and fix_effect.gain >= 1 + MIN_GAIN


def _may_combine(fix_effect: FixEffect) -> bool:
    """Whether a promising fix is worth a combination: it helps, or its gain is large, or not far from proven."""
    if fix_effect.verdict == "helps" or fix_effect.gain is None or fix_effect.gain >= _LARGE:
        return True
    return fix_effect.gain_ci95 is not None and math.log(fix_effect.gain) >= _DOUBT * math.log(
        fix_effect.gain_ci95[1] / fix_effect.gain
    )


def groups_of(
    found: Fixes, fixes: Mapping[str, Fix], index_budget_bytes: int | None = None, *, proven: bool = False
) -> list[tuple[Fix, list[str]]]:
    """Return combinations of the promising fixes: the ones without a serious price, and all.

    If two fixes conflict, the combination contains the one with the larger gain. ``index_budget_bytes``: the largest
    size of all indexes in it; ``proven``: combine only fixes that help, and leave out combinations already measured.
    """
    known = {tuple(fix_effect.members) for fix_effect in found.tried}
    made: dict[tuple[str, ...], tuple[Fix, list[str]]] = {}
    for serious in (False, True):
        taken: list[Fix] = []
        left_bytes = math.inf if index_budget_bytes is None else index_budget_bytes
        for fix_effect in promising(found):
            fix, more_bytes = fixes[fix_effect.fix], _index_bytes(fix_effect)
            fits = more_bytes <= left_bytes and not any(conflict(fix, other) for other in taken)
            wanted = fix_effect.verdict == "helps" if proven else _may_combine(fix_effect)
            if wanted and fits and (serious or not fix_effect.serious):
                taken.append(fix)
                left_bytes -= more_bytes
        names = tuple(each.name for each in taken)
        if len(taken) > 1 and not (proven and any(set(names) == set(one) for one in known)):
            made.setdefault(names, (together(" + ".join(names), taken), list(names)))
    return list(made.values())


def _index_bytes(fix_effect: FixEffect) -> float:
    """Return the measured size of a fix's indexes in bytes."""
    return sum(price.bytes or 0.0 for price in fix_effect.prices if price.kind == "space" and price.measured)


def recommend(
    tried: Sequence[FixEffect], measured: Mapping[str, _Measured], comparison: _Comparison
) -> tuple[FixEffect | None, FixEffect | None]:
    """Return the recommended fix, and one with a larger gain at a price in durability or isolation.

    The recommended fix has the largest gain without such a price. If every helpful fix has one, the best of these is
    recommended. Otherwise a fix with such a price is returned only if it gained significantly more.
    """
    proven = {fix_effect.fix for fix_effect in tried if fix_effect.verdict == "helps"}
    helped = [fix_effect for fix_effect in tried if fix_effect.fix in proven]
    # Prefer fixes that are proven to help, and a single fix to a combination that doesn't gain more.
    helped.sort(key=lambda one: (not proven.issuperset(one.members), len(one.members), -(one.gain or 0.0)))

    def best(serious: bool) -> FixEffect | None:
        found: FixEffect | None = None
        for fix_effect in [one for one in helped if one.serious == serious]:
            least = 1.0 if proven.issuperset(fix_effect.members) else _MUCH_MORE
            if found is None or _gains_more(found, fix_effect, measured, comparison, least):
                found = fix_effect
        return found

    free, dear = best(serious=False), best(serious=True)
    if free is None:
        return dear, None
    if dear is None or not _gains_more(free, dear, measured, comparison):
        return free, None
    return free, dear


def _gains_more(
    one: FixEffect,
    other: FixEffect,
    measured: Mapping[str, _Measured],
    comparison: _Comparison,
    least: float = 1.0,
) -> bool:
    """Whether it is certain that the second fix gains more than ``least`` times as much as the first one."""
    a, b = measured[one.fix], measured[other.fix]
    ratio = comparison.ratio((a.cell, a.fix), (b.cell, b.fix))
    if ratio is None:
        # Without common blocks, compare their gains over the unchanged cell.
        ends = other.gain_ci95
        return ends is not None and one.gain_ci95 is not None and ends[0] > least * one.gain_ci95[1]
    return ratio.low is not None and ratio.low > least and ratio.mean >= 1 + MIN_GAIN


def work_rates(cell: Cell, fix: Fix | None, unit: str) -> Rates:
    """Return a cell's rates by block, in units of the work before the fix: a fixed transaction may do more work."""
    rates = rates_by_block(cell)
    if fix is None:
        return rates
    multiple = {"transaction": fix.work, "statement": fix.rows}.get(unit, 1)
    return {block: replace(rate, value=rate.value * multiple) for block, rate in rates.items()}


def _measure(
    fix: Fix, base: Cell, cell: Cell, comparison: _Comparison, noise: Noise | None, index_budget_bytes: int | None
) -> _Measured:
    ratio = comparison.ratio((base, None), (cell, fix), noise)
    carried = is_overloaded(base) and keeps_up(cell)
    reasons = [*_work_differences(fix, base, cell), *_oversize(fix, base, cell, index_budget_bytes)]
    return _Measured(fix, cell, ratio, next(iter(reasons), ""), carried)


def _oversize(fix: Fix, base: Cell, cell: Cell, index_budget_bytes: int | None) -> Iterator[str]:
    """Yield a sentence if the indexes of a fix are larger than allowed."""
    more = _more_bytes(base, cell) if fix.statements and done(cell) else None
    if index_budget_bytes is not None and more is not None and more > index_budget_bytes:
        yield f"its {size(round(more))} exceed the index budget of {size(index_budget_bytes)}"


def _work_differences(fix: Fix, base: Cell, cell: Cell) -> Iterator[str]:
    """Yield the reasons why a cell with a fix does not do the same work as the unchanged cell."""
    broken = next((round_.error for round_ in cell.rounds if round_.status == "failed"), None)
    if broken is not None:
        yield f"it failed: {broken}"
    if done(cell):
        if failing(cell) > failing(base):
            yield from (hardly_any(base, cell) or failures_differ(base, cell))
        yield from other_rows(base, cell, fix.work)
        before, now = _changes(base), _changes(cell)
        for name in before.keys() & now.keys():
            a, b = before[name], now[name]
            is_chance = abs(b.mean / fix.rows - a.mean) <= _CHANCE * math.hypot(a.error, b.error / fix.rows)
            if not is_chance and abs(b.mean / fix.rows - a.mean) > _SAME_CHANGES * a.mean:
                yield f"rows changed by `{name}`: {a.mean:.4g} without it, {b.mean / fix.rows:.4g} with it"


@dataclass(frozen=True)
class _Changes:
    """Mean rows changed per execution of a statement, and its standard error."""

    mean: float
    error: float


def _changes(cell: Cell) -> dict[str, _Changes]:
    """Return the changed rows by statement. Rounds differ because the parameters are drawn at random."""
    counts: dict[str, list[tuple[float, float]]] = {}
    for round_ in done(cell):
        for name, told in round_.statements_by_name.items():
            executions, changed = number(told, "executions"), number(told, "changed")
            if executions and changed is not None:
                counts.setdefault(name, []).append((executions, changed))
    found = {}
    for name, rounds in counts.items():
        total = sum(executions for executions, _ in rounds)
        mean = sum(changed for _, changed in rounds) / total
        of_rounds = standard_error([changed / executions for executions, changed in rounds])
        found[name] = _Changes(mean, max(of_rounds, math.sqrt(mean / total)))
    return found


def _effect(measured: _Measured, base: Cell, planned: Planned, comparison: _Comparison) -> FixEffect:
    members = planned.members
    fix, cell, ratio = measured.fix, measured.cell, measured.ratio
    prices = [*_documented_prices(fix), *_measured_prices(fix, base, cell)]
    p99 = ratio_of_pair(Pair(base, cell, metric="p99", confidence=comparison.confidence)) if fix.work == 1 else None
    if comparison.metric == "p99":
        p99 = more_is_better(ratio, "p99")
    return FixEffect(
        fix=fix.name,
        cell=cell.id,
        does=fix.does,
        members=list(members.get(fix.name, [])),
        against=list(fix.against),
        gain=None if ratio is None else ratio.mean,
        gain_ci95=None if ratio is None else ratio.ends,
        p99=None if p99 is None else p99.mean,
        p99_ci95=None if p99 is None else p99.ends,
        blocks=0 if ratio is None else ratio.count,
        verdict=verdict_of(ratio, measured.not_same, carried=measured.carried),
        reason=measured.not_same,
        prices=prices,
        serious=any(price.kind in SERIOUS for price in prices),
        snippet=fix.lines,
        configuration=[
            ConfigurationLines(place=heading, lines=lines)
            for heading, lines in (
                engine_of(planned.engine).configuration(fix.settings, fix.begins) if planned.engine else ()
            )
        ],
        source=None
        if fix.name in members
        else FixSource(title=fix.source.title, section=fix.source.section, url=fix.source.url),
    )


def _documented_prices(fix: Fix) -> Iterator[FixPrice]:
    for price in fix.prices:
        yield FixPrice(kind=price.kind, text=price.text, bytes=price.bytes, measured=False)


def _measured_prices(fix: Fix, base: Cell, cell: Cell) -> Iterator[FixPrice]:
    """Yield the measured prices: weaker durability, slower writes, and additional bytes on the device."""
    if not done(cell):
        return
    if durability_differs(base, cell):
        text = f"durability is {class_of(cell)} instead of {class_of(base)}"
        yield FixPrice(kind="durability", text=text, bytes=None, measured=True)
    if fix.statements:
        slower = _slower_writes(base, cell)
        if slower is not None and slower > 1 + _SLOWER:
            text = f"statements that write take {times(slower)} times as long"
            yield FixPrice(kind="writes", text=text, bytes=None, measured=True)
        more = _more_bytes(base, cell)
        if more is not None and more > _SPACE:
            text = f"{size(round(more))} more on the device"
            yield FixPrice(kind="space", text=text, bytes=more, measured=True)


def _slower_writes(base: Cell, cell: Cell) -> float | None:
    """Return the mean ratio of the times of writing statements; None if no time is known or none writes."""
    writing = {statement.name for statement in base.statements if StatementFacts("", statement.sql).writes}
    times_of = [
        {operation.name: operation.latency_ms.mean for operation in one.operations if operation.kind == "statement"}
        for one in (base, cell)
    ]
    pairs = [(times_of[0].get(name), times_of[1].get(name)) for name in writing]
    known = [(before, now) for before, now in pairs if before and now]
    return fmean(now / before for before, now in known) if known else None


def _more_bytes(base: Cell, cell: Cell) -> float | None:
    before, now = (number(each.system.catalog, "data_bytes") for each in (base, cell))
    return None if before is None or now is None else now - before
