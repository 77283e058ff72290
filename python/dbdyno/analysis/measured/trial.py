"""A trial as rounds and cells are built from it: what is stored of it, read."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbdyno.model.events.around import (
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
from dbdyno.model.events.program import ProgramResult
from dbdyno.model.events.trial import Interval, TrialResult
from dbdyno.store.records import JsonObject, TrialStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTrial:
    """One cell in one block, as :class:`dbdyno.store.records.TrialRecord` has it, with its events read.

    ``result``: one for all of its workers; ``loading`` and ``counting``: what was loaded and counted around it;
    ``refused``: why its system did not let it begin;
    ``growing``: where its growing table stood; ``after``: what was found on what it left; ``limited``: its memory;
    ``allowed``: the processors of its system's parts, and of the load; ``competed``: what competed for them;
    ``listeners``: its listening sockets.
    """

    cell: str
    block: int
    position: int
    status: TrialStatus
    plan: JsonObject
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
    """What each of several workers said, where there are several."""
    together: str | None = None
    """The same for trials that were interleaved."""
