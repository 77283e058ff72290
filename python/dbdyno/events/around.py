"""What dbdyno keeps around a trial of what workers said before and after it."""

from dbdyno.events.accounting import Accounting, Work
from dbdyno.events.answers import LoadedStep
from dbdyno.events.base import Count, Part


class Loading(Part):
    """Loading the data that a trial began with: when (``at``), the steps, and the ``names`` of the tables."""

    at: str
    tables: list[LoadedStep]
    names: list[str]


class Counting(Part):
    """Instructions of the same work, counted with one client: its thread's within the window, and what was done."""

    instructions: Count
    accounting: Accounting
    work: Work
