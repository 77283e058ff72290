"""The history in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from dbdyno.analysis.history.document import CellHistory, Change, History, Series
from dbdyno.base.console import Console
from dbdyno.base.numbers import figure, short
from dbdyno.report.columns import TableColumn, tables
from dbdyno.report.history import lines

_BARS = "▁▂▃▄▅▆▇█"
_MARK = "│"
_LABEL = 8
_STYLES = {"better": "green", "worse": "red", "inconclusive": "yellow"}


def show(history: History, console: Console) -> None:
    """Write the history to the console, laid out for its width."""
    console.print(history_view(history, console.width))


def history_view(history: History, width: int) -> RenderableType:
    """Return heading, a line of bars and the change points of each cell, for a terminal of ``width`` columns."""
    of_all = lines.metrics(history)
    head = Text.assemble(
        (history["experiment"], "bold"), f"  {of_all}, oldest to newest\n" if of_all else "  oldest to newest\n"
    )
    head.append(lines.scope(history))
    if history["left_out"]:
        head.append(f"\nleft out: {lines.left_out(history['left_out'])}", style="yellow")
    parts: list[RenderableType] = [head]
    if len(history["machines"]) > 1:
        parts.append(Text(f"{len(history['machines'])} machines, not compared with each other", style="yellow"))
        parts += [
            Text(f"  machine {machine['number']}: {machine['name']}, {lines.runs(machine['runs'])}")
            for machine in history["machines"]
        ]
    names = lines.names(history)
    for cell in history["cells"]:
        name = names[cell["id"]] if of_all else f"{names[cell['id']]}: {lines.metric_of(cell)}"
        parts += [Text(""), *_cell(history, cell, name, width)]
    return Group(*parts)


def _cell(history: History, cell: CellHistory, name: str, width: int) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(name, style="bold")]
    if cell["left_out"]:
        parts.append(Text(f"  missing: {lines.unmeasured(cell)}", style="dim"))
    for series in cell["series"]:
        parts += [Padding(each, (0, 0, 0, 2)) for each in _series(history, series, width - 2)]
    return parts


def _series(history: History, series: Series, width: int) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if len(history["machines"]) > 1:
        parts.append(Text(f"machine {series['machine']}", style="dim"))
    if lines.began(series):
        parts.append(Text(lines.began(series), style="yellow"))
        parts += [Padding(Text(each, style="dim"), (0, 0, 0, 2)) for each in lines.changed(series["changed"])]
    parts.append(_bars(series, width))
    if not series["enough"]:
        parts.append(Text(lines.too_few(series, history["fewest"]), style="dim"))
    elif not series["changes"]:
        parts.append(Text(f"no change found in {lines.runs(len(series['points']))}", style="dim"))
    else:
        parts += _changes(series["changes"], width)
        for change in series["changes"]:
            parts.append(Text(f"{change['previous']} → {change['run']}"))
            parts += [Padding(Text(line, style="dim"), (0, 0, 0, 2)) for line in lines.causes(change)]
    return parts


def _changes(changes: Sequence[Change], width: int) -> list[RenderableType]:
    def column(head: str, values: list[Text], *, right: bool = True) -> TableColumn:
        return TableColumn(head, values, right=right)

    return tables(
        [
            column("change at", [Text(change["run"]) for change in changes], right=False),
            column("date", [Text(lines.day(change["started"])) for change in changes], right=False),
        ],
        [
            column("before", [Text(figure(change["before"])) for change in changes]),
            column("after", [Text(figure(change["after"])) for change in changes]),
            column(
                "change", [Text(lines.change_share(change), style=_STYLES[change["verdict"]]) for change in changes]
            ),
            column("odds", [Text(lines.odds(change["odds"])) for change in changes]),
        ],
        width,
    )


def _bars(series: Series, width: int) -> Text:
    """Return the lowest value, one bar per run, and the highest value. If space is short, bars show means of runs."""
    values = [point["value"] for point in series["points"]]
    bounds = [0, *(change["index"] for change in series["changes"]), len(values)]
    low, high = min(values), max(values)
    room = max(10, width - 2 * _LABEL - len(bounds))
    together = -(-len(values) // room)
    text = Text(f"{short(low)} ", style="dim")
    for position, (start, end) in enumerate(pairwise(bounds)):
        if position:
            text.append(_MARK, style=_STYLES[series["changes"][position - 1]["verdict"]])
        # A bar never combines runs from both sides of a change.
        means = [fmean(values[at : min(at + together, end)]) for at in range(start, end, together)]
        text.append("".join(_bar(each, low, high) for each in means), style="none")
    text.append(f" {short(high)}", style="dim")
    return text


def _bar(value: float, low: float, high: float) -> str:
    if high == low:
        return _BARS[len(_BARS) // 2]
    return _BARS[min(len(_BARS) - 1, int((value - low) / (high - low) * len(_BARS)))]
