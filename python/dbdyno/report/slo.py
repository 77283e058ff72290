"""Tables of the searches for the highest rate, for the terminal and the HTML report."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from dbdyno.base.numbers import NONE, figure, percent
from dbdyno.model.result.shape import Document
from dbdyno.model.result.slo import Slo, SloProbe, SloSearch
from dbdyno.report.rows import Row, laid_out
from dbdyno.report.sections import CellTable, Column

# Columns to drop first if the terminal is narrow.
_SPARE = ("serves at most", "requests", "failed")

_MAX_PROBES = 14

_ENDLESS = "no end"


def slo_lines(slo: Slo, width: int) -> Iterator[Text]:
    """Yield the lines for a terminal of ``width`` columns: the configurations, if several, then the rates of each."""
    if len(slo.searches) > 1:
        yield from laid_out([Row(search.configuration, _found(search)) for search in slo.searches], width, _SPARE)
    for search in slo.searches:
        if len(slo.searches) > 1:
            yield Text("")
            yield Text(search.configuration, style="bold")
        rows = [Row(f"{figure(probe.rate)}/s", _measured(probe, slo)) for probe in _nearest(search)]
        yield from laid_out(rows, width, _SPARE)


def _nearest(search: SloSearch) -> list[SloProbe]:
    """Return the rates nearest to the result, in the order of the search."""
    probes = search.probes
    middle = search.rate or search.high or search.low or 0.0
    nearest = sorted(probes, key=lambda probe: abs(probe.rate - middle))[:_MAX_PROBES]
    return [probe for probe in probes if probe in nearest]


def _found(search: SloSearch) -> dict[str, str]:
    way = search.gives_way
    return {
        "highest rate/s": figure(search.rate if search.rate is not None else search.low),
        "interval": interval_words(search),
        "serves at most": figure(search.carries),
        "gives way first": "" if way is None else way.resource,
    }


def interval_words(search: SloSearch) -> str:
    """Return the interval of a search; an unknown end is a dash."""
    return f"[{figure(search.low)}, {figure(search.high)}]"


def _measured(probe: SloProbe, slo: Slo) -> dict[str, str]:
    values: dict[str, str] = {}
    lost = probe.failed
    for clause in slo.clauses:
        value = probe.values[clause.metric]
        if clause.metric == "failed":
            lost = value
        else:
            values[f"{clause.metric} ms"] = _ENDLESS if value is None else figure(value)
    return {
        **values,
        "failed": percent(lost) if lost is not None else NONE,
        "windows": str(probe.windows or f"({probe.approach})"),
        "requests": f"{probe.due:,}",
        "verdict": probe.verdict if probe.windows else "",
    }


def slo_table(document: Document) -> CellTable:
    """Return every measured rate; no rows if the run is not a search."""
    slo = document.slo
    rows = []
    heads: list[str] = []
    for search in slo.searches if slo is not None else ():
        for probe in search.probes:
            values = _measured(probe, slo) if slo is not None else {}
            heads = list(values)
            rows.append([search.configuration, figure(probe.rate), *values.values()])
    columns = [Column("configuration", right=False), Column("rate/s", style="number")]
    columns += [Column(head, right=head != "verdict", style="" if head == "verdict" else "number") for head in heads]
    return CellTable(columns, rows)
