"""Whose a cost is: the engine's, with what it calls in other libraries, or that of the program that drives it."""

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

from dbdyno.base.errors import SystemFailed
from dbdyno.cpu.builds import SOURCE
from dbdyno.cpu.callgrind import Call, Costs, Function, Line, Profile, add_up

Side = Literal["engine", "harness", "other"]

# What is compiled into a program beside its own file: functions in place of those that an older SQLite lacks, and of
# those that give the time, or what is random.
STAND_INS = "stand_ins.h"
PINNED = "pinned.c"

# The worker's functions that run the statements of one group each (crates/engines/src/sqlite/session/counted.rs).
_GROUP = re.compile(r"dbdyno_group_(\d\d)")


@dataclass
class Attribution:
    """A profile taken apart. All costs are in the order of the profile's events.

    ``engine``: spent in the engine's own code and in what that calls in other libraries; ``harness``: all else that was
    counted. ``lines``: of the engine, what each line cost itself, and ``outgoing``: what the calls from it to other
    libraries cost, by the function called. ``groups``: the engine's cost of each group of statements.
    """

    events: tuple[str, ...]
    functions: list[Function]
    engine: Costs
    harness: Costs
    lines: dict[Line, Costs] = field(default_factory=dict)
    outgoing: dict[Call, Costs] = field(default_factory=dict)
    groups: dict[int, Costs] = field(default_factory=dict)


def of_library(library: str, worker: str) -> Callable[[Function], Side]:
    """Tell functions by the object they are in: the engine's library, the worker, and all others."""

    def side(function: Function) -> Side:
        if function.object == library:
            return "engine"
        return "harness" if function.object == worker else "other"

    return side


def of_source(source: str, programs: frozenset[str]) -> Callable[[Function], Side]:
    """Tell functions of one program by the source file they are in: the engine's, the program's own, and all others."""

    def side(function: Function) -> Side:
        name = PurePath(function.file).name
        if name == source:
            return "engine"
        return "harness" if name in programs else "other"

    return side


def of_program(name: str) -> Callable[[Function], Side]:
    """Tell functions of a program whose source has this name, and of SQLite compiled into it."""
    return of_source(SOURCE, frozenset([name, STAND_INS, PINNED]))


def attribute(profile: Profile, side_of: Callable[[Function], Side]) -> Attribution:
    """Take a profile apart.

    The engine's cost is its lines', and that of the calls it makes to other libraries, less what those call back. It is
    found a second way, as the cost of all calls that enter it less that of its calls to the harness; SystemFailed is
    raised where the two differ, since then the calls were not understood.
    """
    sides = [side_of(function) for function in profile.functions]
    events = len(profile.events)
    lines = {place: costs for place, costs in profile.lines.items() if sides[place.function] == "engine"}
    crossing: dict[tuple[Side, Side], list[Costs]] = defaultdict(list)
    outgoing: dict[Call, Costs] = {}
    groups: dict[int, list[Costs]] = defaultdict(list)
    for call, costs in profile.calls.items():
        caller, callee = sides[call.place.function], sides[call.callee]
        if caller == callee:
            continue
        crossing[caller, callee].append(costs)
        if caller == "engine" and callee == "other":
            outgoing[call] = costs
        elif callee == "engine":
            group = _GROUP.search(profile.functions[call.place.function].name)
            if group:
                groups[int(group[1])].append(costs)

    def crossed(caller: Side, callee: Side) -> Costs:
        return add_up(crossing[caller, callee], events)

    own = add_up(lines.values(), events)
    engine = _less(_plus(own, crossed("engine", "other")), crossed("other", "engine"))
    entered = _less(crossed("harness", "engine"), crossed("engine", "harness"))
    if crossing["harness", "engine"] and entered[0] != engine[0]:
        raise SystemFailed(
            f"the calls into the engine cost {entered[0]:,} instructions, and what was spent in it and below is "
            f"{engine[0]:,}: callgrind's calls do not add up, as where a function runs without being called"
        )
    return Attribution(
        profile.events,
        profile.functions,
        engine,
        _less(profile.totals, engine),
        lines,
        outgoing,
        {group: add_up(costs, events) for group, costs in sorted(groups.items())},
    )


def _plus(first: Costs, second: Costs) -> Costs:
    return [a + b for a, b in zip(first, second, strict=True)]


def _less(first: Costs, second: Costs) -> Costs:
    return [a - b for a, b in zip(first, second, strict=True)]
