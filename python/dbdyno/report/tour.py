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
    for each in made:
        yield each.stop.experiment
        yield from _indented(f"published: {each.stop.found}", width)
        yield from _indented(f"here: {found_here(each)}", width)
        yield ""


def _indented(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def found_here(each: Visit | LeftOut) -> str:
    """Return the answer of a stop, or the reason why it has none."""
    if isinstance(each, LeftOut):
        return f"not measured: {each.why}"
    text = each.document.answer.text
    return text[0] if text else "nothing was measured: " + _failure(each.document)


def _failure(document: Document) -> str:
    return document.failed_trials[0].error if document.failed_trials else "no trial gave a result"


def write_tour(made: Sequence[Visit | LeftOut], path: Path | str) -> None:
    """Write the page atomically. Raises InputError if the file cannot be written."""
    write_text(path, tour_page(made))


def tour_page(made: Sequence[Visit | LeftOut]) -> str:
    """Return the tour as one HTML page."""
    stops = [
        {
            "title": each.document.title if isinstance(each, Visit) else each.stop.experiment,
            "question": each.document.question if isinstance(each, Visit) else "",
            "published": each.stop.found,
            "here": found_here(each),
            "more": each.document.answer.text[1:] if isinstance(each, Visit) else [],
            "chart": _chart(each.document) if isinstance(each, Visit) else None,
            "command": shlex.join(each.document.command if isinstance(each, Visit) else command_of(each.stop)),
            "run": each.document.id if isinstance(each, Visit) else "",
        }
        for each in made
    ]
    hosts = [each.document.host for each in made if isinstance(each, Visit)]
    return render_page("tour.html.j2", {"stops": stops, "host": hosts[0] if hosts else {}}) + "\n"


def _chart(document: Document) -> object:
    growth = growth_charts(document)
    return times_chart(document) or answer_chart(document) or (growth[0] if growth else throughput_chart(document))
