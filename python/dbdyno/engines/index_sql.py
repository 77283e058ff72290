"""Write the statement that creates an index."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from dbdyno.engines.catalog_table import CatalogTable, quoted
from dbdyno.engines.index import Index, IndexKey, index_name
from dbdyno.engines.index_conditions import Grammar
from dbdyno.model.result.reading import JsonObject, objects

# MySQL's longest key in bytes, the bytes of a character, and the characters that are indexed of longer strings.
_MAX_KEY, _CHARACTER, _PREFIX = 3072, 4, 64


class IndexWriter:
    """Names new indexes and writes their SQL in an engine's grammar; existing names are taken from the catalog."""

    def __init__(self, catalog: JsonObject, grammar: Grammar) -> None:
        self._grammar = grammar
        self._existing = {
            str(index.get("name")).lower()
            for table in objects(catalog.get("tables"))
            for index in objects(table.get("indexes"))
        }

    def written(self, table: CatalogTable, plain: Index, more: tuple[str, ...], taken: Set[str]) -> Index:
        """Return an index with its name and SQL.

        ``more``: columns that it stores after its keys; ``taken``: names that other new indexes have.
        """
        is_included = self._grammar.support.include
        keys = plain.keys if is_included else (*plain.keys, *map(IndexKey, more))
        index = replace(
            plain, keys=self._shortened(table, keys), include=more if is_included else (), covering=bool(more)
        )
        parts = [*(key.text for key in index.keys), *index.include, index.where]
        names = _numbered(index_name(table.name, parts))
        index = replace(index, name=next(name for name in names if name not in self._existing and name not in taken))
        return replace(index, sql=self._sql(table, index))

    def _sql(self, table: CatalogTable, index: Index) -> str:
        name, on = index.name, ".".join(self._quoted(each) for each in (table.schema, table.name) if each)
        if self._grammar.engine == "sqlite" and table.schema:
            # SQLite expects the schema before the index's name.
            name, on = f"{self._quoted(table.schema)}.{name}", self._quoted(table.name)
        method = f" using {index.method}" if index.method else ""
        sql = f"create index {name} on {on}{method} ({', '.join(map(self._key, index.keys))})"
        sql += f" include ({', '.join(map(self._quoted, index.include))})" if index.include else ""
        return sql + (f" where {index.where}" if index.where else "")

    def _key(self, key: IndexKey) -> str:
        sql = key.expression or self._quoted(key.name)
        sql += f"({key.prefix})" if key.prefix is not None else ""
        sql += f" collate {self._quoted(key.collation)}" if key.collation else ""
        sql += f" {key.operator_class}" if key.operator_class else ""
        return sql + (" desc" if key.descending else "") + (f" nulls {key.nulls}" if key.nulls else "")

    def _quoted(self, name: str) -> str:
        return quoted(name, self._grammar.name)

    def _shortened(self, table: CatalogTable, keys: tuple[IndexKey, ...]) -> tuple[IndexKey, ...]:
        """Limit strings to a prefix if MySQL can't index all of them."""
        if self._grammar.name != "mysql":
            return keys
        kinds = [table.types.get(key.name.lower(), "") for key in keys]
        lengths = [_characters(kind) for kind in kinds]
        is_long = sum(lengths) * _CHARACTER > _MAX_KEY
        return tuple(
            replace(key, prefix=_PREFIX) if kind.endswith(("text", "blob")) or (is_long and length > _PREFIX) else key
            for key, kind, length in zip(keys, kinds, lengths, strict=True)
        )


def _characters(kind: str) -> int:
    """Return the length of a type such as ``varchar(255)``; 0 for other types."""
    name, bracket, rest = kind.partition("(")
    length = rest.partition(")")[0]
    return int(length) if bracket and "char" in name and length.isdigit() else 0


def _numbered(name: str) -> Iterator[str]:
    """Yield a name, and variants of it with numbers."""
    yield name
    for number in range(2, 10_000):
        yield f"{name[:54]}_{number}"
