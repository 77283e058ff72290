"""A flame graph, drawn from folded stacks: each frame as wide as what was spent in it, its callees below it."""

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from markupsafe import escape

_WIDTH = 1200.0
_ROW = 17
# Of a character of the font below.
_CHARACTER = 6.6

# A frame narrower than this is not drawn: nobody could see it or point at it.
_NARROWEST = 0.6

# Warm colours, told apart by the function's name.
_HUES = (8, 52)


@dataclass
class _Frame:
    cost: int = 0
    callees: "dict[str, _Frame]" = field(default_factory=dict)


def flame_graph(stacks: Iterable[str], title: str, link: Callable[[str], str | None] = lambda _: None) -> str:
    """Draw folded stacks (``outer;inner 123``) as SVG; pointing at a frame tells its name, instructions and share.

    Callees lie below their callers, widest first. ``link``: where a function's frame leads, if anywhere.
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
    """Draw a frame and what it called; give the depth of the deepest."""
    width = _WIDTH * frame.cost / whole
    rows.append(_drawn(name, frame.cost, x, depth, width, frame.cost / whole, link(name)))
    deepest = depth
    for callee, below in sorted(frame.callees.items(), key=lambda each: -each[1].cost):
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
    label = f'<text x="{x + 2:.1f}" y="{y + 12}" fill="#222">{escape(text)}</text>' if room > 2 else ""
    told = f"<title>{escape(name)}: {cost:,} instructions, {share * 100:.2f} %</title>"
    drawn = (
        f'<g>{told}<rect x="{x:.1f}" y="{y}" width="{max(width - 0.4, 0.3):.1f}" height="{_ROW - 1}" '
        f'fill="{colour}"/>{label}</g>'
    )
    return drawn if target is None else f'<a href="#{escape(target)}">{drawn}</a>'
