"""Summaries of runs for histories: a few values per cell instead of all trials.

The store keeps the summary of each run. A summary is derived data: if its ``rules`` differ from ``RULES``, it is
computed again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from dbdyno.analysis.history.identity import Parts, definition_parts
from dbdyno.analysis.history.metrics import METRICS
from dbdyno.analysis.measured.cells import build_cell
from dbdyno.analysis.measured.comparisons import Comparable, comparable
from dbdyno.analysis.measured.derived import derived
from dbdyno.analysis.measured.metrics import done, is_open_loop, keeps_up
from dbdyno.analysis.measured.trial import ReadTrial
from dbdyno.model.plan.reading import read_task
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import objects, part
from dbdyno.stats import CONFIDENCE
from dbdyno.store.records import JsonObject, RunRecord, TrialRecord

RULES = 3
"""Increase this number with every change that affects summaries of existing trials."""

WHY = "why"
"""Kind of a run of `dbdyno why`, which measures changes of a cell."""

SEARCH = "slo"
"""Kind of a search for the highest rate, which chooses the rates itself."""


@dataclass(frozen=True, slots=True)
class CellSummary:
    """Summary of a cell in a run."""

    rounds: int
    """Number of rounds with a result."""
    values: dict[str, FiniteFloat | None]
    """Values by name of the metric, in the metric's unit; None if not recorded."""
    bounded: list[str]
    """Metrics whose value is a lower bound."""
    open_loop: bool
    keeps_up: bool
    definition: str
    """Digest of the cell's definition, see :func:`dbdyno.analysis.history.identity.definition_of`."""
    work: Comparable


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Summary of a run."""

    kind: str
    """``WHY`` or ``SEARCH``; empty for runs that measure the experiment's own cells."""
    planned: dict[str, JsonObject] = field(default_factory=dict)
    """Factors of the planned cells by id, in order."""
    cells: dict[str, CellSummary] = field(default_factory=dict)
    """Summaries of the cells with a trial."""
    rules: int = RULES

    def encode(self) -> str:
        """Return the JSON text for the store."""
        return _SUMMARIES.dump_json(self).decode()


_SUMMARIES = TypeAdapter(RunSummary)


def decode(text: str | None) -> RunSummary | None:
    """Read a stored summary; ``None`` if it is missing, damaged, or was computed by other rules."""
    if text is None:
        return None
    try:
        run = _SUMMARIES.validate_json(text, strict=True)
    except ValidationError:
        # The caller recomputes the summary.
        return None
    return run if run.rules == RULES else None


def summarize(run: RunRecord, trials: Sequence[TrialRecord]) -> RunSummary:
    """Summarize a run. ``trials``: the latest trial of each cell and block counts."""
    latest: dict[str, dict[int, TrialRecord]] = {}
    for trial in trials:
        latest.setdefault(trial.cell, {})[trial.block] = trial
    plans = {trial.cell: trial.plan for trial in reversed(trials) if trial.status == "done"}
    counting = [blocks[block] for blocks in latest.values() for block in sorted(blocks)]
    read: dict[str, list[ReadTrial]] = {}
    for read_trial in derived(counting):
        read.setdefault(read_trial.cell, []).append(read_trial)
    planned = objects(run.design.get("cells"))
    return RunSummary(
        other_kind(run.design),
        {str(each.get("id", "")): part(each, "factors") for each in planned},
        {cell: _cell(run, cell, of_cell, plans.get(cell, {})) for cell, of_cell in read.items()},
    )


def other_kind(design: object) -> str:
    """Return the kind of a run with this design; empty for runs that measure the experiment's own cells."""
    kinds = (WHY, SEARCH) if isinstance(design, dict) else ()
    return next((kind for kind in kinds if design.get(kind)), "")  # type: ignore[attr-defined]


def digest(parts: Parts) -> str:
    """Return the digest of a cell's definition."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _cell(run: RunRecord, cell: str, trials: Sequence[ReadTrial], plan: JsonObject) -> CellSummary:
    planned = next((each for each in objects(run.design.get("cells")) if each.get("id") == cell), {"id": cell})
    # Within a run, the trials of a cell differ only by seed, so any plan defines the cell.
    task = read_task(plan)
    with_plan = [replace(trial, task=task) for trial in trials]
    built = build_cell(planned, with_plan, run, published=None, confidence=CONFIDENCE, diagnosed=False)[0]
    rounds = len(done(built))
    return CellSummary(
        rounds,
        {name: _value(built, name) if rounds else None for name in METRICS},
        [name for name, metric in METRICS.items() if metric.is_bounded(built)],
        is_open_loop(built),
        keeps_up(built),
        digest(definition_parts(plan, run.design, run.definition, cell)),
        comparable(built),
    )


def _value(cell: Cell, metric: str) -> float | None:
    value: Any = METRICS[metric].of(cell)
    return value if value is not None and math.isfinite(value) else None
