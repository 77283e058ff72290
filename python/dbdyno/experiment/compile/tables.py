"""Compile tables of an experiment to a load plan: table definitions, rows, indexes and setup statements."""

from pathlib import Path

from dbdyno.base.errors import InputError
from dbdyno.engines.dialect import Dialect
from dbdyno.experiment.compile.generators import Columns, Row, column_fill
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.generators import Generator, Serial
from dbdyno.model.experiment.tables import Column, Table
from dbdyno.model.plan.tasks import LoadColumn, LoadTable, Per


def definitions(definition: Definition, dialect: Dialect) -> tuple[list[str], list[str]]:
    """Return the statements before loading the rows (tables, early indexes) and after it (indexes, setup)."""
    before: list[str] = []
    after: list[str] = []
    for name, table in definition.tables.items() if dialect.has_tables else ():
        before.append(dialect.create_table(name, table))
        after += dialect.after_rows(name, table)
        for index in table.indexes:
            if index.include:
                (before if index.build == "before" else after).append(dialect.create_index(name, index))
    for sql in definition.setup:
        text = dialect.statement(sql)
        if text is not None:
            after.append(text)
    return before, after


def load_tables(definition: Definition, dialect: Dialect, folder: Path, location: str) -> list[LoadTable]:
    """Return an entry of the load plan per table and per part of a table.

    ``folder``: the base of relative paths. Raises InputError for a missing file.
    """
    if not dialect.has_tables:
        return []
    columns = Columns(definition.tables)
    entries: list[LoadTable] = []
    for name, written in definition.tables.items():
        table = written if dialect.counts_up else _counted(written)
        if table.file:
            path = str(_data_file(table.file, folder, f"{location}: tables.{name}.file"))
            most = table.rows + sum(part.rows for part in table.parts)
            made = _columns(columns, dialect, Row(name, table))
            entries.append(LoadTable(name=name, columns=made, rows=most, file=path))
            continue
        rows = table.rows
        if rows:
            made, per = _columns(columns, dialect, Row(name, table)), _per(columns, name, table)
            entries.append(LoadTable(name=name, columns=made, rows=rows, per=per))
        for index, part in enumerate(table.parts):
            filled = {key: _in_part(column, part.columns.get(key), rows) for key, column in table.columns.items()}
            inside = Row(name, table.model_copy(update={"columns": filled}), index + 1, rows)
            made = _columns(columns, dialect, inside)
            entries.append(LoadTable(name=name, columns=made, rows=part.rows))
            rows += part.rows
    return entries


def _counted(table: Table) -> Table:
    """Return a table with generators for its autoincrement columns."""
    filled = {
        key: column.model_copy(update={"fill": column_fill(column)}) if column.autoincrement else column
        for key, column in table.columns.items()
    }
    return table.model_copy(update={"columns": filled})


def _in_part(column: Column, fill: Generator | None, rows: int) -> Column:
    """Return a column with its generator for a part that follows after ``rows`` rows."""
    if fill is None and isinstance(column.fill, Serial):
        # Continue a serial: a part's rows are counted from 0 again, and keys must be unique.
        serial = column.fill.serial
        fill = Serial(serial=serial.model_copy(update={"start": serial.start + serial.step * rows}))
    return column if fill is None else column.model_copy(update={"fill": fill})


def _per(columns: Columns, name: str, table: Table) -> Per | None:
    """Return how many rows each row of the parent table has, if there is a parent."""
    if table.per is None or table.count is None:
        return None
    parent = columns.tables[table.per]
    return Per(
        parents=parent.rows,
        above=_per(columns, table.per, parent) if parent.children is None else None,
        count=columns.compile(table.count, Row(table.per, parent)),
        stream=columns.count_stream(name),
    )


def _columns(columns: Columns, dialect: Dialect, row: Row) -> list[LoadColumn]:
    table = row.table
    # Omit columns that the engine increments itself, unless a file contains a field per column.
    given = (key for key, column in table.columns.items() if table.file or column.fill or not column.autoincrement)
    return [
        LoadColumn(
            name=dialect.column_name(table, key),
            stream=columns.stream(row.name, key, row.part),
            fill=columns.column(row, key),
        )
        for key in given
    ]


def _data_file(file: str, folder: Path, location: str) -> Path:
    # Users can't put files into the directory of built-in experiments, so also try the current directory (`--set`).
    for path in ((folder / file).resolve(), Path(file).resolve()):
        if path.is_file():
            return path
    hint = "give its path, relative to the experiment file or to the current directory"
    raise InputError(location, f"no such file `{file}`", hint)
