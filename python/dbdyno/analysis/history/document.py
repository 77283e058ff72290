"""The types of the history document, ``dbdyno.history/1``. Unknown values are null, never 0."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

SCHEMA = "dbdyno.history/1"


class MetricFacts(TypedDict):
    """The metric of a history."""

    name: str
    """Name, as given to ``--metric``."""
    title: str
    unit: str
    better: Literal["higher", "lower"]


class Changed(TypedDict):
    """A fact that differs between two runs."""

    name: str
    before: str
    after: str


class Nearby(TypedDict):
    """Facts that changed one run before or after a change point, because noise may shift its place by one run."""

    run: str
    """The first run with the changed facts."""
    changed: list[Changed]


class Change(TypedDict):
    """A change point of a series."""

    index: int
    """Index of the first point after it in the series, from 0."""
    run: str
    """The first run after the change."""
    started: str
    previous: str
    """The last run before the change."""
    before: float
    """Mean of the runs since the previous change, in the metric's unit, including runs that aren't shown."""
    after: float
    """Mean of the runs up to the next change."""
    change: float | None
    """``after / before - 1``; null if ``before`` is 0."""
    verdict: Literal["better", "worse", "inconclusive"]
    """``inconclusive`` if the runs of either side were disturbed."""
    disturbed: list[str]
    """Disturbances that may have made runs slower."""
    seen: str
    """The run after which it was marked."""
    odds: float
    """How many times better a change explained the runs up to then than no change."""
    changed: list[Changed]
    """Facts that differ between ``previous`` and ``run``."""
    nearby: list[Nearby]


class Point(TypedDict):
    """One run."""

    run: str
    started: str
    value: float
    """Value of the run over all of its rounds."""
    rounds: int
    """Number of rounds with a result."""


class Series(TypedDict):
    """Comparable runs of a cell: the same machine, the same definition of the cell, and the same work."""

    machine: int
    """Number of the machine, from 1."""
    redefined: list[str]
    """Parts of the cell's definition that changed at the first run; empty for the machine's first series."""
    not_comparable: list[str]
    """Why the first run isn't comparable with the runs before it, if their definition is the same; otherwise empty."""
    changed: list[Changed]
    """Facts that differ between the first run and the run before it, if either of these lists isn't empty."""
    points: list[Point]
    enough: bool
    """Whether there are enough runs to look for changes."""
    changes: list[Change]


class LeftOut(TypedDict):
    """Excluded runs, and the reason."""

    reason: str
    runs: list[str]


class CellHistory(TypedDict):
    """A metric of a cell. A cell has two entries if different metrics decide in its runs."""

    id: str
    factors: dict[str, Any]
    metric: MetricFacts
    left_out: list[LeftOut]
    series: list[Series]
    """Ordered by machine, then by time."""


class Machine(TypedDict):
    """A machine, including the storage of the data. ``facts``: facts of its newest run."""

    number: int
    name: str
    runs: int
    facts: dict[str, Any]


class History(TypedDict):
    """The history of an experiment."""

    schema: Literal["dbdyno.history/1"]
    experiment: str
    false_alarms: float
    """Largest fraction of series of ``life`` runs without a change that get a mark."""
    life: int
    odds: float
    """Odds per run of the series above which a change is marked."""
    fewest: int
    """Smallest number of runs in which changes are searched."""
    runs: int
    """Number of shown runs."""
    first: str | None
    """Start of the oldest shown run."""
    last: str | None
    older: int
    """Number of runs beyond the limit, which are evaluated but not shown."""
    left_out: list[LeftOut]
    machines: list[Machine]
    cells: list[CellHistory]
