"""Indexes to try, derived from the plans and conditions of a cell's statements."""

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

# Maximum number of columns added to an index to make it a covering index.
_MORE = 4


def index_fixes(situation: Situation) -> Iterator[Fix]:
    """Yield fixes with indexes that would avoid full scans and sorts."""
    if not situation.may_index:
        return
    for each in situation.statements:
        for index in _missing_indexes(situation, each):
            yield _index_fix(situation, index.table, index.columns, "index")


def covering_fixes(situation: Situation) -> Iterator[Fix]:
    """Yield fixes with covering indexes for SELECT statements; the columns of its conditions come first."""
    if not situation.may_index:
        return
    for each in situation.statements:
        index = next(iter(_missing_indexes(situation, each)), None) or _used_index(situation, each)
        wanted = _selected_columns(situation, each, index.table) if index is not None else None
        if index is None or wanted is None:
            continue
        more = [name for name in wanted if name.lower() not in {one.lower() for one in index.columns}]
        if 0 < len(more) <= _MORE:
            yield _index_fix(situation, index.table, (*index.columns, *more), "covering index")


def _missing_indexes(situation: Situation, each: StatementFacts) -> Iterator[Index]:
    engine = engine_of(situation.engine)
    for _, index in avoidable_scans(engine, each.sql, each.plan, each.rows, dict(situation.catalog)):
        if isinstance(index, Index) and index.existing is None:
            yield index


def _used_index(situation: Situation, each: StatementFacts) -> Index | None:
    """Return the index that the plan of a statement on a single table uses; None if there is none."""
    read = engine_of(situation.engine).read_plan(each.plan)
    if read is None or len(read.reads) != 1 or read.reads[0].kind == "scan" or read.reads[0].index is None:
        return None
    for table in situation.catalog.get("tables") or []:
        for index in table.get("indexes") or []:
            if index.get("name") != read.reads[0].index or index.get("primary"):
                continue
            keys = [key.get("column") for key in index.get("keys") or []]
            if keys and all(isinstance(key, str) for key in keys):
                return Index(str(table["name"]), tuple(keys), str(index["name"]))
    return None


def _selected_columns(situation: Situation, each: StatementFacts, table: str) -> list[str] | None:
    """Return the columns of its only table that a SELECT names; None if they are unknown, or it uses ``*``."""
    from sqlglot import exp

    grammar = engine_of(situation.engine).grammar
    tree = sql_tree(numbered(each.sql, VALUE, situation.engine), grammar) if grammar else None
    if not isinstance(tree, exp.Select) or tree.find(exp.Star) is not None:
        return None
    tables = list(tree.find_all(exp.Table))
    if len(tables) != 1 or tables[0].name.lower() != table.lower():
        return None
    names = (column.name for column in tree.find_all(exp.Column) if not column.name.startswith(VALUE))
    return list(dict.fromkeys(names))


def _index_fix(situation: Situation, table: str, columns: Sequence[str], what: str) -> Fix:
    known: dict[str, Any] = next(
        (each for each in situation.catalog.get("tables") or [] if str(each.get("name")).lower() == table.lower()), {}
    )
    own = {str(each.get("name")).lower(): str(each.get("name")) for each in known.get("columns") or []}
    named = [own.get(each.lower(), each) for each in columns]
    real = str(known.get("name") or table)
    quoted = ", ".join(situation.quote(each) for each in named)
    sql = f"create index {situation.quote(index_name(real, named))} on {situation.quote(real)} ({quoted})"
    does = "the statement finds its rows with an index" + (
        " that contains all needed columns" if "cover" in what else ""
    )
    name = f"{what} {real} ({', '.join(named)})"
    return Fix(
        name,
        does,
        index_prices(situation, real),
        PLACEHOLDER_SOURCE,
        (f"{sql};",),
        statements=(sql,),
        group=f"index {real} {named[0]}",
    )
