"""Texts of a history that all views share."""

from __future__ import annotations

from dbdyno.analysis.history.document import CellHistory, Change, Changed, History, LeftOut, Series
from dbdyno.base.numbers import level, percent
from dbdyno.base.text import first_of, shortened
from dbdyno.report.lines import factor_level

_MAX_VALUE_LENGTH = 60
_MAX_CHANGED = 12
_MAX_IDS = 3
_MAX_ODDS = 1e9


def names(history: History) -> dict[str, str]:
    """Return each cell by the levels that distinguish it, such as ``cache=shared threads=4``."""
    cells = history["cells"]
    factors = list(dict.fromkeys(name for cell in cells for name in cell["factors"]))
    varied = [name for name in factors if len({level(cell["factors"].get(name)) for cell in cells}) > 1]
    made = {
        cell["id"]: " ".join(
            factor_level(name, level(cell["factors"][name])) for name in varied if name in cell["factors"]
        )
        for cell in cells
    }
    # A cell whose level was removed from the experiment may look like another one; then use ids.
    unique = len(set(made.values())) == len(made)
    return {cell: name if name and unique else cell for cell, name in made.items()}


def scope(history: History) -> str:
    """Return the runs of the history, such as ``42 runs from 2026-01-03 to 2026-03-14``."""
    first, last = day(history["first"] or ""), day(history["last"] or "")
    if not history["runs"]:
        return "no usable runs"
    text = runs(history["runs"])
    text += f" from {first} to {last}" if first != last else f" of {first}"
    if history["older"]:
        text += f"; {runs(history['older'])} before that not shown (--limit)"
    return text


def left_out(reasons: list[LeftOut]) -> str:
    """Return the runs that are left out, with the reasons; empty if none."""
    return "; ".join(f"{runs(len(reason['runs']))} {reason['reason']} ({_ids(reason['runs'])})" for reason in reasons)


def unmeasured(cell: CellHistory) -> str:
    """Return the usable runs without a value for a cell, with the reasons; empty if none."""
    return "; ".join(f"{runs(len(each['runs']))} {each['reason']}" for each in cell["left_out"])


def too_few(series: Series, fewest: int) -> str:
    """Return the sentence for a series that is too short to detect changes."""
    return f"{runs(len(series['points']))}, too few to detect changes ({fewest} needed)"


def began(series: Series) -> str:
    """Return why a series begins after another one; empty for the first series."""
    first = series["points"][0]
    if series["not_comparable"]:
        reasons = ", ".join(series["not_comparable"])
        return f"not comparable with earlier runs from {first['run']}, {day(first['started'])}: {reasons}"
    if not series["redefined"]:
        return ""
    parts = ", ".join(series["redefined"])
    return (
        f"the experiment changed at {first['run']}, {day(first['started'])} ({parts}): not compared with earlier runs"
    )


def change_share(change: Change) -> str:
    """Return the size of a change, such as ``+10 %``."""
    share = change["change"]
    return "" if share is None else ("+" if share > 0 else "") + percent(share)


def odds(value: float) -> str:
    """Return odds with one or two significant digits, such as ``4,200:1``."""
    return ">1e9:1" if value > _MAX_ODDS else f"{float(f'{value:.2g}'):,.0f}:1"


def metrics(history: History) -> str:
    """Return the metric and its unit if all cells have the same; otherwise empty."""
    found = dict.fromkeys(metric_of(cell) for cell in history["cells"])
    return next(iter(found)) if len(found) == 1 else ""


def metric_of(cell: CellHistory) -> str:
    """Return the metric of a cell and its unit."""
    return f"{cell['metric']['title']}, {cell['metric']['unit']}"


def causes(change: Change) -> list[str]:
    """Return why a change is inconclusive, and one line per recorded fact that changed at the same time."""
    lines = [f"inconclusive: {each}" for each in change["disturbed"]]
    lines += changed(change["changed"]) or ["no recorded fact changed at the same time"]
    for nearby in change["nearby"]:
        lines += [f"nearby, at {nearby['run']}: {line}" for line in changed(nearby["changed"])]
    return lines


def changed(facts: list[Changed]) -> list[str]:
    """Return one line per changed fact, a dozen at most, and the number of further ones."""
    lines = [f"{each['name']}: {_short(each['before'])} → {_short(each['after'])}" for each in facts[:_MAX_CHANGED]]
    more = len(facts) - _MAX_CHANGED
    return [*lines, f"and {more} more (--json has all)"] if more > 0 else lines


def runs(count: int) -> str:
    """Return ``1 run`` or ``7 runs``."""
    return f"{count:,} run" + ("" if count == 1 else "s")


def day(moment: str) -> str:
    """Return the date of a moment."""
    return moment[:10]


def _ids(ids: list[str]) -> str:
    return first_of(ids, _MAX_IDS)


def _short(value: str) -> str:
    return shortened(value, _MAX_VALUE_LENGTH)
