"""Tables, columns, indexes and collations from a database's catalog."""

from pydantic import Field

from dbdyno.model.events.base import Count, Part


class Collation(Part):
    """How strings are compared and ordered.

    ``provider``: its source, such as PostgreSQL's ``libc``, ``icu`` or ``builtin``; ``by_bytes``: whether strings are
    ordered by their bytes; ``regards_case``: whether comparisons are case-sensitive. Null if unknown.
    """

    name: str
    provider: str | None
    by_bytes: bool | None
    regards_case: bool | None


class Column(Part):
    """A column.

    ``type``: the declared type; ``collation``: null if it has no strings, or if unknown; ``generated``: whether the
    engine computes its values.
    """

    name: str
    type: str
    collation: Collation | None
    generated: bool = False


class Key(Part):
    """A column of an index.

    ``column``: null for an expression; ``prefix``: number of indexed characters, if limited; ``descending``: its order.
    """

    column: str | None
    collation: Collation | None
    operator_class: str | None
    prefix: Count | None
    descending: bool = False


class Index(Part):
    """An index.

    ``method``: its kind in lowercase; ``partial``: whether it covers only some of the rows; ``unique``: whether its
    keys are unique.
    """

    name: str
    method: str
    partial: bool
    usable: bool
    unique: bool = False
    keys: list[Key]


class Table(Part):
    """A table.

    ``schema_name``: its schema, null if statements need not name it; ``storage_engine``: null if the engine has only
    one; ``primary_key``: its columns, empty without a primary key.
    """

    name: str
    schema_name: str | None = Field(default=None, alias="schema")
    storage_engine: str | None
    rows: Count | None = None
    """Estimated number of rows; null if the engine would have to count them."""
    columns: list[Column]
    primary_key: list[str] = Field(default_factory=list)
    indexes: list[Index]


class ForeignKey(Part):
    """A foreign key.

    ``schema_name``, ``table``, ``columns``, ``rows``: the referencing table, as in :class:`Table`; ``parent_columns``:
    empty for the parent's primary key; ``on_delete``, ``on_update``: ``cascade``, ``set null``, ``set default``,
    ``restrict`` or ``no action``; ``indexed``: whether an index on the referencing table begins with these columns.
    """

    schema_name: str | None = Field(default=None, alias="schema")
    table: str
    columns: list[str]
    rows: Count | None
    parent: str
    parent_columns: list[str]
    on_delete: str
    on_update: str
    indexed: bool


class View(Part):
    """A view.

    ``schema_name``: as in :class:`Table`; ``definition``: its query, or the statement that created it.
    """

    name: str
    schema_name: str | None = Field(default=None, alias="schema")
    definition: str


class Catalog(Part):
    """The tables that statements name.

    ``data_bytes``: size of all tables and indexes of the database; null if unknown; ``foreign_keys``: those that refer
    to these tables, or to tables whose rows such keys delete or update; ``views``: named by the statements,
    also through other views.
    """

    data_bytes: Count | None
    tables: list[Table]
    foreign_keys: list[ForeignKey] = Field(default_factory=list)
    views: list[View] = Field(default_factory=list)
