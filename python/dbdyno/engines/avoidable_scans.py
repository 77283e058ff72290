"""Full scans and sorts of a plan that an index could avoid, and that index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.engines.engine import Engine
from dbdyno.engines.index import Index
from dbdyno.engines.plans import called, whole_reads
from dbdyno.model.result.cell import PlanNode
from dbdyno.model.result.reading import JsonObject, number, objects


def avoidable_scans(
    engine: Engine, sql: str, plan: Sequence[str], rows: float | None, catalog: JsonObject
) -> Iterator[tuple[PlanNode | str, Index | str]]:
    """Yield each full scan or sort that an index could avoid, with the index, or with the reason why no index can.

    ``rows``: rows returned per execution. A full scan is appropriate for a statement that returns a large part of its
    only table, so nothing is yielded for it.
    """
    read = engine.read_plan(plan)
    if read is None or (len(read.reads) == 1 and _returns_much(rows, read.reads[0], engine, catalog)):
        return
    found = False
    for node in whole_reads(read):
        index = engine.index_for(sql, called(node), catalog, inner=node.inner)
        if index is not None and read.no_index_reason:
            yield node, read.no_index_reason
            return
        # If the plan already scans the index that would be advised, no index improves it.
        if index is not None and (index.existing is None or index.existing != node.index):
            found = True
            yield node, index
    if found or len(read.reads) != 1:
        return
    for line in read.sorts:
        index = engine.index_for(sql, called(read.reads[0]), catalog)
        if index is not None and index.existing is None:
            yield line, index
            return


def _returns_much(returned: float | None, read: PlanNode, engine: Engine, catalog: JsonObject) -> bool:
    """Whether a statement returns so many rows that a full scan is faster; False if that is unknown."""
    names = {called(read).lower(), (read.table or "").lower()}
    named = (table for table in objects(catalog.get("tables")) if str(table.get("name")).lower() in names)
    rows = number(next(named, {}), "rows")
    return bool(rows) and returned is not None and returned > engine.max_index_rows(int(rows or 0))
