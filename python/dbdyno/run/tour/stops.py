"""The stops of a tour, selected for a time budget."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.base.resources import package_path


@dataclass(frozen=True)
class Stop:
    """A short experiment. ``found``: the published result; ``seconds``: its approximate minimum duration."""

    experiment: str
    found: str
    chosen: tuple[str, ...]
    seconds: float
    servers: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A stop that is left out, and the reason."""

    stop: Stop
    why: str


def all_stops() -> list[Stop]:
    """Return all stops in their order."""
    listed = tomllib.loads(package_path("run", "tour", "stops.toml").read_text(encoding="utf-8"))
    return [
        Stop(each["experiment"], each["found"], tuple(each["set"]), float(each["seconds"]), each.get("servers", False))
        for each in listed["stop"]
    ]


def within(stops: Sequence[Stop], budget_s: float) -> tuple[list[tuple[Stop, float]], list[LeftOut]]:
    """Return the stops that fit into a budget, each with its seconds, and the remaining ones.

    Stops are selected in order by their minimum time, and share the remaining time in proportion to it.
    """
    made: list[Stop] = []
    left_out: list[LeftOut] = []
    left = budget_s
    for stop in stops:
        if stop.seconds <= left:
            made.append(stop)
            left -= stop.seconds
        else:
            left_out.append(LeftOut(stop, f"it takes some {stop.seconds:.0f} s: give a longer `--budget`"))
    needed = sum(stop.seconds for stop in made)
    return [(stop, stop.seconds * (1 + left / needed)) for stop in made], left_out
