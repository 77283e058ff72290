"""Indexes to try: from the plans of a cell's statements and the conditions in their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dbdyno.base.sql_tree import VALUE, sql_tree
from dbdyno.engines import engine_of
from dbdyno.engines.avoidable_scans import avoidable_scans
from dbdyno.engines.fixes import PLACEHOLDER_SOURCE, Situation, StatementFacts, index_prices
from dbdyno.engines.index import Index, index_name
from dbdyno.engines.statements import numbered
from dbdyno.model.plan.fix import Fix

# Columns more than an index has that leads to the rows, so that it holds all that a statement wants.
_MORE = 4


def index_fixes(of: Situation) -> Iterator[Fix]:
    """Give the indexes that would spare plans reading a table whole, or sorting."""
    if not of.may_index:
        return
    for each in of.statements:
        for index in _lacking(of, each):
            yield _made(of, index.table, index.columns, "index")


def covering_fixes(of: Situation) -> Iterator[Fix]:
    """Give the indexes that hold all columns which a select wants, with those that lead to its rows first."""
    if not of.may_index:
        return
    for each in of.statements:
        index = next(iter(_lacking(of, each)), None) or _used(of, each)
        wanted = _columns(of, each, index.table) if index is not None else None
        if index is None or wanted is None:
            continue
        more = [name for name in wanted if name.lower() not in {one.lower() for one in index.columns}]
        if 0 < len(more) <= _MORE:
            yield _made(of, index.table, (*index.columns, *more), "covering index")


def _lacking(of: Situation, each: StatementFacts) -> Iterator[Index]:
    engine = engine_of(of.engine)
    for _, index in avoidable_scans(engine, each.sql, each.plan, each.rows, dict(of.catalog)):
        if isinstance(index, Index) and index.existing is None:
            yield index


def _used(of: Situation, each: StatementFacts) -> Index | None:
    """Give the index by which a statement goes to the rows of its only table, with its columns."""
    read = engine_of(of.engine).read_plan(each.plan)
    if read is None or len(read.reads) != 1 or read.reads[0].kind == "scan" or read.reads[0].index is None:
        return None
    for table in of.catalog.get("tables") or []:
        for index in table.get("indexes") or []:
            if index.get("name") != read.reads[0].index or index.get("primary"):
                continue
            keys = [key.get("column") for key in index.get("keys") or []]
            if keys and all(isinstance(key, str) for key in keys):
                return Index(str(table["name"]), tuple(keys), str(index["name"]))
    return None


def _columns(of: Situation, each: StatementFacts, table: str) -> list[str] | None:
    """Give all columns of its only table that a select names; ``None`` where that cannot be told, or it wants all."""
    from sqlglot import exp

    grammar = engine_of(of.engine).grammar
    tree = sql_tree(numbered(each.sql, VALUE, of.engine), grammar) if grammar else None
    if not isinstance(tree, exp.Select) or tree.find(exp.Star) is not None:
        return None
    tables = list(tree.find_all(exp.Table))
    if len(tables) != 1 or tables[0].name.lower() != table.lower():
        return None
    names = (column.name for column in tree.find_all(exp.Column) if not column.name.startswith(VALUE))
    return list(dict.fromkeys(names))


def _made(of: Situation, table: str, columns: Sequence[str], what: str) -> Fix:
    known: dict[str, Any] = next(
        (each for each in of.catalog.get("tables") or [] if str(each.get("name")).lower() == table.lower()), {}
    )
    own = {str(each.get("name")).lower(): str(each.get("name")) for each in known.get("columns") or []}
    named = [own.get(each.lower(), each) for each in columns]
    real = str(known.get("name") or table)
    quoted = ", ".join(of.quote(each) for each in named)
    sql = f"create index {of.quote(index_name(real, named))} on {of.quote(real)} ({quoted})"
    does = "the statement goes to its rows by an index" + (", which has all that it wants" if "cover" in what else "")
    name = f"{what} {real} ({', '.join(named)})"
    return Fix(
        name,
        does,
        index_prices(of, real),
        PLACEHOLDER_SOURCE,
        (f"{sql};",),
        statements=(sql,),
        group=f"index {real} {named[0]}",
    )
