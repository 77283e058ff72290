"""The types of the result document, ``dbdyno.run/1``.

``dbdyno.model.result.schema`` generates the JSON Schema from these types, and tests check documents against it. A
value that couldn't be measured is null, never 0. The string below a field is its description in the schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dbdyno.model.result.cell import Cell, JsonObject
from dbdyno.model.result.effects import Answer, Effect
from dbdyno.model.result.indexes import Indexes
from dbdyno.model.result.scalability import Scalability
from dbdyno.model.result.slo import Slo
from dbdyno.model.result.why import Why

SCHEMA = "dbdyno.run/1"


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Cell b compared with cell a, paired within rounds."""

    a: str
    """The id of the baseline cell."""
    b: str
    """The id of the cell that is compared with the baseline."""
    metric: str
    """throughput, or p99 of the response time for open loops that keep up."""
    ratio: float | None
    """b / a, over the rounds that both cells have."""
    ci95: list[float] | None
    """The interval that determines the verdict. All intervals of a table hold simultaneously with 95% probability."""
    verdict: Literal["faster", "slower", "equivalent", "inconclusive"] | None
    """The verdict on b; null if the cells are not comparable."""
    margin: float
    """The smallest difference that matters, as a share."""
    detectable: float | None
    """The smallest change, as a share, that this many rounds with this noise detect with 80% probability."""
    more_rounds: int | None
    """Additional rounds that would probably settle an inconclusive comparison; null if it is settled or needs too
    many."""
    blocks: int
    """Number of rounds that both cells have."""
    not_comparable: list[str]
    """The differences in the cells' work that prevent a ranking; empty if the cells are comparable."""
    lacking: str
    """Why no ratio could settle the comparison, such as times that are lower bounds; otherwise empty."""


@dataclass(slots=True, kw_only=True)
class Finding:
    """A conclusion from the observations of the run."""

    kind: str
    """The kind of finding. Each kind requires certain observations."""
    text: str
    """The conclusion, in sentences."""
    cells: list[str]
    """The ids of the cells that the finding is about; empty if it is about the whole run."""
    evidence: JsonObject
    """The observations that support the finding, by name."""


@dataclass(slots=True, kw_only=True)
class Recommendation:
    """A remedy that the experiment offers for a finding."""

    name: str
    """The name of the recommendation in the experiment."""
    answers: str
    """The kind of finding that it addresses, such as prefix-scan."""
    engine: str
    """The engine that it applies to."""
    does: str
    """Its effect, a clause."""
    cells: dict[str, str]
    """The id of the cell with the recommendation, by the id of the cell without it; empty if it was not measured."""


@dataclass(slots=True, kw_only=True)
class FailedTrial:
    """A trial without a result."""

    cell: str
    """The id of the cell."""
    block: int
    """The number of the round."""
    status: str
    """failed or interrupted."""
    kind: str | None
    """The kind of error."""
    error: str
    """The error message."""


@dataclass(slots=True, kw_only=True)
class ThroughputUnit:
    """The unit that throughput counts."""

    unit: Literal["transaction", "statement", "row"]
    """``row`` counts the rows returned and the rows changed."""
    label: str
    """The name of the unit in the plural, such as "lookups"."""
    per: Literal["second", "minute"]
    """The unit of time of throughput."""


@dataclass(slots=True, kw_only=True)
class Document:
    """A run and its results."""

    schema: Literal["dbdyno.run/1"]
    """The version of this format."""
    id: str
    """The id of the run."""
    experiment: str
    """The name of the experiment."""
    title: str
    """The title of the experiment."""
    question: str
    """The question that the experiment answers."""
    status: str
    """running, done, interrupted or failed."""
    started: str
    """When the run started."""
    ended: str | None
    """Null while the run is running."""
    dbdyno: str
    """The version of dbdyno that ran it."""
    command: list[str]
    """The command line, with masked passwords."""
    seed: int
    """The seed of all random choices of the run."""
    options: JsonObject
    """Options of the run that aren't part of the experiment."""
    host: JsonObject
    """Facts about the machine."""
    device: JsonObject
    """Measurements of the device that holds the data: sync_us and sync_per_s (of 4 KiB), large_sync_us of
    large_sync_bytes, random_read and random_write: [{depth, per_s, mean_us}]."""
    ceiling: JsonObject
    """``operations_per_s`` of one client with the null engine on this machine."""
    factors: dict[str, list[Any]]
    """The levels of each factor, in order."""
    report: JsonObject
    """``x`` and ``by``: the factors on the axis and in color. ``along``: the factor whose levels findings compare,
    by default ``x``. ``weights``: how often each statement of a SQL file is executed, in proportion to all weights;
    empty if all are executed equally often."""
    growth: JsonObject
    """A growing table: the ``factor`` with its sizes, the ``table`` and the number of ``windows`` at each size; empty
    without such a table."""
    measure: ThroughputUnit
    """The unit of throughput."""
    rounds: int | None
    """The planned number of rounds; null if unknown."""
    confidence: float
    """The nominal confidence of the intervals. It is above 0.95 if the intervals decided when the run stopped, so that
    they still hold with 95%."""
    cells: list[Cell]
    """The cells in the order of the design."""
    roles: dict[str, Literal["load", "choice"]]
    """For each factor, whether it is a load or a choice of the user."""
    answer: Answer
    """The answer to ``question``."""
    effects: list[Effect]
    """The effects of the factors' levels."""
    scalability: list[Scalability]
    """One model per factor that determines the number of clients, at each combination of other levels."""
    comparisons: list[Comparison]
    """Comparisons of pairs of cells."""
    recommendations: list[Recommendation]
    """Remedies that the experiment offers for the findings."""
    findings: list[Finding]
    """Conclusions from the observations."""
    failed_trials: list[FailedTrial]
    """Trials without a result."""
    why: Why | None
    """The result of `dbdyno why`; null for other commands."""
    indexes: list[Indexes]
    """The candidate indexes of a file of statements, one entry per system; empty for other runs."""
    slo: Slo | None
    """The result of a search for the highest rate that meets an objective; null without such a search."""
