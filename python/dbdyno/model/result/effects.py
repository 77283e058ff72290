"""The types of the conclusions of a run: the effects of factors, and the answer.

:mod:`dbdyno.model.result.shape` describes the conventions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(slots=True, kw_only=True)
class Effect:
    """The effect of a level of a factor, compared with the factor's first level, with all other levels equal."""

    factor: str
    """The name of the factor."""
    role: Literal["load", "choice"]
    """Whether the factor is a load or a choice of the user."""
    level: Any
    """The level whose effect this is."""
    against: Any
    """The factor's first level."""
    at: dict[str, Any]
    """The levels of another factor that the effect is limited to; empty if it is pooled over all levels."""
    metric: str
    """throughput, or p99 of the response time."""
    ratio: float | None
    """Geometric mean over the pairs of cells, with equal weights."""
    ci95: list[float] | None
    """The interval that determines the verdict. All intervals of effects hold simultaneously with 95% probability."""
    verdict: Literal["faster", "slower", "equivalent", "inconclusive"]
    """The verdict on ``level``."""
    detectable: float | None
    """The smallest change, as a share, that the measured rounds detect with 80% probability."""
    more_rounds: int | None
    """Additional rounds that would probably settle an inconclusive effect; null if it is settled or needs too many."""
    blocks: int
    """Number of rounds that the interval is based on."""
    cells: list[list[str]]
    """The pairs of cells that the effect is pooled over: the cell with the first level, and the cell with this
    level."""
    depends_on: list[str]
    """Factors that change the effect. The effect is then also listed at each of their levels."""
    durability: list[str] | None
    """The durability classes without and with the level; null if the class doesn't change, or changes differ by
    pair."""
    durability_in: int
    """The number of pairs with this change."""
    failed: list[float] | None
    """Shares of failed transactions without and with the level; null if chance explains the difference."""


@dataclass(slots=True, kw_only=True)
class LoadComparison:
    """A configuration compared with the first configuration at one load."""

    load: dict[str, Any]
    """Levels of the factors that describe the load."""
    ratio: float | None
    """Larger is better: for a time, the inverse of its ratio."""
    ci95: list[float] | None
    """The interval of ``ratio``, which determines the verdict."""
    verdict: Literal["faster", "slower", "equivalent", "inconclusive"]
    """The verdict on the configuration."""
    metric: str
    """throughput, or p99 of the response time."""


@dataclass(slots=True, kw_only=True)
class Configuration:
    """One combination of the levels of choices, over all loads at which it was measured."""

    name: str
    """The levels that differ from the first configuration, in at most 24 characters."""
    levels: dict[str, Any]
    """The level of each choice, by factor."""
    cells: list[str]
    """The ids of its cells, one per load."""
    ratio: float | None
    """Throughput relative to the first configuration, pooled over loads; null for the first configuration."""
    ci95: list[float] | None
    """The interval of ``ratio``, which determines the verdict."""
    verdict: Literal["faster", "slower", "equivalent", "inconclusive"] | None
    """Null for the first configuration and for configurations that are not ranked."""
    durability: str | None
    """The durability class of its cells; null if they differ."""
    failed: float
    """Share of transactions that failed."""
    price: list[str]
    """Its disadvantages compared with the first configuration, clauses."""
    gain: list[str]
    """Its savings compared with the first configuration, clauses."""
    not_ranked: str
    """Why it can't be compared with the first configuration; empty if it can."""
    at: list[LoadComparison]
    """The comparison at each load at which both were measured."""


@dataclass(slots=True, kw_only=True)
class Advice:
    """Advice on a choice."""

    action: Literal["take", "maybe", "skip", "open"]
    """``take``: a gain without a price. ``maybe``: a gain with a price. ``skip``: no gain shown. ``open``: not
    settled."""
    change: str
    """The choice, in the engine's own words if it is one setting: `PRAGMA journal_mode = wal`."""
    levels: dict[str, Any]
    """Its levels by factor; empty if the entry is about several choices."""
    effect: str
    """The gain with its interval, or the largest gain that the interval does not exclude."""
    price: str
    """The price, `no price`, or what would settle an open choice."""


@dataclass(slots=True, kw_only=True)
class RecommendedConfiguration:
    """The recommended configuration: the fastest one without a price.

    If no configuration is shown to be faster, it combines the levels with a proven effect, or is the first one.
    """

    configuration: str
    """The name of the configuration."""
    why: str
    """The reason for the recommendation."""
    changes: dict[str, Any]
    """Levels that differ from the first configuration's."""
    price: list[str]
    """What it costs, clauses."""
    apply: list[str]
    """Statements that apply the changed settings, in the engine's syntax; empty if the changes are not settings."""
    command: str
    """The command that measures these levels; empty if there is nothing to change."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """The answer of the run to its question."""

    text: list[str]
    """Sentences; the first is the answer."""
    systems: dict[str, str]
    """Short names of the systems, by name."""
    advice: list[Advice]
    """What to take, to consider and to skip; empty if there is nothing to choose between."""
    configurations: list[Configuration]
    """In the order of the run; empty if there is nothing to choose between."""
    recommended: RecommendedConfiguration | None
    """Null while a choice is open, if there is nothing to choose, or if only a part of the design was measured."""
