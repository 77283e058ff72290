"""The results of fixes for the terminal and the HTML report: gain, price and the lines that apply each fix."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from dbdyno.analysis.why.fix_sentences import headline, price_words, reasons
from dbdyno.base.numbers import NONE, bracketed
from dbdyno.model.result.fixes import FixEffect, Fixes
from dbdyno.model.result.shape import Document
from dbdyno.report.advice_lines import advice_lines
from dbdyno.report.rows import wrapped
from dbdyno.report.sections import CellTable, Column

# Maximum number of further fixes to show; --verbose shows all.
_MOST = 4
# Maximum number of lines of a snippet.
_LINES = 4

VERDICTS = {"helps": "helps", "no": "doesn't help", "inconclusive": "inconclusive", "disqualified": "not valid"}
"""Verdicts as tables write them."""


def fix_lines(found: Fixes, width: int, most: int = _MOST, *, answered: bool = False) -> Iterator[Text]:
    """Yield the lines for a terminal: the recommendation, a row of advice per fix, and the lines that apply it.

    ``answered``: the recommendation is shown already.
    """
    if not answered:
        yield from wrapped(headline(found), width, "green", "  ")
    yield from advice_lines(found.advice, width, most)
    others = sum(each.action == "maybe" for each in found.advice) - most
    if others > 0:
        yield Text(f"… {others} more that help with --verbose", style="dim")
    named = {each.fix: each for each in found.tried}
    chosen = [named[name] for name in (found.recommended, found.at_a_price) if name is not None]
    for each in chosen:
        yield Text("")
        yield from wrapped(f"To apply {each.fix}:", width, "", "  ")
        yield from _snippet(each)
    for sentence in reasons(found):
        yield from wrapped(sentence, width, "dim", "  ")


def _snippet(each: FixEffect) -> Iterator[Text]:
    # Don't wrap lines that users copy.
    for line in each.snippet[:_LINES]:
        yield Text(f"    {line}", style="cyan")
    if len(each.snippet) > _LINES:
        yield Text(f"    … {len(each.snippet) - _LINES} more lines with --verbose", style="dim")
    for one in each.configuration:
        yield Text(f"  {one.place}:")
        for line in one.lines:
            yield Text(f"    {line}", style="cyan")


def fix_table(document: Document) -> CellTable:
    """Return each fix with its gain, price and source; no rows if none was measured."""
    heads = [
        Column("fix", right=False),
        Column("what it does", right=False),
        Column("gain, times [95 %]", style="number"),
        Column("p99, times [95 %]", style="number"),
        Column("verdict", right=False),
        Column("price", right=False),
        Column("source", right=False),
    ]
    found = _of(document)
    rows = [
        [
            each.fix,
            each.does,
            NONE if each.gain is None else bracketed(each.gain, each.gain_ci95),
            NONE if each.p99 is None else bracketed(each.p99, each.p99_ci95),
            VERDICTS[each.verdict] + (f": {each.reason}" if each.reason else ""),
            price_words(each).partition("price: ")[2] or "none known",
            "" if each.source is None else f"{each.source.title}, {each.source.section}",
        ]
        for each in (found.tried if found is not None else ())
    ]
    return CellTable(heads, rows)


def fix_snippets(document: Document) -> list[tuple[str, str]]:
    """Return the name and the snippet of each fix that helps."""
    found = _of(document)
    return [
        (each.fix, "\n".join([*each.snippet, *_configured(each)]))
        for each in (found.tried if found is not None else ())
        if each.verdict == "helps"
    ]


def fix_text(document: Document) -> list[str]:
    """Return the sentences on fixes; empty if none was measured."""
    found = _of(document)
    return found.text if found is not None else []


def _of(document: Document) -> Fixes | None:
    return None if document.why is None else document.why.fixes


def _configured(each: FixEffect) -> Iterator[str]:
    for one in each.configuration:
        yield f"# {one.place}"
        yield from one.lines
