"""Building the history document from stored runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Literal

from dbdyno.analysis.history.changepoints import FALSE_ALARMS, LIFE, MIN_VALUES, ODDS, ChangePoint, find_change_points
from dbdyno.analysis.history.document import CellHistory, Change, Changed, History, LeftOut, Nearby, Point, Series
from dbdyno.analysis.history.facts import differences
from dbdyno.analysis.history.identity import Machines, Parts, differing
from dbdyno.analysis.history.metrics import Metric, usual_metrics
from dbdyno.analysis.history.stored_runs import StoredRun, StoredRuns
from dbdyno.analysis.history.summary import SEARCH, WHY, CellSummary
from dbdyno.analysis.measured.comparisons import Comparable, disturbed_by_queue, why_not_comparable
from dbdyno.analysis.measured.rounds import Measure
from dbdyno.analysis.noise import stored_noise
from dbdyno.base.errors import InputError
from dbdyno.base.text import first_of

_MIN_VALUE = 1e-12
"""Smallest value whose logarithm is used; smaller ones, such as 0, are replaced by it."""

_REASONS = {
    "running": "still running or killed",
    "interrupted": "interrupted",
    WHY: "of `dbdyno why`",
    SEARCH: "that searched for the highest rate",
}


@dataclass(slots=True)
class _Run:
    """A run with its point in the series of a cell."""

    point: Point
    run: StoredRun


@dataclass(slots=True)
class _OpenSeries:
    """An open series: runs on one machine with one definition that did the same work as the ``first`` run."""

    machine: int
    first: Comparable
    redefined: list[str] = field(default_factory=list)
    not_comparable: list[str] = field(default_factory=list)
    before: StoredRun | None = None
    """The machine's previous run before the series began."""
    runs: list[_Run] = field(default_factory=list)


@dataclass(slots=True)
class _Machine:
    """The state of a machine: the latest definition of the cell, and its series in order, the latest last."""

    parts: Parts
    digest: str
    """Digest of the latest definition."""
    series: list[_OpenSeries] = field(default_factory=list)


def ids_of(cell: str) -> tuple[str, ...]:
    """Return the ids that a cell's name may stand for: tables name a cell by its system if only the system varies."""
    return cell, f"system={cell}"


def _resolve_cell(cell: str, known: Mapping[str, object]) -> str:
    found = next((each for each in ids_of(cell) if each in known), None)
    if found is None:
        some = first_of([f"`{each}`" for each in known], 8)
        raise InputError(f"--cell {cell}", "no included run has this cell", f"known: {some or 'none'}")
    return found


def build_history(
    experiment: str, stored: StoredRuns, metric: Metric | None = None, cells: Sequence[str] = ()
) -> History:
    """Build the document (``dbdyno.history/1``) of the runs for the named cells, or for all.

    Without a ``metric``, it contains the metric that decides in the tables of the runs. Raises ``InputError`` for an
    unknown cell.
    """
    machines = Machines()
    numbers = {run.id: machines.of(run.host, shown=run.shown) for run in stored.runs}
    shown = [run for run in stored.runs if run.shown]
    known = _cells(shown)
    cells = [_resolve_cell(cell, known) for cell in cells]
    made = (_cell(cell, known[cell], stored, numbers, metric) for cell in cells or known)
    return {
        "schema": "dbdyno.history/1",
        "experiment": experiment,
        "false_alarms": FALSE_ALARMS,
        "life": LIFE,
        "odds": ODDS,
        "fewest": MIN_VALUES,
        "runs": len(shown),
        "first": shown[0].started if shown else None,
        "last": shown[-1].started if shown else None,
        "older": stored.older,
        "left_out": [
            {"reason": _REASONS.get(status, status), "runs": runs} for status, runs in stored.uncounted.items() if runs
        ],
        "machines": [machine for machine in machines.known if machine["runs"]],
        "cells": [cell for of_cell in made for cell in of_cell],
    }


def _cells(runs: Sequence[StoredRun]) -> dict[str, dict[str, object]]:
    """Return the factors of all cells by id, in the order of the newest run; cells of older runs come last."""
    known: dict[str, dict[str, object]] = {}
    for run in reversed(runs):
        for cell in (*run.planned, *run.trials):
            known.setdefault(cell, run.planned.get(cell, {}))
    return known


def _cell(
    cell: str,
    factors: dict[str, object],
    stored: StoredRuns,
    machines: dict[str, int],
    metric: Metric | None,
) -> list[CellHistory]:
    """Return the histories of a cell: for ``metric``, or for each metric that decides in one of its runs."""
    measured = [own for run in stored.runs if (own := run.trials.get(cell)) is not None and own.rounds]
    measure = Measure.of(stored.design(stored.runs[-1]) if stored.runs else {})
    cells: list[CellHistory] = []
    for drawn in [metric] if metric else usual_metrics([cell_summary.keeps_up for cell_summary in measured]):
        series, left_out = _assign_to_series(cell, stored, machines, drawn)
        reasons: list[LeftOut] = [{"reason": reason, "runs": ids} for reason, ids in left_out.items()]
        made = [
            _series(open_series, drawn, cell, stored) for open_series in sorted(series, key=lambda each: each.machine)
        ]
        cells.append(
            {
                "id": cell,
                "factors": factors,
                "metric": {
                    "name": drawn.name,
                    "title": drawn.title_of([cell_summary.open_loop for cell_summary in measured]),
                    "unit": drawn.unit(measure),
                    "better": drawn.better,
                },
                "left_out": reasons,
                "series": [each for each in made if each["points"]],
            }
        )
    return cells


def _assign_to_series(
    cell: str, stored: StoredRuns, machines: dict[str, int], metric: Metric
) -> tuple[list[_OpenSeries], dict[str, list[str]]]:
    """Assign runs to series. Also return the ids of excluded runs by reason."""
    series: list[_OpenSeries] = []
    latest: dict[int, _Machine] = {}
    left_out: dict[str, list[str]] = {}
    definitions: dict[str, Parts] = {}
    for run in stored.runs:
        own = run.trials.get(cell)
        point, reason = _point(run, own, metric)
        if point is None or own is None:
            if run.shown:
                left_out.setdefault(reason, []).append(run.id)
            continue
        number = machines[run.id]
        machine = latest.get(number)
        before = machine.series[-1] if machine else None
        redefined: list[str] = []
        if machine is None or machine.digest != own.definition:
            parts = definitions.get(own.definition)
            if parts is None:
                parts = definitions[own.definition] = stored.definition(run, cell)
            redefined = differing(machine.parts, parts) if machine else []
            if machine is None or redefined:
                machine = latest[number] = _Machine({}, "")
            machine.parts |= parts
            machine.digest = own.definition
        work = own.work
        current = next(
            (
                open_series
                for open_series in reversed(machine.series)
                if not why_not_comparable(open_series.first, work)
            ),
            None,
        )
        if current is None:
            not_comparable = why_not_comparable(before.first, work) if before and not redefined else []
            current = _OpenSeries(number, work, redefined, not_comparable, before.runs[-1].run if before else None)
            series.append(current)
        else:
            # The latest series of a machine contains its latest run.
            machine.series.remove(current)
        machine.series.append(current)
        current.runs.append(_Run(point, run))
    return series, left_out


def _point(run: StoredRun, cell: CellSummary | None, metric: Metric) -> tuple[Point | None, str]:
    """Return the run's value of a cell, or the reason for its absence."""
    if cell is None:
        return None, "without this cell"
    if not cell.rounds:
        return None, "without a result"
    if metric.name in cell.bounded:
        return (
            None,
            f"whose {metric.name} is a lower bound, because failed and skipped transactions lack a response time",
        )
    value = cell.values.get(metric.name)
    if value is None:
        return None, f"that didn't record {metric.title}"
    return {"run": run.id, "started": run.started, "value": value, "rounds": cell.rounds}, ""


def _series(source: _OpenSeries, metric: Metric, cell: str, stored: StoredRuns) -> Series:
    """Return the shown part of a series, with the changes found in the whole series."""

    def differ(before: StoredRun, after: StoredRun) -> list[Changed]:
        return differences(stored.facts(before, cell), stored.facts(after, cell))

    values = [run.point["value"] for run in source.runs]
    hidden = sum(not run.run.shown for run in source.runs)
    shown = hidden < len(values)
    # Changes and noise are relative, so compare logarithms.
    logs = [math.log(max(value, _MIN_VALUE)) for value in values]
    # The stored noise is the noise of throughput.
    noise = stored_noise(stored.noise, source.runs[-1].run.host) if metric.name == "throughput" else None
    change_points = find_change_points(logs, metric.resolution, noise.least if noise else 0.0) if shown else []
    bounds = [0, *(change_point.index for change_point in change_points), len(values)]
    means = [fmean(values[start:end]) for start, end in pairwise(bounds)]
    works = [run.run.trials[cell].work for run in source.runs]
    stretches = [works[start:end] for start, end in pairwise(bounds)]
    # Disturbances of a machine don't change instruction counts.
    disturbed = [
        [] if metric.name == "instructions" else _disturbed(before, after) for before, after in pairwise(stretches)
    ]
    changes = [
        _change(source.runs, change_point, hidden, means=pair, metric=metric, disturbed=why, differ=differ)
        for change_point, pair, why in zip(change_points, pairwise(means), disturbed, strict=True)
        if change_point.index > hidden
    ]
    # Omit changes before the first shown run.
    begins = shown and not hidden
    return {
        "machine": source.machine,
        "redefined": source.redefined if begins else [],
        "not_comparable": source.not_comparable if begins else [],
        "changed": differ(source.before, source.runs[0].run) if begins and source.before is not None else [],
        "points": [run.point for run in source.runs[hidden:]],
        "enough": len(values) >= MIN_VALUES,
        "changes": changes,
    }


def _disturbed(before: Sequence[Comparable], after: Sequence[Comparable]) -> list[str]:
    said = zip(("before it", "after it"), disturbed_by_queue(before, after), strict=True)
    return [f"the runs {where} were disturbed: {why}" for where, why in said if why]


def _change(
    runs: Sequence[_Run],
    change_point: ChangePoint,
    hidden: int,
    *,
    means: tuple[float, float],
    metric: Metric,
    disturbed: list[str],
    differ: Callable[[StoredRun, StoredRun], list[Changed]],
) -> Change:
    def between(index: int) -> list[Changed]:
        return differ(runs[index - 1].run, runs[index].run)

    index, (before, after) = change_point.index, means
    verdict: Literal["better", "worse"] = "better" if (after > before) == (metric.better == "higher") else "worse"
    here = runs[index].point
    nearby: list[Nearby] = [
        {"run": runs[other].point["run"], "changed": changed}
        for other in (index - 1, index + 1)
        if 1 <= other < len(runs) and (changed := between(other))
    ]
    return {
        "index": index - hidden,
        "run": here["run"],
        "started": here["started"],
        "previous": runs[index - 1].point["run"],
        "before": before,
        "after": after,
        "change": after / before - 1 if before else None,
        "verdict": "inconclusive" if disturbed else verdict,
        "disturbed": disturbed,
        "seen": runs[change_point.seen].point["run"],
        "odds": change_point.odds,
        "changed": between(index),
        "nearby": nearby,
    }
