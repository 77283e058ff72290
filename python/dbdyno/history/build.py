"""Building the history document from stored runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import fmean

from dbdyno.document.cell import Cell
from dbdyno.document.reading import objects, part
from dbdyno.errors import InputError
from dbdyno.history.changepoints import FALSE_ALARMS, FEWEST, LIFE, THRESHOLD, ChangePoint, find_change_points
from dbdyno.history.document import CellHistory, Change, Changed, History, LeftOut, Nearby, Point, Series
from dbdyno.history.facts import Facts, differences, facts
from dbdyno.history.identity import Machines, Parts, definition_parts, differing
from dbdyno.history.metrics import Metric, usual_metrics
from dbdyno.history.reading import WHY, StoredRun, StoredRuns
from dbdyno.results.cells import build_cell
from dbdyno.results.judging import why_not_comparable
from dbdyno.results.metrics import done
from dbdyno.results.rounds import Measure
from dbdyno.stats import CONFIDENCE
from dbdyno.store.records import RunRecord
from dbdyno.text import first_of

_LEAST_VALUE = 1e-12
"""A value of nothing has no logarithm; it is as far off as any."""

_WHY = {
    "running": "still running, or killed",
    "interrupted": "interrupted",
    WHY: "asked why, by changes of a cell",
}


@dataclass(slots=True)
class _Run:
    """A run's point of one cell, and what explains it."""

    point: Point
    facts: Facts
    shown: bool


@dataclass(slots=True)
class _Open:
    """A series under way: on one machine, with one definition, of runs that did like work as its ``first``."""

    machine: int
    first: Cell
    redefined: list[str] = field(default_factory=list)
    not_comparable: list[str] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    runs: list[_Run] = field(default_factory=list)


@dataclass(slots=True)
class _Machine:
    """What is under way on a machine: the cell's definition as known by now, and its series, the latest last."""

    parts: Parts
    series: list[_Open] = field(default_factory=list)


def ids_of(cell: str) -> tuple[str, ...]:
    """Give the ids that a cell's name may stand for: one that differs by its system only is headed by that alone."""
    return cell, f"system={cell}"


def _named(cell: str, known: Mapping[str, object]) -> str:
    found = next((each for each in ids_of(cell) if each in known), None)
    if found is None:
        some = first_of([f"`{each}`" for each in known], 8)
        raise InputError(f"--cell {cell}", "no run that counts has this cell", f"known: {some or 'none'}")
    return found


def build_history(
    experiment: str, stored: StoredRuns, metric: Metric | None = None, cells: Sequence[str] = ()
) -> History:
    """Build the document (``dbdyno.history/1``) of the runs read, of the cells named or of all.

    Without a ``metric`` it is what a run's table is judged by. ``InputError`` for a cell that no run has.
    """
    machines = Machines()
    numbers = {run.id: machines.of(run.host, shown=run.shown) for run in stored.runs}
    shown = [run for run in stored.runs if run.shown]
    known = _cells(shown)
    cells = [_named(cell, known) for cell in cells]
    made = (_cell(cell, known[cell], stored.runs, numbers, metric) for cell in cells or known)
    return {
        "schema": "dbdyno.history/1",
        "experiment": experiment,
        "false_alarms": FALSE_ALARMS,
        "life": LIFE,
        "odds": math.exp(THRESHOLD),
        "fewest": FEWEST,
        "runs": len(shown),
        "first": shown[0].started if shown else None,
        "last": shown[-1].started if shown else None,
        "older": stored.older,
        "left_out": [
            {"reason": _WHY.get(status, status), "runs": runs} for status, runs in stored.uncounted.items() if runs
        ],
        "machines": [each for each in machines.known if each["runs"]],
        "cells": [each for of_cell in made for each in of_cell],
    }


def _cells(runs: Sequence[StoredRun]) -> dict[str, dict[str, object]]:
    """Return the factors of all cells by id, in the order of the newest run; those it does not have come last."""
    known: dict[str, dict[str, object]] = {}
    for run in reversed(runs):
        for planned in objects(run.design.get("cells")):
            known.setdefault(str(planned.get("id", "")), part(planned, "factors"))
        for cell in run.trials:
            known.setdefault(cell, {})
    return known


def _cell(
    cell: str,
    factors: dict[str, object],
    runs: Sequence[StoredRun],
    machines: dict[str, int],
    metric: Metric | None,
) -> list[CellHistory]:
    """Return the histories of a cell: of the metric, or of each by which its runs are judged."""
    built = [(run, _built(run, cell)) for run in runs]
    measured = [each for _, each in built if each is not None and done(each)]
    measure = Measure.of(runs[-1].design if runs else {})
    found: list[CellHistory] = []
    for drawn in [metric] if metric else usual_metrics(measured):
        series, left_out = _followed(cell, built, machines, drawn)
        reasons: list[LeftOut] = [{"reason": reason, "runs": ids} for reason, ids in left_out.items()]
        made = [_series(each, drawn) for each in sorted(series, key=lambda each: each.machine)]
        found.append(
            {
                "id": cell,
                "factors": factors,
                "metric": {
                    "name": drawn.name,
                    "title": drawn.title_of(measured),
                    "unit": drawn.unit(measure),
                    "better": drawn.better,
                },
                "left_out": reasons,
                "series": [each for each in made if each["points"]],
            }
        )
    return found


def _built(run: StoredRun, cell: str) -> Cell | None:
    """Return a cell of a run as the run itself shows it, or None where the run has no trial of it."""
    trials = run.trials.get(cell)
    if not trials:
        return None
    planned = next((each for each in objects(run.design.get("cells")) if each.get("id") == cell), {"id": cell})
    plan = run.plans.get(cell, {})
    record = RunRecord(experiment="", seed=0, design=run.design, host=run.host)
    with_plan = [replace(trial, plan=plan) for trial in trials]
    return build_cell(planned, with_plan, record, Measure.of(run.design), None, CONFIDENCE)[0]


def _followed(
    cell: str, built: Sequence[tuple[StoredRun, Cell | None]], machines: dict[str, int], metric: Metric
) -> tuple[list[_Open], dict[str, list[str]]]:
    """Put each run into the series that it goes on with, and say which are in none, by the reason."""
    series: list[_Open] = []
    latest: dict[int, _Machine] = {}
    left_out: dict[str, list[str]] = {}
    for run, own in built:
        point, reason = _point(run, own, metric)
        if point is None or own is None:
            if run.shown:
                left_out.setdefault(reason, []).append(run.id)
            continue
        here = _Run(point, facts(run, cell), run.shown)
        parts = definition_parts(run, cell)
        number = machines[run.id]
        machine = latest.get(number)
        before = machine.series[-1] if machine else None
        redefined = differing(machine.parts, parts) if machine else []
        if machine is None or redefined:
            machine = latest[number] = _Machine({})
        machine.parts |= parts
        current = next((each for each in reversed(machine.series) if not why_not_comparable(each.first, own)), None)
        if current is None:
            not_comparable = why_not_comparable(before.first, own) if before and not redefined else []
            changed = differences(before.runs[-1].facts, here.facts) if before else []
            current = _Open(number, own, redefined, not_comparable, changed)
            series.append(current)
        else:
            # The latest series of a machine is the one that its latest run is in.
            machine.series.remove(current)
        machine.series.append(current)
        current.runs.append(here)
    return series, left_out


def _point(run: StoredRun, cell: Cell | None, metric: Metric) -> tuple[Point | None, str]:
    """Return the run's value of a cell, or why it has none."""
    if cell is None:
        return None, "without this cell"
    rounds = done(cell)
    if not rounds:
        return None, "no round gave a result"
    if metric.is_bounded(cell):
        return None, f"{metric.name} is a lower bound: what failed, or was skipped, has no response time"
    value = metric.of(cell)
    if value is None:
        return None, f"{metric.title} not recorded"
    return {"run": run.id, "started": run.started, "value": value, "rounds": len(rounds)}, ""


def _series(source: _Open, metric: Metric) -> Series:
    """Return the part of a series that is shown, with the changes that all of it told."""
    values = [each.point["value"] for each in source.runs]
    # A change is one by a share, and noise is.
    logs = [math.log(max(value, _LEAST_VALUE)) for value in values]
    found = find_change_points(logs, metric.resolution)
    bounds = [0, *(each.index for each in found), len(values)]
    means = [fmean(values[start:end]) for start, end in pairwise(bounds)]
    hidden = sum(not each.shown for each in source.runs)
    changes = [
        _change(source.runs, each, hidden, before, after, metric)
        for each, (before, after) in zip(found, pairwise(means), strict=True)
        if each.index > hidden
    ]
    return {
        "machine": source.machine,
        # What happened before the first run shown is no part of the picture.
        "redefined": [] if hidden else source.redefined,
        "not_comparable": [] if hidden else source.not_comparable,
        "changed": [] if hidden else source.changed,
        "points": [each.point for each in source.runs[hidden:]],
        "enough": len(values) >= FEWEST,
        "changes": changes,
    }


def _change(
    runs: Sequence[_Run], found: ChangePoint, hidden: int, before: float, after: float, metric: Metric
) -> Change:
    index = found.index
    here = runs[index].point
    nearby: list[Nearby] = [
        {"run": runs[other].point["run"], "changed": changed}
        for other in (index - 1, index + 1)
        if 1 <= other < len(runs) and (changed := _between(runs, other))
    ]
    return {
        "index": index - hidden,
        "run": here["run"],
        "started": here["started"],
        "previous": runs[index - 1].point["run"],
        "before": before,
        "after": after,
        "change": after / before - 1 if before else None,
        "verdict": "better" if (after > before) == (metric.better == "higher") else "worse",
        "seen": runs[found.seen].point["run"],
        "odds": found.odds,
        "changed": _between(runs, index),
        "nearby": nearby,
    }


def _between(runs: Sequence[_Run], index: int) -> list[Changed]:
    return differences(runs[index - 1].facts, runs[index].facts)
