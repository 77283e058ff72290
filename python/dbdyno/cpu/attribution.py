"""Splits a profile into the engine, including its calls to other libraries, and the harness that drives it."""

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

# Files compiled into a program: replacements for functions that an older SQLite lacks, and for functions that return
# the time or random values.
STAND_INS = "stand_ins.h"
PINNED = "pinned.c"

# The worker's functions, each of which runs the statements of one group (crates/engines/src/sqlite/session/counted.rs).
_GROUP = re.compile(r"dbdyno_group_(\d\d)")


@dataclass
class Attribution:
    """A profile split into engine and harness. All costs are in the order of the profile's events.

    ``engine``: cost of the engine's own code and of its calls to other libraries; ``harness``: all other cost.
    ``lines``: exclusive cost of each engine line; ``outgoing``: cost of its calls to other libraries, by called
    function. ``groups``: the engine's cost of each group of statements.
    """

    events: tuple[str, ...]
    functions: list[Function]
    engine: Costs
    harness: Costs
    lines: dict[Line, Costs] = field(default_factory=dict)
    outgoing: dict[Call, Costs] = field(default_factory=dict)
    groups: dict[int, Costs] = field(default_factory=dict)


def by_object(library: str, worker: str) -> Callable[[Function], Side]:
    """Return a classifier by object: the engine's library, the worker, or another object."""

    def side(function: Function) -> Side:
        if function.object == library:
            return "engine"
        return "harness" if function.object == worker else "other"

    return side


def by_file(source: str, programs: frozenset[str]) -> Callable[[Function], Side]:
    """Return a classifier by source file: the engine's, one of the program's, or another file."""

    def side(function: Function) -> Side:
        name = PurePath(function.file).name
        if name == source:
            return "engine"
        return "harness" if name in programs else "other"

    return side


def by_file_of_program(name: str) -> Callable[[Function], Side]:
    """Return a classifier for a program with SQLite compiled into it. ``name``: of the program's source file."""
    return by_file(SOURCE, frozenset([name, STAND_INS, PINNED]))


def attribute(profile: Profile, side_of: Callable[[Function], Side]) -> Attribution:
    """Split a profile into engine and harness.

    The engine's cost is the cost of its lines and of its calls to other libraries, without their callbacks. It must
    equal the cost of all calls into the engine minus its calls to the harness. Raises SystemFailed if the two differ,
    because then the call graph is incomplete.
    """
    sides = [side_of(function) for function in profile.functions]
    events = len(profile.events)
    lines = {line: costs for line, costs in profile.lines.items() if sides[line.function] == "engine"}
    crossing: dict[tuple[Side, Side], list[Costs]] = defaultdict(list)
    outgoing: dict[Call, Costs] = {}
    groups: dict[int, list[Costs]] = defaultdict(list)
    for call, costs in profile.calls.items():
        caller, callee = sides[call.line.function], sides[call.callee]
        if caller == callee:
            continue
        crossing[caller, callee].append(costs)
        if caller == "engine" and callee == "other":
            outgoing[call] = costs
        elif callee == "engine":
            group = _GROUP.search(profile.functions[call.line.function].name)
            if group:
                groups[int(group[1])].append(costs)

    def crossed(caller: Side, callee: Side) -> Costs:
        return add_up(crossing[caller, callee], events)

    own = add_up(lines.values(), events)
    engine = _less(_plus(own, crossed("engine", "other")), crossed("other", "engine"))
    entered = _less(crossed("harness", "engine"), crossed("engine", "harness"))
    if crossing["harness", "engine"] and entered[0] != engine[0]:
        raise SystemFailed(
            f"the calls into the engine cost {entered[0]:,} instructions, but the engine and its callees cost "
            f"{engine[0]:,}: callgrind's calls do not add up, for instance if a function runs without a call"
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
