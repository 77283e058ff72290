"""What an experiment says about one cell: all references put in, all tables validated."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from dbdyno.engines import ENGINES
from dbdyno.experiment.generators import Scalar
from dbdyno.experiment.load import Load, Measure
from dbdyno.experiment.mistakes import nearest, wrong
from dbdyno.experiment.sql import SqlText
from dbdyno.experiment.strict import Count, Name, Strict
from dbdyno.experiment.tables import Table
from dbdyno.experiment.transactions import Transaction


def _known_engines(value: object) -> object:
    for engine in value if isinstance(value, dict) else ():
        if engine not in ENGINES:
            raise wrong("unknown engine", nearest(str(engine), ENGINES), key=str(engine))
    return value


class Definition(Strict):
    """An experiment at one cell. ``system`` holds the settings of each engine."""

    data_seed: Count = 1
    tables: dict[Name, Table] = Field(default_factory=dict)
    setup: list[SqlText] = Field(default_factory=list)
    system: Annotated[dict[str, dict[str, Scalar]], BeforeValidator(_known_engines)] = Field(default_factory=dict)
    load: Load
    measure: Measure = Measure()
    transactions: list[Transaction] = Field(default_factory=list)
