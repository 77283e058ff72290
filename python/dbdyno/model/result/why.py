"""The shape of what `dbdyno why` concludes: which resources decide how fast a cell is, by what their changes did.

The conventions are those of :mod:`dbdyno.model.result.shape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dbdyno.model.result.fixes import Fixes


@dataclass(slots=True, kw_only=True)
class ChangeEffect:
    """What one change did, against the cell as it is, in the same blocks."""

    change: str
    """The level of the factor ``change``."""
    cell: str
    does: str
    size: float
    """Of a delay in microseconds; else a share, or a ratio; 0 where the change has no size."""
    observed: float | None
    """The size as it was observed, mean over the blocks; null where nothing tells."""
    rate: float | None
    """Throughput, as a multiple of that of the cell as it is."""
    rate_ci95: list[float] | None
    p99: float | None
    """The 99th percentile of the response time, as a multiple."""
    p99_ci95: list[float] | None
    p99_is_bound: bool
    """Whether it took so long at least: a hundredth of what was due or more has no response time."""
    blocks: int


@dataclass(slots=True, kw_only=True)
class ResourceTest:
    """The changes of one kind of one resource, taken together."""

    kind: Literal["slower", "free"]
    changes: list[ChangeEffect]
    share: float | None
    """Slower: the elasticity, -d ln rate / d ln of what the resource takes; of a cache, d ln rate / d ln size. Free:
    the share of a transaction's time that was saved, 1 - 1 / rate. By p99 the rate is its reciprocal."""
    ci95: list[float] | None
    linear: bool
    """Whether the sizes agree; where not, the smallest alone gives the share."""
    verdict: Literal["bottleneck", "part", "not", "inconclusive"]
    """By the interval, which is simultaneous over all tests."""


@dataclass(slots=True, kw_only=True)
class WhyResource:
    """A resource, and what it decides."""

    resource: str
    name: str
    verdict: Literal["bottleneck", "part", "not", "inconclusive"]
    """``bottleneck``: of the largest of those that may be it; the others that may are a part."""
    share: float | None
    """Of a transaction's time, or of p99: what it saved to make the resource free, else the elasticity."""
    ci95: list[float] | None
    elasticity: float | None
    """Of the test ``slower``."""
    elasticity_ci95: list[float] | None
    tests: list[ResourceTest]
    untested: str
    """Why it needed no test, or, where the verdict is open, could have none; empty where it was tested."""
    inferred: bool
    """Whether the report names it as the bottleneck, by where time went."""
    inferred_right: bool | None
    """Whether the tests agree with that; null where they do not settle it, or it was not named and is not it."""


@dataclass(slots=True, kw_only=True)
class Why:
    """What limits a cell, proven by changing it."""

    cell: str
    """The id that the cell has in its experiment."""
    unchanged: str
    """The id of the cell as it is, in this run."""
    metric: Literal["throughput", "p99"]
    """What decides: throughput; of an open loop p99 of the response time, or throughput if it is overloaded."""
    p99_ms: float | None
    """Of the cell as it is, the 99th percentile of the response time (closed loop: service time) in milliseconds:
    geometric mean over the blocks that have changes."""
    p99_is_bound: bool
    """Whether that is a lower bound: a hundredth of what was due or more has no response time."""
    bottleneck: str | None
    """The resource; null where none is shown to be it."""
    inferred: str | None
    """What the report names as the bottleneck, by where time went."""
    resources: list[WhyResource]
    """The bottleneck, then the largest share first; those that were not tested last."""
    elasticities: float | None
    """The sum of those that do not contain one another: about 1 in a closed loop where nothing overlaps."""
    missing: float | None
    """1 less that sum: the share of the time that no test accounts for; below 0 where some count twice, or arrivals of
    an open loop wait for one another; null where the sum is not known well enough."""
    tests: int
    """Tests that were judged together."""
    fixes: Fixes | None
    """Of a `dbdyno why --fix`; null elsewhere."""
    text: list[str]
    """Sentences; the first is the answer."""
