"""What the store keeps of a run and of a trial."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

JsonObject = dict[str, Any]
RunStatus = Literal["running", "done", "interrupted", "failed"]
TrialStatus = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One execution of an experiment, without its trials.

    ``design`` is what the document is built from (docs/reference/result-document.md, "The store"):
    ``question``, ``factors``, ``cells``, ``rounds``, ``measure``, ``report`` and ``margin``.
    """

    experiment: str
    seed: int
    design: JsonObject
    definition: str = ""
    """The whole text of the experiment file."""
    command: list[str] = field(default_factory=list)
    options: JsonObject = field(default_factory=dict)
    host: JsonObject = field(default_factory=dict)
    device: JsonObject | None = None
    ceiling: JsonObject | None = None
    version: str = ""
    """The version of dbdyno that ran it."""
    observations: list[JsonObject] = field(default_factory=list)
    """What the laboratory itself saw while it ran: a ``kind``, and what was seen, by name."""
    status: RunStatus = "running"
    started: str = ""
    ended: str | None = None
    id: str = ""
    """Empty until the store has given one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """One cell in one block. A trial done again (after a failure) is a second record; the latest one counts."""

    cell: str
    """Id of the cell, as in the run's ``design["cells"]``."""
    block: int
    position: int
    """Place in the order of its block, from 0."""
    status: TrialStatus
    plan: JsonObject = field(default_factory=dict)
    result: JsonObject | None = None
    """The worker's ``result`` event, as it was said; none where the trial ended without one, or has ``parts``."""
    intervals: list[JsonObject] = field(default_factory=list)
    """The worker's ``interval`` events, in order."""
    parts: list[JsonObject] = field(default_factory=list)
    """Of a trial whose clients are processes: what each of their workers said, its ``result`` and ``intervals``."""
    around: JsonObject = field(default_factory=dict)
    """What the laboratory did and saw around the load: ``loaded``, ``counted``, ``in_memory`` (the file system in
    memory that held the data), ``together`` (the same for trials that were interleaved)."""
    error: str | None = None
    error_kind: str | None = None
    started: str = ""
    durations: JsonObject = field(default_factory=dict)
    """Seconds spent around the load: ``load_s``, ``copy_s``, ``total_s``."""
    run_id: str = ""
    id: int | None = None
    """Number in the store; rises with time."""


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
    """Trials that gave a result."""
    failed: int
    """Trials that gave none."""
