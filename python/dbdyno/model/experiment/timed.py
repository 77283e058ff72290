"""Statements that are timed after a trial, on its data."""

from pydantic import Field

from dbdyno.model.experiment.sql import SqlText
from dbdyno.model.experiment.strict import Name, Strict


class Timed(Strict):
    """A statement that is timed after a trial, or after the last window at a size of a growing table.

    ``undo``: statements that restore the data afterwards, without being timed.
    """

    name: Name
    run: SqlText
    undo: list[SqlText] = Field(default_factory=list)
    include: bool = True
