"""A tour as lines and as an HTML page: published results compared with measurements on this machine."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from dbdyno.model.result.shape import Document
from dbdyno.report.charts import answer_chart, growth_charts, throughput_chart, times_chart
from dbdyno.report.export import write_text
from dbdyno.report.page import render_page
from dbdyno.run.tour.stops import LeftOut
from dbdyno.run.tour.visits import Visit, command_of


def tour_lines(made: Sequence[Visit | LeftOut], width: int) -> Iterator[str]:
    """Yield the lines for a terminal of ``width`` columns."""
    for visit in made:
        yield visit.stop.experiment
        yield from _indented(f"published: {visit.stop.found}", width)
        yield from _indented(f"here: {found_here(visit)}", width)
        yield ""


def _indented(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def found_here(visit: Visit | LeftOut) -> str:
    """Return the answer of a stop, or the reason why it has none."""
    if isinstance(visit, LeftOut):
        return f"not measured: {visit.why}"
    text = visit.document.answer.text
    return text[0] if text else "nothing was measured: " + _failure(visit.document)


def _failure(document: Document) -> str:
    return document.failed_trials[0].error if document.failed_trials else "no trial gave a result"


def write_tour(made: Sequence[Visit | LeftOut], path: Path | str) -> None:
    """Write the page atomically. Raises InputError if the file cannot be written."""
    write_text(path, tour_page(made))


def tour_page(made: Sequence[Visit | LeftOut]) -> str:
    """Return the tour as one HTML page."""
    stops = [
        {
            "title": visit.document.title if isinstance(visit, Visit) else visit.stop.experiment,
            "question": visit.document.question if isinstance(visit, Visit) else "",
            "published": visit.stop.found,
            "here": found_here(visit),
            "more": visit.document.answer.text[1:] if isinstance(visit, Visit) else [],
            "chart": _chart(visit.document) if isinstance(visit, Visit) else None,
            "command": shlex.join(visit.document.command if isinstance(visit, Visit) else command_of(visit.stop)),
            "run": visit.document.id if isinstance(visit, Visit) else "",
        }
        for visit in made
    ]
    hosts = [visit.document.host for visit in made if isinstance(visit, Visit)]
    return render_page("tour.html.j2", {"stops": stops, "host": hosts[0] if hosts else {}}) + "\n"


def _chart(document: Document) -> object:
    growth = growth_charts(document)
    return times_chart(document) or answer_chart(document) or (growth[0] if growth else throughput_chart(document))
