"""Summaries of latency distributions."""

from typing import Annotated, Any

from pydantic import Discriminator, Tag

from dbdyno.model.events.base import Count, Part

NONE, SOME = "(of no times)", "(of times)"


class NoTimes(Part):
    """The summary of an empty distribution."""

    count: Count


class Times(Part):
    """Mean, percentiles and maximum in milliseconds. ``at_least``: the names of the values that are lower bounds."""

    count: Count
    mean: float
    p50: float
    p90: float
    p99: float
    p99_9: float
    max: float
    at_least: list[str]


def _kind(value: Any) -> str:
    count = value.get("count") if isinstance(value, dict) else getattr(value, "count", None)
    return NONE if count == 0 else SOME


Summary = Annotated[Annotated[NoTimes, Tag(NONE)] | Annotated[Times, Tag(SOME)], Discriminator(_kind)]
"""A summary; for an empty distribution, only the count."""


class ServiceTimes(Part):
    """Service times of an interval in milliseconds: median, 99th percentile and maximum."""

    p50: float
    p99: float
    max: float
