"""The shape of the result document, ``dbdyno.run/1``.

``dbdyno.model.result.schema`` makes the JSON Schema from these types, and tests check built documents against it. A
field that could not be measured is null, never 0. The string below a field is its description in the schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dbdyno.model.result.cell import Cell, JsonObject
from dbdyno.model.result.effects import Answer, Effect
from dbdyno.model.result.scalability import Scalability
from dbdyno.model.result.slo import Slo
from dbdyno.model.result.why import Why

SCHEMA = "dbdyno.run/1"


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Cell b against cell a, paired within blocks."""

    a: str
    b: str
    metric: str
    """throughput; of open loops that keep up p99, of the response time."""
    ratio: float | None
    """b / a, over the common blocks."""
    ci95: list[float] | None
    """The interval from which the verdict follows. All intervals of a table hold with a chance of 95 %."""
    verdict: Literal["faster", "slower", "equivalent", "inconclusive"] | None
    """Of b; null if the two are not comparable and are not ranked."""
    margin: float
    """The difference that matters, as a share."""
    detectable: float | None
    """The smallest change, as a share, that so many blocks as noisy as these see four times in five."""
    more_rounds: int | None
    """How many more rounds would probably settle an inconclusive one; null where it is settled or nobody would wait."""
    blocks: int
    not_comparable: list[str]
    """What the two did differently; empty where they may be ranked."""
    lacking: str
    """Why the ratio settles nothing, whatever it is, as times that are lower bounds; empty where it may."""


@dataclass(slots=True, kw_only=True)
class Finding:
    """Something worth a sentence."""

    kind: str
    """What it is: each kind has observations that it is not said without."""
    text: str
    cells: list[str]
    """Those it is about; empty where it is about the whole run."""
    evidence: JsonObject
    """The observations that it rests on, by name."""


@dataclass(slots=True, kw_only=True)
class Recommendation:
    """What the experiment has ready against a finding."""

    name: str
    answers: str
    """The finding: prefix-scan."""
    engine: str
    does: str
    """What it does, a clause."""
    cells: dict[str, str]
    """By the id of each cell it was tried on, the cell with it; empty where it was not tried."""


@dataclass(slots=True, kw_only=True)
class FailedTrial:
    """A trial that gave no result."""

    cell: str
    block: int
    status: str
    kind: str | None
    error: str


@dataclass(slots=True, kw_only=True)
class Measured:
    """What throughput counts."""

    unit: Literal["transaction", "statement", "row"]
    """row: rows returned and rows changed."""
    label: str
    """What it is called, in the plural."""


@dataclass(slots=True, kw_only=True)
class Document:
    """A run and its results."""

    schema: Literal["dbdyno.run/1"]
    id: str
    experiment: str
    title: str
    question: str
    status: str
    """running, done, interrupted or failed."""
    started: str
    ended: str | None
    dbdyno: str
    """The version of dbdyno that ran it."""
    command: list[str]
    """The command line; passwords masked."""
    seed: int
    options: JsonObject
    host: JsonObject
    device: JsonObject
    """sync_us, sync_per_s (of 4 KiB), large_sync_us of large_sync_bytes, random_read and random_write: [{depth, per_s,
    mean_us}] of the device that holds the data."""
    ceiling: JsonObject
    """operations_per_s of one client with the null engine on this machine."""
    factors: dict[str, list[Any]]
    """Levels by factor, in order."""
    report: JsonObject
    """x and by: the factors on the axis and in colour; along: the one whose levels findings compare, else x."""
    growth: JsonObject
    """Of a table that grows: factor, by whose levels it does, table, and windows at each size; empty elsewhere."""
    measure: Measured
    rounds: int | None
    """Rounds asked for."""
    confidence: float
    """Nominal, of the intervals; above 0.95 where looking at them decided when to end, so that they hold as often."""
    cells: list[Cell]
    roles: dict[str, Literal["load", "choice"]]
    """By factor: given by the world, or to be chosen."""
    answer: Answer
    effects: list[Effect]
    scalability: list[Scalability]
    """For each factor that decides the number of clients, and each combination of the others' levels."""
    comparisons: list[Comparison]
    recommendations: list[Recommendation]
    findings: list[Finding]
    failed_trials: list[FailedTrial]
    why: Why | None
    """Of a `dbdyno why`: what limits the cell, proven by changing it; null elsewhere."""
    slo: Slo | None
    """Of a search for the highest rate at which an objective holds; null elsewhere."""
