"""The breakdown of the clients' time, one bar per cell."""

from __future__ import annotations

from typing import Any

import altair as alt

from dbdyno.model.result.shape import Document
from dbdyno.report.charts.figure import WIDTH, Figure, colour, data, draw, fitted
from dbdyno.report.lines import cell_name, factor_names

_MIN_SHARE = 0.001
_NAMES = {
    "sync": "flush to device",
    "read": "read from file",
    "write": "write to file",
    "mutex_wait": "wait for mutex",
    "file_lock_wait": "wait for file lock",
    "prepare": "parse",
    "run_queue": "wait for a core",
    "lock_calls": "file-lock calls",
    "idle": "idle between transactions",
    "engine": "engine",
    "unknown": "unknown",
}


def breakdown_chart(document: Document) -> Figure | None:
    """Draw the percentages of the clients' time by segment; None if they are unknown."""
    factors = factor_names(document)
    rows: list[dict[str, Any]] = []
    cells = []
    for cell in document.cells:
        if cell.time is None:
            continue
        name = cell_name(cell, factors)
        cells.append(name)
        rows += [
            {"cell": name, "series": _NAMES.get(segment, segment), "share": share, "order": order}
            for order, (segment, share) in enumerate(cell.time.shares.items())
            if share is not None and share >= _MIN_SHARE
        ]
    if not rows:
        return None
    # Show only segments that occur. Their order and colors are the same in all charts.
    seen = {row["series"] for row in rows}
    known = [*_NAMES.values(), *sorted(seen - set(_NAMES.values()))]
    # Names can be long, so write them above their bars.
    names = alt.Axis(
        title=None, labelAlign="left", labelPadding=0, labelOffset=-17, labelLimit=WIDTH, ticks=False, domain=False
    )
    bars = (
        alt.Chart(data(rows))
        .mark_bar(size=14)
        .encode(
            y=alt.Y("cell:N", sort=cells, axis=names),
            x=alt.X(
                "share:Q", stack="zero", axis=alt.Axis(title="share of the clients' time", format="~%", tickCount=5)
            ),
            color=colour([name for name in known if name in seen]),
            order=alt.Order("order:Q"),
        )
    )
    height = 38 * len(cells) + 60 + 18 * ((len(seen) + 1) // 2)
    svg = draw(fitted(bars, height), "Clients' time by activity")
    return Figure("Where the time went", svg, "All rounds together. Unknown is what no probe explains.")
