"""What betters the estimates of PostgreSQL's planner: "Statistics Used by the Planner" of its documentation."""

from __future__ import annotations

from dbdyno.engines.conditions import Conditions


def better_estimates(on: Conditions) -> str:
    """Renew the statistics, and where several columns are compared, keep some of them together."""
    words = f"`analyze {on.table}` renews its statistics"
    if len(on.columns) <= 1:
        return words
    name = "_".join(("on", on.table, *on.columns))
    made = f"create statistics {name} on {', '.join(on.columns)} from {on.table}"
    return f"{words}, and where these columns depend on each other, `{made}` before it keeps how"
