"""Indexes to try, derived from the plans and conditions of a cell's statements."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.engines import engine_of
from dbdyno.engines.avoidable_scans import avoidable_scans
from dbdyno.engines.fixes import PLACEHOLDER_SOURCE, Situation, index_prices
from dbdyno.engines.index import Index
from dbdyno.engines.index_advice import index_candidates
from dbdyno.model.plan.fix import Fix


def index_fixes(situation: Situation) -> Iterator[Fix]:
    """Yield the indexes that would avoid full scans and sorts, beginning with the slowest statements."""
    engine = engine_of(situation.engine)
    for statement in situation.by_time:
        for _, index in avoidable_scans(engine, statement.sql, statement.plan, statement.rows, dict(situation.catalog)):
            if isinstance(index, Index) and index.existing is None:
                yield _fix(situation, index, "the statement finds its rows by an index")


def covering_fixes(situation: Situation) -> Iterator[Fix]:
    """Yield for each statement the best index that has all columns that the statement reads from a table."""
    for statement in situation.by_time:
        plan = engine_of(situation.engine).read_plan(statement.plan)
        indexes = index_candidates(
            statement.sql, situation.product or situation.engine, dict(situation.catalog), plan=plan
        )
        covering = next((index for index in indexes if index.covering), None)
        if covering is not None and plan is not None and plan.reads:
            yield _fix(
                situation, covering, "the statement finds its rows by an index, which has all columns that it reads"
            )


def _fix(situation: Situation, index: Index, does: str) -> Fix:
    what = "covering index" if index.covering else "index"
    columns = ", ".join((*index.columns, *index.include))
    return Fix(
        f"{what} {index.table} ({columns})",
        does,
        index_prices(situation, index.table),
        PLACEHOLDER_SOURCE,
        (f"{index.sql};",),
        statements=(index.sql,),
        group=f"index {index.table} {index.keys[0].bare}",
    )
