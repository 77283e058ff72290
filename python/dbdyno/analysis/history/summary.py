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
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import objects, part
from dbdyno.stats import CONFIDENCE
from dbdyno.store.records import JsonObject, RunRecord, TrialRecord

RULES = 3
"""Increase it with every change that gives another summary for the same trials."""

WHY = "why"
"""A `dbdyno why`, which measures changes of a cell."""

SEARCH = "slo"
"""A search for the highest rate, which measures a cell at rates of its own."""


@dataclass(frozen=True, slots=True)
class CellSummary:
    """A cell of a run."""

    rounds: int
    """Rounds that gave a result."""
    values: dict[str, FiniteFloat | None]
    """By the name of the metric, each in its own unit; ``None``: not recorded."""
    bounded: list[str]
    """Metrics whose value is a lower bound."""
    open_loop: bool
    keeps_up: bool
    definition: str
    """Digest of what the cell was, see :func:`dbdyno.analysis.history.identity.definition_of`."""
    work: Comparable


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run."""

    kind: str
    """What it measures in place of the experiment's cells: `WHY` or `SEARCH`; empty: it measures them."""
    planned: dict[str, JsonObject] = field(default_factory=dict)
    """The factors of the planned cells, by id, in their order."""
    cells: dict[str, CellSummary] = field(default_factory=dict)
    """The cells that have a trial."""
    rules: int = RULES

    def encode(self) -> str:
        """Return it as the store keeps it."""
        return _SUMMARIES.dump_json(self).decode()


_SUMMARIES = TypeAdapter(RunSummary)


def decode(text: str | None) -> RunSummary | None:
    """Read a stored summary; ``None`` if it is missing, damaged, or was computed by other rules."""
    if text is None:
        return None
    try:
        found = _SUMMARIES.validate_json(text, strict=True)
    except ValidationError:
        # The caller computes it again.
        return None
    return found if found.rules == RULES else None


def summarize(run: RunRecord, trials: Sequence[TrialRecord]) -> RunSummary:
    """Summarize a run. ``trials``: of several in the same cell and block, the latest counts."""
    latest: dict[str, dict[int, TrialRecord]] = {}
    for trial in trials:
        latest.setdefault(trial.cell, {})[trial.block] = trial
    plans = {trial.cell: trial.plan for trial in reversed(trials) if trial.status == "done"}
    counting = [blocks[block] for blocks in latest.values() for block in sorted(blocks)]
    read: dict[str, list[ReadTrial]] = {}
    for each in derived(counting):
        read.setdefault(each.cell, []).append(each)
    planned = objects(run.design.get("cells"))
    return RunSummary(
        other_kind(run.design),
        {str(each.get("id", "")): part(each, "factors") for each in planned},
        {cell: _cell(run, cell, of_cell, plans.get(cell, {})) for cell, of_cell in read.items()},
    )


def other_kind(design: object) -> str:
    """Return what a run with this design measures in place of the experiment's cells; empty: it measures them."""
    kinds = (WHY, SEARCH) if isinstance(design, dict) else ()
    return next((kind for kind in kinds if design.get(kind)), "")  # type: ignore[attr-defined]


def digest(parts: Parts) -> str:
    """Return the digest of a cell's definition."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _cell(run: RunRecord, cell: str, trials: Sequence[ReadTrial], plan: JsonObject) -> CellSummary:
    planned = next((each for each in objects(run.design.get("cells")) if each.get("id") == cell), {"id": cell})
    # Within a run the trials of a cell differ by their seed only: one plan says what the cell was.
    with_plan = [replace(trial, plan=plan) for trial in trials]
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
