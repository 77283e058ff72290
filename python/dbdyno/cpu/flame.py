"""Folded stacks of a count, from which flame graphs are drawn."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from dbdyno.cpu.attribution import Side
from dbdyno.cpu.callgrind import Function, Profile, parse_profile
from dbdyno.cpu.counting import whose
from dbdyno.cpu.document import BuildCount

# A frame below this share of all is told as its caller's own.
_SMALLEST = 0.0005

_DEEPEST = 60


def stacks(count: BuildCount) -> list[str]:
    """Give the folded stacks of all parts of a count; of several parts the outermost frame is the part's name."""
    found: list[str] = []
    for counted in count.parts:
        side = whose(counted.part.name if counted.whole else None)
        lines = folded(parse_profile(counted.raw, counted.part.name), side, counted.part.groups)
        found += within(counted.part.name, lines) if len(count.parts) > 1 else lines
    return found


def within(name: str, stacks: Iterable[str]) -> Iterator[str]:
    """Give stacks within a frame more. A semicolon would end the frame."""
    outer = name.replace(";", ",")
    return (f"{outer};{line}" for line in stacks)


def folded(profile: Profile, side_of: Callable[[Function], Side], groups: dict[int, str]) -> Iterator[str]:
    """Give stacks as lines ``outer;inner 123``, with the engine's instructions, most first.

    Callgrind knows what each caller's calls of a function cost, and not on which way the caller itself was reached: a
    function's callees are shared out over its callers in proportion to what they spent in it, as gprof does. A function
    that is reached again from itself is not entered twice. The outermost frame is the group of statements.
    """
    sides = [side_of(function) for function in profile.functions]
    own: dict[int, int] = defaultdict(int)
    for place, costs in profile.lines.items():
        own[place.function] += costs[0]
    below: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    roots: dict[tuple[str, int], int] = defaultdict(int)
    for call, costs in profile.calls.items():
        caller, callee = call.place.function, call.callee
        if sides[caller] == "harness" and sides[callee] == "engine":
            roots[_root(profile.functions[caller], groups), callee] += costs[0]
        if sides[callee] != "harness":
            below[caller][callee] += costs[0]
    smallest = sum(roots.values()) * _SMALLEST
    spent_in: dict[tuple[str, ...], float] = defaultdict(float)

    def descend(function: int, cost: float, stack: tuple[str, ...], path: frozenset[int]) -> None:
        stack = (*stack, profile.functions[function].name)
        callees = {
            callee: spent for callee, spent in below[function].items() if callee not in path and callee != function
        }
        whole = own[function] + sum(callees.values())
        left = cost
        if whole and len(stack) < _DEEPEST:
            for callee, spent in callees.items():
                part = cost * spent / whole
                if part >= smallest:
                    descend(callee, part, stack, path | {function})
                    left -= part
        spent_in[stack] += left

    for (root, callee), cost in roots.items():
        descend(callee, cost, (root,), frozenset())
    for stack, total in sorted(spent_in.items(), key=lambda item: -item[1]):
        if round(total):
            yield f"{';'.join(stack)} {round(total)}"


def _root(caller: Function, groups: dict[int, str]) -> str:
    found = re.search(r"dbdyno_group_(\d\d)", caller.name)
    name = groups.get(int(found[1]), caller.name) if found else caller.name
    # A semicolon would end the frame.
    return name.replace(";", ",")
