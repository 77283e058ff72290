"""The shape of what a run concludes about its factors: effects, and the answer.

The conventions are those of :mod:`dbdyno.model.result.shape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(slots=True, kw_only=True)
class Effect:
    """What a level of a factor does against the factor's first one, all else equal."""

    factor: str
    role: Literal["load", "choice"]
    """Whether the factor is given by the world, or to be chosen."""
    level: Any
    against: Any
    at: dict[str, Any]
    """Levels of another factor at which it holds; empty: it is pooled over all of them."""
    metric: str
    """throughput, or p99 of the response time."""
    ratio: float | None
    """Geometric mean over the pairs of cells, each of the same weight."""
    ci95: list[float] | None
    """The interval from which the verdict follows. All intervals of the effects hold with a chance of 95 %."""
    verdict: Literal["faster", "slower", "equivalent", "inconclusive"]
    """Of the level."""
    detectable: float | None
    """The smallest change, as a share, that would have been seen four times in five."""
    more_rounds: int | None
    """How many more rounds would probably settle an inconclusive one; null where it is settled or nobody would wait."""
    blocks: int
    cells: list[list[str]]
    """The pairs of cells that it is pooled over: with the first level, and with this one."""
    depends_on: list[str]
    """Factors whose levels it differs between; it then stands at each of them as well."""
    durability: list[str] | None
    """The classes of durability that it leads from and to; null where it changes none, or not everywhere the same."""
    durability_in: int
    """In how many of its pairs it does so."""
    failed: list[float] | None
    """Shares of transactions that failed without it and with it; null where chance explains the difference."""


@dataclass(slots=True, kw_only=True)
class Standing:
    """How a configuration stands to the first one at a load."""

    load: dict[str, Any]
    ratio: float | None
    """More is better: of a time, how many times as quick."""
    ci95: list[float] | None
    verdict: Literal["faster", "slower", "equivalent", "inconclusive"]
    metric: str


@dataclass(slots=True, kw_only=True)
class Configuration:
    """One combination of the levels that are to be chosen, over all loads that it was measured at."""

    name: str
    """At most 24 characters: the levels that the first configuration does not have."""
    levels: dict[str, Any]
    cells: list[str]
    ratio: float | None
    """Its throughput by that of the first configuration, pooled over loads; null for the first itself."""
    ci95: list[float] | None
    verdict: Literal["faster", "slower", "equivalent", "inconclusive"] | None
    """Null for the first configuration, and for one that is not ranked."""
    durability: str | None
    """Of its cells, where they are of one class."""
    failed: float
    """Share of transactions that failed."""
    price: list[str]
    """What it costs that the first configuration does not, clauses."""
    gain: list[str]
    """What it saves, clauses."""
    not_ranked: str
    """Why it cannot be held against the first configuration; empty where it can."""
    at: list[Standing]
    """At each load that both were measured at."""


@dataclass(slots=True, kw_only=True)
class Advice:
    """What to do about a choice."""

    action: Literal["take", "maybe", "skip", "open"]
    """take: a gain without a price; maybe: a gain with its price; skip: no gain shown; open: not settled."""
    change: str
    """The choice, in the engine's own words if it is one setting: `PRAGMA journal_mode = wal`."""
    levels: dict[str, Any]
    """Its levels by factor; empty if the row names several choices."""
    effect: str
    """The gain with its interval, or the largest gain that the interval does not exclude."""
    price: str
    """The price, `no price`, or what would settle an open choice."""


@dataclass(slots=True, kw_only=True)
class Recommended:
    """The configuration to take: the fastest without a price.

    Where none is shown to be faster: that of the levels whose effects are, else the first.
    """

    configuration: str
    why: str
    changes: dict[str, Any]
    """Levels that differ from the first configuration's."""
    price: list[str]
    apply: list[str]
    """Lines that set what differs, in the engine's own words; empty where that is no setting."""
    command: str
    """Measures with these levels; empty where nothing is to be changed."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """What the run answers."""

    text: list[str]
    """Sentences; the first is the answer."""
    systems: dict[str, str]
    """Short names of systems."""
    advice: list[Advice]
    """What to take, to consider and to skip; empty if there is nothing to choose between."""
    configurations: list[Configuration]
    """In the order of the run; empty where there is nothing to choose between."""
    recommended: Recommended | None
