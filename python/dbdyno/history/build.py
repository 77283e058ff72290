"""Building the history document from stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from dbdyno.errors import InputError
from dbdyno.history.changepoints import SIGNIFICANCE, find_change_points
from dbdyno.history.document import CellHistory, Change, Changed, History, LeftOut, Nearby, Point, Series
from dbdyno.history.facts import Facts, differences, facts
from dbdyno.history.identity import Machines, Parts, definition_parts, differing
from dbdyno.history.metrics import Metric
from dbdyno.history.reading import StoredRun, StoredRuns
from dbdyno.results.reading import objects, part
from dbdyno.results.rounds import Measure, build_round
from dbdyno.text import first_of

FEWEST = 5
"""Runs a series needs before changes are looked for."""

_WHY = {
    "running": "still running, or killed",
    "interrupted": "interrupted",
}


@dataclass(slots=True)
class _Run:
    """A run's point of one cell, and what explains it."""

    point: Point
    facts: Facts


@dataclass(slots=True)
class _Open:
    """A series under way: on one machine, with one definition."""

    machine: int
    parts: Parts
    redefined: list[str] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    runs: list[_Run] = field(default_factory=list)


def ids_of(cell: str) -> tuple[str, ...]:
    """Give the ids that a cell's name may stand for: one that differs by its system only is headed by that alone."""
    return cell, f"system={cell}"


def _named(cell: str, known: Mapping[str, object]) -> str:
    found = next((each for each in ids_of(cell) if each in known), None)
    if found is None:
        some = first_of([f"`{each}`" for each in known], 8)
        raise InputError(f"--cell {cell}", "no run that counts has this cell", f"known: {some or 'none'}")
    return found


def build_history(experiment: str, stored: StoredRuns, metric: Metric, cells: Sequence[str] = ()) -> History:
    """Build the document (``dbdyno.history/1``) of the runs read, of the cells named or of all.

    ``InputError`` for a cell that no run has.
    """
    machines = Machines()
    numbers = {run.id: machines.of(run.host) for run in stored.runs}
    known = _cells(stored.runs)
    cells = [_named(cell, known) for cell in cells]
    newest = stored.runs[-1] if stored.runs else None
    measure = Measure.of(newest.design if newest else {})
    return {
        "schema": "dbdyno.history/1",
        "experiment": experiment,
        "metric": {
            "name": metric.name,
            "title": metric.title,
            "unit": metric.unit(measure),
            "better": metric.better,
        },
        "significance": SIGNIFICANCE,
        "fewest": FEWEST,
        "runs": len(stored.runs),
        "first": stored.runs[0].started if stored.runs else None,
        "last": newest.started if newest else None,
        "older": stored.older,
        "left_out": [
            {"reason": _WHY.get(status, status), "runs": runs} for status, runs in stored.uncounted.items() if runs
        ],
        "machines": machines.known,
        "cells": [_cell(cell, known[cell], stored.runs, numbers, metric) for cell in cells or known],
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
    cell: str, factors: dict[str, object], runs: Sequence[StoredRun], machines: dict[str, int], metric: Metric
) -> CellHistory:
    series: list[_Open] = []
    latest: dict[int, _Open] = {}
    left_out: dict[str, list[str]] = {}
    for run in runs:
        point, reason = _point(run, cell, metric)
        if point is None:
            left_out.setdefault(reason, []).append(run.id)
            continue
        here = _Run(point, facts(run, cell))
        parts = definition_parts(run, cell)
        machine = machines[run.id]
        current = latest.get(machine)
        redefined = differing(current.parts, parts) if current is not None else []
        if current is None or redefined:
            changed = differences(current.runs[-1].facts, here.facts) if current is not None else []
            current = _Open(machine, {}, redefined, changed)
            latest[machine] = current
            series.append(current)
        current.parts |= parts
        current.runs.append(here)
    reasons: list[LeftOut] = [{"reason": reason, "runs": ids} for reason, ids in left_out.items()]
    made = [_series(each, metric) for each in sorted(series, key=lambda each: each.machine)]
    return {"id": cell, "factors": factors, "left_out": reasons, "series": made}


def _point(run: StoredRun, cell: str, metric: Metric) -> tuple[Point | None, str]:
    """Return the run's value of a cell, or why it has none."""
    trials = run.trials.get(cell, [])
    if not trials:
        return None, "without this cell"
    measure = Measure.of(run.design)
    done = [each for each in (build_round(trial, measure) for trial in trials) if each["status"] == "done"]
    if not done:
        return None, "no round gave a result"
    value = metric.of(done)
    if value is None:
        return None, f"{metric.title} not recorded"
    return {"run": run.id, "started": run.started, "value": value, "rounds": len(done)}, ""


def _series(source: _Open, metric: Metric) -> Series:
    values = [each.point["value"] for each in source.runs]
    enough = len(values) >= FEWEST
    found = find_change_points(values) if enough else []
    bounds = [0, *(each.index for each in found), len(values)]
    means = [fmean(values[start:end]) for start, end in pairwise(bounds)]
    changes = [
        _change(source.runs, each.index, each.p_value, before, after, metric)
        for each, (before, after) in zip(found, pairwise(means), strict=True)
    ]
    return {
        "machine": source.machine,
        "redefined": source.redefined,
        "changed": source.changed,
        "points": [each.point for each in source.runs],
        "enough": enough,
        "changes": changes,
    }


def _change(runs: Sequence[_Run], index: int, p_value: float, before: float, after: float, metric: Metric) -> Change:
    here = runs[index].point
    nearby: list[Nearby] = [
        {"run": runs[other].point["run"], "changed": changed}
        for other in (index - 1, index + 1)
        if 1 <= other < len(runs) and (changed := _between(runs, other))
    ]
    return {
        "index": index,
        "run": here["run"],
        "started": here["started"],
        "previous": runs[index - 1].point["run"],
        "before": before,
        "after": after,
        "change": after / before - 1 if before else None,
        "verdict": "better" if (after > before) == (metric.better == "higher") else "worse",
        "p_value": p_value,
        "changed": _between(runs, index),
        "nearby": nearby,
    }


def _between(runs: Sequence[_Run], index: int) -> list[Changed]:
    return differences(runs[index - 1].facts, runs[index].facts)
