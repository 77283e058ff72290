"""How to improve row estimates on MariaDB and MySQL; see `ANALYZE TABLE` in their documentation."""

from __future__ import annotations

from dbdyno.engines.conditions import Conditions


def better_estimates(product: str, on: Conditions) -> str:
    """Return statements that update the statistics, and create histograms on MySQL columns without an index."""
    if product == "MariaDB":
        return f"`analyze table {on.table} persistent for all` updates statistics, also for columns without an index"
    words = f"`analyze table {on.table}` updates the statistics of its indexes"
    if not on.unindexed:
        return words
    return f"{words}, and `analyze table {on.table} update histogram on {', '.join(on.unindexed)}` creates histograms"
