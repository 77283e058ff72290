"""Existing indexes that serve the same conditions as a new one would."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from dbdyno.engines.catalog_table import CatalogTable
from dbdyno.engines.index import IndexKey, IndexSupport
from dbdyno.engines.index_conditions import Grammar
from dbdyno.model.result.reading import JsonObject, objects, part, text

# Kinds of indexes that serve equality, ranges and sort orders.
_ORDERED_METHODS = ("btree", "art")


@dataclass(frozen=True)
class Wanted:
    """The requirements of an index.

    ``equal``: the number of the first keys that equal values, in any order; ``fixed``: the order of the other keys
    matters; ``more``: further columns that it must have; ``method``: its kind, empty for the engine's default.
    """

    keys: tuple[IndexKey, ...]
    equal: int
    fixed: bool
    more: tuple[str, ...] = ()
    method: str = ""


def existing_index(table: CatalogTable, wanted: Wanted, grammar: Grammar, used: Set[str]) -> str | None:
    """Return the name of an existing index that serves as well as a new one would, or ``None``.

    ``used``: the indexes by which the plan finds rows. Only a plan shows whether a partial index or one on expressions
    serves, because the catalog lacks conditions and expressions.
    """
    stored = stored_columns(table, grammar.support)
    primary: JsonObject = {"name": "of the primary key", "keys": [{"column": each} for each in stored]}
    for index in [*table.indexes, *([primary] if stored else [])]:
        is_used = str(index.get("name")) in used
        if not index.get("usable", True) or (index.get("partial") and not is_used):
            continue
        keys = [key | {"expression": is_used} for key in objects(index.get("keys"))]
        names = [str(key.get("column")).lower() for key in keys]
        keys += [{"column": each} for each in stored if each not in names]
        if _serves(table, wanted, str(index.get("method") or "btree"), keys, grammar):
            return str(index.get("name"))
    return None


def is_unique(table: CatalogTable, keys: Sequence[IndexKey]) -> bool:
    """Whether an existing unique index finds a single row by keys that equal values."""
    names = {key.name.lower() for key in keys if key.name and not key.collation}
    indexes = [index for index in table.indexes if index.get("unique") and index.get("usable", True)]
    unique = [
        [str(key.get("column")).lower() for key in objects(index.get("keys"))]
        for index in indexes
        if not index.get("partial")
    ]
    return any(columns and names.issuperset(columns) for columns in [table.primary_key, *unique])


def stored_columns(table: CatalogTable, support: IndexSupport) -> list[str]:
    """Return the columns in lower case with which all indexes of a table end."""
    return table.stored_by_key if support.clustered else []


def _serves(table: CatalogTable, wanted: Wanted, method: str, keys: Sequence[JsonObject], grammar: Grammar) -> bool:
    def has_all(some: Sequence[IndexKey], existing: Sequence[JsonObject]) -> bool:
        return all(any(_is_key(table, key, each, grammar) for each in existing) for key in some)

    if wanted.method:
        return method == wanted.method and has_all(wanted.keys, keys)
    if method not in _ORDERED_METHODS or len(keys) < len(wanted.keys):
        return False
    equal, rest = wanted.keys[: wanted.equal], wanted.keys[wanted.equal :]
    pairs = list(zip(rest, keys[len(equal) :], strict=False))
    is_ordered = not wanted.fixed or (
        all(_is_key(table, key, each, grammar) for key, each in pairs)
        and len({key.descending != bool(each.get("descending")) for key, each in pairs}) <= 1
    )
    columns = {str(key.get("column")).lower() for key in keys}
    has_more = {each.lower() for each in wanted.more} <= columns
    first, then = keys[: len(equal)], keys[len(equal) : len(wanted.keys)]
    return is_ordered and has_more and has_all(equal, first) and has_all(rest, then)


def _is_key(table: CatalogTable, key: IndexKey, existing: JsonObject, grammar: Grammar) -> bool:
    """Whether a key of an existing index is as wanted, apart from its direction."""
    if not key.name:
        return existing.get("column") is None and bool(existing.get("expression"))
    if str(existing.get("column")).lower() != key.name.lower():
        return False
    if existing.get("prefix") is not None:
        # The beginning of a string finds rows, but doesn't give their order; MySQL indexes long texts only so.
        return table.types.get(key.name.lower(), "").endswith(("text", "blob"))
    is_pattern = "pattern_ops" in str(existing.get("operator_class") or "")
    if is_pattern != ("pattern_ops" in key.operator_class) and (key.operator_class or is_pattern):
        return False
    if key.operator_class and existing.get("operator_class") not in (None, key.operator_class):
        return False
    default = "binary" if grammar.engine == "sqlite" else ""
    wanted = key.collation or table.collation(key.name) or default
    return (text(part(existing, "collation"), "name") or wanted).lower() == wanted.lower()
