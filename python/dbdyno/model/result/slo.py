"""The shape of what a search for the highest rate at which an objective holds has found.

The conventions are those of :mod:`dbdyno.model.result.shape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(slots=True, kw_only=True)
class SloClause:
    """One limit of the objective."""

    metric: str
    limit: float
    """Milliseconds of the response time; of ``failed`` a share from 0 to 1."""


@dataclass(slots=True, kw_only=True)
class SloProbe:
    """What was measured at one rate."""

    cell: str
    rate: float
    """Requests offered per second."""
    windows: int
    """Windows that decide; those of the approach do not."""
    approach: int
    """Windows that only led the search to the limit."""
    due: int
    """Requests of the windows that decide, else of the approach."""
    failed: float | None
    """Share of them that failed."""
    values: dict[str, float | None]
    """By metric of the objective; null if requests that failed or were not begun decide it, so that it has no end."""
    verdict: Literal["holds", "violated", "undecided"]


@dataclass(slots=True, kw_only=True)
class GivesWay:
    """The resource that limits the system above the highest rate."""

    resource: str
    evidence: str
    advice: str
    rate: float | None
    """The rate of the cell that shows it; null: the closed loop."""


@dataclass(slots=True, kw_only=True)
class SloSearch:
    """The search for one configuration."""

    configuration: str
    levels: dict[str, Any]
    status: Literal["found", "none", "client", "open", "failed"]
    """``found``: both ends of the interval are shown; ``none``: no rate meets the objective; ``client``: the load
    machine gives way first; ``open``: an end of the interval could not be shown in the time there was; ``failed``: the
    system gave no result."""
    carries: float | None
    """Requests per second of the closed loop."""
    rate: float | None
    """The highest rate that meets the objective, interpolated between the ends of the interval; null unless found."""
    low: float | None
    """The highest rate at which the objective was shown to hold."""
    high: float | None
    """The lowest rate at which it was shown not to hold."""
    gives_way: GivesWay | None
    probes: list[SloProbe]
    """In the order of rates."""
    text: list[str]


@dataclass(slots=True, kw_only=True)
class Slo:
    """The searches of a run with an objective."""

    objective: str
    clauses: list[SloClause]
    budget_s: float
    window_s: float
    searches: list[SloSearch]
