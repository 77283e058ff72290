"""Rows of figures laid out for a width: labels never vanish, and numbers and verdicts are never cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from dbdyno.base.numbers import NONE

RATIO = "ratio [95 %]"
"""Head of ratios."""

LEFT = ("change", "verdict", RATIO, "price", "limited by", "plan", "index")
"""Columns that are aligned to the left."""

_GAP = 2
# Of figures below a label.
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
    """A label, and by column the figures of one cell."""

    label: str
    values: dict[str, str]


def wrapped(text: str, width: int, style: str = "", indent: str = "") -> Iterator[Text]:
    """Give a text in lines of at most ``width`` columns, but for a word that is longer."""
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
    """Lay rows out: beside their labels, below them, or figure by figure, as there is room.

    ``spare``: the columns that go first where there is none, in their order; ``known_of``: the rows of which one must
    have a value in a column; ``corner``: what the figures are, above the labels.
    """
    of = rows if known_of is None else known_of
    heads = [head for head in dict.fromkeys(name for row in of for name in row.values) if _known(of, head)]
    heads = _fitting(rows, heads, width, spare)
    label = max((len(row.label) for row in rows), default=0)
    of_numbers = sum(_width(rows, head) + _GAP for head in heads)
    if max(label, len(corner)) + of_numbers <= width:
        yield from _beside(rows, heads, max(label, len(corner)), corner)
        return
    if corner:
        yield Text(f"{corner}:", style="dim")
    if _INDENT + of_numbers <= width:
        yield from _below(rows, heads, width)
    else:
        yield from _one_by_one(rows, heads, width)


def _beside(rows: Sequence[Row], heads: Sequence[str], label: int, corner: str) -> Iterator[Text]:
    """Write each row as a line: its label, then its figures."""
    yield Text(corner.ljust(label) + _line(heads, {head: head for head in heads}, rows).plain.rstrip(), style="dim")
    for row in rows:
        line = Text(row.label.ljust(label)).append_text(_line(heads, row.values, rows))
        line.rstrip()
        yield line


def _below(rows: Sequence[Row], heads: Sequence[str], width: int) -> Iterator[Text]:
    """Write each row as its label, and its figures in a line below."""
    yield Text(" " * _INDENT + _line(heads, {head: head for head in heads}, rows).plain.rstrip(), style="dim")
    for row in rows:
        yield from wrapped(row.label, width, "", "  ")
        line = Text(" " * _INDENT).append_text(_line(heads, row.values, rows))
        line.rstrip()
        yield line


def _one_by_one(rows: Sequence[Row], heads: Sequence[str], width: int) -> Iterator[Text]:
    """Write each figure in a line of its own, with its head."""
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
    """Leave out columns, in the stated order, as long as the rest does not fit beside the labels."""
    left = list(heads)
    label = max((len(row.label) for row in rows), default=0)
    for spare in spares:
        if label + sum(_width(rows, head) + _GAP for head in left) <= width:
            break
        # Numbers on a line of their own have more room.
        if label > width // 2 and _INDENT + sum(_width(rows, head) + _GAP for head in left) <= width:
            break
        left = [head for head in left if head != spare]
    return left


def _width(rows: Sequence[Row], head: str) -> int:
    return max([len(head), *(len(row.values.get(head, "")) for row in rows)])


def _placed(head: str, value: str, rows: Sequence[Row]) -> str:
    width = _width(rows, head)
    return value.ljust(width) if head in LEFT else value.rjust(width)
