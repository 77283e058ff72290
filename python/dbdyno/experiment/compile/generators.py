"""Compile generators of an experiment to generators of a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.experiment.parameter_values import zipf_weights
from dbdyno.model.experiment import generators as written
from dbdyno.model.experiment.draws import Draw
from dbdyno.model.experiment.tables import Column, Table

PlanGenerator = dict[str, Any]


@dataclass(frozen=True)
class Columns:
    """Compiles generators. ``tables``: the tables that they may refer to.

    ``samples``: values of columns of existing tables, by ``table.column``.
    """

    tables: Mapping[str, Table]
    samples: Mapping[str, Sequence[written.Scalar]] = field(default_factory=dict)

    def stream(self, table: str, column: str, part: int = 0) -> int:
        """Return the number of a column's random stream, unique in the experiment, from 1.

        ``part``: 0 for the rows of the table itself, from 1 for its parts. Raises KeyError for an unknown table.
        """
        number = 1
        for name, each in self.tables.items():
            if name == table:
                return number + part * len(each.columns) + list(each.columns).index(column)
            number += len(each.columns) * (1 + len(each.parts))
        raise KeyError(table)

    def fill(self, table: str, column: str) -> PlanGenerator:
        """Return the generator of a column. An autoincrement column contains 1, 2, 3 and so on."""
        return self.compile(column_fill(self.tables[table].columns[column]))

    def compile(self, generator: written.Generator) -> PlanGenerator:  # noqa: PLR0911 - one per kind
        """Return a generator in the form of a plan. Raises InputError for a column without sampled values."""
        match generator:
            case written.Column():
                return self._sampled(generator)
            case written.RowOf():
                return self._row(generator.row_of, generator.draw)
            case written.Key():
                table, _, column = generator.key.rpartition(".")
                row = self.compile(generator.row) if generator.row else self._row(table, generator.draw)
                of, stream = self.fill(table, column), self.stream(table, column)
                return {"kind": "reference", "of": of, "stream": stream, "row": row}
            case written.Next():
                table, _, column = generator.next.rpartition(".")
                return _continued(self.fill(table, column), self.tables[table].rows)
            case written.Format(format=inner):
                parts = [self.compile(part) for part in inner.parts]
                return {"kind": "format", "template": inner.template, "parts": parts}
            case written.Nullable(nullable=nullable):
                return {"kind": "nullable", "share": nullable.share, "of": self.compile(nullable.of)}
            case written.Expression():
                return compile_expression(generator)
        return compile_plain(generator)

    def _sampled(self, column: written.Column) -> PlanGenerator:
        values = self.samples.get(column.column)
        if values is None:
            hint = 'give them, as in `samples = { "orders.customer" = [1, 2, 3] }`'
            raise InputError(column.column, "no values of this column were sampled", hint)
        if column.draw.zipf is None:
            return {"kind": "pick", "values": list(values)}
        # Rows with the same value would make it more frequent.
        distinct = list(dict.fromkeys(values))
        return {"kind": "pick", "values": distinct, "weights": zipf_weights(len(distinct), column.draw.zipf.exponent)}

    def _row(self, table: str, draw: Draw) -> PlanGenerator:
        ends = {"low": 0, "high": self.tables[table].rows - 1}
        if draw.zipf:
            return {"kind": "zipf", **ends, "exponent": draw.zipf.exponent, "scattered": draw.zipf.scattered}
        if draw.gaussian:
            return {"kind": "gaussian", **ends, "deviations": draw.gaussian.deviations}
        return {"kind": "uniform", **ends}


def _continued(fill: PlanGenerator, rows: int) -> PlanGenerator:
    """Return a column's generator that continues after ``rows`` rows."""
    if fill["kind"] == "serial":
        return fill | {"start": fill["start"] + fill["step"] * rows}
    match fill["version"]:
        case {"sequence_blocked": lengths}:
            return fill | {"version": {"sequence_blocked": lengths | {"start": rows}}}
    return fill


def column_fill(column: Column) -> written.Generator:
    """Return a column's generator; the default is a serial for autoincrement columns, and null for others."""
    if column.fill is not None:
        return column.fill
    return written.Serial(serial=written.SerialOf()) if column.autoincrement else written.Null(null=True)


def compile_expression(generator: written.Expression) -> PlanGenerator:
    """Return an expression in the form of a plan; its text is used in messages."""
    return {"kind": "expression", "text": generator.expression.text, "tree": generator.expression.tree}


def compile_plain(generator: written.Generator) -> PlanGenerator:  # noqa: PLR0911 - one per kind
    """Return a generator without references to tables or other generators in the form of a plan."""
    match generator:
        case written.Constant(constant=value):
            return {"kind": "constant", "value": value}
        case written.Null():
            return {"kind": "constant", "value": None}
        case written.Variable(variable=name):
            return {"kind": "variable", "name": name}
        case written.Serial(serial=serial):
            return {"kind": "serial", "start": serial.start, "step": serial.step}
        case written.Uniform(uniform=(low, high)):
            whole = isinstance(low, int) and isinstance(high, int)
            return {"kind": "uniform" if whole else "uniform_real", "low": low, "high": high}
        case written.Zipf(zipf=zipf):
            return {"kind": "zipf", **zipf.model_dump()}
        case written.Gaussian(gaussian=gaussian):
            return {"kind": "gaussian", **gaussian.model_dump()}
        case written.Text(text=(low, high)):
            return {"kind": "text", "min": low, "max": high}
        case written.Words(words=words):
            return {"kind": "words", "min": words.count[0], "max": words.count[1]} | _vocabulary(words)
        case written.Pick(pick=pick):
            return {"kind": "pick", **pick.model_dump(exclude_none=True)}
        case written.Uuid(uuid=uuid):
            return {"kind": "uuid", "version": _uuid_version(uuid), "format": uuid.written}
        case written.Now(now=form):
            return {"kind": "now", "format": form}
    raise TypeError(f"unknown generator: {generator!r}")


def _vocabulary(words: written.WordsOf) -> PlanGenerator:
    if words.vocabulary is None:
        return {}
    return {"vocabulary": {"size": words.vocabulary, "exponent": words.exponent, "without": words.without}}


def _uuid_version(uuid: written.UuidOf) -> str | dict[str, dict[str, int]]:
    match uuid.version:
        case "time_blocked":
            lengths = {"interval_length": uuid.interval_length, "interval_count": uuid.interval_count}
        case "sequence_blocked":
            lengths = {"block_size": uuid.block_size, "block_count": uuid.block_count}
        case _:
            return uuid.version
    return {uuid.version: lengths}
