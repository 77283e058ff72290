"""Rows of values laid out for a width. Labels are never dropped, and numbers and verdicts are never cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from dbdyno.base.numbers import NONE

RATIO = "ratio [95 %]"
"""Heading of ratios."""

LEFT = ("change", "verdict", RATIO, "price", "limited by", "plan", "index")
"""Left-aligned columns."""

_GAP = 2
# Indentation of values below a label, in characters.
_INDENT = 2
_STYLES = {
    "faster": "green",
    "slower": "red",
    "equivalent": "cyan",
    "inconclusive": "yellow",
    "the bottleneck": "bold red",
    "a part": "yellow",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A label with values by column heading."""

    label: str
    values: dict[str, str]


def wrapped(text: str, width: int, style: str = "", indent: str = "") -> Iterator[Text]:
    """Yield a text in lines of at most ``width`` characters. Only a single longer word exceeds it."""
    for line in textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False):
        yield Text(line, style=style)


def laid_out(
    rows: Sequence[Row],
    width: int,
    spare: Sequence[str],
    *,
    known_of: Sequence[Row] | None = None,
    corner: str = "",
) -> Iterator[Text]:
    """Yield the rows with their values beside the labels, below them, or one value per line, depending on the width.

    ``spare``: columns to drop if space is short, the first one first. ``known_of``: columns without a value in any of
    these rows are dropped (default: ``rows``). ``corner``: the heading above the labels.
    """
    all_rows = rows if known_of is None else known_of
    heads = [head for head in dict.fromkeys(name for row in all_rows for name in row.values) if _known(all_rows, head)]
    heads = _fitting(rows, heads, width, spare)
    label = max((len(row.label) for row in rows), default=0)
    numbers_width = sum(_width(rows, head) + _GAP for head in heads)
    if max(label, len(corner)) + numbers_width <= width:
        yield from _beside(rows, heads, max(label, len(corner)), corner)
        return
    if corner:
        yield Text(f"{corner}:", style="dim")
    if _INDENT + numbers_width <= width:
        yield from _below(rows, heads, width)
    else:
        yield from _one_by_one(rows, heads, width)


def _beside(rows: Sequence[Row], heads: Sequence[str], label: int, corner: str) -> Iterator[Text]:
    yield Text(corner.ljust(label) + _line(heads, {head: head for head in heads}, rows).plain.rstrip(), style="dim")
    for row in rows:
        line = Text(row.label.ljust(label)).append_text(_line(heads, row.values, rows))
        line.rstrip()
        yield line


def _below(rows: Sequence[Row], heads: Sequence[str], width: int) -> Iterator[Text]:
    """Yield two lines per row: the label, then the values."""
    yield Text(" " * _INDENT + _line(heads, {head: head for head in heads}, rows).plain.rstrip(), style="dim")
    for row in rows:
        yield from wrapped(row.label, width, "", "  ")
        line = Text(" " * _INDENT).append_text(_line(heads, row.values, rows))
        line.rstrip()
        yield line


def _one_by_one(rows: Sequence[Row], heads: Sequence[str], width: int) -> Iterator[Text]:
    """Yield one line per value, with its heading."""
    for row in rows:
        yield from wrapped(row.label, width, "", "  ")
        for head in heads:
            if row.values.get(head):
                yield from wrapped(f"{head}: {row.values[head]}", width - _INDENT, "", "  ")


def _line(heads: Sequence[str], values: Mapping[str, str], rows: Sequence[Row]) -> Text:
    text = Text()
    for head in heads:
        style = _STYLES.get(values.get(head, ""), "") if head == "verdict" else ""
        text.append(" " * _GAP)
        text.append(_placed(head, values.get(head, ""), rows), style=style)
    return text


def _known(rows: Sequence[Row], head: str) -> bool:
    return any(row.values.get(head) not in (None, "", NONE) for row in rows)


def _fitting(rows: Sequence[Row], heads: list[str], width: int, spares: Sequence[str]) -> list[str]:
    """Drop ``spares`` in their order until the remaining columns fit beside the labels."""
    left = list(heads)
    label = max((len(row.label) for row in rows), default=0)
    for spare in spares:
        if label + sum(_width(rows, head) + _GAP for head in left) <= width:
            break
        # With long labels, the values go to a line of their own, which has more space.
        if label > width // 2 and _INDENT + sum(_width(rows, head) + _GAP for head in left) <= width:
            break
        left = [head for head in left if head != spare]
    return left


def _width(rows: Sequence[Row], head: str) -> int:
    return max([len(head), *(len(row.values.get(head, "")) for row in rows)])


def _placed(head: str, value: str, rows: Sequence[Row]) -> str:
    width = _width(rows, head)
    return value.ljust(width) if head in LEFT else value.rjust(width)


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row about a part of a cell, such as a timed operation, with the values of a table's columns."""

    cell: str
    name: str
    values: tuple[str, ...]
