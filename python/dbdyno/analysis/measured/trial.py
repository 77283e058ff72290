"""A stored trial with its events read, from which rounds and cells are built."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbdyno.model.events.program import ProgramResult
from dbdyno.model.events.surroundings import (
    After,
    Allowed,
    Competed,
    Counting,
    Growing,
    Limited,
    Listeners,
    Loading,
    LoadMachines,
    Refused,
)
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.model.plan.tasks import ProgramTask, TrialTask
from dbdyno.store.records import JsonObject, TrialStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTrial:
    """One cell in one block: a :class:`dbdyno.store.records.TrialRecord` with its events read.

    ``task``: the task of its plan; None if it failed before it had one; ``result``: the merged result of all workers;
    ``loading``: loading of its tables; ``counting``: counted instructions; ``refused``: why the system rejected it;
    ``growing``: the size of its growing table; ``after``: the data inspected after it; ``limited``: its memory limit;
    ``allowed``: the CPUs of the system's parts and of the load; ``competed``: the competing load; ``listeners``: its
    listening sockets.
    """

    cell: str
    block: int
    position: int
    status: TrialStatus
    task: TrialTask | ProgramTask | None
    started: str
    durations: JsonObject
    error: str | None
    error_kind: str | None
    result: TrialResult | ProgramResult | None = None
    intervals: list[Interval] = field(default_factory=list)
    loading: Loading | None = None
    refused: Refused | None = None
    counting: Counting | None = None
    growing: Growing | None = None
    after: After | None = None
    limited: Limited | None = None
    competed: Competed | None = None
    allowed: Allowed | None = None
    listeners: Listeners | None = None
    load_machines: LoadMachines | None = None
    parts: list[tuple[TrialResult, list[Interval]]] = field(default_factory=list)
    """The result and intervals of each worker, if there are several."""
    together: str | None = None
    """Identifies a group of interleaved trials."""

    @property
    def of_worker(self) -> TrialTask | None:
        """The task of its plan, if a worker executed it."""
        return self.task if isinstance(self.task, TrialTask) else None
