"""A table of a statement, with what the database's catalog says about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from dbdyno.model.result.reading import JsonObject, objects, part, text, texts

if TYPE_CHECKING:
    from sqlglot import exp

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
# Words that engines reserve but sqlglot knows only as parts of phrases. Quoting a name needlessly does no harm.
_WORDS = frozenset(
    {"ANALYSE", "ASYMMETRIC", "AUTHORIZATION", "BINARY", "BOTH", "CONCURRENTLY", "DEFERRABLE", "FREEZE", "GENERATED"}
    | {"GROUPS", "INDEX", "INITIALLY", "ISNULL", "KEY", "KEYS", "LAG", "LEAD", "LEADING", "NOTNULL", "ONLY", "PLACING"}
    | {"RANK", "SESSION_USER", "SIMILAR", "SYMMETRIC", "SYSTEM", "SYSTEM_USER", "TABLESAMPLE", "TRAILING", "USER"}
    | {"VARIADIC", "VERBOSE"}
)


@dataclass(frozen=True, eq=False)
class CatalogTable:
    """A table that a statement names.

    ``written``: its name in the statement; ``schema``: its schema, if the statement has to name it; ``entry``: its
    entry in the catalog, empty if there is no catalog.
    """

    written: str
    schema: str = ""
    entry: JsonObject = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in the catalog."""
        return text(self.entry, "name") or self.written

    @cached_property
    def types(self) -> dict[str, str]:
        """The declared types of its columns in lower case, by their names in lower case."""
        return {str(column.get("name")).lower(): str(column.get("type") or "").lower() for column in self._columns}

    @cached_property
    def column_names(self) -> frozenset[str] | None:
        """Its columns in lower case; ``None`` if they are unknown."""
        return frozenset(self.types) or None

    def column(self, name: str) -> str:
        """Return a column's name as in the catalog."""
        named = [str(column.get("name")) for column in self._columns]
        return name if name in named else next((each for each in named if each.lower() == name.lower()), name)

    def collation(self, column: str) -> str:
        """Return the collation of a column; empty if unknown."""
        named = (each for each in self._columns if str(each.get("name")).lower() == column.lower())
        return text(part(next(named, {}), "collation"), "name") or ""

    def is_by_bytes(self, column: str) -> bool:
        """Whether a column's strings are known to be ordered by their bytes."""
        named = (each for each in self._columns if str(each.get("name")).lower() == column.lower())
        return part(next(named, {}), "collation").get("by_bytes") is True

    @property
    def indexes(self) -> Sequence[JsonObject]:
        """The entries of its indexes."""
        return objects(self.entry.get("indexes"))

    @property
    def primary_key(self) -> list[str]:
        """The columns of its primary key in lower case."""
        return [each.lower() for each in texts(self.entry.get("primary_key"))]

    @property
    def stored_by_key(self) -> list[str]:
        """The columns of a primary key by which the table itself is stored, so that all indexes end with them."""
        key = self.primary_key
        if self.entry.get("storage_engine") is not None:
            return key if str(self.entry["storage_engine"]).lower() == "innodb" else []
        has_index = any(
            [str(each.get("column")).lower() for each in objects(index.get("keys"))] == key for index in self.indexes
        )
        return [] if has_index else key

    @property
    def _columns(self) -> Sequence[JsonObject]:
        return objects(self.entry.get("columns"))


def find_table(catalog: JsonObject, node: exp.Table, grammar: str) -> CatalogTable | None:
    """Find a statement's table in the catalog; ``None`` if the catalog lists tables, but not this one."""
    name, schema = _folded(node.this, grammar), _folded(node.args.get("db"), grammar)
    if not isinstance(catalog.get("tables"), list):
        return CatalogTable(name, schema)
    entry = find_entry(objects(catalog["tables"]), node, grammar)
    return None if entry is None else CatalogTable(name, schema, entry)


def find_entry(entries: Sequence[JsonObject], node: exp.Table, grammar: str) -> JsonObject | None:
    """Find the table or view that a statement names among entries of the catalog."""
    name, schema = _folded(node.this, grammar), _folded(node.args.get("db"), grammar)
    named = [entry for entry in entries if entry.get("name") == name]
    named = named or [entry for entry in entries if str(entry.get("name")).lower() == name.lower()]
    # A table without a schema is in the search path, perhaps in this schema.
    wanted = [schema, None] if schema else [None]
    return next((each for of in wanted for each in named if (each.get("schema") or None) == of), None)


def _folded(identifier: object, grammar: str) -> str:
    """Return a name as the engine understands it."""
    from sqlglot import exp

    if not isinstance(identifier, exp.Identifier):
        return ""
    return identifier.name.lower() if grammar == "postgres" and not identifier.quoted else identifier.name


def quoted(name: str, grammar: str) -> str:
    """Quote a name if it isn't a plain word or is a keyword of the engine."""
    from sqlglot import exp

    plain = _PLAIN.fullmatch(name) is not None and name.upper() not in _keywords(grammar)
    return exp.to_identifier(name, quoted=not plain).sql(dialect=grammar)


@lru_cache(maxsize=16)
def _keywords(grammar: str) -> frozenset[str]:
    from sqlglot.dialects.dialect import Dialect

    return _WORDS.union(*(each.split() for each in Dialect.get_or_raise(grammar).tokenizer_class.KEYWORDS))
