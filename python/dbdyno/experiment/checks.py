"""Checks across the tables of an experiment: references to tables, variables, and unfinished transactions."""

from collections.abc import Iterable, Iterator, Mapping

from pydantic import BaseModel

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.generators import (
    FROM_THE_CLOCK,
    Expression,
    Key,
    Next,
    Now,
    RowOf,
    Serial,
    Uuid,
    Variable,
)
from dbdyno.model.experiment.generators import Column as ExistingColumn
from dbdyno.model.experiment.tables import Column, Table
from dbdyno.model.experiment.transactions import (
    AnyStep,
    Begin,
    Chance,
    Commit,
    Execute,
    Repeat,
    Request,
    Rollback,
    Set,
    Think,
    When,
)
from dbdyno.model.experiment.validation import Invalid, Location, nearest


def check(definition: Definition) -> Iterator[Invalid]:
    """Yield the validation errors that involve several tables of an experiment."""
    for name, table in definition.tables.items():
        where: Location = ("tables", name, "columns")
        for column_name, column in table.columns.items():
            if column.fill is not None:
                yield from _generator(column.fill, (*where, column_name, "fill"), definition.tables, None)
        for index, part in enumerate(table.parts):
            for column_name, fill in part.columns.items():
                inside = ("tables", name, "parts", index, "columns", column_name)
                yield from _generator(fill, inside, definition.tables, None)
    seen: dict[str, int] = {}
    for index, transaction in enumerate(definition.transactions):
        if transaction.name in seen:
            yield Invalid(("transactions", index, "name"), f"duplicate name `{transaction.name}`", "choose another")
        seen[transaction.name] = index
        if transaction.include:
            steps = ("transactions", index, "steps")
            yield from _steps(transaction.steps, steps, definition.tables, set())
            verbs: set[type] = {type(step) for step in _all_steps(transaction.steps)}
            if Begin in verbs and Commit not in verbs and Rollback not in verbs:
                yield Invalid(steps, "the transaction is begun, but not ended", "add `{ commit = true }`")
    yield from _settings(definition)
    transactions = definition.transactions
    if transactions and not any(transaction.include and transaction.weight for transaction in transactions):
        yield Invalid(("transactions",), "no transaction to run", "include a transaction with a weight above 0")


def _settings(definition: Definition) -> Iterator[Invalid]:
    for engine, settings in definition.system.items():
        for name, value in settings.items():
            try:
                engine_of(engine).check_setting(name, value)
            except InputError as error:
                yield Invalid(("system", engine, name), error.problem, error.hint)


def _all_steps(steps: Iterable[AnyStep]) -> Iterator[AnyStep]:
    for step in steps:
        if step.include:
            yield step
            for nested in (getattr(step, name, []) for name in ("then", "otherwise", "steps")):
                yield from _all_steps(nested)


def _steps(
    steps: Iterable[AnyStep], where: Location, tables: Mapping[str, Table], variables: set[str]
) -> Iterator[Invalid]:
    for index, step in enumerate(steps):
        if step.include:
            yield from _step(step, (*where, index), tables, variables)


def _step(step: AnyStep, where: Location, tables: Mapping[str, Table], variables: set[str]) -> Iterator[Invalid]:
    match step:
        case Execute():
            for index, param in enumerate(step.params):
                yield from _generator(param, (*where, "params", index), tables, variables)
            variables.update(step.into)
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
            yield from _steps(step.steps, (*where, "steps"), tables, variables)


def _variable(name: str, where: Location, variables: set[str] | None) -> Iterator[Invalid]:
    if variables is None:
        yield Invalid(where, "a column can't use a variable", "variables exist in transactions only")
    elif name not in variables:
        hint = nearest(name, sorted(variables)) if variables else "set it first, with `set` or `into`"
        yield Invalid(where, f"no earlier step sets the variable `{name}`", hint)


def _value(name: str, where: Location, variables: set[str]) -> Iterator[Invalid]:
    if name not in variables:
        hint = nearest(name, sorted(variables)) if variables else f"give it in `params`, as `{{ {name} = … }}`"
        yield Invalid(where, f"no value for `{{{name}}}`", hint)


def _expression(generator: Expression, where: Location, variables: set[str] | None) -> Iterator[Invalid]:
    if variables is None:
        yield Invalid(where, "a column can't use an expression", "expressions are allowed in transactions only")
        return
    for name in generator.expression.variables:
        yield from _variable(name, where, variables)


def _generator(
    generator: BaseModel, where: Location, tables: Mapping[str, Table], variables: set[str] | None
) -> Iterator[Invalid]:
    match generator:
        case Variable():
            yield from _variable(generator.variable, (*where, "variable"), variables)
        case Expression():
            yield from _expression(generator, (*where, "expression"), variables)
        case ExistingColumn():
            yield from _existing(generator.column, (*where, "column"), tables, in_column=variables is None)
        case RowOf():
            yield from _table(generator.row_of, (*where, "row_of"), tables)
        case Key():
            yield from _key(generator, where, tables)
        case Next():
            yield from _next(generator.next, (*where, "next"), tables, in_column=variables is None)
    for name in type(generator).model_fields:
        value = getattr(generator, name)
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, BaseModel):
                inside = (*where, name, index) if isinstance(value, list) else (*where, name)
                if isinstance(item, Expression):
                    hint = "assign it to a variable with `set`, and use the variable"
                    yield Invalid(inside, "an expression can't be part of another generator", hint)
                yield from _generator(item, inside, tables, variables)


def _table(name: str, where: Location, tables: Mapping[str, Table]) -> Iterator[Invalid]:
    if name not in tables:
        yield Invalid(where, f"unknown table `{name}`", nearest(name, tables))
    elif not tables[name].rows:
        yield Invalid(where, f"the table `{name}` has no rows to choose from", "set its `rows`")
    elif tables[name].file is not None:
        yield Invalid(where, f"the rows of `{name}` come from a file, so they are unknown", "use a generated table")


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


def _key(key: Key, where: Location, tables: Mapping[str, Table]) -> Iterator[Invalid]:
    found = find_column(key.key, tables)
    inside = (*where, "key")
    if isinstance(found, Invalid):
        yield Invalid(inside, found.problem, found.hint)
        return
    yield from _table(key.key.rpartition(".")[0], inside, tables)
    if found.fill is not None and not _is_repeatable(found.fill, tables, (key.key,)):
        problem = f"the values of `{key.key}` are not reproducible: they depend on the time, or on themselves"
        yield Invalid(inside, problem, "refer to a column with another generator")


def _existing(text: str, where: Location, tables: Mapping[str, Table], *, in_column: bool) -> Iterator[Invalid]:
    if in_column:
        yield Invalid(where, "a column can't use values of an existing table", "use `key`")
    elif not isinstance(find_column(text, tables), Invalid):
        yield Invalid(where, f"the experiment creates the table of `{text}` itself", f'write `{{ key = "{text}" }}`')


def _is_repeatable(generator: BaseModel, tables: Mapping[str, Table], trail: tuple[str, ...]) -> bool:
    match generator:
        case Now() | Variable() | Next():
            return False
        case Uuid():
            return generator.uuid.version not in FROM_THE_CLOCK
        case Key():
            found = find_column(generator.key, tables)
            if generator.key in trail:
                return False
            if isinstance(found, Column) and found.fill is not None:
                return _is_repeatable(found.fill, tables, (*trail, generator.key))
    values = (getattr(generator, name) for name in type(generator).model_fields)
    nested = (item for value in values for item in (value if isinstance(value, list) else [value]))
    return all(_is_repeatable(item, tables, trail) for item in nested if isinstance(item, BaseModel))


def _next(text: str, where: Location, tables: Mapping[str, Table], *, in_column: bool) -> Iterator[Invalid]:
    found = find_column(text, tables)
    if in_column:
        yield Invalid(where, "a column can't use `next`", "use `serial`")
    elif isinstance(found, Invalid):
        yield Invalid(where, found.problem, found.hint)
    elif not isinstance(found.fill, Serial | Uuid) and not found.autoincrement:
        problem = f"`next` needs a `serial` or `uuid` column, but `{text}` has another generator"
        yield Invalid(where, problem, "use that generator instead")
