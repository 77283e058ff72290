"""The shape of what `dbdyno why --fix` measured: fixes, what each gains and what it costs.

The conventions are those of :mod:`dbdyno.model.result.shape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FixVerdict = Literal["helps", "no", "inconclusive", "disqualified"]


@dataclass(slots=True, kw_only=True)
class FixPrice:
    """What a fix costs."""

    kind: str
    """durability, isolation, staleness, exclusive, memory, space, writes, recovery, latency or use."""
    text: str
    bytes: float | None
    """Of memory or space, where it is known."""
    measured: bool
    """Whether it was seen in this run; else the engine's documentation says it."""


@dataclass(slots=True, kw_only=True)
class FixSource:
    """Where it is documented."""

    title: str
    section: str
    url: str


@dataclass(slots=True, kw_only=True)
class FixEffect:
    """What one fix did, against the cell as it is, in the same blocks."""

    fix: str
    cell: str
    does: str
    members: list[str]
    """Of fixes that were measured together, their names; empty of one alone."""
    against: list[str]
    """The resources for which it was tried."""
    gain: float | None
    """The work done in a second, as a multiple of that of the cell as it is; by p99, how many times as short it is."""
    gain_ci95: list[float] | None
    p99: float | None
    """The 99th percentile of the response time, as a multiple; null where its transactions do more."""
    p99_ci95: list[float] | None
    blocks: int
    verdict: FixVerdict
    """By the interval of the gain, simultaneous over all fixes; ``disqualified`` where it does not do the same work."""
    reason: str
    """Why it is disqualified, or was not measured; empty elsewhere."""
    prices: list[FixPrice]
    serious: bool
    """Whether a price is one of durability or isolation."""
    snippet: list[str]
    """The lines that apply it."""
    source: FixSource | None


@dataclass(slots=True, kw_only=True)
class Fixes:
    """The fixes that were measured."""

    tried: list[FixEffect]
    """Those that help first, the largest gain first."""
    metric: Literal["throughput", "p99"]
    """What gains are of, as in the `why`."""
    p99_ms: float | None
    """Of the cell as it is, in milliseconds: geometric mean over the blocks that have fixes."""
    p99_is_bound: bool
    left_out: list[str]
    """Those that were not measured, each with the reason."""
    recommended: str | None
    """The one to take: the largest gain without a price in durability or isolation, where there is such a one."""
    at_a_price: str | None
    """One that gains more than that, at such a price."""
    text: list[str]
    """Sentences; the first says what to do."""
