"""The types of a search for the highest rate that meets an objective.

:mod:`dbdyno.model.result.shape` describes the conventions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(slots=True, kw_only=True)
class SloClause:
    """One limit of the objective."""

    metric: str
    """A percentile such as "p99", "mean", "max", "failed" or "skipped"."""
    limit: float
    """Milliseconds of the response time; for ``failed``, a share from 0 to 1."""


@dataclass(slots=True, kw_only=True)
class SloProbe:
    """The measurements at one rate."""

    cell: str
    """The id of the cell."""
    rate: float
    """Requests offered per second."""
    windows: int
    """Windows that count for the verdict."""
    approach: int
    """Windows that only narrowed the search down. They don't count for the verdict."""
    due: int
    """Requests that were due in the windows that count or, if no window counts, in the others."""
    failed: float | None
    """The share of these requests that failed."""
    values: dict[str, float | None]
    """The measured value by metric of the objective; null if failed or skipped requests make it infinite."""
    verdict: Literal["holds", "violated", "undecided"]
    """Whether the rate meets the objective."""


@dataclass(slots=True, kw_only=True)
class LimitingResource:
    """The resource that limits the system above the highest rate."""

    resource: str
    """The name of the resource in sentences."""
    evidence: str
    """The measurements behind the inference, as a sentence."""
    advice: str
    """A change to try."""
    rate: float | None
    """The rate of the cell that shows it; null if it was the closed loop."""


@dataclass(slots=True, kw_only=True)
class SloSearch:
    """The search for one configuration."""

    configuration: str
    """The name of the configuration."""
    levels: dict[str, Any]
    """Level by factor."""
    status: Literal["found", "none", "client", "open", "failed"]
    """``found``: both bounds of the interval are shown. ``none``: no rate meets the objective. ``client``: the load
    generator reached its limit first. ``open``: the time was too short to show both bounds. ``failed``: the system
    returned no result."""
    carries: float | None
    """Requests per second in the closed loop."""
    rate: float | None
    """The highest rate that meets the objective, interpolated between ``low`` and ``high``; null unless found."""
    low: float | None
    """The highest rate that was shown to meet the objective."""
    high: float | None
    """The lowest rate that was shown to miss the objective."""
    gives_way: LimitingResource | None
    """Null if no such resource was found."""
    probes: list[SloProbe]
    """In order of the rate."""
    text: list[str]
    """The result as sentences."""


@dataclass(slots=True, kw_only=True)
class Slo:
    """The searches of a run with an objective."""

    objective: str
    """The objective as text, such as "p99 < 50 ms"."""
    clauses: list[SloClause]
    """The limits of the objective, all of which must hold."""
    budget_s: float
    """The time limit of the search, in seconds."""
    window_s: float
    """The length of a window in seconds."""
    searches: list[SloSearch]
    """One search per configuration."""
