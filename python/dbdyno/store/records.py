"""The records of the store: runs, trials and summaries of runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

JsonObject = dict[str, Any]
RunStatus = Literal["running", "done", "interrupted", "failed"]
TrialStatus = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One execution of an experiment, without its trials.

    ``design``: the basis of the result document (docs/reference/result-document.md, "The store"), with
    ``question``, ``factors``, ``cells``, ``rounds``, ``measure``, ``report`` and ``margin``.
    """

    experiment: str
    seed: int
    design: JsonObject
    definition: str = ""
    """The content of the experiment file."""
    command: list[str] = field(default_factory=list)
    options: JsonObject = field(default_factory=dict)
    host: JsonObject = field(default_factory=dict)
    device: JsonObject | None = None
    ceiling: JsonObject | None = None
    version: str = ""
    """The version of dbdyno that ran it."""
    observations: list[JsonObject] = field(default_factory=list)
    """Observations of the controller during the run: a ``kind``, and the observed values by name."""
    status: RunStatus = "running"
    started: str = ""
    ended: str | None = None
    id: str = ""
    """Assigned by the store; empty before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """One cell in one block. A repeated trial (after a failure) is another record; the latest one counts."""

    cell: str
    """Id of a cell in the run's ``design["cells"]``."""
    block: int
    position: int
    """Position within its block, from 0."""
    status: TrialStatus
    plan: JsonObject = field(default_factory=dict)
    result: JsonObject | None = None
    """The worker's ``result`` event, unchanged; None if the trial ended without a result, or has ``parts``."""
    intervals: list[JsonObject] = field(default_factory=list)
    """The worker's ``interval`` events, in order."""
    parts: list[JsonObject] = field(default_factory=list)
    """``result`` and ``intervals`` of each worker, if the trial's clients are processes."""
    around: JsonObject = field(default_factory=dict)
    """Values that the controller recorded outside the load: ``loaded``, ``counted``, ``in_memory`` (the in-memory file
    system that contained the data), ``together`` (a value shared by interleaved trials)."""
    error: str | None = None
    error_kind: str | None = None
    started: str = ""
    durations: JsonObject = field(default_factory=dict)
    """Seconds spent on parts of the trial: ``load_s``, ``copy_s``, ``total_s``."""
    run_id: str = ""
    id: int | None = None
    """Id in the store; increases with time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One line of the list of runs."""

    id: str
    experiment: str
    started: str
    ended: str | None
    status: RunStatus
    version: str
    done: int
    """Number of trials with a result."""
    failed: int
    """Number of trials without a result."""
