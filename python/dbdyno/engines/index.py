"""Hypothetical indexes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

# PostgreSQL's limit is 63 bytes, MySQL's is 64 characters.
_MAX_NAME_BYTES = 60


@dataclass(frozen=True)
class IndexSupport:
    """The kinds of indexes that an engine supports beyond those on plain columns.

    ``include``: columns that aren't part of the key; ``collations``: a collation per key; ``nulls``: nulls first or
    last; ``clustered``: every index ends with the columns of the primary key; ``only_one_equality``: indexes are only
    used for a single equality condition.
    """

    expressions: bool = False
    partial: bool = False
    include: bool = False
    collations: bool = False
    nulls: bool = False
    clustered: bool = False
    only_one_equality: bool = False


@dataclass(frozen=True)
class IndexKey:
    """A column or an expression of an index.

    ``name``: the column; empty for an expression; ``expression``: its SQL, without the names of tables; ``collation``:
    the collation, if it isn't the column's own; ``nulls``: ``first`` or ``last``, if it isn't the engine's default;
    ``prefix``: the number of characters, if the whole column can't be indexed.
    """

    name: str = ""
    expression: str = ""
    collation: str = ""
    operator_class: str = ""
    descending: bool = False
    nulls: str = ""
    prefix: int | None = None

    @property
    def bare(self) -> str:
        """The column or expression alone."""
        return self.name or self.expression

    @property
    def text(self) -> str:
        """The key in words, without quotes around the name."""
        parts = [self.bare]
        parts += [f"collate {self.collation}"] if self.collation else []
        parts += [self.operator_class] if self.operator_class else []
        parts += ["desc"] if self.descending else []
        parts += [f"nulls {self.nulls}"] if self.nulls else []
        return " ".join(parts)


@dataclass(frozen=True)
class Index:
    """An index that could be created.

    ``table``: its name in the catalog; ``schema``: its schema, if the statement names it; ``sql``: the statement that
    creates it; ``existing``: the name of an index that already serves the same conditions; ``method``: its kind, empty
    for the engine's default; ``include``: columns that are stored, but aren't part of the key; ``where``: the condition
    of a partial index; ``covering``: it has all columns that the statement reads from the table; ``together``: it is
    for one arm of an ``or``, and helps only with indexes for the other arms.
    """

    table: str
    keys: tuple[IndexKey, ...]
    schema: str = ""
    existing: str | None = None
    sql: str = ""
    name: str = ""
    include: tuple[str, ...] = ()
    where: str = ""
    method: str = ""
    covering: bool = False
    together: bool = False

    def is_like(self, other: Index) -> bool:
        """Whether another index differs at most in its name."""
        mine, others = (
            (index.schema, index.table, index.keys, index.include, index.where, index.method) for index in (self, other)
        )
        return mine == others

    @property
    def columns(self) -> tuple[str, ...]:
        """The keys in words: columns or expressions, with collation and order if they are not the default."""
        return tuple(key.text for key in self.keys)


def index_name(table: str, columns: Sequence[str]) -> str:
    """Return a name for a new index of at most 60 bytes, in lower case."""
    words = ("".join(each if each.isalnum() else " " for each in part).split() for part in ("on", table, *columns))
    name = "_".join(word for part in words for word in part).lower()
    if len(name.encode()) <= _MAX_NAME_BYTES:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    kept = name.encode()[: _MAX_NAME_BYTES - len(digest) - 1].decode(errors="ignore")
    return f"{kept.rstrip('_')}_{digest}"
