"""Choose a cell by the id or levels of ``--cell``."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from dbdyno.base.errors import InputError

_SHOWN = 4


class Identified(Protocol):
    """A planned or a measured cell."""

    @property
    def id(self) -> str:
        """Its levels, such as "threads=2,system=sqlite"."""


_Cell = TypeVar("_Cell", bound=Identified)


def choose_cell(wanted: str, cells: Sequence[_Cell]) -> _Cell:
    """Return the cell with the id ``wanted``, or the only cell with all levels in it. Raises InputError."""
    named = [cell for cell in cells if cell.id == wanted]
    fitting = named or [cell for cell in cells if set(wanted.split(",")) <= set(cell.id.split(","))]
    if len(fitting) == 1:
        return fitting[0]
    problem = "several cells fit" if fitting else "there is no such cell"
    raise InputError(f"--cell {wanted}", problem, f"name one of {shown_ids(fitting or cells)}")


def shown_ids(cells: Sequence[Identified]) -> str:
    """Return the ids of the first cells, for a message."""
    return ", ".join(f"`{cell.id}`" for cell in cells[:_SHOWN])
