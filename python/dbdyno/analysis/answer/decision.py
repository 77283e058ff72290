"""Sentences that compare configurations: problems of the first one, the fastest one, and the one to use."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from dbdyno.analysis.answer.configurations import Configuration, Ranking, Standing, is_below
from dbdyno.analysis.answer.prices import failures_words
from dbdyno.analysis.answer.short import AS_IT_IS, Levels, named
from dbdyno.analysis.answer.words import listed, offered_rate, served_rate
from dbdyno.analysis.measured.metrics import (
    ANSWERS,
    counted_unit,
    done,
    failing,
    keeps_up,
    lower_bounds,
    values_by_block,
)
from dbdyno.base.numbers import factor_words, figure, milliseconds, percent, times
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.effects import Advice
from dbdyno.model.result.reading import shown_times
from dbdyno.model.result.shape import Finding
from dbdyno.stats import inverse

# Report the slowest request if it takes at least this long.
_SLOW_MS = 1000.0
# Kinds of findings that a reader must know before the results.
_URGENT = ("backlog full", "durability contradicted", "lost updates", "unsettled", "two levels")
_MESSAGE = 60
_MAX_NAMES = 4
_PAIR = 2
_FEW_LOADS = 4


def describe_problems(cell: Cell, name: str, findings: Sequence[Finding]) -> list[str]:
    """Describe the problems of a cell: failures and their message, a slow request, the bottleneck, urgent findings."""
    parts = []
    share = failing(cell)
    if share:
        message = _message(cell)
        what = counted_unit(cell)
        parts.append(f"{percent(share)} of {what} fail" + (f' ("{message}")' if message else ""))
    waits = shown_times(cell.latency_ms)
    if waits and (waits.max or 0.0) >= _SLOW_MS:
        parts.append(f"the slowest takes {(waits.max or 0.0) / 1e3:.1f} s")
    said = []
    if parts:
        bottleneck = cell.bottleneck
        cause = (
            f"; bottleneck: {bottleneck.resource}"
            if bottleneck is not None and bottleneck.resource != "unclear"
            else ""
        )
        said.append(f"{_with(name)}, {' and '.join(parts)}{cause}.")
    own = [finding for finding in findings if cell.id in finding.cells]
    urgent = [finding for kind in _URGENT for finding in own if kind in (finding.kind, finding.evidence.get("warning"))]
    return said + [finding.text for finding in urgent[:1]]


def _with(name: str) -> str:
    return name.capitalize() if name == AS_IT_IS else f"With {name}"


def _message(cell: Cell) -> str:
    """Return the message of the most frequent failure."""
    counts: dict[str, int] = {}
    messages: dict[str, str] = {}
    for round_ in done(cell):
        for kind, count in round_.failed.items():
            counts[kind] = counts.get(kind, 0) + count
        messages |= round_.failures
    most = max(counts, key=lambda kind: counts[kind], default="")
    return textwrap.shorten(messages.get(most, most), _MESSAGE, placeholder=" …")


def failing_words(aside: Configuration, first: Configuration) -> str:
    """Write the share of failed transactions of the run's first configuration and of the one that replaces it."""
    own = percent(first.failed) if first.failed else "none"
    return f"{percent(aside.failed)} of the transactions fail with {aside.name}, and {own} with {first.name}"


def describe_leaders(ranking: Ranking, systems: Mapping[str, str]) -> list[str]:
    """Name the best configuration at each load with the values of all; loads with the same result share a sentence."""
    said = _served(ranking, systems)
    results = [(load, *_leaders(ranking, load)) for load in ranking.loads]
    # The throughput of an open loop is the offered rate, or what `_served` describes.
    results = [each for each in results if len(each[1]) > 1 and not (each[4] == "throughput" and said)]
    groups = [list(group) for _, group in groupby(results, key=_result)]
    # The highest load comes first.
    for group in reversed(groups[-3:]):
        load, ranked, best, rivals, metric = group[-1]
        values = [(configuration.name, _value(configuration.cells[load], metric)) for configuration in ranked]
        unit = _unit(ranked[0], load, metric)
        by_name = dict(values)
        others = [f"{name} {value}" for name, value in values if name != best.name][:_MAX_NAMES]
        where = _where([each[0] for each in group], len(groups) > 1, systems)
        if len(ranked) == _PAIR and not rivals and 1 < len(group) <= _FEW_LOADS:
            ratios = [
                f"{_times(ranking, ranked, each[0], best)} at {named(dict(each[0]), systems)}" for each in group[:-1]
            ]
            where = f" at {named(dict(load), systems)}, {', '.join(ratios)}"
        if len(ranked) == _PAIR:
            text = _two(ranking, ranked, load, best=best, rivals=rivals, values=by_name, metric=metric)
        elif len(rivals) == len(ranked) - 1:
            figures = ", ".join(f"{name} {value}" for name, value in values[:_MAX_NAMES])
            text = f"No measurable difference{_of(metric)}: {figures}{unit}"
        elif rivals:
            close = listed([rival.name for rival in rivals])
            text = f"{best.name} {_leads(metric)} ({by_name[best.name]}{unit}), "
            text += f"with no measurable difference from {close}: {', '.join(others)}"
        else:
            text = f"{best.name} {_leads(metric)}: {by_name[best.name]}{unit}, {', '.join(others)}"
        said.append(f"{text}{where}.")
    return [*said, *_shortest_p99(ranking), *_apart(ranking)]


def _shortest_p99(ranking: Ranking) -> list[str]:
    """Name the configuration with the shortest p99 in every round of the last load, if it is not the fastest one."""
    ranked, best, _, metric = _leaders(ranking, ranking.loads[-1])
    if metric != "throughput" or len(ranked) <= 1:
        return []
    cells = {configuration.name: configuration.cells[ranking.loads[-1]] for configuration in ranked}
    rounds = {name: list(values_by_block(cell, ANSWERS).values()) for name, cell in cells.items()}
    if not all(rounds.values()) or any(lower_bounds(cell, ANSWERS) for cell in cells.values()):
        return []
    name = min(rounds, key=lambda each: max(rounds[each]))
    if name == best.name or any(min(own) <= max(rounds[name]) for each, own in rounds.items() if each != name):
        return []
    others = [f"{each} {_value(cell, ANSWERS)}" for each, cell in cells.items() if each != name]
    return [f"{name} has the shortest p99: {_value(cells[name], ANSWERS)}, {', '.join(others[:_MAX_NAMES])}."]


def _result(each: tuple[Levels, list[Configuration], Configuration, list[Configuration], str]) -> object:
    """Return a key that is equal for loads with the same result."""
    _, ranked, best, rivals, metric = each
    if len(rivals) == len(ranked) - 1:
        return metric
    return best.name, sorted(one.name for one in rivals), metric


def _two(
    ranking: Ranking,
    ranked: Sequence[Configuration],
    load: Levels,
    *,
    best: Configuration,
    rivals: Sequence[Configuration],
    values: Mapping[str, str],
    metric: str,
) -> str:
    """Compare two ranked configurations, with the ratio that the verdict is based on."""
    standing = _standing(_other(ranking, ranked), load)
    behind = next(configuration for configuration in ranked if configuration is not best)
    how = _times(ranking, ranked, load, best)
    unit = _unit(best, load, metric)
    figures = f"{values[best.name]} against {values[behind.name]}{unit}" + (f" ({how})" if how else "")
    if not rivals:
        return f"{best.name} is faster than {behind.name}{_of(metric)}: {figures}"
    verdict = "inconclusive" if standing is None else standing.decision.verdict
    word = "are equal within the margin" if verdict == "equivalent" else "do not differ measurably"
    return f"{best.name} and {behind.name} {word}{_of(metric)}: {figures}"


def _other(ranking: Ranking, ranked: Sequence[Configuration]) -> Configuration:
    """Return the configuration that is compared with the first one."""
    return next(configuration for configuration in ranked if configuration is not ranking.first)


def _times(ranking: Ranking, ranked: Sequence[Configuration], load: Levels, best: Configuration) -> str:
    """Write the ratio of the better configuration to the other one at a load, with its interval."""
    standing = _standing(_other(ranking, ranked), load)
    if standing is None or standing.ratio is None:
        return ""
    ratio = inverse(standing.ratio) if best is ranking.first else standing.ratio
    return factor_words(ratio.mean, ratio.ends)


def _unit(configuration: Configuration, load: Levels, metric: str) -> str:
    return f" {configuration.cells[load].throughput.unit}" if metric == "throughput" else ""


def _of(metric: str) -> str:
    return "" if metric == "throughput" else f" by {metric}"


def _leads(metric: str) -> str:
    return "has the highest throughput" if metric == "throughput" else f"has the shortest {metric}"


def _where(loads: Sequence[Levels], several: bool, systems: Mapping[str, str]) -> str:
    names = [named(dict(load), systems) for load in loads if load]
    if not names:
        return ""
    if len(names) == 1:
        return f" at {names[0]}"
    if several:
        return f" at {names[-1]}, the same at {', '.join(names[:-1][-2:])}"
    return f" at {names[-1]}, the same at {'every other load' if len(names) > _PAIR else names[0]}"


def _leaders(ranking: Ranking, load: Levels) -> tuple[list[Configuration], Configuration, list[Configuration], str]:
    """Return a load's ranked configurations, best first; the best; those that may equal it; and the metric.

    All are compared with the first configuration, so none is ranked at a load where it has no result.
    """
    first = ranking.first
    if load not in first.cells:
        return [], first, [], ranking.metric
    ranked = [
        configuration
        for configuration in ranking.configurations
        if load in configuration.cells and not configuration.not_ranked
    ]
    standings = {configuration.name: _standing(configuration, load) for configuration in ranked}
    metric = next((each.metric for each in standings.values() if each is not None), ranking.metric)

    def factor(configuration: Configuration) -> float:
        standing = standings[configuration.name]
        return (
            1.0
            if configuration is first
            else 0.0
            if standing is None or standing.ratio is None
            else standing.ratio.mean
        )

    ranked.sort(key=factor, reverse=True)
    best = ranked[0]
    rivals = [
        configuration
        for configuration in ranked[1:]
        if not _is_ahead(standings[best.name], standings[configuration.name], best is first, configuration is first)
    ]
    return ranked, best, rivals, metric


def _is_ahead(best: Standing | None, other: Standing | None, best_first: bool, other_first: bool) -> bool:
    """Whether the best configuration is measurably better than another one."""
    if best_first:
        return other is not None and other.decision.verdict == "slower"
    if other_first:
        return best is not None and best.decision.verdict == "faster"
    return best is not None and other is not None and is_below(other.ratio, best.ratio)


def _standing(configuration: Configuration, load: Levels) -> Standing | None:
    return next((standing for standing in configuration.at if standing.load == load), None)


def _value(cell: Cell, metric: str) -> str:
    if metric == "throughput":
        return figure(cell.throughput.mean)
    waits = shown_times(cell.latency_ms)
    bound = "≥" if waits and metric in waits.at_least else ""
    return f"{bound}{milliseconds(getattr(waits, metric))} ms" if waits else "-"


def _served(ranking: Ranking, systems: Mapping[str, str]) -> list[str]:
    """Name the configurations that serve the highest offered rate; empty for closed loops."""
    load = ranking.loads[-1]
    cells = [
        (configuration.name, configuration.cells[load])
        for configuration in ranking.configurations
        if load in configuration.cells
    ]
    offered = [rate for _, cell in cells if (rate := offered_rate(cell)) is not None]
    if len(offered) < len(cells) or len(cells) <= 1:
        return []
    where = named(dict(load), systems) or f"the {figure(max(offered))}/s offered"
    behind = [(name, cell) for name, cell in cells if not keeps_up(cell)]
    if not behind:
        return [f"{'Both' if len(cells) == _PAIR else f'All {len(cells)}'} serve {where}."]
    lost = [f"{name} only {figure(served_rate(cell))}/s" for name, cell in behind]
    kept = [name for name, cell in cells if keeps_up(cell)]
    if not kept:
        return [f"None serves {where}: {listed(lost, _MAX_NAMES)}."]
    return [f"{listed(kept, _MAX_NAMES)} serve{'s' if len(kept) == 1 else ''} {where}; {'; '.join(lost)}."]


def _apart(ranking: Ranking) -> list[str]:
    """Write why configurations are not ranked, and the prices of the others."""
    others = ranking.configurations[1:]
    apart = [configuration for configuration in others if configuration.not_ranked]
    said = []
    if apart:
        names = listed([configuration.name for configuration in apart], _MAX_NAMES)
        verb = "is" if len(apart) == 1 else "are"
        reasons = "; ".join(dict.fromkeys(configuration.not_ranked for configuration in apart))
        said.append(f"{names} did different work and {verb} not ranked: {reasons}.")
    priced = [
        f"{configuration.name}: {', '.join(configuration.price)}" for configuration in others if configuration.price
    ]
    return said + ([f"Price compared with {ranking.first.name}: {'; '.join(priced[:2])}."] if priced else [])


def describe_decision(ranking: Ranking, best: Configuration, rows: Sequence[Advice], margin: float) -> str:
    """Name the configuration to use and why, or write that the result is not settled."""
    first = ranking.first
    before = ranking.set_aside or first
    if best is not before:
        return f"Take {best.name}: {describe_gain(ranking, best)}."
    apart = [configuration for configuration in ranking.configurations[1:] if configuration.not_ranked]
    if apart and len(ranking.free) <= 1:
        return f"{first.name} cannot be compared with {apart[0].name}: {apart[0].not_ranked}."
    takes = [advice.levels for advice in rows if advice.action == "take"]
    if takes:
        return f"Take the choices below; {_together(ranking, takes)}."
    unsettled = next((advice for advice in rows if advice.action == "open"), None)
    priced = next((advice for advice in rows if advice.action == "maybe"), None)
    if unsettled is not None and priced is not None:
        # A settled gain comes before an open one.
        return f"Consider {priced.change}: {priced.effect}, but {priced.price}."
    if unsettled is not None:
        return f"Not settled: {_top(ranking) or _open_words(unsettled)}."
    return f"Keep {first.name}: {explain_keeping(ranking, margin)}."


def _together(ranking: Ranking, takes: Sequence[Mapping[str, Any]]) -> str:
    """Write the price of the combination of choices, or why it is unknown. Earlier choices override later ones."""
    wanted = dict(ranking.first.levels)
    for levels in reversed(takes):
        wanted |= levels
    found = next(
        (configuration for configuration in ranking.configurations if dict(configuration.levels) == wanted), None
    )
    if found is None:
        return "their combination was not measured"
    if found.not_ranked:
        return f"their combination is not ranked: {found.not_ranked}"
    return f"together they cost {', '.join(found.price)}"


def _open_words(row: Advice) -> str:
    return f"{row.change} ({row.effect})" if row.effect else row.change


def _top(ranking: Ranking) -> str:
    """Compare the most promising inconclusive configuration with the first one; empty if all are settled."""
    load = ranking.loads[-1]
    known = [
        configuration
        for configuration in ranking.configurations[1:]
        if configuration.decision is not None
        and configuration.decision.verdict == "inconclusive"
        and configuration.against is not None
        and not configuration.not_ranked
        and load in configuration.cells
        and load in ranking.first.cells
    ]
    if not known:
        return ""
    top = max(known, key=lambda configuration: configuration.factor)
    values = [_value(configuration.cells[load], ranking.metric) for configuration in (top, ranking.first)]
    unit = f" {top.cells[load].throughput.unit}" if ranking.metric == "throughput" else ""
    ratio = "" if top.against is None else f" ({factor_words(top.against.mean, top.against.ends)})"
    return f"{top.name} {values[0]}, {ranking.first.name} {values[1]}{unit}{ratio}"


def describe_gain(ranking: Ranking, best: Configuration) -> str:
    """Write how the configuration to use improves on the run's first one, in units."""
    before = ranking.set_aside or ranking.first
    loads = [load for load in before.cells if load in best.cells]
    if not loads:
        return "it gains the most"
    a, b = before.cells[loads[-1]], best.cells[loads[-1]]
    unit = a.throughput.unit
    parts = [f"{_value(b, 'throughput')} {unit} instead of {_value(a, 'throughput')}"]
    if ranking.metric != "throughput":
        parts = [f"{ranking.metric} {_value(b, ranking.metric)} instead of {_value(a, ranking.metric)}"]
    if before.failed != best.failed:
        failed = failures_words(before.failed, best.failed)
        faster = (b.throughput.mean or 0.0) >= (a.throughput.mean or 0.0)
        parts = [*parts, failed] if faster else [failed, *parts]
    return ", ".join(parts)


def explain_keeping(ranking: Ranking, margin: float) -> str:  # noqa: PLR0911 - the first rule that applies
    """Write why the first configuration stays: it is the fastest, none differs, or the largest gain still possible."""
    first, others = ranking.first, ranking.configurations[1:]
    free = [configuration for configuration in ranking.free if configuration is not first]
    apart = [configuration for configuration in others if configuration.not_ranked]
    if not free:
        if apart:
            return f"it cannot be compared with {apart[0].name}: {apart[0].not_ranked}"
        return "every other configuration has a price"
    verdicts = {
        "inconclusive" if configuration.decision is None else configuration.decision.verdict for configuration in free
    }
    if verdicts == {"slower"}:
        if all(_is_slower_everywhere(configuration, ranking) for configuration in others):
            words = "it is faster" if len(others) == 1 else f"it is the fastest of {len(ranking.configurations)}"
            return f"{words} ({_next(ranking, free)})"
        if len(others) == 1:
            return "it is faster over all loads"
        which = "every other ranked configuration" if apart else "every other configuration"
        which += " without a price" if any(configuration.price for configuration in others) else ""
        return f"{which} is slower" + (" over all loads" if len(ranking.loads) > 1 else "")
    if verdicts == {"equivalent"}:
        return f"no alternative differs by more than {percent(margin)}"
    known = [
        configuration.against.high
        for configuration in free
        if configuration.against is not None and configuration.against.high is not None
    ]
    if len(known) == len(free) and known:
        return f"no alternative is measurably faster; a gain of up to {times(max([*known, 1.0]))}x is not excluded"
    return "no alternative is measurably faster"


def _is_slower_everywhere(configuration: Configuration, ranking: Ranking) -> bool:
    """Whether a configuration is ranked and measurably slower than the first one at every load."""
    slower = sum(standing.decision.verdict == "slower" for standing in configuration.at)
    return not configuration.not_ranked and slower == len(ranking.loads)


def _next(ranking: Ranking, free: Sequence[Configuration]) -> str:
    """Write the values of the first configuration and of the fastest alternative."""
    nearest = max(free, key=lambda configuration: configuration.factor)
    load = [each for each in ranking.loads if each in ranking.first.cells and each in nearest.cells][-1]
    values = [_value(configuration.cells[load], ranking.metric) for configuration in (ranking.first, nearest)]
    unit = f" {nearest.cells[load].throughput.unit}" if ranking.metric == "throughput" else ""
    return f"{values[0]} against {values[1]}{unit} with {nearest.name}"
