"""The definition of an experiment for one cell: references are replaced and all tables are validated."""

import math
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from dbdyno.model.experiment.engines import engines_of
from dbdyno.model.experiment.generators import Scalar, Sent
from dbdyno.model.experiment.load import Load, Measure
from dbdyno.model.experiment.sql import DialectName, SqlText
from dbdyno.model.experiment.strict import Count, Name, Strict
from dbdyno.model.experiment.tables import Table
from dbdyno.model.experiment.timed import Timed
from dbdyno.model.experiment.transactions import Transaction
from dbdyno.model.experiment.validation import nearest, wrong
from dbdyno.model.limits import MOST_INTERVALS


def _known_engines(value: object, info: ValidationInfo) -> object:
    engines = engines_of(info)
    for engine in value if isinstance(value, dict) else ():
        if engines is not None and engine not in engines.names:
            raise wrong("unknown engine", nearest(str(engine), engines.names), key=str(engine))
    return value


def _check_timeline(load: Load, interval_ms: int | None) -> None:
    seconds = load.stop.seconds
    if seconds is None or interval_ms is None or seconds * 1000 / interval_ms <= MOST_INTERVALS:
        return
    problem = f"a window of {seconds:g} s would have {seconds * 1000 / interval_ms:.0f} intervals"
    hint = f"give at least {math.ceil(seconds * 1000 / MOST_INTERVALS)}"
    raise wrong(problem, hint, key="measure.interval_ms")


class Definition(Strict):
    """An experiment's definition for one cell. ``system``: settings by engine.

    ``dialect``: the SQL dialect of the statements for all engines, from which they are translated; None if they are
    sent unchanged. ``samples``: values of columns, by ``table.column``, which dbdyno adds before a run.
    """

    data_seed: Count = 1
    dialect: DialectName | None = None
    tables: dict[Name, Table] = Field(default_factory=dict)
    setup: list[SqlText] = Field(default_factory=list)
    system: Annotated[dict[str, dict[str, Scalar]], BeforeValidator(_known_engines)] = Field(default_factory=dict)
    load: Load
    measure: Measure = Measure()
    transactions: list[Transaction] = Field(default_factory=list)
    timed: list[Timed] = Field(default_factory=list)
    samples: dict[Name, Annotated[list[Sent], Field(min_length=1)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _timeline_is_short(self) -> Self:
        _check_timeline(self.load, self.measure.interval_ms)
        return self
