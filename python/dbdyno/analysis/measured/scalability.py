"""Fit the scalability model to a run's cells, or refuse it if the data does not support it.

A wrong model looks as convincing as a right one, so all reasons for doubt are checked first.
docs/explanation/scalability.md explains the bounds, which are a matter of judgment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dbdyno.analysis.measured.cell_groups import cells_but_for
from dbdyno.analysis.measured.client import client_is_bottleneck
from dbdyno.analysis.measured.comparisons import hardly_any
from dbdyno.analysis.measured.metrics import done, failing, is_open_loop, rates_by_block
from dbdyno.base.numbers import level, percent, rough
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.scalability import CurvePoint, IntervalEstimate, Peak, Scalability, ScalabilityCurve
from dbdyno.stats import Rates, decide, paired_rates
from dbdyno.stats.moderation import noise_of
from dbdyno.stats.rates import own_errors, own_values
from dbdyno.stats.scalability import MIN_BLOCKS, MIN_LEVELS, Estimate, NoSpreadError, fit
from dbdyno.stats.scalability import Scalability as Fit

# Minimum ratio of the largest to the smallest number of clients. Over a smaller range the curve hardly bends, and
# extrapolating it is a guess.
_MIN_RANGE = 4
# With a larger share of failed transactions, the throughput of the successful ones does not fit the model.
_FAILING = 0.01
# Significant deviations contradict the model if the largest one exceeds this share. With enough rounds every model
# deviates significantly; smaller deviations are part of the intervals.
_MISFIT, _CHANCE = 0.05, 0.01
# Contention with a wider interval is unknown, and so is the throughput of one client if the ends of its interval differ
# by a larger factor.
_WIDE, _WIDE_RATE = 0.5, 3.0
# No peak is predicted beyond this multiple of the largest number of clients.
_REACH = 2
_APART = ("faster", "slower")
_POINTS = 24


@dataclass
class _Refused(Exception):
    """Why the model is not fitted, and how to measure instead."""

    why: str
    advice: str = ""


def scalability(cells: Sequence[Cell], factors: Mapping[str, Sequence[str]], confidence: float) -> list[Scalability]:
    """Fit the model along each factor that sets the number of clients, for each combination of the other levels.

    ``factors``: these factors, each with the other parts of the experiment that it sets. Factors with a single level
    are left out.
    """
    return [
        _model(factor, others, at, group, confidence)
        for factor, others in factors.items()
        for at, group in cells_but_for(cells, factor)
        if len(group) > 1
    ]


def _model(
    factor: str, others: Sequence[str], at: Mapping[str, Any], group: Sequence[Cell], confidence: float
) -> Scalability:
    numbers = {cell.id: _clients(cell) for cell in group}
    model: Scalability = Scalability(
        factor=factor,
        at=dict(at),
        cells=[cell.id for cell in group],
        clients=list(numbers.values()),
        curve=None,
        refused="",
        advice="",
    )
    try:
        _check_cells(factor, others, group, numbers)
        known = [(number, cell) for cell in group if (number := numbers[cell.id]) is not None]
        model.curve = _curve(factor, sorted(known, key=_first), confidence)
    except _Refused as refused:
        model.refused, model.advice = refused.why, refused.advice
    return model


def _first(each: tuple[int, Cell]) -> int:
    return each[0]


def _clients(cell: Cell) -> int | None:
    """Return the number of clients of a cell's trials; None if unknown."""
    return next((int(round_.window["clients"]) for round_ in cell.rounds if round_.window.get("clients")), None)


def _check_cells(factor: str, others: Sequence[str], group: Sequence[Cell], numbers: Mapping[str, int | None]) -> None:
    if others:
        why = f"{factor} sets more than the number of clients: {', '.join(others)}"
        raise _Refused(why, "use a separate factor for each")
    if len(group) < MIN_LEVELS:
        _few(factor, len(group))
    for why, advice in _doubts(factor, group):
        raise _Refused(why, advice)
    known = [number for number in numbers.values() if number is not None]
    if len(set(known)) < MIN_LEVELS:
        _few(factor, len(set(known)))
    if len(set(known)) < len(known):
        raise _Refused(f"several levels of {factor} have the same number of clients")
    if max(known) < _MIN_RANGE * min(known):
        range_of = max(known) / min(known)
        why = f"the largest number of clients is {range_of:.2g} times the smallest; it must be {_MIN_RANGE} times"
        raise _Refused(why, f"use levels of {factor} that are further apart, each twice the one before")


def _few(factor: str, levels: int) -> None:
    why = f"{levels} numbers of clients were measured, but the model has {MIN_LEVELS - 1} parameters"
    raise _Refused(why, f"use at least {MIN_LEVELS} levels of {factor}, preferably 6")


def _doubts(factor: str, group: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    """Yield reasons not to fit the cells, with the levels concerned, and how to measure instead."""
    rules = (
        (_gave_nothing, "run more rounds, or use levels that can be measured"),
        (_is_open, "use a closed loop: the throughput of an open loop is the offered rate"),
        (_fails, f"use `--set` to choose levels of {factor} at which none fail"),
        (client_is_bottleneck, "generate the load on a separate machine, or on more machines"),
    )
    for rule, advice in rules:
        levels: dict[str, list[str]] = {}
        for cell in group:
            why = rule(cell)
            if why:
                levels.setdefault(why, []).append(level(cell.factors[factor]))
        if levels:
            yield "; ".join(f"at {factor}={','.join(own)} {why}" for why, own in levels.items()), advice


def _gave_nothing(cell: Cell) -> str:
    lost = len(cell.rounds) - len(done(cell))
    if not rates_by_block(cell):
        return "no trial gave a result"
    return f"{lost} of {len(cell.rounds)} trials gave no result" if 2 * lost >= len(cell.rounds) else ""


def _is_open(cell: Cell) -> str:
    return "transactions start by the clock" if is_open_loop(cell) else ""


def _fails(cell: Cell) -> str:
    share = failing(cell)
    if share > _FAILING:
        return f"{percent(share)} of the transactions failed"
    return "for a part of the window none succeeded" if hardly_any(cell, cell) else ""


def _curve(factor: str, known: Sequence[tuple[int, Cell]], confidence: float) -> ScalabilityCurve:
    rates = [rates_by_block(cell) for _, cell in known]
    common = sorted(set.intersection(*(set(each) for each in rates)))
    if len(common) < MIN_BLOCKS:
        why = f"only {len(common)} rounds have a result at all levels of {factor}"
        raise _Refused(why, f"run at least {MIN_BLOCKS} rounds, preferably 5 or more")
    chosen = [{block: each[block] for block in common} for each in rates]
    logs = [list(in_block) for in_block in zip(*(own_values(each).values() for each in chosen), strict=True)]
    try:
        found = fit([number for number, _ in known], logs, [own_errors(each) for each in chosen], confidence)
    except NoSpreadError:
        raise _Refused("the rounds agree to the last digit, so the uncertainty of a curve is unknown") from None
    _check_fit(factor, found)
    return _reported(found, _may_be_greatest(chosen, [number for number, _ in known], confidence))


def _may_be_greatest(rates: Sequence[Rates], levels: Sequence[int], confidence: float) -> list[int]:
    """Return the levels that may have the highest throughput: those that no other level measurably exceeds.

    This does not depend on the model, because models without a peak fit rates that level off nearly as well. All pairs
    are one family of comparisons.
    """
    noise = noise_of([own_values(each) for each in rates])
    pairs = list(combinations(range(len(levels)), 2))
    made = decide([paired_rates(rates[a], rates[b], confidence, noise) for a, b in pairs], 0.0)
    slower = {
        pair[decision.verdict == "slower"]
        for pair, decision in zip(pairs, made, strict=True)
        if decision.verdict in _APART
    }
    return [level for position, level in enumerate(levels) if position not in slower]


def _check_fit(factor: str, found: Fit) -> None:
    clients, misfit = found.largest_misfit
    if found.p < _CHANCE and abs(misfit) > _MISFIT:
        side = "above" if misfit > 0 else "below"
        why = f"the rates contradict the model: with {clients:g} clients {percent(abs(misfit))} {side} the best curve"
        raise _Refused(
            f"{why}, more than chance explains",
            "use the measured rates themselves; the bottlenecks of the cells show what changes",
        )
    contention, rate = found.contention, found.rate
    if contention.high - contention.low > _WIDE or rate.high > _WIDE_RATE * rate.low:
        low, high = rough(contention.low), rough(contention.high)
        why = f"the rounds differ too much: contention may be anything from {low} to {high}"
        raise _Refused(why, f"run more rounds, longer windows or more levels of {factor}")


def _reported(found: Fit, greatest: Sequence[int]) -> ScalabilityCurve:
    peak = _peak(found, greatest)
    clients, misfit = found.largest_misfit
    first, last = min(found.levels), max(found.levels)
    if peak.clients_ci95 is not None:
        last = max(last, peak.clients_ci95[1])
    return ScalabilityCurve(
        one_client=_estimated(found.rate),
        contention=_estimated(found.contention),
        coherency=_estimated(found.coherency),
        peak=peak,
        misfit=misfit,
        misfit_clients=clients,
        p=found.p,
        blocks=found.blocks,
        points=_points(found, [first * (last / first) ** (position / _POINTS) for position in range(_POINTS + 1)]),
    )


def _peak(found: Fit, greatest: Sequence[int]) -> Peak:
    """Return where throughput is highest. ``greatest``: the levels that may have the highest throughput.

    A peak is reported only if throughput measurably falls after it. Its interval includes ``greatest``.
    """
    most = max(found.levels)
    at = found.peak_at
    if at.high <= _REACH * most and max(greatest) < most:
        return Peak(
            told="peak",
            clients=at.value,
            clients_ci95=[min(at.low, *greatest), max(at.high, *greatest)],
            throughput=_estimated(found.peak),
            at_least=min(at.low, *greatest),
        )
    return Peak(
        told="beyond" if at.low >= most and min(greatest) == most else "open",
        clients=None,
        clients_ci95=None,
        throughput=None,
        at_least=min(at.low, _REACH * most, *greatest),
    )


def _estimated(estimate: Estimate) -> IntervalEstimate:
    return IntervalEstimate(value=estimate.value, ci95=[estimate.low, estimate.high])


def _points(found: Fit, clients: Sequence[float]) -> list[CurvePoint]:
    made: list[CurvePoint] = []
    for number, point in zip(clients, found.at(clients), strict=True):
        # An interval without an upper end is cut off at the curve.
        high = point.high if math.isfinite(point.high) else point.value
        made.append(CurvePoint(clients=number, throughput=point.value, ci95=[point.low, high]))
    return made
