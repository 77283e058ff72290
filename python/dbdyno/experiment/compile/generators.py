"""Compile generators of an experiment to generators of a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.base.errors import InputError
from dbdyno.experiment.parameter_values import zipf_weights
from dbdyno.model.experiment import generators as written
from dbdyno.model.experiment.draws import Draw
from dbdyno.model.experiment.tables import ROW_NUMBERS, Column, Table
from dbdyno.model.plan import generators as plan
from dbdyno.model.plan.expression import Call, Constant, Function, Variable

# Streams of columns have lower numbers.
_COUNT_STREAMS = 1 << 32


@dataclass(frozen=True)
class Row:
    """Rows of a table, with the generators of their columns. ``part``: 0 for the rows of the table itself.

    ``first``: the number of rows in front of a part.
    """

    name: str
    table: Table
    part: int = 0
    first: int = 0


def _is_bound(row: Row, name: str) -> bool:
    """Whether the worker needs a generator for a variable of a column."""
    return name != "row" or row.first > 0


@dataclass(frozen=True)
class Columns:
    """Compiles generators. ``tables``: the tables that they may refer to.

    ``samples``: values of columns of existing tables, by ``table.column``. ``shared``: tables whose latest rows are
    drawn, so that all clients number their new rows together. ``numbered``: tables whose new rows are numbered, so
    that new values of all columns continue one count.
    """

    tables: Mapping[str, Table]
    samples: Mapping[str, Sequence[written.Scalar]] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()

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

    def count_stream(self, table: str) -> int:
        """Return the number of the random stream for the number of rows per row of the parent table."""
        return _COUNT_STREAMS + list(self.tables).index(table)

    def fill(self, table: str, column: str) -> plan.Generator:
        """Return the generator of a column. An autoincrement column contains 1, 2, 3 and so on."""
        return self.column(Row(table, self.tables[table]), column)

    def column(self, row: Row, column: str) -> plan.Generator:
        """Return the generator of a column in some rows of a table."""
        return self.compile(column_fill(row.table.columns[column]), row)

    def compile(  # noqa: PLR0911, PLR0912 - one per kind
        self, generator: written.Generator, row: Row | None = None
    ) -> plan.Generator:
        """Return the generator of a plan.

        ``row``: the rows that it is for; None in a transaction. Raises InputError for a column without sampled values.
        """
        match generator:
            case written.Column():
                return self._sampled(generator, row)
            case written.RowOf():
                return self._row(generator.row_of, generator.draw)
            case written.Key():
                table, _, column = generator.key.rpartition(".")
                number = self.compile(generator.row, row) if generator.row else self._row(table, generator.draw)
                of, stream = self.fill(table, column), self.stream(table, column)
                return plan.Reference(of=of, stream=stream, row=number)
            case written.Next():
                return self._next(generator.next)
            case written.Format(format=inner):
                parts = [self.compile(part, row) for part in inner.parts]
                return plan.Format(template=inner.template, parts=parts)
            case written.Json(json_=dict() as members):
                return plan.Object(names=list(members), of=[self.compile(member, row) for member in members.values()])
            case written.Json(json_=list() as values):
                return plan.List(of=[self.compile(value, row) for value in values])
            case written.ListOfValues(list_=inner):
                return plan.List(of=[self.compile(inner.of, row)], count=self.compile(inner.count, row))
            case written.Pick(pick=pick) if pick.constants is None or pick.index is not None:
                index = None if pick.index is None else self.compile(pick.index, row)
                return plan.Choice(
                    of=[self.compile(value, row) for value in pick.values], weights=pick.weights, index=index
                )
            case written.Date(date=of_time):
                return plan.Time(of=self.compile(of_time, row), format="date")
            case written.Timestamp(timestamp=of_time):
                return plan.Time(of=self.compile(of_time, row), format="timestamp")
            case written.Nullable(nullable=nullable):
                return plan.Nullable(share=nullable.share, of=self.compile(nullable.of, row))
            case written.Variable(variable=name) if row is not None:
                return self._of_row(row, name)
            case written.Expression(expression=expression):
                used = [] if row is None else [name for name in expression.variables if _is_bound(row, name)]
                columns = {} if row is None else {name: self._of_row(row, name) for name in used}
                return replace(compile_expression(generator), columns=columns)
        return compile_plain(generator)

    def _of_row(self, row: Row, name: str) -> plan.Generator:
        """Return the value of another column in the same row, or a number of the row."""
        if name == "row":
            return plan.Serial(start=row.first)
        if name in ROW_NUMBERS and row.table.per is not None:
            count = row.table.children
            if count is None:
                return plan.Expression(text=f":{name}", tree=Variable(name=name))
            is_parent = name == "parent"
            function: Function = "divide" if is_parent else "modulo"
            tree = Call(function=function, arguments=[Variable(name="row"), Constant(value=max(count, 1))])
            return plan.Expression(text=f":row {'/' if is_parent else '%'} {count}", tree=tree)
        of, stream = self.column(row, name), self.stream(row.name, name, row.part)
        return plan.Reference(of=of, stream=stream, row=plan.Serial(start=0))

    def _next(self, of: str) -> plan.Generator:
        """Return new values of a column, or new row numbers of a table."""
        table, _, column = of.rpartition(".")
        name = table or column
        counter = name if name in self.numbered else of
        row: plan.Generator = plan.Serial(start=self.tables[name].rows, counter=counter)
        if name in self.shared:
            row = plan.NextKey(space=name, start=self.tables[name].rows)
        if not table:
            return row
        fill = self.fill(table, column)
        if isinstance(fill, plan.Serial | plan.Uuid) and name not in self.shared:
            return _continued(fill, self.tables[table].rows, counter)
        return plan.Reference(of=fill, stream=self.stream(table, column), row=row)

    def _sampled(self, column: written.Column, row: Row | None) -> plan.Generator:
        values = self.samples.get(column.sample)
        if values is None:
            hint = 'give them, as in `samples = { "orders.customer" = [1, 2, 3] }`'
            raise InputError(column.sample, "no values of this column were sampled", hint)
        if column.row is not None:
            return plan.Choice(of=[plan.Constant(value=each) for each in values], index=self.compile(column.row, row))
        if column.draw.zipf is None:
            return plan.Pick(values=list(values))
        # Rows with the same value would make it more frequent.
        distinct = list(dict.fromkeys(values))
        return plan.Pick(values=distinct, weights=zipf_weights(len(distinct), column.draw.zipf.exponent))

    def _row(self, table: str, draw: Draw) -> plan.Generator:
        if draw.latest:
            return plan.LatestKey(space=table, start=self.tables[table].rows, exponent=draw.latest.exponent)
        last = self.tables[table].rows - 1
        if draw.zipf:
            return plan.Zipf(low=0, high=last, exponent=draw.zipf.exponent, scattered=draw.zipf.scattered)
        if draw.gaussian:
            return plan.Gaussian(low=0, high=last, deviations=draw.gaussian.deviations)
        return plan.Uniform(low=0, high=last)


def _continued(fill: plan.Serial | plan.Uuid, rows: int, counter: str) -> plan.Generator:
    """Return a column's generator that continues after ``rows`` rows, with all others that have this counter."""
    match fill:
        case plan.Serial():
            return replace(fill, start=fill.start + fill.step * rows, counter=counter)
        case plan.Uuid(version=plan.SequenceBlocked(sequence_blocked=blocks)):
            version = plan.SequenceBlocked(sequence_blocked=replace(blocks, start=rows))
            return replace(fill, version=version, counter=counter)
    return fill


def column_fill(column: Column) -> written.Generator:
    """Return a column's generator; the default is a serial for autoincrement columns, and null for others."""
    if column.fill is not None:
        return column.fill
    return written.Serial(serial=written.SerialOf()) if column.autoincrement else written.Null(null=True)


def compile_expression(generator: written.Expression) -> plan.Expression:
    """Return the expression of a plan; its text is used in messages."""
    return plan.Expression(text=generator.expression.text, tree=generator.expression.tree)


def compile_plain(generator: written.Generator) -> plan.Generator:  # noqa: PLR0911 - one per kind
    """Return a plan's generator for a generator without references to tables or other generators."""
    match generator:
        case written.Constant(constant=value):
            return plan.Constant(value=value)
        case written.Null():
            return plan.Constant(value=None)
        case written.Variable(variable=name):
            return plan.Variable(name=name)
        case written.Serial(serial=serial):
            return plan.Serial(start=serial.start, step=serial.step)
        case written.Uniform(uniform=(low, high)):
            return _uniform(low, high)
        case written.Zipf(zipf=zipf):
            return plan.Zipf(low=zipf.low, high=zipf.high, exponent=zipf.exponent, scattered=zipf.scattered)
        case written.Gaussian(gaussian=gaussian):
            return plan.Gaussian(low=gaussian.low, high=gaussian.high, deviations=gaussian.deviations)
        case written.Text(text=text):
            return plan.Text(min=text.length[0], max=text.length[1], characters=text.characters)
        case written.Words(words=words):
            return plan.Words(min=words.count[0], max=words.count[1], vocabulary=_vocabulary(words))
        case written.Pick(pick=pick):
            return plan.Pick(values=pick.constants or [], weights=pick.weights)
        case written.Uuid(uuid=uuid):
            return plan.Uuid(version=_uuid_version(uuid), format=uuid.written)
        case written.Now(now=form):
            return plan.Now(format=form)
    raise TypeError(f"unknown generator: {generator!r}")


def _uniform(low: float, high: float) -> plan.Generator:
    if isinstance(low, int) and isinstance(high, int):
        return plan.Uniform(low=low, high=high)
    return plan.UniformReal(low=low, high=high)


def _vocabulary(words: written.WordsOf) -> plan.Vocabulary | None:
    if words.vocabulary is None:
        return None
    return plan.Vocabulary(size=words.vocabulary, exponent=words.exponent, without=words.without)


def _uuid_version(uuid: written.UuidOf) -> plan.UuidVersion:
    match uuid.version:
        case "time_blocked":
            intervals = plan.TimeBlocks(interval_length=uuid.interval_length, interval_count=uuid.interval_count)
            return plan.TimeBlocked(time_blocked=intervals)
        case "sequence_blocked":
            blocks = plan.SequenceBlocks(block_size=uuid.block_size, block_count=uuid.block_count)
            return plan.SequenceBlocked(sequence_blocked=blocks)
        case _:
            return uuid.version
