"""The shape of the scalability model: the Universal Scalability Law along a factor of concurrency.

The conventions are those of :mod:`dbdyno.model.result.shape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(slots=True, kw_only=True)
class Estimated:
    """A figure of the fitted curve."""

    value: float
    ci95: list[float]
    """[low, high], over blocks. Contention and coherency are cut at 0."""


@dataclass(slots=True, kw_only=True)
class Peak:
    """Where throughput is greatest."""

    told: Literal["peak", "beyond", "open"]
    """``peak``: it lies at ``clients``. ``beyond``: there is none up to ``at_least`` clients, which is more than were
    measured. ``open``: it lies at ``at_least`` clients or more, and whether within what was measured is not known."""
    clients: float | None
    """sqrt((1 - contention) / coherency), at least 1; null but where it is told."""
    clients_ci95: list[float] | None
    throughput: Estimated | None
    at_least: float
    """Lower end of the interval of ``clients``, at most twice the largest number of clients measured."""


@dataclass(slots=True, kw_only=True)
class CurvePoint:
    """The curve at a number of clients."""

    clients: float
    throughput: float
    ci95: list[float]


@dataclass(slots=True, kw_only=True)
class ScalabilityCurve:
    """What the Universal Scalability Law says, in the unit of the cells' throughput."""

    one_client: Estimated
    """C(1): throughput of one client, which need not have been measured."""
    contention: Estimated
    """The share of the work that only one client does at a time."""
    coherency: Estimated
    """What each pair of clients costs, as a share of a transaction's time."""
    peak: Peak
    misfit: float
    """The largest share by which a measured throughput is off the curve; below 0 where it is under it."""
    misfit_clients: float
    p: float
    """Of misfits so large by chance, where the form is right."""
    blocks: int
    points: list[CurvePoint]
    """The curve, from the smallest number of clients to the largest measured, or to the upper end of the peak's."""


@dataclass(slots=True, kw_only=True)
class Scalability:
    """The model along a factor, at one combination of the other factors' levels."""

    factor: str
    at: dict[str, Any]
    """Levels of the other factors, of those that vary."""
    cells: list[str]
    clients: list[int | None]
    """Of each cell; null where it has no trial."""
    curve: ScalabilityCurve | None
    refused: str
    """Why there is no curve; empty where there is."""
    advice: str
    """What would be right; empty where nothing is known of it."""
