"""Columns of tables on the terminal, fitted to its width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

_GAP = 2
_LONG_NAME = 12
# Only words longer than this, such as the URL of a system, are split across lines.
_LONG_WORD = 26


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A heading with one string per row. ``fold``: the column may wrap its lines if the table is too wide."""

    head: str
    values: list[Text]
    right: bool = True
    fold: bool = False
    spare: bool = False
    """Dropped if space is short, because another column has the same information."""

    @property
    def width(self) -> int:
        """Return the width without wrapping, in characters."""
        return max(len(line) for line in [*self.head.split("\n"), *(value.plain for value in self.values)])

    @property
    def least(self) -> int:
        """Return the minimum width in characters; for a column that wraps, the length of its longest word."""
        words = [word for text in (self.head, *(value.plain for value in self.values)) for word in text.split()]
        return min(max(map(len, words), default=1), _LONG_WORD) if self.fold else self.width


def width_of(columns: Sequence[TableColumn]) -> int:
    """Return the width of a table without wrapping, in characters."""
    return sum(column.width for column in columns) + _GAP * (len(columns) - 1)


def tables(names: Sequence[TableColumn], numbers: Sequence[TableColumn], width: int) -> list[RenderableType]:
    """Return the columns of names and numbers as tables that fit ``width``, with as few changes as possible.

    First, long headings of names are broken at underscores, then spare columns are dropped, then the names are merged
    into one column that wraps between levels. Numbers never wrap: columns that do not fit go to a second table below,
    which repeats the names.
    """
    if width_of([*names, *numbers]) <= width:
        return [table([*names, *numbers], width)]
    broken = [replace(column, head=_broken(column.head)) for column in names]
    if width_of([*broken, *numbers]) <= width:
        return [table([*broken, *numbers], width)]
    numbers = [column for column in numbers if not column.spare]
    if width_of([*broken, *numbers]) > width:
        broken = [_merged(names)]
    made: list[RenderableType] = []
    for part in _parts(broken, numbers, width):
        made += [Text(""), table([*broken, *part], width)]
    return made[1:]


def _merged(names: Sequence[TableColumn]) -> TableColumn:
    rows = zip(*(column.values for column in names), strict=True)
    return TableColumn(
        "\n".join(column.head for column in names), [Text(" ").join(row) for row in rows], False, fold=True
    )


def _parts(names: Sequence[TableColumn], numbers: Sequence[TableColumn], width: int) -> list[list[TableColumn]]:
    """Distribute the number columns, in their order, over as few tables as possible."""
    taken = sum(column.least + _GAP for column in names)
    parts: list[list[TableColumn]] = [[]]
    for column in numbers:
        if parts[-1] and taken + sum(one.least + _GAP for one in (*parts[-1], column)) - _GAP > width:
            parts.append([])
        parts[-1].append(column)
    return parts


def table(columns: Sequence[TableColumn], width: int) -> Table:
    """Return the columns as a table without a frame, at most ``width`` characters wide."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="bold", show_edge=False)
    for column, room in zip(columns, _rooms(columns, width), strict=True):
        made.add_column(
            column.head,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=not column.fold,
            width=room,
        )
    for row in zip(*(column.values for column in columns), strict=True):
        made.add_row(*row)
    return made


def _rooms(columns: Sequence[TableColumn], width: int) -> list[int]:
    """Return the width of each column. Columns that wrap share the remaining width, at least their minimum each.

    Rich also distributes widths, but may give a column less than its minimum and then cuts off text.
    """
    rooms = [column.least for column in columns]
    left = width - sum(rooms) - _GAP * (len(columns) - 1)
    # Serve columns in order of their missing width, so that the rest goes to columns that need more.
    order = sorted(range(len(columns)), key=lambda position: columns[position].width - rooms[position])
    for done, position in enumerate(order):
        given = min(columns[position].width - rooms[position], max(left, 0) // (len(order) - done))
        rooms[position] += given
        left -= given
    return rooms


def _broken(name: str) -> str:
    """Break a long name after underscores, into as few lines as possible."""
    lines = [""]
    for part in name.replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > _LONG_NAME:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
