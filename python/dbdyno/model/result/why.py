"""The types of the result of `dbdyno why`: which resources limit a cell, from the effects of changing them.

:mod:`dbdyno.model.result.shape` describes the conventions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dbdyno.model.result.fixes import Fixes


@dataclass(slots=True, kw_only=True)
class ChangeEffect:
    """The effect of one change, compared with the unchanged cell in the same rounds."""

    change: str
    """The level of the factor ``change``."""
    cell: str
    """The id of the changed cell."""
    does: str
    """What the change does, a clause."""
    size: float
    """For a delay, microseconds; otherwise a share or a ratio; 0 if the change has no size."""
    observed: float | None
    """The measured size, mean over the rounds; null if nothing measured it."""
    rate: float | None
    """Throughput as a multiple of the unchanged cell's throughput."""
    rate_ci95: list[float] | None
    """The interval of ``rate``."""
    p99: float | None
    """The 99th percentile of the response time, as a multiple of the unchanged cell's."""
    p99_ci95: list[float] | None
    """The interval of ``p99``."""
    p99_is_bound: bool
    """Whether ``p99`` is a lower bound, because 1% or more of the transactions have no response time."""
    blocks: int
    """Number of rounds that both cells have."""


@dataclass(slots=True, kw_only=True)
class ResourceTest:
    """All changes of one kind to one resource, evaluated together."""

    kind: Literal["slower", "free"]
    """Whether the changes made the resource slower or free."""
    changes: list[ChangeEffect]
    """The changes that are evaluated together."""
    share: float | None
    """``slower``: the elasticity, -d ln rate / d ln of the resource's time; for a cache, d ln rate / d ln size.
    ``free``: the saved share of a transaction's time, 1 - 1 / rate. If p99 decides, rate is the reciprocal of p99."""
    ci95: list[float] | None
    """The interval of ``share``."""
    linear: bool
    """Whether the changes of different sizes agree. If they don't, only the smallest determines the share."""
    verdict: Literal["bottleneck", "part", "not", "inconclusive"]
    """Determined by the interval, which is simultaneous over all tests."""


@dataclass(slots=True, kw_only=True)
class WhyResource:
    """A resource and its effect on the cell."""

    resource: str
    """The key of the resource."""
    name: str
    """The name of the resource in sentences."""
    verdict: Literal["bottleneck", "part", "not", "inconclusive"]
    """``bottleneck``: the resource with the largest share that qualifies. ``part``: other resources that qualify.
    ``not``: it isn't a limit. ``inconclusive``: not settled."""
    share: float | None
    """The share of a transaction's time, or of p99, that a free resource saved; if that was not tested, the
    elasticity."""
    ci95: list[float] | None
    """The interval of ``share``."""
    elasticity: float | None
    """The result of the test ``slower``."""
    elasticity_ci95: list[float] | None
    """The interval of ``elasticity``."""
    tests: list[ResourceTest]
    """The tests of the resource; empty if it wasn't tested."""
    untested: str
    """Why the resource needed no test or, if the verdict is inconclusive, couldn't be tested; empty if it was
    tested."""
    inferred: bool
    """Whether the report inferred this resource as the bottleneck."""
    inferred_right: bool | None
    """Whether the tests agree with that; null if they don't settle it, or if it was neither inferred nor found."""


@dataclass(slots=True, kw_only=True)
class Why:
    """The result of `dbdyno why`: what limits a cell, tested by changing it. `dbdyno tune` only tests fixes."""

    cell: str
    """The id of the cell in its experiment."""
    unchanged: str
    """The id of the unchanged cell in this run."""
    metric: Literal["throughput", "p99"]
    """The metric that decides: throughput; for an open loop p99 of the response time, or throughput if it is
    overloaded."""
    p99_ms: float | None
    """The 99th percentile of the response time (closed loop: service time) of the unchanged cell in milliseconds:
    geometric mean over the rounds with changes."""
    p99_is_bound: bool
    """Whether ``p99_ms`` is a lower bound, because 1% or more of the transactions have no response time."""
    bottleneck: str | None
    """The limiting resource; null if none is shown to be the limit."""
    inferred: str | None
    """The bottleneck that the report inferred from the time spent."""
    resources: list[WhyResource]
    """The bottleneck first, then by descending share, untested resources last."""
    elasticities: float | None
    """The sum of the elasticities that don't overlap: about 1 in a closed loop without concurrent work."""
    missing: float | None
    """1 - ``elasticities``: the share of the time that no test explains. Negative if some time counts twice, or if
    arrivals of an open loop wait for each other. Null if the sum is too uncertain."""
    tests: int
    """Number of tests that were evaluated together; 0 for `dbdyno tune`."""
    fixes: Fixes | None
    """The result of `dbdyno tune` and `dbdyno why --fix`; null without `--fix`."""
    text: list[str]
    """Sentences; the first is the answer."""
