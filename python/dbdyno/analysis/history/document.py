"""The shape of the history document, ``dbdyno.history/1``. What is not known is null, never 0."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

SCHEMA = "dbdyno.history/1"


class MetricFacts(TypedDict):
    """What is drawn."""

    name: str
    """As for ``--metric``."""
    title: str
    unit: str
    better: Literal["higher", "lower"]


class Changed(TypedDict):
    """A fact that differs between two runs."""

    name: str
    before: str
    after: str


class Nearby(TypedDict):
    """What changed one run before or after a change point: with noise its place may be off by one."""

    run: str
    """The first run with it."""
    changed: list[Changed]


class Change(TypedDict):
    """A change point of a series."""

    index: int
    """Of the first point after it, from 0 in the series."""
    run: str
    """The first run after it."""
    started: str
    previous: str
    """The run before it."""
    before: float
    """Mean of the runs since the change before, in the metric's unit; those before the ones shown count too."""
    after: float
    """Mean of the runs up to the next change."""
    change: float | None
    """``after / before - 1``; null where ``before`` is 0."""
    verdict: Literal["better", "worse", "inconclusive"]
    """Inconclusive where the runs of either side were disturbed."""
    disturbed: list[str]
    """Why runs may be slower for reasons of their own."""
    seen: str
    """The run after which it was marked."""
    odds: float
    """How many times better a change explained the runs up to then than none."""
    changed: list[Changed]
    """What differs between ``previous`` and ``run``."""
    nearby: list[Nearby]


class Point(TypedDict):
    """One run."""

    run: str
    started: str
    value: float
    """Of the run: one value over its rounds."""
    rounds: int
    """Rounds that gave a result."""


class Series(TypedDict):
    """Runs of a cell that may be compared: one machine, one definition of the cell, and like work."""

    machine: int
    """Number of the machine, from 1."""
    redefined: list[str]
    """What of the cell's definition changed at the first run; empty where the series is the machine's first."""
    not_comparable: list[str]
    """Why the first run must not be ranked with those before it, whose definition is the same; else empty."""
    changed: list[Changed]
    """What else differs between the first run and the one before it, where either is so."""
    points: list[Point]
    enough: bool
    """Whether there are enough runs to look for changes."""
    changes: list[Change]


class LeftOut(TypedDict):
    """Runs that do not count, and why."""

    reason: str
    runs: list[str]


class CellHistory(TypedDict):
    """A metric of a cell. A cell whose runs are judged by two is there twice."""

    id: str
    factors: dict[str, Any]
    metric: MetricFacts
    left_out: list[LeftOut]
    series: list[Series]
    """By machine, and by time within a machine."""


class Machine(TypedDict):
    """A machine, and the place of the data on it. ``facts`` are those of its newest run."""

    number: int
    name: str
    runs: int
    facts: dict[str, Any]


class History(TypedDict):
    """The history of an experiment."""

    schema: Literal["dbdyno.history/1"]
    experiment: str
    false_alarms: float
    """The share of series of ``life`` runs without a change that are said to have one."""
    life: int
    odds: float
    """Above which a change is marked, for each run of the series up to then."""
    fewest: int
    """Runs a series needs before changes are looked for."""
    runs: int
    """Runs that count."""
    first: str | None
    """Start of the oldest of them."""
    last: str | None
    older: int
    """Runs beyond the limit: judged with the others, not shown."""
    left_out: list[LeftOut]
    machines: list[Machine]
    cells: list[CellHistory]
