"""What an experiment says about one cell: all references put in, all tables validated."""

from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo

from dbdyno.definition.engines import engines_of
from dbdyno.definition.generators import Scalar
from dbdyno.definition.load import Load, Measure
from dbdyno.definition.sql import DialectName, SqlText
from dbdyno.definition.strict import Count, Name, Strict
from dbdyno.definition.tables import Table
from dbdyno.definition.timed import Timed
from dbdyno.definition.transactions import Transaction
from dbdyno.definition.validation import nearest, wrong


def _known_engines(value: object, info: ValidationInfo) -> object:
    engines = engines_of(info)
    for engine in value if isinstance(value, dict) else ():
        if engines is not None and engine not in engines.names:
            raise wrong("unknown engine", nearest(str(engine), engines.names), key=str(engine))
    return value


class Definition(Strict):
    """An experiment at one cell. ``system`` holds the settings of each engine.

    ``dialect``: in which SQL the statements for all engines are written, so that they are translated; without one they
    are sent as they are.
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
