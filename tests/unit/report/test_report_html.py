"""The HTML report. All results are synthetic."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dbdyno.analysis.document import build_document
from dbdyno.model.result import Document
from dbdyno.model.result.shape import Finding
from dbdyno.report.charts.axes import axes
from dbdyno.report.charts.figure import decades
from dbdyno.report.html import html_report, write_html
from synthetic import lookup_design, lookup_document, run_record, update_document
from synthetic_cells import some

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Checks that elements close in order and collects tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def lookup() -> str:
    return html_report(lookup_document())


def test_the_page_is_whole_and_asks_nothing_of_a_network_or_script(lookup: str) -> None:
    page = Page(lookup)
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in {"src", "href", "action"}]
    addresses = set(re.findall(r"https?://[^\"' <)]+", lookup))
    # The names of the SVG vocabularies are not fetched.
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in lookup
    assert "url(http" not in lookup


def test_ids_are_unique(lookup: str) -> None:
    ids = Page(lookup).ids
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", lookup)) <= set(ids)


def test_the_page_suits_a_phone_and_the_dark(lookup: str) -> None:
    assert 'name="viewport" content="width=device-width' in lookup
    assert "prefers-color-scheme: dark" in lookup
    # What is drawn for wide screens is not shown on others.
    slim = re.sub(r'<div class="wide">.*?</svg></div>', "", lookup, flags=re.DOTALL)
    widths = [int(width) for width in re.findall(r'<svg [^>]*?width="(\d+)"', slim)]
    assert widths
    assert max(widths) <= 358


def test_who_cannot_see_or_point_can_read_the_page(lookup: str) -> None:
    """What a checker of accessibility (axe) calls serious: parts without names, and what only a mouse scrolls."""
    assert "graphics-" not in lookup and "aria-roledescription" not in lookup
    assert lookup.count("<svg ") == len(re.findall(r'<svg role="img" aria-label="[^"]+"', lookup)) > 0
    assert re.findall(r'<div class="scroll"(?! tabindex="0")', lookup) == []
    assert lookup.count("<main>") == lookup.count("</main>") == 1


def test_the_page_says_what_the_run_found(lookup: str) -> None:
    words = " ".join(" ".join(Page(lookup).words).split())
    for expected in (
        "How does a primary-key lookup scale",
        "private is faster than shared:",
        "lookups/s (8.81x [",
        "at threads=4, 2.83x [",
        "Effects of the factors",
        "clients waited 75 % of their time for a mutex",
        "use fewer clients, or connections that share less",
        "Published elsewhere: a machine of the past, 2015",
        "Not measured by this run",
        "the worker was killed by signal 9",
        "sqlite3BtreeBeginTrans",
        "power-safe",
        "journal_mode",
        "synthetic CPU",
        "dbdyno run pk-lookup --rounds 5",
        "inconclusive",
    ):
        assert expected in words, expected
    assert words.index("clients waited 75 %") < words.index("Every round")


def test_every_round_is_in_the_page(lookup: str) -> None:
    for cell in lookup_document().cells:
        for each in cell.rounds:
            if each.throughput:
                assert f"{each.throughput:,.0f}" in lookup


def test_words_of_others_are_escaped_everywhere() -> None:
    bad = '<script>alert("1")</script>&'
    document = lookup_document()
    document.title = document.question = document.experiment = bad
    document.command = ["dbdyno", bad]
    document.host = {bad: bad}
    document.findings = [some(Finding, text=bad, cells=[], evidence=None)]
    document.failed_trials[0].error = bad
    document.report = {"x": bad, "by": "cache"}
    for cell in document.cells:
        cell.factors[bad] = bad + str(cell.factors.pop("threads"))
        cell.system.name = cell.system.durability_because = bad
        cell.system.settings = {bad: bad}
        cell.throughput.unit = bad
        if cell.bottleneck:
            cell.bottleneck.evidence = cell.bottleneck.advice = bad
        if cell.published:
            cell.published["machine"] = cell.published["source"] = bad
        if cell.mutex:
            cell.mutex.sites[0].stack = [bad]
            cell.mutex.sites[0].function = bad
    text = html_report(document)
    assert "<script" not in text.lower()
    assert "&lt;script&gt;" in text
    Page(text)


def test_what_is_not_comparable_stands_before_everything_else() -> None:
    document = update_document(systems=("sqlite:", "sqlite:?journal_mode=wal"))
    text = html_report(document)
    assert text.index("are not comparable") < text.index("<h2>")
    assert "Fastest" not in text
    assert "not ranked" in text
    assert "<td>sqlite:?journal_mode=wal rows_per_transaction=1000</td><td>sqlite:</td>" in text
    assert "Logarithmic axis" in text


@pytest.mark.parametrize(
    "make",
    [
        lambda: build_document(run_record({}, status="interrupted", ended=None), []),
        lambda: build_document(run_record(lookup_design()), []),
        lambda: lookup_document(rounds=1),
    ],
)
def test_a_run_with_little_or_nothing_is_reported(make: Callable[[], Document]) -> None:
    Page(html_report(make()))


def test_the_report_is_written(tmp_path: Path) -> None:
    write_html(lookup_document(rounds=1), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_axes_follow_the_experiment_or_else_the_last_factor() -> None:
    document = lookup_document()
    assert (axes(document).x, axes(document).by, axes(document).levels) == ("threads", ("cache",), ["1", "2", "4", "8"])
    document.report = {"x": "cache"}
    assert (axes(document).x, axes(document).by, axes(document).numeric) == ("cache", ("threads",), False)
    document.report = {}
    assert axes(document).x == "threads"


def test_decades_cover_the_range() -> None:
    assert decades(0.03, 2.0) == pytest.approx([0.01, 0.1, 1.0, 10.0])
    assert len(decades(1e-6, 1e6)) <= 6
