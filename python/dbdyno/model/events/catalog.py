"""What a database's catalogue says of how its statements can be carried out."""

from dbdyno.model.events.base import Count, Part


class Collation(Part):
    """How texts are compared and ordered.

    ``provider``: where it comes from, as PostgreSQL's ``libc``, ``icu``, ``builtin``; ``by_bytes``: whether texts are
    ordered as their bytes are; ``regards_case``: whether capital letters differ from small ones; null: not known.
    """

    name: str
    provider: str | None
    by_bytes: bool | None
    regards_case: bool | None


class Column(Part):
    """A column, with its type as it was declared; ``collation``: null where it holds no texts, or is not known."""

    name: str
    type: str
    collation: Collation | None


class Key(Part):
    """A column of an index; ``column``: null for an expression; ``prefix``: the characters it is of, if not of all."""

    column: str | None
    collation: Collation | None
    operator_class: str | None
    prefix: Count | None


class Index(Part):
    """An index; ``method``: its kind in small letters; ``partial``: it holds only rows of some kind."""

    name: str
    method: str
    partial: bool
    usable: bool
    keys: list[Key]


class Table(Part):
    """A table; ``storage_engine``: null where an engine has one kind only."""

    name: str
    storage_engine: str | None
    rows: Count | None = None
    """About how many there are; null: the engine does not tell without counting."""
    columns: list[Column]
    indexes: list[Index]


class Catalog(Part):
    """The tables whose names stand in the statements.

    ``data_bytes``: of the whole database's tables and indexes; null where the engine does not tell.
    """

    data_bytes: Count | None
    tables: list[Table]
