"""Conditions that the data must meet after a trial."""

from typing import Annotated

from pydantic import AfterValidator

from dbdyno.model.experiment.generators import Sent
from dbdyno.model.experiment.sql import SqlText
from dbdyno.model.experiment.strict import Name, Strict
from dbdyno.model.experiment.validation import show, wrong


def _not_boolean(value: Sent) -> Sent:
    if isinstance(value, bool):
        raise wrong(f"{show(value)} is neither a number nor a string", "engines return 1 or 0; write `equals = 1`")
    return value


class Check(Strict):
    """A query that must return a value, in the first column of its first row, on the data after each trial."""

    name: Name
    sql: SqlText
    equals: Annotated[Sent, AfterValidator(_not_boolean)]
    include: bool = True
