"""The definition of an experiment for one cell: references are replaced and all tables are validated."""

import math
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from dbdyno.model.experiment.check import Check
from dbdyno.model.experiment.engines import engines_of
from dbdyno.model.experiment.generators import (
    Constant,
    Gaussian,
    Generator,
    Nullable,
    Pick,
    Scalar,
    Sent,
    Uniform,
    Variable,
    Zipf,
    amount_problem,
)
from dbdyno.model.experiment.load import Load, Measure
from dbdyno.model.experiment.sql import DialectName, SqlText
from dbdyno.model.experiment.strict import Count, Name, Strict
from dbdyno.model.experiment.tables import Column, Table
from dbdyno.model.experiment.timed import Timed
from dbdyno.model.experiment.transactions import Beside, Transaction
from dbdyno.model.experiment.validation import nearest, wrong
from dbdyno.model.limits import MAX_INTERVALS, MAX_ROWS


def _known_engines(value: object, info: ValidationInfo) -> object:
    engines = engines_of(info)
    for engine in value if isinstance(value, dict) else ():
        if engines is not None and engine not in engines.names:
            raise wrong("unknown engine", engines.nearest(str(engine)), key=str(engine))
    return value


def _check_timeline(load: Load, interval_ms: int | None) -> None:
    seconds = load.stop.seconds
    if seconds is None or interval_ms is None or seconds * 1000 / interval_ms <= MAX_INTERVALS:
        return
    problem = f"a window of {seconds:g} s would have {seconds * 1000 / interval_ms:.0f} intervals"
    hint = f"give at least {math.ceil(seconds * 1000 / MAX_INTERVALS)}"
    raise wrong(problem, hint, key="measure.interval_ms")


# The mean of a generator without a known one, such as an expression.
_UNKNOWN_MEAN = 1.0


def mean(generator: Generator, columns: Mapping[str, Column]) -> float:  # noqa: PLR0911 - one per kind
    """Return the mean of a generator of numbers; 1 if it is not known. ``columns``: what its variables refer to."""
    match generator:
        case Constant(constant=int() | float() as value):
            return float(value)
        case Uniform(uniform=(low, high)):
            return (low + high) / 2
        case Gaussian(gaussian=inner):
            return (inner.low + inner.high) / 2
        case Zipf(zipf=inner):
            numbers = range(1, min(inner.high - inner.low + 1, 1000) + 1)
            weights = [float(number**-inner.exponent) for number in numbers]
            return inner.low - 1 + sum(n * w for n, w in zip(numbers, weights, strict=True)) / sum(weights)
        case Pick(pick=pick) if pick.index is None:
            weights = pick.weights or [1.0] * len(pick.values)
            means = [mean(each, columns) for each in pick.values]
            return sum(m * w for m, w in zip(means, weights, strict=True)) / sum(weights)
        case Nullable(nullable=inner):
            return (1 - inner.share) * mean(inner.of, columns)
        case Variable(variable=name):
            fill = columns[name].fill if name in columns else None
            others = {key: column for key, column in columns.items() if key != name}
            return _UNKNOWN_MEAN if fill is None else mean(fill, others)
    return _UNKNOWN_MEAN


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
    beside: list[Beside] = Field(default_factory=list)
    timed: list[Timed] = Field(default_factory=list)
    check: list[Check] = Field(default_factory=list)
    samples: dict[Name, Annotated[list[Sent], Field(min_length=1)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _parents_exist(self) -> Self:
        # A table's parent is before it, so that its rows are known.
        known: dict[str, Table] = {}
        for name, table in self.tables.items():
            known[name] = table
            if table.per is None or table.count is None:
                continue
            parent = known.get(table.per) if table.per != name else None
            if parent is None:
                others = [each for each in known if each != name]
                hint = nearest(table.per, others) if table.per not in self.tables else "move it before this table"
                raise wrong(f"no table `{table.per}` before this one", hint, key=f"tables.{name}.per")
            if parent.file is not None or parent.parts:
                problem = f"the rows of `{table.per}` come from a file or in parts"
                raise wrong(problem, "name a table with `rows` only", key=f"tables.{name}.per")
            unusable = amount_problem(table.count, {key: each.fill for key, each in parent.columns.items()})
            if unusable is not None:
                raise wrong(unusable, "give integers from 0", key=f"tables.{name}.count")
            expected = parent.rows * max(mean(table.count, parent.columns), 0)
            if expected > MAX_ROWS:
                raise wrong(f"about {expected:,.0f} rows", f"give at most {MAX_ROWS:,}", key=f"tables.{name}.count")
            known[name] = table.model_copy(update={"rows": round(expected)})
        # The model is frozen for its users.
        object.__setattr__(self, "tables", known)
        return self

    @model_validator(mode="after")
    def _timeline_is_short(self) -> Self:
        _check_timeline(self.load, self.measure.interval_ms)
        return self
