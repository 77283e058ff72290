"""Statements that are timed on the data that a trial leaves."""

from pydantic import Field

from dbdyno.model.experiment.sql import SqlText
from dbdyno.model.experiment.strict import Name, Strict


class Timed(Strict):
    """A statement that is run and timed when a trial, or the last window at a size, is over; ``undo`` follows it.

    ``undo``: statements that bring the data back, and are not part of the time.
    """

    name: Name
    run: SqlText
    undo: list[SqlText] = Field(default_factory=list)
    include: bool = True
