"""The results of fixes for the terminal and the HTML report: gain, price and the lines that apply each fix."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from dbdyno.analysis.why.fix_sentences import gain_words, price_words
from dbdyno.base.numbers import NONE, bracketed
from dbdyno.model.result.fixes import FixEffect, Fixes
from dbdyno.model.result.shape import Document
from dbdyno.report.rows import wrapped
from dbdyno.report.sections import CellTable, Column

_TIMES = "\N{MULTIPLICATION SIGN}"

# Maximum number of further fixes to show; --verbose shows all.
_MOST = 4
# Maximum number of lines of a snippet.
_LINES = 4

VERDICTS = {"helps": "helps", "no": "doesn't help", "inconclusive": "inconclusive", "disqualified": "not valid"}
"""Verdicts as tables write them."""


def fix_lines(found: Fixes, width: int, most: int = _MOST) -> Iterator[Text]:
    """Yield the lines for a terminal: the recommended fix, other fixes that help, then the rest."""
    yield from wrapped(found.text[0], width, "green", "  ")
    named = {each.fix: each for each in found.tried}
    chosen = [named[name] for name in (found.recommended, found.at_a_price) if name is not None]
    if chosen:
        yield from _snippet(chosen[0])
    if found.at_a_price is not None:
        yield from wrapped(found.text[1], width, "yellow", "  ")
        yield from _snippet(chosen[1])
    others = [each for each in found.tried if each.verdict == "helps" and each not in chosen]
    for each in others[:most]:
        sign = f" {_TIMES}" if found.metric == "throughput" else ""
        yield from wrapped(f"{gain_words(each, found)}{sign}: {each.fix}{price_words(each)}.", width, "", "  ")
        yield from _snippet(each)
    if len(others) > most:
        yield Text(f"… {len(others) - most} more that help with --verbose", style="dim")
    for sentence in found.text[2 if found.at_a_price is not None else 1 :]:
        yield from wrapped(sentence, width, "dim", "  ")


def _snippet(each: FixEffect) -> Iterator[Text]:
    # Don't wrap lines that users copy.
    for line in each.snippet[:_LINES]:
        yield Text(f"    {line}", style="cyan")
    if len(each.snippet) > _LINES:
        yield Text(f"    … {len(each.snippet) - _LINES} more lines with --verbose", style="dim")


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
        (each.fix, "\n".join(each.snippet))
        for each in (found.tried if found is not None else ())
        if each.verdict == "helps"
    ]


def fix_text(document: Document) -> list[str]:
    """Return the sentences on fixes; empty if none was measured."""
    found = _of(document)
    return found.text if found is not None else []


def _of(document: Document) -> Fixes | None:
    return None if document.why is None else document.why.fixes
