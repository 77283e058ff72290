"""Tables of an experiment as the parts of a load plan: definitions, rows, and what comes after."""

from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.engines.dialect import Dialect
from dbdyno.experiment.compile.generators import Columns, column_fill
from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.generators import Generator, Serial
from dbdyno.model.experiment.tables import Column, Table


def definitions(definition: Definition, dialect: Dialect) -> tuple[list[str], list[str]]:
    """Give the statements before the rows (tables, early indexes) and after them (indexes, setup)."""
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


def load_tables(definition: Definition, dialect: Dialect, folder: Path, place: str) -> list[dict[str, Any]]:
    """Say what rows go into the tables; a part of a table is an entry of its own.

    ``folder`` is where relative paths begin. Raises InputError for a file that is not there.
    """
    if not dialect.has_tables:
        return []
    columns = Columns(definition.tables)
    entries: list[dict[str, Any]] = []
    for name, written in definition.tables.items():
        table = written if dialect.counts_up else _counted(written)
        if table.file:
            path = str(_data_file(table.file, folder, f"{place}: tables.{name}.file"))
            most = table.rows + sum(part.rows for part in table.parts)
            entries.append(
                {"name": name, "columns": _columns(columns, dialect, name, table), "rows": most, "file": path}
            )
            continue
        rows = table.rows
        if rows:
            entries.append(
                {"name": name, "columns": _columns(columns, dialect, name, table), "rows": rows, "file": None}
            )
        for index, part in enumerate(table.parts):
            filled = {key: _in_part(each, part.columns.get(key), rows) for key, each in table.columns.items()}
            made = _columns(columns, dialect, name, table.model_copy(update={"columns": filled}), index + 1)
            entries.append({"name": name, "columns": made, "rows": part.rows, "file": None})
            rows += part.rows
    return entries


def _counted(table: Table) -> Table:
    """Give a table in which what the engine would count up is filled."""
    filled = {
        key: column.model_copy(update={"fill": column_fill(column)}) if column.autoincrement else column
        for key, column in table.columns.items()
    }
    return table.model_copy(update={"columns": filled})


def _in_part(column: Column, fill: Generator | None, rows: int) -> Column:
    """Give a column as it is filled in a part that comes after so many rows."""
    if fill is None and isinstance(column.fill, Serial):
        # A serial goes on: a part's rows are counted from 0 again, and a key must not come twice.
        serial = column.fill.serial
        fill = Serial(serial=serial.model_copy(update={"start": serial.start + serial.step * rows}))
    return column if fill is None else column.model_copy(update={"fill": fill})


def _columns(columns: Columns, dialect: Dialect, name: str, table: Table, part: int = 0) -> list[dict[str, Any]]:
    # A column that the engine counts up itself is left out, but a file has a field for each column.
    given = (key for key, column in table.columns.items() if table.file or column.fill or not column.autoincrement)
    return [
        {
            "name": dialect.column_name(table, key),
            "stream": columns.stream(name, key, part),
            "fill": columns.compile(column_fill(table.columns[key])),
        }
        for key in given
    ]


def _data_file(file: str, folder: Path, place: str) -> Path:
    # A built-in experiment's folder is no place for a user's file: one named with `--set` is found from where one is.
    for path in ((folder / file).resolve(), Path(file).resolve()):
        if path.is_file():
            return path
    hint = "give its path, relative to the experiment's own file or to the current directory"
    raise InputError(place, f"there is no file `{file}`", hint)
