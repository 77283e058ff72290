"""Checks across the tables of an experiment: references to tables and variables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.model.experiment.check import Check
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.draws import Draw
from dbdyno.model.experiment.expression import AUTOMATIC
from dbdyno.model.experiment.generators import (
    FROM_THE_CLOCK,
    Constant,
    Expression,
    Key,
    Next,
    Now,
    Null,
    RowOf,
    Serial,
    Uuid,
    Variable,
)
from dbdyno.model.experiment.generators import Column as ExistingColumn
from dbdyno.model.experiment.strict import models_in
from dbdyno.model.experiment.tables import ROW_NUMBERS, Column, Table
from dbdyno.model.experiment.timed import Timed
from dbdyno.model.experiment.transactions import (
    AnyStep,
    Chance,
    Copy,
    Execute,
    Repeat,
    Request,
    Set,
    Think,
    When,
)
from dbdyno.model.experiment.validation import Invalid, Location, nearest


def check(definition: Definition) -> Iterator[Invalid]:
    """Yield the validation errors that involve several tables of an experiment."""
    for name, table in definition.tables.items():
        where: Location = ("tables", name)
        for column_name, column in table.columns.items():
            if column.fill is not None:
                inside: Location = (*where, "columns", column_name, "fill")
                yield from _column(column.fill, inside, definition.tables, name, column_name)
        for index, part in enumerate(table.parts):
            for column_name, fill in part.columns.items():
                inside = (*where, "parts", index, "columns", column_name)
                yield from _column(fill, inside, definition.tables, name, column_name)
        if table.per is not None and _drawn_counts(table, definition.tables) > _MAX_DRAWN_COUNTS:
            problem = f"`{table.per}` and its parent have different numbers of rows per row, too"
            yield Invalid((*where, "count"), problem, "give a constant `count` in one of these tables")
        if table.per is not None and table.count is not None:
            yield from _generator(
                table.count, (*where, "count"), definition.tables, Columns.of(definition.tables, table.per)
            )
    seen: dict[str, int] = {}
    for index, transaction in enumerate(definition.transactions):
        if transaction.name in seen:
            yield Invalid(("transactions", index, "name"), f"duplicate name `{transaction.name}`", "choose another")
        seen[transaction.name] = index
        if transaction.include:
            steps = ("transactions", index, "steps")
            yield from _steps(transaction.steps, steps, definition.tables, set())
    yield from _beside(definition)
    yield from _named_twice("check", definition.check)
    yield from _named_twice("timed", definition.timed)
    yield from _settings(definition)
    yield from _measured(definition)
    yield from _own_clients(definition)
    transactions = definition.transactions
    if transactions and not any(transaction.include and transaction.weight for transaction in transactions):
        yield Invalid(("transactions",), "no transaction to run", "include a transaction with a weight above 0")


# The worker knows the parent of a row, and the parent's parent.
_MAX_DRAWN_COUNTS = 2


def _drawn_counts(table: Table, tables: Mapping[str, Table]) -> int:
    """Return how many tables with different numbers of rows per row there are, from a table upwards."""
    drawn = 0
    while table.per is not None and table.children is None:
        drawn, table = drawn + 1, tables[table.per]
    return drawn


@dataclass(frozen=True)
class Columns:
    """The variables of a column: the other columns of the row, and numbers of the row."""

    table: str
    names: frozenset[str]

    @classmethod
    def of(cls, tables: Mapping[str, Table], name: str) -> Self:
        """Return the variables of a table's columns."""
        numbers = ROW_NUMBERS if tables[name].per is not None else ROW_NUMBERS[:1]
        return cls(name, frozenset((*tables[name].columns, *numbers)))


Variables = set[str] | Columns
"""The variables that a generator can use: those that earlier steps set, or those of a column."""


def _column(
    fill: BaseModel, where: Location, tables: Mapping[str, Table], table: str, column: str
) -> Iterator[Invalid]:
    """Yield the errors of a column's generator."""
    errors = list(_generator(fill, where, tables, Columns.of(tables, table)))
    yield from errors
    cycle = () if errors else _cycle(fill, tables[table], (column,))
    if cycle:
        problem = f"the value depends on itself: {' → '.join(f'`{each}`' for each in cycle)}"
        yield Invalid(where, problem, "compute one of these columns from others")


def _cycle(generator: BaseModel, table: Table, trail: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of a row that a generator depends on in a circle; empty if there is none."""
    for name in _used(generator):
        if name == trail[0]:
            return (*trail, name)
        column = table.columns.get(name)
        # A circle that doesn't contain the first column is an error of another column.
        if column is not None and column.fill is not None and name not in trail:
            found = _cycle(column.fill, table, (*trail, name))
            if found:
                return found
    return ()


def _used(generator: BaseModel) -> Iterator[str]:
    """Yield the variables of a generator and its parts."""
    match generator:
        case Variable():
            yield generator.variable
        case Expression():
            yield from generator.expression.variables
    for _, item in _parts(generator):
        yield from _used(item)


def _parts(generator: BaseModel) -> Iterator[tuple[Location, BaseModel]]:
    """Yield the generators inside a generator, each with its place there."""
    for name in type(generator).model_fields:
        value = getattr(generator, name)
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        key = name.rstrip("_")
        for index, item in [(None, value), *items]:
            if isinstance(item, BaseModel):
                yield ((key,) if index is None else (key, index)), item


def _beside(definition: Definition) -> Iterator[Invalid]:
    """Yield the errors of the work beside the clients."""
    stop = definition.load.stop
    names = [transaction.name for transaction in definition.transactions]
    inserted = _numbered([transaction for transaction in definition.transactions if transaction.include])
    for index, beside in enumerate(definition.beside):
        where: Location = ("beside", index)
        if beside.name in names:
            yield Invalid((*where, "name"), f"duplicate name `{beside.name}`", "choose another")
        names.append(beside.name)
        if not beside.include:
            continue
        if stop.seconds is not None and beside.at_s >= stop.seconds:
            key = "every" if beside.at is None else "at"
            problem = f"the window ends after {stop.seconds:g} s, before the first execution"
            yield Invalid((*where, key), problem, "give an earlier time, or a longer window")
        yield from _steps(beside.steps, (*where, "steps"), definition.tables, set())
        for table in sorted(_numbered(beside) & inserted):
            problem = f"both this and the transactions insert `next` rows of `{table}`, and their keys would collide"
            yield Invalid((*where, "steps"), problem, "insert other keys here, such as `{ serial = 1_000_000 }`")


def _numbered(part: Any) -> set[str]:
    """Return the tables of which transactions or their parts insert rows with `next`."""
    return {model.next.rpartition(".")[0] or model.next for model in models_in(part) if isinstance(model, Next)}


def _named_twice(key: str, tables: Sequence[Check | Timed]) -> Iterator[Invalid]:
    names: set[str] = set()
    for index, table in enumerate(tables):
        # A factor may choose between them with `include`.
        if table.include and table.name in names:
            yield Invalid((key, index, "name"), f"duplicate name `{table.name}`", "choose another")
        if table.include:
            names.add(table.name)


def _measured(definition: Definition) -> Iterator[Invalid]:
    names = [transaction.name for transaction in definition.transactions if transaction.include]
    for index, name in enumerate(definition.measure.transactions):
        if name not in names:
            yield Invalid(("measure", "transactions", index), f"no transaction `{name}`", nearest(name, names))
    steps = [model for model in models_in(definition.transactions) if isinstance(model, Execute | Copy | Request)]
    named = [step.name for step in steps if step.name is not None]
    for index, name in enumerate(definition.measure.statements):
        if name not in named:
            hint = nearest(name, named) if named else f'give a step this name: `{{ execute = …, name = "{name}" }}`'
            yield Invalid(("measure", "statements", index), f"no statement `{name}`", hint)


def _own_clients(definition: Definition) -> Iterator[Invalid]:
    """Yield an error if the clients of single transactions and the number of clients don't fit."""
    included = [transaction for transaction in definition.transactions if transaction.include]
    own = sum(transaction.clients or 0 for transaction in included)
    others = [transaction.name for transaction in included if transaction.clients is None]
    clients = definition.load.clients
    if own > clients or (own == clients and others):
        left = f", so no client runs `{others[0]}`" if others and own == clients else ""
        problem = f"{own} clients run a single transaction, but `load.clients` is {clients}{left}"
        yield Invalid(("transactions",), problem, "give more clients in `load`, or fewer in the transactions")
    elif own and own < clients and not others:
        problem = f"{own} clients run a single transaction, and the other {clients - own} have none"
        yield Invalid(("transactions",), problem, f"write `clients = {own}` in `load`, or add a transaction")


def _settings(definition: Definition) -> Iterator[Invalid]:
    for engine, settings in definition.system.items():
        for name, value in settings.items():
            try:
                engine_of(engine).check_setting(name, value)
            except InputError as error:
                yield Invalid(("system", engine, name), error.problem, error.hint)


def _steps(
    steps: Iterable[AnyStep], where: Location, tables: Mapping[str, Table], variables: set[str]
) -> Iterator[Invalid]:
    for index, step in enumerate(steps):
        if step.include:
            yield from _step(step, (*where, index), tables, variables)


def _step(  # noqa: PLR0912 - one per kind
    step: AnyStep, where: Location, tables: Mapping[str, Table], variables: set[str]
) -> Iterator[Invalid]:
    match step:
        case Execute():
            for index, param in enumerate(step.params):
                yield from _generator(param, (*where, "params", index), tables, variables)
            variables.update(step.into)
            yield from _steps(step.each, (*where, "each"), tables, variables)
        case Copy():
            for name, param in step.columns.items():
                yield from _generator(param, (*where, "columns", name), tables, variables)
        case Request():
            for name, param in step.params.items():
                yield from _generator(param, (*where, "params", name), tables, variables)
            for name in dict.fromkeys(step.places):
                if name not in step.params:
                    yield from _value(name, where, variables)
            variables.update(step.into)
        case Set():
            yield from _generator(step.value, (*where, "value"), tables, variables)
            variables.add(step.set)
        case Think():
            yield from _generator(step.think, (*where, "think"), tables, variables)
        case When():
            for name in step.when.variables:
                yield from _variable(name, (*where, "when"), variables)
            yield from _steps(step.then, (*where, "then"), tables, variables)
            yield from _steps(step.otherwise, (*where, "else"), tables, variables)
        case Chance():
            yield from _steps(step.then, (*where, "then"), tables, variables)
        case Repeat():
            if not isinstance(step.repeat, int):
                yield from _generator(step.repeat, (*where, "repeat"), tables, variables)
            yield from _steps(step.steps, (*where, "steps"), tables, variables)


def _variable(name: str, where: Location, variables: Variables) -> Iterator[Invalid]:
    if isinstance(variables, Columns):
        if name not in variables.names:
            problem = f"the table `{variables.table}` has no column `{name}`"
            if name in ROW_NUMBERS:
                hint = 'it needs `per = "TABLE"`, the table whose rows have rows here'
            else:
                hint = nearest(name, sorted(variables.names))
            yield Invalid(where, problem, hint)
    elif name not in variables and name in AUTOMATIC and where[-1] == "variable":
        hint = f'write `{{ expression = ":{name}" }}`'
        yield Invalid(where, f"`{name}` is a variable of expressions only", hint)
    elif name not in variables:
        hint = nearest(name, sorted(variables)) if variables else "set it first, with `set` or `into`"
        yield Invalid(where, f"no earlier step sets the variable `{name}`", hint)


def _value(name: str, where: Location, variables: set[str]) -> Iterator[Invalid]:
    if name not in variables:
        hint = nearest(name, sorted(variables)) if variables else f"give it in `params`, as `{{ {name} = … }}`"
        yield Invalid(where, f"no value for `{{{name}}}`", hint)


def _generator(
    generator: BaseModel, where: Location, tables: Mapping[str, Table], variables: Variables
) -> Iterator[Invalid]:
    in_column = isinstance(variables, Columns)
    match generator:
        case Variable():
            yield from _variable(generator.variable, (*where, "variable"), variables)
        case Expression():
            for name in generator.expression.variables:
                yield from _variable(name, (*where, "expression"), variables)
        case ExistingColumn():
            yield from _existing(generator.column, (*where, "column"), tables, in_column=in_column)
        case RowOf():
            yield from _table(generator.row_of, (*where, "row_of"), tables)
            yield from _latest(generator.draw, where, in_column=in_column)
        case Key():
            yield from _key(generator, where, tables, variables)
            yield from _latest(generator.draw, where, in_column=in_column)
        case Next():
            yield from _next(generator.next, (*where, "next"), tables, in_column=in_column)
    for place, item in _parts(generator):
        yield from _generator(item, (*where, *place), tables, variables)


def _table(name: str, where: Location, tables: Mapping[str, Table]) -> Iterator[Invalid]:
    if name not in tables:
        yield Invalid(where, f"unknown table `{name}`", nearest(name, tables))
    elif not tables[name].rows:
        yield Invalid(where, f"the table `{name}` has no rows to choose from", "set its `rows`")
    elif tables[name].file is not None:
        yield Invalid(where, f"the rows of `{name}` come from a file, so they are unknown", "use a generated table")
    elif tables[name].per is not None and tables[name].children is None:
        problem = f"`{name}` has a different number of rows per row of `{tables[name].per}`, so they can't be drawn"
        yield Invalid(where, problem, f"draw a row of `{tables[name].per}`, or give a constant `count`")


def find_column(text: str, tables: Mapping[str, Table]) -> Column | Invalid:
    """Return the column ``table.column``, or an error with an empty location."""
    table_name, _, column_name = text.rpartition(".")
    if not table_name:
        return Invalid((), f"`{text}` is not a column", "write table and column, such as `user.id`")
    if table_name not in tables:
        return Invalid((), f"unknown table `{table_name}`", nearest(table_name, tables))
    columns = tables[table_name].columns
    if column_name not in columns:
        return Invalid((), f"unknown column `{column_name}` in the table `{table_name}`", nearest(column_name, columns))
    return columns[column_name]


def _key(key: Key, where: Location, tables: Mapping[str, Table], variables: Variables) -> Iterator[Invalid]:
    found = find_column(key.key, tables)
    inside = (*where, "key")
    if isinstance(found, Invalid):
        yield Invalid(inside, found.problem, found.hint)
        return
    table = key.key.rpartition(".")[0]
    of_parent = (
        isinstance(variables, Columns)
        and tables[variables.table].per == table
        and isinstance(key.row, Variable)
        and key.row.variable == "parent"
    )
    if not of_parent:
        yield from _table(table, inside, tables)
    if found.fill is not None and not _is_repeatable(found.fill, tables, (key.key,)):
        problem = f"the values of `{key.key}` are not reproducible: they depend on the time, or on themselves"
        yield Invalid(inside, problem, "refer to a column with another generator")


def _existing(text: str, where: Location, tables: Mapping[str, Table], *, in_column: bool) -> Iterator[Invalid]:
    if in_column:
        yield Invalid(where, "a column can't use values of an existing table", "use `key`")
    elif not isinstance(find_column(text, tables), Invalid):
        yield Invalid(where, f"the experiment creates the table of `{text}` itself", f'write `{{ key = "{text}" }}`')


def _is_repeatable(generator: BaseModel, tables: Mapping[str, Table], trail: tuple[str, ...]) -> bool:
    """Whether a column's values are the same each time. ``trail``: the columns that led here, the last its own."""
    match generator:
        case Now() | Next():
            return False
        case Variable() | Expression():
            table = trail[-1].rpartition(".")[0]
            names = (f"{table}.{name}" for name in _used(generator) if name in tables[table].columns)
            return all(_column_repeats(name, tables, trail) for name in names)
        case Uuid():
            return generator.uuid.version not in FROM_THE_CLOCK
        case Key():
            if not _column_repeats(generator.key, tables, trail):
                return False
    return all(_is_repeatable(item, tables, trail) for _, item in _parts(generator))


def _column_repeats(name: str, tables: Mapping[str, Table], trail: tuple[str, ...]) -> bool:
    if name in trail:
        return False
    column = find_column(name, tables)
    return isinstance(column, Invalid) or column.fill is None or _is_repeatable(column.fill, tables, (*trail, name))


def _next(text: str, where: Location, tables: Mapping[str, Table], *, in_column: bool) -> Iterator[Invalid]:
    found = tables.get(text) or find_column(text, tables)
    if "." not in text and text not in tables:
        found = Invalid((), f"unknown table `{text}`", nearest(text, tables))
    name = text if text in tables else text.rpartition(".")[0]
    if in_column:
        yield Invalid(where, "a column can't use `next`", "use `serial`")
    elif isinstance(found, Invalid):
        yield Invalid(where, found.problem, found.hint)
    elif tables[name].per is not None and tables[name].children is None:
        problem = f"`{name}` has a different number of rows per row of `{tables[name].per}`"
        yield Invalid(where, problem, "give a constant `count`, or compute the new values")
    elif isinstance(found, Column) and not found.autoincrement and not _continues(found, text, tables):
        problem = f"`next` needs a column with other values in each row, but `{text}` doesn't depend on the row"
        yield Invalid(where, problem, "use a `serial`, `uuid` or computed column")


def _continues(column: Column, text: str, tables: Mapping[str, Table]) -> bool:
    """Whether a column has values for further rows."""
    if isinstance(column.fill, Serial | Uuid):
        return True
    is_constant = column.fill is None or isinstance(column.fill, Constant | Null)
    return not is_constant and column.fill is not None and _is_repeatable(column.fill, tables, (text,))


def _latest(draw: Draw, where: Location, *, in_column: bool) -> Iterator[Invalid]:
    if in_column and draw.latest is not None:
        yield Invalid((*where, "draw"), "a column can't draw the latest rows", "use `zipf`")
