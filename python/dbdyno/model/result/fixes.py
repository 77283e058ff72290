"""The types of the result of `dbdyno tune` and `dbdyno why --fix`: fixes with their gains and prices.

:mod:`dbdyno.model.result.shape` describes the conventions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dbdyno.model.result.effects import Advice

FixVerdict = Literal["helps", "no", "inconclusive", "disqualified"]


@dataclass(slots=True, kw_only=True)
class FixPrice:
    """A disadvantage of a fix."""

    kind: str
    """durability, isolation, staleness, exclusive, memory, space, writes, recovery, latency or use."""
    text: str
    """The disadvantage, a clause."""
    bytes: float | None
    """Additional bytes of memory or disk space; null if unknown."""
    measured: bool
    """Whether this run measured it; otherwise it comes from the engine's documentation."""


@dataclass(slots=True, kw_only=True)
class FixSource:
    """The documentation of a fix."""

    title: str
    """The title of the documentation."""
    section: str
    """The section within it."""
    url: str
    """The address of the section."""


@dataclass(slots=True, kw_only=True)
class ConfigurationLines:
    """The lines that apply a fix in a configuration file."""

    place: str
    """The file, such as `postgresql.conf` or `settings.py of Django 5.1`."""
    lines: list[str]
    """The lines to add."""


@dataclass(slots=True, kw_only=True)
class FixEffect:
    """The effect of a fix, compared with the unchanged cell in the same rounds."""

    fix: str
    """The name of the fix."""
    cell: str
    """The id of the cell with the fix."""
    does: str
    """What the fix does, a clause."""
    members: list[str]
    """The names of the fixes in a combination; empty for a single fix."""
    against: list[str]
    """The resources that the fix is intended to relieve."""
    gain: float | None
    """Work per second as a multiple of the unchanged cell's. If p99 decides, the inverse of the ratio of p99."""
    gain_ci95: list[float] | None
    """The interval of ``gain``."""
    p99: float | None
    """The 99th percentile of the response time, as a multiple of the unchanged cell's; null if its transactions do more
    work each."""
    p99_ci95: list[float] | None
    """The interval of ``p99``."""
    blocks: int
    """Number of rounds that both cells have."""
    verdict: FixVerdict
    """Determined by the interval of the gain, which is simultaneous over all fixes; ``disqualified`` if the cell with
    the fix doesn't do the same work."""
    reason: str
    """Why it is disqualified or was not measured; otherwise empty."""
    prices: list[FixPrice]
    """The disadvantages of the fix; empty if it has none."""
    serious: bool
    """Whether it costs durability or isolation."""
    snippet: list[str]
    """The lines that apply the fix."""
    configuration: list[ConfigurationLines]
    """The same settings as lines of configuration files, of the engine and of frameworks; empty without settings."""
    source: FixSource | None
    """The documentation that describes the fix; null for a combination."""


@dataclass(slots=True, kw_only=True)
class Fixes:
    """The result of `dbdyno tune` and `dbdyno why --fix`."""

    tried: list[FixEffect]
    """Fixes that help first, then by descending gain."""
    metric: Literal["throughput", "p99"]
    """The metric of the gains, as in ``why``."""
    p99_ms: float | None
    """The 99th percentile of the unchanged cell in milliseconds: geometric mean over the rounds with fixes."""
    p99_is_bound: bool
    """Whether ``p99_ms`` is a lower bound."""
    left_out: list[str]
    """Fixes that were not measured, each with the reason."""
    recommended: str | None
    """The fix with the largest gain without a price in durability or isolation; null if there is none."""
    at_a_price: str | None
    """A fix that gains more than ``recommended``, at such a price; null if there is none."""
    advice: list[Advice]
    """The choices: take, maybe, skip or open."""
    text: list[str]
    """Sentences; the first is the advice."""
