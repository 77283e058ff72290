"""The table of the terminal. All results are synthetic."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from dbdyno.analysis.document import build_document
from dbdyno.base.console import Console as OwnConsole
from dbdyno.base.numbers import figure, milliseconds, percent, rough, short, times
from dbdyno.cli.show import shown_lines, wrapped_lines
from dbdyno.model.result import Document
from dbdyno.model.result.indexes import IdleIndex, Indexes
from dbdyno.model.result.shape import Finding
from dbdyno.report.brief import show_brief
from dbdyno.report.indexes import idle_sentences
from dbdyno.report.lines import comparison_ratio, comparison_word
from dbdyno.report.table import show_details
from synthetic import lookup_design, lookup_document, lookup_trials, run_record, update_document
from synthetic_cells import some


def two_systems() -> Document:
    return update_document(systems=("sqlite:", "sqlite:?journal_mode=wal"))


def long_lookup() -> Document:
    return lookup_document(30)


def shown(document: Document, width: int, *, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system="truecolor" if terminal else None)
    show_brief(document, console)
    show_details(document, console)
    return out.getvalue()


@pytest.mark.parametrize("make", [lookup_document, long_lookup, two_systems])
@pytest.mark.parametrize("width", [80, 120])
def test_nothing_is_cut_off(make: Callable[[], Document], width: int) -> None:
    document = make()
    text = shown(document, width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text
    for cell in document.cells:
        assert figure(cell.throughput.mean) in text
        assert all(short(each.throughput) in text for each in cell.rounds if each.throughput)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_run_of_many_cells_has_sixty_lines_unless_all_are_asked_for(width: int) -> None:
    design = lookup_design(threads=tuple(range(1, 26)), shared=tuple(range(1, 26)))
    cells = design["cells"]
    for place in range(12):
        name = f"setting_{place}"
        design["factors"][name] = [1, 2]
        for number, cell in enumerate(cells):
            cell["factors"][name] = 1 + (number + place) % 2
    document = build_document(run_record(design), lookup_trials(design, 2, seed=3))
    for place in range(80):
        words = f"Something of cell {place} is worth a sentence that is longer than a line of a narrow terminal."
        evidence = {"warning": "disturbed"} if place % 2 else {}
        document.findings.append(Finding(kind="disturbed", text=words, cells=[], evidence=evidence))
    lines = shown_lines(document, OwnConsole(width=width), verbose=False)
    assert len(lines) == 60
    assert lines[-1] == "more lines with --verbose"
    whole = shown_lines(document, OwnConsole(width=width), verbose=True)
    assert len(whole) > 200
    assert "Something of cell 79" in " ".join(whole)


@pytest.mark.parametrize("make", [lookup_document, two_systems])
@pytest.mark.parametrize("width", [60, 80])
def test_no_verdict_is_cut_off_however_wide_its_figures(make: Callable[[], Document], width: int) -> None:
    document = make()
    for place, each in enumerate(document.comparisons):
        each.ratio, each.ci95, each.verdict = 4321.5 + place, [0.000012345, 123_456.7], "inconclusive"
        each.lacking, each.more_rounds, each.detectable = "", 935 - place, 5.0
    text = shown(document, width)
    assert all(len(line) <= width for line in text.splitlines())
    told = re.split(r"[\s:]+", text)
    for each in document.comparisons:
        assert set(re.split(r"[\s:]+", comparison_word(each))) <= set(told)
        assert set(comparison_ratio(each).split()) <= set(told)
    assert "over" in told and "±100" in told


def test_a_wide_terminal_has_one_table_and_a_narrow_one_two() -> None:
    assert shown(lookup_document(), 120).count("─\n") == 2
    assert shown(lookup_document(), 80).count("─\n") == 3


def test_each_limit_is_said_once_with_its_cells() -> None:
    text = shown(lookup_document(), 120)
    assert text.count("1 client kept 97 % of 100 % CPU busy") == 1
    assert "(cache=private threads=1,2,4)" in text
    assert "→ cheaper statements; 3 more CPUs can serve more clients" in text


def test_a_failed_trial_is_marked_and_explained() -> None:
    text = shown(lookup_document(), 80)
    assert "✗" in text
    assert "the worker was killed by signal 9  (cache=private threads=4 round 5)" in text


def test_what_systems_did_differently_stands_above_the_numbers() -> None:
    text = shown(two_systems(), 80)
    # The figures of each cell stand below the answer and its own table.
    assert text.index("not comparable") < text.rindex("updates/s")
    assert "not ranked" in text


def test_of_a_baseline_is_said_what_it_has_else() -> None:
    text = shown(two_systems(), 200)
    assert re.search(r"^cell +against +ratio", text, re.MULTILINE)
    assert re.search(r"^sqlite: rows_per_transaction=1000 +rows_per_transaction=1 +9\.84 ", text, re.MULTILINE)
    assert re.search(r"^sqlite:\?journal_mode=wal rows_per_transaction=1000 +sqlite: +3\.00 ", text, re.MULTILINE)
    assert re.search(r"^against cache=private threads=1 +ratio", shown(lookup_document(), 200), re.MULTILINE)


def test_failures_are_said() -> None:
    assert "transactions failed (locked)" in shown(two_systems(), 120)


def test_published_figures_are_labelled() -> None:
    text = shown(lookup_document(), 120)
    assert "published: a machine of the past, 2015" in text


def test_plain_where_it_is_no_terminal_and_coloured_where_it_is() -> None:
    assert "\x1b[" not in shown(lookup_document(), 80)
    assert "\x1b[" in shown(lookup_document(), 80, terminal=True)


def test_words_of_others_are_no_markup() -> None:
    document = lookup_document()
    document.question = "[bold]is [/nothing] special?"
    assert "[bold]is [/nothing] special?" in shown(document, 80)


def test_a_run_without_results_is_shown() -> None:
    text = shown(build_document(run_record(lookup_design(), status="interrupted"), []), 80)
    assert "interrupted" in text
    assert "private" in text
    shown(build_document(run_record({}), []), 80)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "-"),
        (0, "0"),
        (59.321, "59.32"),
        (8568.4, "8,568"),
        (0.01219, "0.0122"),
        (1.5, "1.500"),
        (640.06, "640.1"),
    ],
)
def test_figures(value: float | None, expected: str) -> None:
    assert figure(value) == expected


def test_other_numbers() -> None:
    assert [times(value) for value in (0.958, 0.9999, 1.9, 417.2, 1783.4, 2.13e7)] == [
        *("0.958", "1.00", "1.90"),
        *("417", "1,783", "2.1e+07"),
    ]
    assert [short(value) for value in (59.32, 8568, 123816, 1.234e6)] == ["59.3", "8.57k", "124k", "1.23M"]
    assert [percent(value) for value in (0.5, 0.031, 0.0004, 0.00001)] == ["50 %", "3.1 %", "0.04 %", "<0.01 %"]
    assert [percent(value) for value in (0.994, 0.9984, 0.99999, 1.0)] == ["99 %", "99.8 %", "99.9 %", "100 %"]
    assert [milliseconds(value) for value in (0.0291, 1.42, 843.2, 13665)] == ["0.029", "1.42", "843", "13,665"]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0426, "0.043"), (4.26, "4.3"), (99.4, "99"), (99.6, "100"), (1234.5, "1234")]
)
def test_two_digits_without_a_power_of_ten(value: float, text: str) -> None:
    assert rough(value) == text
    assert rough(value, "+") == f"+{text}"
    assert rough(-value, "+") == f"-{text}"


def test_lines_of_a_description_are_wrapped_at_blanks() -> None:
    text = "    rows = 3\n  select a, b from t where c = 'x  y' and d = 1"
    assert list(wrapped_lines(text, 24)) == [
        "    rows = 3",
        "  select a, b from t",
        "      where c = 'x  y'",
        "      and d = 1",
    ]
    assert list(wrapped_lines("", 80)) == [""]


def test_long_lists_of_indexes_are_shortened_on_the_terminal() -> None:
    def said(number: int, most: int | None) -> str:
        idle = [IdleIndex(name=f"by_{each}", table="t", covered_by=None) for each in range(number)]
        (sentence,) = idle_sentences(some(Indexes, idle=idle), most)
        return sentence

    assert said(9, 5).endswith("by_3 on t, by_4 on t and 4 more (`--report` lists them).")
    assert said(6, 5).endswith("by_4 on t, by_5 on t.")
    assert said(9, None).endswith("by_7 on t, by_8 on t.")
