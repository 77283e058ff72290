"""How to improve row estimates on MariaDB and MySQL; see `ANALYZE TABLE` in their documentation."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.engines.conditions import Conditions


def better_estimates(product: str, on: Conditions) -> str:
    """Return statements that update the statistics, and create histograms on MySQL columns without an index."""
    if product == "MariaDB":
        return f"`analyze table {on.table} persistent for all` updates statistics, also for columns without an index"
    words = f"`analyze table {on.table}` updates the statistics of its indexes"
    if not on.unindexed:
        return words
    return f"{words}, and `analyze table {on.table} update histogram on {', '.join(on.unindexed)}` creates histograms"


def other_switches(was: Mapping[str, str], now: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each flag of ``optimizer_switch`` with its other value. Flags that differ from ``was`` come first."""
    before, after = _flags(was), _flags(now)
    names = sorted(after, key=lambda name: before.get(name) in (None, after[name]))
    return [("optimizer_switch", f"{name}={'off' if after[name] == 'on' else 'on'}") for name in names]


def _flags(settings: Mapping[str, str]) -> dict[str, str]:
    pairs = (each.partition("=") for each in settings.get("optimizer_switch", "").split(",") if "=" in each)
    return {name: value for name, _, value in pairs if value in ("on", "off")}
