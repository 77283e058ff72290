"""Service level objectives, such as ``p99 < 50 ms and failed < 1 %``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from dbdyno.base.errors import InputError
from dbdyno.base.numbers import figure, percent

Metric = Literal["p50", "p90", "p95", "p99", "p99.9", "mean", "max", "failed", "skipped"]

QUANTILES: dict[Metric, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""The share of requests that a percentile covers."""

FORM = "write `p99 < 50 ms`, `mean < 2 ms` or `failed < 1 %`, several joined by `and`"

_TIMES: tuple[Metric, ...] = (*QUANTILES, "mean", "max")
_MS = {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3}
_CLAUSE = re.compile(r"(?P<metric>[a-z][a-z0-9_.]*)\s*(?P<sign><=?)\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-zµ%]*)")
_IN_SECONDS_FROM_MS = 10_000
_MAX_MS = 3_600_000.0


@dataclass(frozen=True)
class Clause:
    """A metric and its upper limit: milliseconds of the response time, or a share of the requests from 0 to 1."""

    metric: Metric
    limit: float

    @property
    def is_share(self) -> bool:
        """Whether it limits a share of requests instead of a time."""
        return self.metric in ("failed", "skipped")

    def value(self, value: float) -> str:
        """Return a value of the metric with its unit as text."""
        if self.is_share:
            return percent(value)
        if math.isinf(value):
            return "without an end"
        return f"{figure(value)} ms" if value < _IN_SECONDS_FROM_MS else f"{figure(value / 1e3)} s"

    def __str__(self) -> str:
        limit = f"{self.limit * 100:g} %" if self.is_share else f"{self.limit:g} ms"
        return f"{self.metric} < {limit}"


@dataclass(frozen=True)
class Objective:
    """Clauses that must all hold."""

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.clauses))


def read_objective(text: str, location: str) -> Objective:
    """Read an objective. Raises InputError at ``location`` if a clause isn't a metric, ``<`` and a limit."""
    clauses = [_clause(part, text, location) for part in re.split(r"\s*(?:,|&&|\band\b)\s*", text.strip())]
    twice = [clause.metric for clause in clauses if [other.metric for other in clauses].count(clause.metric) > 1]
    if twice:
        raise InputError(location, f"`{text}` limits {twice[0]} twice", "give each metric one limit")
    return Objective(tuple(clauses))


def _clause(part: str, text: str, location: str) -> Clause:
    match = _CLAUSE.fullmatch(part.strip().lower())
    if match is None:
        wrong = f"`{part.strip()}` in `{text}`" if part.strip() and part.strip() != text.strip() else f"`{text}`"
        raise InputError(location, f"{wrong} is not an objective", FORM)
    metric, unit, number = match["metric"].replace("_", "."), match["unit"], float(match["number"])
    if metric == "failed":
        if unit != "%":
            raise InputError(location, f"`{part.strip()}` needs a limit in percent", "write `failed < 1 %`")
        if not 0 < number / 100 < 1:
            raise InputError(
                location, f"`{part.strip()}`: the limit is not between 0 and 100 %", "write `failed < 1 %`"
            )
        return Clause("failed", number / 100)
    name = next((each for each in _TIMES if each == metric), None)
    if name is None:
        known = ", ".join([*_TIMES, "failed"])
        raise InputError(location, f"unknown metric `{match['metric']}`", f"use one of {known}")
    if unit not in _MS:
        raise InputError(location, f"`{part.strip()}` needs a limit in ms, s or us", f"write `{name} < 50 ms`")
    if not 0 < number * _MS[unit] <= _MAX_MS:
        raise InputError(location, f"`{part.strip()}`: the limit is not between 0 and 1 h", f"write `{name} < 50 ms`")
    return Clause(name, number * _MS[unit])
