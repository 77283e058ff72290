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
_MAX_FURTHER_FIXES = 4
# Maximum number of lines of a snippet.
_LINES = 4

VERDICTS = {"helps": "helps", "no": "doesn't help", "inconclusive": "inconclusive", "disqualified": "not valid"}
"""Verdicts as tables write them."""


def fix_lines(fixes: Fixes, width: int, most: int = _MAX_FURTHER_FIXES, *, answered: bool = False) -> Iterator[Text]:
    """Yield the lines for a terminal: the recommendation, a row of advice per fix, and the lines that apply it.

    ``answered``: the recommendation is shown already.
    """
    if not answered:
        yield from wrapped(headline(fixes), width, "green", "  ")
    yield from advice_lines(fixes.advice, width, most)
    others = sum(advice.action == "maybe" for advice in fixes.advice) - most
    if others > 0:
        yield Text(f"… {others} more that help with --verbose", style="dim")
    named = {fix_effect.fix: fix_effect for fix_effect in fixes.tried}
    chosen = [named[name] for name in (fixes.recommended, fixes.at_a_price) if name is not None]
    for fix_effect in chosen:
        yield Text("")
        yield from wrapped(f"To apply {fix_effect.fix}:", width, "", "  ")
        yield from _snippet(fix_effect)
    for sentence in reasons(fixes):
        yield from wrapped(sentence, width, "dim", "  ")


def _snippet(fix_effect: FixEffect) -> Iterator[Text]:
    # Don't wrap lines that users copy.
    for line in fix_effect.snippet[:_LINES]:
        yield Text(f"    {line}", style="cyan")
    if len(fix_effect.snippet) > _LINES:
        yield Text(f"    … {len(fix_effect.snippet) - _LINES} more lines with --verbose", style="dim")
    for one in fix_effect.configuration:
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
    fixes = _of(document)
    rows = [
        [
            fix_effect.fix,
            fix_effect.does,
            NONE if fix_effect.gain is None else bracketed(fix_effect.gain, fix_effect.gain_ci95),
            NONE if fix_effect.p99 is None else bracketed(fix_effect.p99, fix_effect.p99_ci95),
            VERDICTS[fix_effect.verdict] + (f": {fix_effect.reason}" if fix_effect.reason else ""),
            price_words(fix_effect).partition("price: ")[2] or "none known",
            "" if fix_effect.source is None else f"{fix_effect.source.title}, {fix_effect.source.section}",
        ]
        for fix_effect in (fixes.tried if fixes is not None else ())
    ]
    return CellTable(heads, rows)


def fix_snippets(document: Document) -> list[tuple[str, str]]:
    """Return the name and the snippet of each fix that helps."""
    fixes = _of(document)
    return [
        (fix_effect.fix, "\n".join([*fix_effect.snippet, *_configured(fix_effect)]))
        for fix_effect in (fixes.tried if fixes is not None else ())
        if fix_effect.verdict == "helps"
    ]


def fix_text(document: Document) -> list[str]:
    """Return the sentences on fixes; empty if none was measured."""
    fixes = _of(document)
    return fixes.text if fixes is not None else []


def _of(document: Document) -> Fixes | None:
    return None if document.why is None else document.why.fixes


def _configured(fix_effect: FixEffect) -> Iterator[str]:
    for one in fix_effect.configuration:
        yield f"# {one.place}"
        yield from one.lines
