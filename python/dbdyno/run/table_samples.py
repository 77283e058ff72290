"""Read the statistics of tables from a database: their keys and indexes, and a sample of their rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.engines import engine_of
from dbdyno.engines.catalog_table import quoted
from dbdyno.experiment.distil.statistics import (
    SHOWN_CHARACTERS,
    Counts,
    Declared,
    IndexStatistics,
    TableStatistics,
    column_statistics,
    declared_type,
)
from dbdyno.model.events.catalog import Catalog, Collation, Index, Key, Table
from dbdyno.run.column_samples import column_keys

_MOST_ROWS = 4000
# Functions take at most 100 arguments in PostgreSQL.
_MOST_ARGUMENTS = 90
# In larger tables, the number of different values is estimated from the sample.
_MOST_COUNTED = 100_000
_STRINGS = ("text", "json", "uuid")


@dataclass(frozen=True)
class TableReader:
    """Reads tables. ``answer``: runs a query for one value; ``catalog``: returns the catalog's entries of tables."""

    answer: Callable[[str], str | None]
    engine: str
    catalog: Callable[[Sequence[str]], Catalog]

    def read(self, names: Sequence[str]) -> list[TableStatistics]:
        """Return the statistics of tables, named as in the catalog, and of their parents by foreign keys.

        Raises DbdynoError.
        """
        # SQLite's foreign keys may write names in another case.
        found: dict[str, TableStatistics] = {}
        wanted = {name.lower(): name for name in names}
        while wanted:
            for table in self.catalog(sorted(wanted.values())).tables:
                if table.schema_name is None and table.name.lower() in wanted:
                    found[table.name.lower()] = self._table(table)
            parents = [column.parent[0] for each in found.values() for column in each.columns if column.parent]
            missing = found.keys() | wanted.keys()
            wanted = {name.lower(): name for name in parents if name.lower() not in missing}
        return [_with_parents(each, found) for each in found.values()]

    def _table(self, table: Table) -> TableStatistics:
        left_out: list[str] = []
        columns = list(self._declared(table, left_out))
        indexes = list(self._indexes(table, left_out))
        rows, values = self._sample(table.name, columns)
        distinct = self._distinct(table.name, columns) if rows <= _MOST_COUNTED else {}
        at = [[each.name for each in columns].index(name) for name in table.primary_key]
        keys = [tuple(_orderable(row[index]) for index in at) for row in values]
        described = []
        for index, column in enumerate(columns):
            counts = Counts(rows, distinct.get(column.name), self._ends(table.name, column))
            described.append(column_statistics(column, [row[index] for row in values], keys, counts))
        return TableStatistics(table.name, rows, described, table.primary_key, indexes, left_out)

    def _declared(self, table: Table, left_out: list[str]) -> Iterator[Declared]:
        grammar = str(engine_of(self.engine).grammar)
        for column in table.columns:
            kind, type_, is_same = declared_type(column.type, grammar)
            keys = column_keys(self.answer, self.engine, table.name, column.name) or {}
            parent = keys.get("foreign")
            own = [table.primary_key, *([key.column for key in each.keys] for each in table.indexes if _is_key(each))]
            if parent and parent[2] > 1:
                left_out.append(f"the foreign key of {column.name}, which has several columns.")
                parent = None
            if not is_same:
                # The values of an enumeration are in parentheses.
                declared = column.type.partition("(")[0].strip()
                left_out.append(f"the type {declared} of {column.name}, which is {type_} here.")
            if column.generated:
                left_out.append(f"how {column.name} is computed.")
            refers_to = (parent[0], parent[1]) if parent else None
            yield Declared(column.name, kind, type_, [column.name] in own, refers_to)

    def _indexes(self, table: Table, left_out: list[str]) -> Iterator[IndexStatistics]:
        for index in table.indexes:
            names = [each.column for each in index.keys]
            if not index.usable or (index.unique and names == table.primary_key and not index.partial):
                continue
            problem = _problem(index)
            if problem:
                left_out.append(f"the index {index.name}, {problem}.")
                continue
            columns = [str(each) for each in names]
            name = "" if index.name.startswith("sqlite_autoindex_") else index.name
            own = {each.name: each.collation for each in table.columns}
            options = {_option(each, own.get(str(each.column))) for each in index.keys}
            option = options.pop() if len(options) == 1 else ""
            if options:
                left_out.append(f"how the columns of the index {index.name} differ in order, collation or class.")
            made = {self.engine: option} if option else {}
            yield IndexStatistics(name, columns, index.unique, index.keys[0].prefix, made)

    def _sample(self, table: str, columns: Sequence[Declared]) -> tuple[int, list[list[Any]]]:
        """Return the number of rows, and the values of some."""
        engine = engine_of(self.engine)
        name = quoted(table, str(engine.grammar))
        rows = int(self.answer(f"select count(*) from {name}") or 0)  # noqa: S608
        parts = [self._value(each) for each in columns]
        groups = [parts[at : at + _MOST_ARGUMENTS] for at in range(0, len(parts), _MOST_ARGUMENTS)]
        arrays = [f"{engine.row_as_json}({', '.join(each)})" for each in groups]
        question = engine.sample(name, f"{engine.row_as_json}({', '.join(arrays)})", _MOST_ROWS)
        if question is None or engine.row_as_json is None:
            raise InputError("--synthetic", f"dbdyno can't sample tables of {engine.title}", "leave it out")
        found = json.loads(self.answer(question) or "[]") if rows else []
        decoded = [json.loads(each) if isinstance(each, str) else each for each in found]
        return rows, [[value for group in row for value in group] for row in decoded]

    def _distinct(self, table: str, columns: Sequence[Declared]) -> dict[str, int]:
        """Count the different values of columns."""
        engine = engine_of(self.engine)
        counted = [each for each in columns if not each.unique and each.kind not in ("binary", "json")]
        found = {}
        for each in counted:
            value = self._text(each) if each.kind in _STRINGS else quoted(each.name, str(engine.grammar))
            question = f"select count(distinct {value}) from {quoted(table, str(engine.grammar))}"  # noqa: S608
            found[each.name] = int(self.answer(question) or 0)
        return found

    def _text(self, column: Declared) -> str:
        from sqlglot import exp

        grammar = engine_of(self.engine).grammar
        name = quoted(column.name, str(grammar))
        return exp.cast(exp.to_identifier(column.name, quoted=name != column.name), "text").sql(grammar)

    def _value(self, column: Declared) -> str:
        """Return SQL for a column's value, or for the beginning and the length of a long one."""
        engine = engine_of(self.engine)
        name = quoted(column.name, str(engine.grammar))
        binary = f"{engine.row_as_json}('', length({name}))"
        if column.kind == "binary":
            return binary
        if column.kind is None:
            # Only SQLite has columns without a type, and values of any type in them.
            return f"case when typeof({name}) = 'blob' then {binary} else {name} end"
        if column.kind in _STRINGS:
            text = self._text(column)
            return f"{engine.row_as_json}(substr({text}, 1, {SHOWN_CHARACTERS}), length({text}))"
        return name

    def _ends(self, table: str, column: Declared) -> tuple[int, int] | None:
        """Return the exact range of an integer key."""
        if column.kind != "integer" or not (column.unique or column.parent):
            return None
        grammar = str(engine_of(self.engine).grammar)
        name, of = quoted(column.name, grammar), quoted(table, grammar)
        ends = [self.answer(f"select {end}({name}) from {of}") for end in ("min", "max")]  # noqa: S608
        try:
            return int(ends[0] or ""), int(ends[1] or "")
        except ValueError:
            return None


def _with_parents(table: TableStatistics, found: Mapping[str, TableStatistics]) -> TableStatistics:
    """Name parents as they are named themselves, and leave out unknown ones."""
    columns = []
    for column in table.columns:
        parent = found.get(column.parent[0].lower()) if column.parent is not None else None
        of = [] if parent is None else [each.name for each in parent.columns]
        key = [name for name in of if column.parent is not None and name.lower() == column.parent[1].lower()]
        columns.append(replace(column, parent=(parent.name, key[0]) if parent is not None and key else None))
    return replace(table, columns=columns)


def _orderable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _is_key(index: Index) -> bool:
    return index.unique and index.usable and not index.partial


def _problem(index: Index) -> str:
    """Return why an experiment can't have an index; empty if it can."""
    if index.partial:
        return "which is partial"
    if any(each.column is None for each in index.keys):
        return "which has an expression"
    return "" if index.method == "btree" else f"a {index.method} index"


def _option(key: Key, own: Collation | None) -> str:
    """Return what follows a column of an index. ``own``: the column's collation."""
    words = []
    if key.collation is not None and own is not None and key.collation.name != own.name:
        words.append(f"collate {key.collation.name}")
    if key.operator_class is not None and key.operator_class.endswith("_pattern_ops"):
        words.append(key.operator_class)
    return " ".join([*words, "desc"] if key.descending else words)
