"""Sentences about what a run measured, for its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from dbdyno.analysis.answer.short import STATEMENT, Levels, named
from dbdyno.analysis.measured.comparisons import Pair, failures_differ, ratios_of
from dbdyno.analysis.measured.metrics import done, failing, is_open_loop, keeps_up, unit_seconds
from dbdyno.base.numbers import bracketed, figure, milliseconds, percent
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.effects import Effect
from dbdyno.model.result.reading import JsonObject, number, shown_times
from dbdyno.stats import Ratio, decide

_TIMES = "\N{MULTIPLICATION SIGN}"
# An interval is written with its ends if half its width exceeds this share of the mean.
_WIDE = 0.5
# Largest factor between the mean of a time and the bounds of its interval that is worth printing.
_FAR = 10.0


def ratio_words(ratio: Ratio | None) -> str:
    """Write a ratio with its interval, such as ``5.3 [4.9, 5.7]``."""
    if ratio is None:
        return "an unknown number of"
    return bracketed(ratio.mean, ratio.ends) + (" (one round)" if ratio.count <= 1 else "")


def rate_words(cell: Cell) -> str:
    """Write a cell's throughput with its uncertainty, such as ``8,568 lookups/s (±1.4 %)``."""
    throughput = cell.throughput
    words = f"{figure(throughput.mean)} {throughput.unit}"
    mean, ci95 = throughput.mean, throughput.ci95
    if ci95 is None or not mean:
        return f"{words} (one round)" if len(cell.rounds) <= 1 else words
    share = (ci95[1] - ci95[0]) / 2 / mean
    if share > _WIDE:
        return f"{words} ({figure(ci95[0])} to {figure(ci95[1])})"
    return f"{words} (±{percent(share)})"


def loads_words(cells: Sequence[Cell], loads: Sequence[Levels], systems: Mapping[str, str]) -> list[str]:
    """Summarize the throughput of a run without choices: one value, or the lowest and the highest."""
    by_rate = sorted(cells, key=lambda cell: cell.throughput.mean or 0.0)
    worst, best = by_rate[0], by_rate[-1]
    if len(cells) == 1:
        return [f"{served_words(best) or rate_words(best)}{waits_words(best)}."]
    names = [name for name, _ in loads[0]] if loads else []
    where = [named({name: cell.factors.get(name) for name in names}, systems) for cell in (best, worst)]
    offered = [cell for cell in cells if offered_rate(cell) is not None]
    if offered:
        kept = [cell for cell in offered if keeps_up(cell)]
        last = max(kept or offered, key=lambda cell: offered_rate(cell) or 0.0)
        said = [f"{served_words(last)}{waits_words(last)}."]
        lost = [cell for cell in offered if cell not in kept and cell is not last]
        if lost:
            said.append(f"{served_words(min(lost, key=lambda cell: offered_rate(cell) or 0.0))}.")
        return said
    return [f"From {rate_words(worst)} at {where[1]} to {rate_words(best)} at {where[0]}."]


def served_words(cell: Cell) -> str:
    """Write the share of the offered rate that an open loop served; empty for a closed loop."""
    offered = offered_rate(cell)
    if offered is None:
        return ""
    arrivals, per = figure(offered * unit_seconds(cell)), cell.throughput.unit.rpartition("/")[2]
    if keeps_up(cell):
        return f"All of the {arrivals}/{per} offered were served"
    skipped, issued = (sum(getattr(round_, name) for round_ in done(cell)) for name in ("skipped", "issued"))
    lost = percent(skipped / issued)
    if not _counts_arrivals(cell):
        return f"{rate_words(cell)}; {lost} of the {arrivals} transactions/{per} offered never started"
    return f"{rate_words(cell)} of the {arrivals}/{per} offered were served; {lost} never started"


def _counts_arrivals(cell: Cell) -> bool:
    """Whether throughput counts all transactions, so that it can be compared with arrivals."""
    return all(
        math.isclose(round_.throughput or 0.0, (round_.transactions_per_s or 0.0) * unit_seconds(cell))
        for round_ in done(cell)
    )


def offered_rate(cell: Cell) -> float | None:
    """Return the arrivals per second of an open loop; None for a closed loop."""
    return _per_second(cell, "issued") if is_open_loop(cell) else None


def served_rate(cell: Cell) -> float:
    """Return the successful transactions per second, whatever throughput counts."""
    return _per_second(cell, "ok") or 0.0


def _per_second(cell: Cell, name: str) -> float | None:
    rounds = [round_ for round_ in done(cell) if round_.elapsed_s]
    seconds = sum(round_.elapsed_s or 0.0 for round_ in rounds)
    return sum(getattr(round_, name) for round_ in rounds) / seconds if seconds else None


def waits_words(cell: Cell) -> str:
    """Write the p99, the longest response time and the share of failures, to end a sentence with."""
    times = shown_times(cell.latency_ms)
    if not times or times.p99 is None:
        return ""
    bound = "at least " if "p99" in times.at_least else ""
    words = f", p99 {bound}{milliseconds(times.p99)} ms"
    if times.max is not None:
        words += f", slowest {milliseconds(times.max)} ms"
    return words + (f", {percent(failing(cell))} failed" if failing(cell) else "")


def missing_words(measured: Sequence[Cell], cells: Sequence[Cell], systems: Mapping[str, str]) -> list[str]:
    """Name the cells without a result."""
    missing = [cell for cell in cells if cell not in measured]
    if not missing:
        return []
    names = [named(cell.factors, systems) or cell.id for cell in missing]
    have = "has" if len(missing) == 1 else "have"
    return [f"{len(missing)} of {len(cells)} cells {have} no result ({listed(names)})."]


def chain_words(cells: Sequence[Cell], axis: str, confidence: float, family: int) -> list[str]:
    """Describe the effect of each change of a chain compared with the step before, including failures."""
    said = []
    steps = list(pairwise(cells))
    ratios = ratios_of([Pair(*step, metric="throughput", confidence=confidence) for step in steps], cells)
    for (before, cell), decision in zip(steps, decide(ratios, family=family), strict=True):
        words = f"{cell.factors[axis]} {_TIMES}{ratio_words(decision.ratio)}"
        shares = [failing(each) for each in (before, cell)]
        if failures_differ(before, cell):
            words += f", {percent(shares[1])} of transactions fail instead of {percent(shares[0])}"
        said.append(words)
    start = f"{rate_words(cells[0])} at {cells[0].factors[axis]}"
    return [f"Starting from {start}, the effect of each change: {'; '.join(said)}."]


def screening_words(effects: Sequence[Effect], part: JsonObject, systems: Mapping[str, str], command: str) -> list[str]:
    """Name the levels that are measurably faster in a screening, and the command that measures their combinations.

    ``effects``: effects of the choices on throughput; ``part``: the run's ``screening``, with the number of measured
    cells and of all cells.
    """
    ahead = [effect for effect in effects if effect.verdict == "faster"]
    ahead.sort(key=lambda effect: -(effect.ratio or 0.0))
    said = [_one_ahead(effect, systems) for effect in ahead]
    first = f"Measurably faster: {'; '.join(said)}." if said else "No level is measurably faster than the first one."
    measured = f"Only {part.get('cells')} of {part.get('of')} cells were measured, so combinations are unknown."
    return [first, f"{measured} To measure the combinations of promising levels: {command}"]


def _one_ahead(effect: Effect, systems: Mapping[str, str]) -> str:
    name = named({effect.factor: effect.level}, systems)
    words = f"{name} {bracketed(effect.ratio or 0.0, effect.ci95)} times"
    durability = durability_words(effect)
    words += f", {durability}" if durability else ""
    if effect.failed and effect.failed[1] > effect.failed[0]:
        words += f", {percent(effect.failed[1])} failures"
    return words


def durability_words(effect: Effect) -> str:
    """Write how a level changes the durability class, with the number of pairs if not all change; empty if none do."""
    if effect.durability is None:
        return ""
    before, after = effect.durability
    pairs, total = effect.durability_in, len(effect.cells)
    return f"{after} instead of {before}" + (f" in {pairs} of {total} pairs" if pairs < total else "")


def times_words(cells: Sequence[Cell], weights: Mapping[str, float]) -> list[str]:
    """Name the statement that takes longest, and its share of the time of running each statement once.

    ``weights``: how often each statement is run instead, by its name; statements without a weight run once.
    """
    often = {cell.id: weights.get(str(cell.factors.get(STATEMENT)), 1.0) for cell in cells}
    times = {cell.id: often[cell.id] * (time_of(cell) or 0.0) for cell in cells}
    total = sum(times.values())
    if not total:
        return []
    longest = max(cells, key=lambda cell: times[cell.id])
    most = time_of(longest) or 0.0
    span = interval_words(longest, " [{}, {}]", " [too noisy]")
    name = str(longest.factors.get(STATEMENT, longest.id))
    if len(cells) == 1:
        return [f"{name} takes {milliseconds(most)}{span} ms."]
    share = percent(times[longest.id] / total)
    rest = f"{share} of the {milliseconds(total)} ms that all {len(cells)} statements take"
    how_often = "as often as its weight" if len(set(often.values())) > 1 else "once"
    return [f"{name} takes {milliseconds(most)}{span} ms: {rest}, each run {how_often}."]


def time_of(cell: Cell) -> float | None:
    """Return the mean time of one execution in milliseconds; None if nothing was measured."""
    mean = cell.throughput.mean
    return 1e3 * _clients(cell) / mean if mean else None


def interval_of(cell: Cell) -> tuple[float, float] | None:
    """Return the 95 % interval of :func:`time_of` in milliseconds; None if unknown."""
    ci95 = cell.throughput.ci95
    if not ci95 or ci95[0] <= 0:
        return None
    return 1e3 * _clients(cell) / ci95[1], 1e3 * _clients(cell) / ci95[0]


def interval_words(cell: Cell, form: str, wide: str) -> str:
    """Write :func:`interval_of`; empty if unknown.

    ``form``: of the two bounds; ``wide``: is returned instead if both differ from the mean by a factor of more than 10.
    """
    mean, ends = time_of(cell), interval_of(cell)
    if not mean or ends is None:
        return ""
    if ends[1] > _FAR * mean and ends[0] * _FAR < mean:
        return wide
    return form.format(*map(milliseconds, ends))


def _clients(cell: Cell) -> float:
    return next((number(round_.window, "clients") for round_ in cell.rounds), None) or 1.0


def listed(names: Sequence[str], most: int = 2) -> str:
    """Join the first ``most`` names and the number of others."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} others" if rest > 1 else " and 1 other" if rest == 1 else "")


def shortened_list(names: Sequence[str], separator: str = ", ", most: int = 3) -> str:
    """Join names. If at least two are more than ``most``, join the first ones and the number of others."""
    rest = len(names) - most
    return f"{separator.join(names[:most])} and {rest} others" if rest > 1 else separator.join(names)
