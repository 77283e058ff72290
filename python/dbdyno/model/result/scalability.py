"""The types of the scalability model: the Universal Scalability Law along a factor of concurrency.

:mod:`dbdyno.model.result.shape` describes the conventions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(slots=True, kw_only=True)
class IntervalEstimate:
    """A parameter of the fitted curve, with its interval."""

    value: float
    """The estimate."""
    ci95: list[float]
    """[low, high], over rounds. Contention and coherency are limited to values from 0."""


@dataclass(slots=True, kw_only=True)
class Peak:
    """The number of clients with the highest throughput."""

    told: Literal["peak", "beyond", "open"]
    """``peak``: the peak is at ``clients``. ``beyond``: no peak up to ``at_least`` clients, more than were measured.
    ``open``: the peak is at ``at_least`` clients or more, possibly within the measured range."""
    clients: float | None
    """sqrt((1 - contention) / coherency), at least 1; null unless ``told`` is ``peak``."""
    clients_ci95: list[float] | None
    """The interval of ``clients``; null unless ``told`` is ``peak``."""
    throughput: IntervalEstimate | None
    """Throughput at ``clients``."""
    at_least: float
    """Lower bound of the interval of ``clients``, at most twice the largest measured number of clients."""


@dataclass(slots=True, kw_only=True)
class CurvePoint:
    """The curve at a number of clients."""

    clients: float
    """Number of clients."""
    throughput: float
    """Throughput according to the model."""
    ci95: list[float]
    """The interval of ``throughput``."""


@dataclass(slots=True, kw_only=True)
class ScalabilityCurve:
    """The fitted Universal Scalability Law, in the unit of the cells' throughput."""

    one_client: IntervalEstimate
    """C(1): throughput of one client, which is not necessarily measured."""
    contention: IntervalEstimate
    """The share of the work that only one client does at a time."""
    coherency: IntervalEstimate
    """The cost of each pair of clients, as a share of a transaction's time."""
    peak: Peak
    """The maximum of the curve."""
    misfit: float
    """The largest relative deviation of a measured throughput from the curve; negative if the throughput is below
    it."""
    misfit_clients: float
    """The number of clients with the largest deviation."""
    p: float
    """The probability of deviations this large by chance if the model is right."""
    blocks: int
    """Number of rounds that the curve is fitted to."""
    points: list[CurvePoint]
    """The curve, from the smallest measured number of clients to the largest, or to the upper bound of the peak."""


@dataclass(slots=True, kw_only=True)
class Scalability:
    """The model along a factor, at one combination of the other factors' levels."""

    factor: str
    """The factor that determines the number of clients."""
    at: dict[str, Any]
    """Levels of the other factors that vary."""
    cells: list[str]
    """The ids of the cells, in the order of the factor's levels."""
    clients: list[int | None]
    """The number of clients of each cell; null if the cell has no trial."""
    curve: ScalabilityCurve | None
    """The fitted curve; null if there is none."""
    refused: str
    """Why there is no curve; empty if there is one."""
    advice: str
    """A change that would make a curve possible; empty if none is known."""
