"""The types of candidate indexes that `dbdyno queries` built and measured on a copy of the data.

:mod:`dbdyno.model.result.shape` describes the conventions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["helps", "no gain", "slower", "not used", "refused"]


@dataclass(slots=True, kw_only=True)
class StatementSpeed:
    """The time of a statement without and with indexes, measured in turn on two equal copies."""

    statement: str
    pairs_ms: list[list[float]]
    """Milliseconds per execution: [without, with]."""
    times: float
    """How many times as fast it is with the indexes."""
    ci95: list[float] | None
    """The interval of ``times``; null after one or two pairs."""
    plan: list[str]
    """The plan with the indexes, in the engine's own form."""
    uses: list[str]
    """The measured indexes that this plan uses."""


@dataclass(slots=True, kw_only=True)
class TriedIndex:
    """A candidate index, or several that help only together: one for each arm of an ``or`` or side of a join."""

    name: str
    """The names of its indexes, joined by ``+``."""
    names: list[str]
    tables: list[str]
    """The table of each of its indexes, with the schema if the statement names it."""
    keys: str
    """Table and keys, as in the statement that creates it."""
    columns: list[str]
    """The columns among its keys."""
    sql: list[str]
    """The statements that create its indexes."""
    verdict: Verdict
    """``helps``: it makes a statement at least a tenth faster. ``slower``: the planner uses it, and a statement gets
    slower. ``not used``: no plan uses it. ``refused``: the engine did not create it."""
    problem: str | None
    """Why the engine refused it."""
    build_s: float | None
    """Seconds that creating it took."""
    bytes: int | None
    """Its size; null if the engine does not tell it."""
    statements: list[StatementSpeed]
    """The statements whose plans use it, with this index alone."""


@dataclass(slots=True, kw_only=True)
class EstimatedIndex:
    """A candidate that was not measured, but that the planner would use as far as it can say."""

    statement: str
    keys: str
    """Table and keys, as in the statement that creates it."""
    sql: list[str]
    """The statements that create its indexes."""
    times: float | None
    """How many times less the statement costs with it, as the planner estimates; null: HypoPG doesn't know its kind."""


@dataclass(slots=True, kw_only=True)
class WriteCost:
    """How much longer writing rows of a table takes with the chosen indexes."""

    table: str
    operation: Literal["insert", "update", "delete"]
    pairs_ms: list[list[float]]
    """Milliseconds of the same rows: [without, with]."""
    times: float
    """How many times as long it takes with the indexes."""
    ci95: list[float] | None


@dataclass(slots=True, kw_only=True)
class IdleIndex:
    """An existing index that the statements do not need."""

    name: str
    table: str
    covered_by: str | None
    """The index that begins with the same columns; null: no plan of the statements uses the index."""


@dataclass(slots=True, kw_only=True)
class Indexes:
    """The candidate indexes of the statements on one system."""

    system: str
    """The name of the system."""
    not_measured: str | None
    """Why no index was measured; null if they were."""
    estimated: list[EstimatedIndex] | None
    """What the planner expects of the candidates if they were not measured; null: it can't be asked."""
    tried: list[TriedIndex]
    chosen: list[str]
    """The names of the indexes that are best together."""
    statements: list[StatementSpeed]
    """All statements with the chosen indexes together."""
    weights: dict[str, float]
    """How often each statement counts in the totals."""
    writes: list[WriteCost]
    unmeasured_writes: dict[str, str]
    """Why the costs of writing a table were not measured, by table."""
    idle: list[IdleIndex]
    over_budget: list[str]
    """The names of indexes that help, but don't fit into the index budget."""
    untried: list[str]
    """Candidates that were left out because the time was over: table and keys."""
    without_candidates: list[str]
    """The statements that no index could serve, or whose share of the total is negligible."""
    copied_bytes: int | None
    """The size of the copied data."""
    seconds: float
    """The time that all of this took."""
