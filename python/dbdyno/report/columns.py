"""Columns of the terminal's tables, and making them fit its width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

_GAP = 2
_LONG_NAME = 12
# Text is folded within a word only where the word is longer than this: a system's URL can be.
_LONG_WORD = 26


@dataclass(frozen=True, slots=True)
class Column:
    """A head and a text for each row. A column that may fold gives way where the table is too wide."""

    head: str
    values: list[Text]
    right: bool = True
    fold: bool = False
    spare: bool = False
    """Left out where there is no room, since something else says the same."""

    @property
    def width(self) -> int:
        """Return the columns it takes when nothing is folded."""
        return max(len(line) for line in [*self.head.split("\n"), *(each.plain for each in self.values)])

    @property
    def least(self) -> int:
        """Return the columns it takes at least: of one that folds those of its longest word."""
        words = [word for text in (self.head, *(each.plain for each in self.values)) for word in text.split()]
        return min(max(map(len, words), default=1), _LONG_WORD) if self.fold else self.width


def width_of(columns: Sequence[Column]) -> int:
    """Return the columns a table takes when nothing is folded."""
    return sum(each.width for each in columns) + _GAP * (len(columns) - 1)


def tables(names: Sequence[Column], numbers: Sequence[Column], width: int) -> list[RenderableType]:
    """Return the columns of names and of numbers as a table that fits ``width``, changed no more than it takes.

    First long heads of names are broken at underscores, then spare columns are left out, then the names become one
    column that folds between levels. Numbers are never folded: those that have no room stand in a table of their own
    below, with the names.
    """
    if width_of([*names, *numbers]) <= width:
        return [table([*names, *numbers], width)]
    broken = [replace(each, head=_broken(each.head)) for each in names]
    if width_of([*broken, *numbers]) <= width:
        return [table([*broken, *numbers], width)]
    numbers = [each for each in numbers if not each.spare]
    if width_of([*broken, *numbers]) > width:
        broken = [_merged(names)]
    made: list[RenderableType] = []
    for part in _parts(broken, numbers, width):
        made += [Text(""), table([*broken, *part], width)]
    return made[1:]


def _merged(names: Sequence[Column]) -> Column:
    rows = zip(*(each.values for each in names), strict=True)
    return Column("\n".join(each.head for each in names), [Text(" ").join(row) for row in rows], False, fold=True)


def _parts(names: Sequence[Column], numbers: Sequence[Column], width: int) -> list[list[Column]]:
    """Put the numbers into as few tables as there is room for, in their order."""
    taken = sum(each.least + _GAP for each in names)
    parts: list[list[Column]] = [[]]
    for each in numbers:
        if parts[-1] and taken + sum(one.least + _GAP for one in (*parts[-1], each)) - _GAP > width:
            parts.append([])
        parts[-1].append(each)
    return parts


def table(columns: Sequence[Column], width: int) -> Table:
    """Return the columns as a table without a frame, ``width`` columns of text wide at most."""
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


def _rooms(columns: Sequence[Column], width: int) -> list[int]:
    """Return the width of each column: those that fold share what the others leave, none has less than its least.

    The terminal's library shares the room as well, but may leave a column less than it prints, and cuts the rest off.
    """
    rooms = [each.least for each in columns]
    left = width - sum(rooms) - _GAP * (len(columns) - 1)
    # Those that need the least more come first, so that what they leave goes to the others.
    order = sorted(range(len(columns)), key=lambda place: columns[place].width - rooms[place])
    for done, place in enumerate(order):
        given = min(columns[place].width - rooms[place], max(left, 0) // (len(order) - done))
        rooms[place] += given
        left -= given
    return rooms


def _broken(name: str) -> str:
    """Break a long name behind underscores, into as few lines as its parts allow."""
    lines = [""]
    for part in name.replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > _LONG_NAME:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
