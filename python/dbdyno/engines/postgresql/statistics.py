"""How to improve PostgreSQL's row estimates; see "Statistics Used by the Planner" in its documentation."""

from __future__ import annotations

from dbdyno.engines.conditions import Conditions


def better_estimates(on: Conditions) -> str:
    """Return statements that update statistics, and create multi-column statistics for several columns."""
    words = f"`analyze {on.table}` updates its statistics"
    if len(on.columns) <= 1:
        return words
    name = "_".join(("on", on.table, *on.columns))
    made = f"create statistics {name} on {', '.join(on.columns)} from {on.table}"
    return f"{words}; if these columns are correlated, first execute `{made}`"
