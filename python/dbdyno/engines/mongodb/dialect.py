"""MongoDB's commands, and how tables become collections of documents."""

import json
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.base.text import shortened
from dbdyno.model.experiment.sql import ANY, Sql
from dbdyno.model.experiment.tables import Column, Index, Table
from dbdyno.model.plan.steps import IsolationLevel

# The name of a document's key field.
KEY = "_id"


class MongodbDialect:
    """MongoDB's dialect: definitions and statements are database commands in JSON.

    A table becomes a collection, and a single-column primary key becomes the documents' ``_id``. Other properties of
    columns, except uniqueness, are ignored.
    """

    engine = "mongodb"
    counts_up = False
    has_transactions = False
    most_parameters = 0
    copies = False
    isolation_levels: tuple[IsolationLevel, ...] = ()
    has_tables = True
    has_requests = False

    def __init__(self, tables: dict[str, Table], location: str) -> None:
        """``tables``: the experiment's tables; ``location``: its file, for errors."""
        self._tables = tables
        self._location = location

    def quote(self, name: str) -> str:
        """Return a name as a JSON string."""
        return json.dumps(name, ensure_ascii=False)

    def column_type(self, column: Column) -> str:
        """Return an empty string, because fields have the types of their values."""
        return ""

    def column_name(self, table: Table, column: str) -> str:
        """Return the name of a column's field."""
        key = table.primary_key or [name for name, each in table.columns.items() if each.primary_key]
        return KEY if key == [column] else column

    def create_table(self, name: str, table: Table) -> str:
        """Return the command that creates a collection, with its options. Raises InputError if they aren't JSON."""
        options: dict[str, Any] = {}
        if self.engine in table.options:
            try:
                options = json.loads(table.options[self.engine])
            except ValueError:
                options = {}
            if not isinstance(options, dict) or not options:
                location = f"{self._location}: tables.{name}.options.{self.engine}"
                raise InputError(location, "not a collection's options", 'write JSON, e.g. `{"capped": true}`')
        return _text({"create": name, **options})

    def create_index(self, table: str, index: Index) -> str:
        """Return the command that creates an index. Prefix lengths are ignored."""
        return self._index(table, index.columns, index.name, unique=index.unique)

    def after_rows(self, name: str, table: Table) -> list[str]:
        """Return the commands that create unique indexes, except for the key."""
        keys = [[column] for column, each in table.columns.items() if each.unique and not each.primary_key]
        if len(table.primary_key) > 1:
            keys.insert(0, table.primary_key)
        return [self._index(name, key, None, unique=True) for key in keys]

    def _index(self, table: str, columns: list[str], name: str | None, *, unique: bool) -> str:
        fields = [self.column_name(self._tables[table], column) for column in columns]
        index: dict[str, Any] = {"key": dict.fromkeys(fields, 1), "name": name or "_".join([table, *fields])}
        if unique:
            index["unique"] = True
        return _text({"createIndexes": table, "indexes": [index]})

    def statement(self, sql: Sql) -> str | None:
        """Return the command for MongoDB. Raises InputError for a statement that only exists as SQL."""
        texts = dict(sql.texts)
        own = texts.get(self.engine)
        if own is None and ANY in texts:
            short = shortened(texts[ANY], 60)
            hint = f"give it as `{{ any = …, {self.engine} = … }}` with a command in JSON"
            raise InputError(self._location, f"`{short}` cannot be written for {self.engine}: it is SQL", hint)
        return own


def _text(command: dict[str, Any]) -> str:
    return json.dumps(command, ensure_ascii=False)
