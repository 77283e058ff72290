"""What a plan reads whole or sorts though an index could spare it, and that index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.engines.engine import Engine
from dbdyno.engines.index import Index
from dbdyno.engines.plans import Read, whole_reads
from dbdyno.model.result.reading import JsonObject, number, objects


def served(
    engine: Engine, sql: str, plan: Sequence[str], rows: float | None, catalog: JsonObject
) -> Iterator[tuple[Read | str, Index | str]]:
    """Give what the plan reads whole or sorts though an index could spare it, or why none can where one is looked for.

    ``rows``: that an execution returns. A statement that returns a good part of its only table is served well by
    reading all of it.
    """
    read = engine.read_plan(plan)
    if read is None or (len(read.reads) == 1 and _returns_much(rows, read.reads[0], engine, catalog)):
        return
    found = False
    for each in whole_reads(read):
        index = engine.index_for(sql, each.table, catalog, inner=each.inner)
        if index is not None and read.unhelped:
            yield each, read.unhelped
            return
        # Read by the index that would be advised, it is as good as it gets.
        if index is not None and (index.there is None or index.there != each.index):
            found = True
            yield each, index
    if found or len(read.reads) != 1:
        return
    for line in read.sorts:
        index = engine.index_for(sql, read.reads[0].table, catalog)
        if index is not None and index.there is None:
            yield line, index
            return


def _returns_much(returned: float | None, read: Read, engine: Engine, catalog: JsonObject) -> bool:
    """Whether it returns more rows of a table than an index is worth going to, as far as is known."""
    named = (each for each in objects(catalog.get("tables")) if str(each.get("name")).lower() == read.table.lower())
    rows = number(next(named, {}), "rows")
    return bool(rows) and returned is not None and returned > engine.most_by_index(int(rows or 0))
