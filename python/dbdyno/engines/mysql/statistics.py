"""What betters the estimates of MariaDB's and MySQL's planners, by `ANALYZE TABLE` of their documentation."""

from __future__ import annotations

from dbdyno.engines.conditions import Conditions


def better_estimates(product: str, on: Conditions) -> str:
    """Renew the statistics; of MySQL's columns without an index, make a histogram."""
    if product == "MariaDB":
        return f"`analyze table {on.table} persistent for all` renews its statistics, also of columns without an index"
    words = f"`analyze table {on.table}` renews the statistics of its indexes"
    if not on.unindexed:
        return words
    return (
        f"{words}, and `analyze table {on.table} update histogram on {', '.join(on.unindexed)}` makes some without one"
    )
