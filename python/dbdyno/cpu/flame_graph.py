"""Folded stacks of a count, and their flame graph as SVG.

The drawing is our own, because its frames link to the annotated lines on the same page, which contains no scripts.
inferno and FlameGraph, other programs to install, draw SVG with scripts. They read the folded stacks.
"""

import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from markupsafe import escape

from dbdyno.cpu.attribution import Side
from dbdyno.cpu.callgrind import Function, Profile, parse_profile
from dbdyno.cpu.counting import classifier_of
from dbdyno.cpu.document import BuildCount

# A frame below this share of the total is added to its caller's own cost.
_MIN_SHARE = 0.0005

_DEEPEST = 60


def folded_stacks(count: BuildCount) -> list[str]:
    """Return the folded stacks of all parts of a count; with several parts, the outermost frame is the part's name."""
    found: list[str] = []
    for counted in count.parts:
        side = classifier_of(counted.part.name if counted.whole else None)
        lines = fold(parse_profile(counted.raw, counted.part.name), side, counted.part.groups)
        found += prefixed(counted.part.name, lines) if len(count.parts) > 1 else lines
    return found


def prefixed(name: str, stacks: Iterable[str]) -> Iterator[str]:
    """Yield stacks with an additional outermost frame. Replaces semicolons, which separate frames."""
    outer = name.replace(";", ",")
    return (f"{outer};{line}" for line in stacks)


def fold(profile: Profile, side_of: Callable[[Function], Side], groups: dict[int, str]) -> Iterator[str]:
    """Yield stacks of the engine's instructions as lines ``outer;inner 123``, largest first.

    Callgrind records the cost of the calls from each caller, but not the path to the caller. So a function's callees
    are divided among its callers in proportion to their cost in it, as in gprof. Recursive calls are not repeated. The
    outermost frame is the group of statements.
    """
    sides = [side_of(function) for function in profile.functions]
    own: dict[int, int] = defaultdict(int)
    for line, costs in profile.lines.items():
        own[line.function] += costs[0]
    below: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    roots: dict[tuple[str, int], int] = defaultdict(int)
    for call, costs in profile.calls.items():
        caller, callee = call.line.function, call.callee
        if sides[caller] == "harness" and sides[callee] == "engine":
            roots[_root(profile.functions[caller], groups), callee] += costs[0]
        if sides[callee] != "harness":
            below[caller][callee] += costs[0]
    smallest = sum(roots.values()) * _MIN_SHARE
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
    match = re.search(r"dbdyno_group_(\d\d)", caller.name)
    name = groups.get(int(match[1]), caller.name) if match else caller.name
    # Semicolons separate frames.
    return name.replace(";", ",")


_WIDTH = 1200.0
_ROW = 17
# Width of a character of the font below.
_CHARACTER = 6.6

# Minimum number of characters of a frame's name; narrower frames are drawn without a name.
_MIN_NAME_LENGTH = 3

# Narrower frames are too small to see and are not drawn.
_NARROWEST = 0.6

# Warm colors, chosen by a hash of the function's name.
_HUES = (8, 52)


@dataclass
class _Frame:
    cost: int = 0
    callees: "dict[str, _Frame]" = field(default_factory=dict)


def flame_graph(stacks: Iterable[str], title: str, link: Callable[[str], str | None] = lambda _: None) -> str:
    """Draw folded stacks (``outer;inner 123``) as SVG; tooltips show a frame's name, instructions and share.

    Callees are below their callers, widest first. ``link``: returns the anchor that a function's frame links to, or
    None.
    """
    root = _tree(stacks)
    rows: list[str] = []
    depth = _draw(rows, title, root, 0.0, 0, root.cost, link) if root.cost else 0
    height = (depth + 1) * _ROW
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height}" width="{_WIDTH:g}" '
        f'height="{height}" role="img" font-family="monospace" font-size="11">'
        f"<title>{escape(title)}</title>"
    )
    return "\n".join([head, *rows, "</svg>"])


def _tree(stacks: Iterable[str]) -> _Frame:
    root = _Frame()
    for line in stacks:
        names, _, cost = line.rpartition(" ")
        frame = root
        frame.cost += int(cost)
        for name in names.split(";"):
            frame = frame.callees.setdefault(name, _Frame())
            frame.cost += int(cost)
    return root


def _draw(
    rows: list[str], name: str, frame: _Frame, x: float, depth: int, whole: int, link: Callable[[str], str | None]
) -> int:
    """Draw a frame and its callees; return the maximum depth."""
    width = _WIDTH * frame.cost / whole
    rows.append(_drawn(name, frame.cost, x, depth, width, frame.cost / whole, link(name)))
    deepest = depth
    for callee, below in sorted(frame.callees.items(), key=lambda pair: -pair[1].cost):
        if _WIDTH * below.cost / whole < _NARROWEST:
            break
        deepest = max(deepest, _draw(rows, callee, below, x, depth + 1, whole, link))
        x += _WIDTH * below.cost / whole
    return deepest


def _drawn(name: str, cost: int, x: float, depth: int, width: float, share: float, target: str | None) -> str:
    low, high = _HUES
    number = zlib.crc32(name.encode())
    colour = f"hsl({low + number % (high - low)},{60 + number // 97 % 25}%,{68 + number // 7919 % 12}%)"
    y = depth * _ROW
    room = int((width - 4) / _CHARACTER)
    text = name if len(name) <= room else f"{name[: room - 1]}…"
    label = f'<text x="{x + 2:.1f}" y="{y + 12}" fill="#222">{escape(text)}</text>' if room >= _MIN_NAME_LENGTH else ""
    told = f"<title>{escape(name)}: {cost:,} instructions, {share * 100:.2f} %</title>"
    drawn = (
        f'<g>{told}<rect x="{x:.1f}" y="{y}" width="{max(width - 0.4, 0.3):.1f}" height="{_ROW - 1}" '
        f'fill="{colour}"/>{label}</g>'
    )
    return drawn if target is None else f'<a href="#{escape(target)}">{drawn}</a>'
