"""Columns of the terminal's tables, and making them fit its width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich import box
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


def width_of(columns: Sequence[Column]) -> int:
    """Return the columns a table takes when nothing is folded."""
    return sum(each.width for each in columns) + _GAP * (len(columns) - 1)


def fitted(names: Sequence[Column], numbers: Sequence[Column], width: int) -> list[Column]:
    """Return the columns of names and of numbers so that they fit ``width``, changed no more than it takes.

    First long heads of names are broken at underscores, then spare columns are left out, then the names become one
    column that folds between levels. Numbers are never folded.
    """
    if width_of([*names, *numbers]) <= width:
        return [*names, *numbers]
    broken = [replace(each, head=_broken(each.head)) for each in names]
    if width_of([*broken, *numbers]) <= width:
        return [*broken, *numbers]
    numbers = [each for each in numbers if not each.spare]
    if width_of([*broken, *numbers]) <= width or len(names) < 2:
        return [*broken, *numbers]
    rows = zip(*(each.values for each in names), strict=True)
    merged = [Text(" ").join(row) for row in rows]
    return [Column("\n".join(each.head for each in names), merged, right=False, fold=True), *numbers]


def table(columns: Sequence[Column]) -> Table:
    """Return the columns as a table without a frame."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="bold", show_edge=False)
    for column in columns:
        words = [word for each in column.values for word in each.plain.split()]
        made.add_column(
            column.head,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=not column.fold,
            min_width=min(max(map(len, words), default=1), _LONG_WORD) if column.fold else None,
        )
    for row in zip(*(column.values for column in columns), strict=True):
        made.add_row(*row)
    return made


def _broken(name: str) -> str:
    """Break a long name behind underscores, into as few lines as its parts allow."""
    lines = [""]
    for part in name.replace("_", "_\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > _LONG_NAME:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
