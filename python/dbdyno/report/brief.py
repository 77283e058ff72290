"""The first lines on the terminal: the answer with its uncertainty, the choices, their prices and the measurements.

This module lays out the lines itself, because tables of Rich may drop labels and cut numbers. If the terminal is too
narrow, columns are dropped in a fixed order, and then labels get lines of their own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.text import Text

from dbdyno.analysis.answer.short import named
from dbdyno.analysis.answer.words import durability_words
from dbdyno.analysis.findings.failures import failed_transactions
from dbdyno.analysis.findings.indexes import whole_table
from dbdyno.analysis.measured.cell_groups import varied
from dbdyno.analysis.measured.comparisons import DURABILITY
from dbdyno.base.console import Console
from dbdyno.base.numbers import bracketed, percent
from dbdyno.model.result.effects import Effect
from dbdyno.model.result.shape import Document, Finding
from dbdyno.report.advice_lines import advice_lines
from dbdyno.report.answer_table import answer_table, has_choices
from dbdyno.report.fix_lines import fix_lines
from dbdyno.report.indexes import index_lines, measured_index_lines
from dbdyno.report.lines import cell_name, factor_names, failed_trials, failures, findings, warnings
from dbdyno.report.measured import legend, measured_line, time_measured
from dbdyno.report.operations import time_table, where_time_goes
from dbdyno.report.rows import laid_out, wrapped
from dbdyno.report.scalability_lines import refusals, sentences
from dbdyno.report.slo import slo_lines
from dbdyno.report.why import why_lines
from dbdyno.stats.scalability import MIN_LEVELS

_TIMES = "\N{MULTIPLICATION SIGN}"
# Maximum number of rows; --verbose shows all.
_ROWS = 12
# Maximum number of lines of answer and table together, and minimum number of rows of the table.
_LINES = 12
_MIN_LINES = 3
_EFFECTS = 4
_CURVES = 3
# If a larger share of the transactions fails, their error is shown before other findings.
_OFTEN = 0.05
_NARROWEST = 40
# Columns to drop if the terminal is narrow, the first one first.
_SPARE = ("price", "limited by", "published", "95 %", "ms 95 %", "plan", "slowest", "p99 ms", "failed")


def show_brief(document: Document, console: Console, *, followed: bool = False) -> None:
    """Print the answer and its evidence, laid out for the console's width. ``followed``: all details follow below."""
    for line in brief_lines(document, max(console.width, _NARROWEST), "below" if followed else "with --verbose"):
        console.print(line, soft_wrap=True)


def brief_lines(document: Document, width: int, rest: str = "with --verbose") -> Iterator[Text]:
    """Yield the lines for a terminal of ``width`` columns. Only a line with a single long word can be longer.

    ``rest``: where users find the omitted lines, such as ``below`` or ``with --verbose``.
    """
    status = "" if document.status == "done" else f" {document.status}"
    head = f"{document.experiment}  {document.id}{status}"
    measured = time_measured(document)
    # Non-breaking spaces keep the time in one line.
    whole = f"{head}  {measured_line(document)}".replace(measured, measured.replace(" ", "\xa0"))
    for position, wrapped_line in enumerate(wrapped(whole, width, "", "  ")):
        line = Text(wrapped_line.plain.replace("\xa0", " "))
        if position == 0:
            line.stylize("bold", 0, len(document.experiment))
            line.stylize("dim", len(document.experiment), len(document.experiment) + 2 + len(document.id))
        yield line
    answer = [
        line
        for position, sentence in enumerate(document.answer.text)
        for line in wrapped(sentence, width, "bold" if position == 0 else "")
    ]
    answer += advice_lines(document.answer.advice, width)
    yield from answer
    if document.why is not None:
        if document.why.tests:
            yield Text("")
            yield from why_lines(document.why, width)
        if document.why.fixes is not None:
            yield Text("")
            yield from fix_lines(document.why.fixes, width, answered=not document.why.tests)
        yield from _warnings(document, width, rest)
        return
    if document.slo is not None:
        yield Text("")
        yield from slo_lines(document.slo, width)
        yield from _warnings(document, width, rest)
        return
    yield from measured_index_lines(document, width)
    table = list(_table(document, width, rest, max(_LINES - len(answer) - 2, _MIN_LINES)))
    yield from table
    yield Text("")
    yield from wrapped(document.question, width, "dim")
    yield from _applied(document, width)
    text = "\n".join(line.plain for line in [*answer, *table])
    for each in legend(
        document, [configuration.name for configuration in document.answer.configurations if configuration.name in text]
    ):
        yield from wrapped(each, width, "dim", "  ")
    yield from _scalability(document, width, rest)
    yield from _time(document, width, rest)
    yield from _indexes(document, width, rest)
    yield from _bottlenecks(document, width)
    yield from _warnings(document, width, rest)


def _applied(document: Document, width: int) -> Iterator[Text]:
    """Yield the statements that apply the recommended configuration, unless the choices already show them."""
    configuration = document.answer.recommended
    known = {advice.change for advice in document.answer.advice}
    lines = [] if configuration is None else [line for line in configuration.apply if line.rstrip(";") not in known]
    for line in lines[:3]:
        yield from wrapped(line, width, "green", "  ")


def effect_words(effect: Effect, document: Document) -> str:
    """Return an effect with its interval and its price, in one line."""
    name = named({effect.factor: effect.level}, document.answer.systems)
    if effect.ratio is None:
        return f"{name} unknown"
    words = f"{name} {_TIMES}{bracketed(effect.ratio, effect.ci95)}"
    if effect.at:
        words += f" at {named(effect.at, document.answer.systems)}"
    elif effect.depends_on:
        words += f" (depends on {', '.join(effect.depends_on)})"
    durability = durability_words(effect)
    words += f", {durability}" if durability else ""
    if effect.failed:
        a, b = effect.failed
        words += f", {'adds' if b > a else 'removes'} {percent(abs(b - a))} failures"
    return words


def _table(document: Document, width: int, rest: str, most: int) -> Iterator[Text]:
    table = answer_table(document)
    most = most if has_choices(document) else _ROWS
    shown, left = table.rows[:most], len(table.rows) - most
    if left == 1:
        shown, left = table.rows, 0
    first = [row for row in table.rows[most:] if row.label in _first_name(document)]
    if left > 1 and first:
        # Always show the configuration with which the others are compared.
        shown = [*shown[:-1], *first]
    yield from laid_out(shown, width, _SPARE, known_of=table.rows, corner=table.corner)
    if left > 0:
        also = "" if rest == "below" else f", or `dbdyno show {document.id}`"
        yield Text(f"… {left} more {rest}{also}", style="dim")


def _first_name(document: Document) -> list[str]:
    return [configuration.name for configuration in document.answer.configurations[:1]]


def _scalability(document: Document, width: int, rest: str) -> Iterator[Text]:
    """Yield the peak and the terms of each scalability model, or the reason why a model could not be fitted."""
    shown = sentences(document)
    for sentence in shown[:_CURVES]:
        yield from wrapped(sentence, width, "", "  ")
    if len(shown) > _CURVES:
        yield from wrapped(f"  … {len(shown) - _CURVES} more {rest}", width)
    # With fewer levels, no curve was expected.
    for refusal in refusals(document, MIN_LEVELS)[:_CURVES]:
        yield from wrapped(f"{refusal.text[:-1]} ({', '.join(refusal.models)}).", width, "", "  ")


def _time(document: Document, width: int, rest: str) -> Iterator[Text]:
    """Yield the largest parts of the time of the recommended (otherwise the first) configuration at its last load."""
    taken, configurations = document.answer.recommended, document.answer.configurations
    wanted = [
        configuration
        for configuration in configurations
        if taken is not None and configuration.name == taken.configuration
    ] or configurations[:1]
    names = [name for configuration in wanted for name in configuration.cells]
    cells = [cell for cell in document.cells if not names or cell.id in names]
    cells = [cell for cell in cells if where_time_goes(cell)]
    if cells and document.report.get("operations") is True:
        rows = time_table(cells[-1])
        where = "" if len(document.cells) == 1 else cell_name(cells[-1], factor_names(document))
        yield from laid_out(rows[:_ROWS], width, ("count",), corner=where)
        if len(rows) > _ROWS:
            yield Text(f"… {len(rows) - _ROWS} more {rest}", style="dim")
    elif cells:
        where = ""
        if len(document.cells) > 1:
            factors = varied(document.cells)
            levels = {name: cells[-1].factors.get(name) for name in factors}
            where = f" ({named(levels, document.answer.systems)})"
        yield from wrapped(f"Time{where}: {where_time_goes(cells[-1])}.", width, "", "  ")


def _bottlenecks(document: Document, width: int) -> Iterator[Text]:
    """Yield each bottleneck once, with the number of its cells."""
    inferred: dict[str, int] = {}
    proven: dict[str, list[str]] = {}
    for cell in document.cells:
        bottleneck = cell.bottleneck
        if bottleneck is not None and bottleneck.proven is not None:
            proven.setdefault(f"{bottleneck.proven.text} ({bottleneck.proven.run})", []).append(cell.id)
        elif bottleneck is not None:
            inferred[bottleneck.resource] = inferred.get(bottleneck.resource, 0) + 1
    several = len(document.cells) > 1
    for text, cells in proven.items():
        where = f", of {', '.join(cells)}" if several else ""
        yield from wrapped(f"Bottleneck, proven{where}: {text}", width, "", "  ")
    words = [f"{name} ({count} cell{'s' * (count > 1)})" if several else name for name, count in inferred.items()]
    if words:
        yield from wrapped("Bottleneck, inferred: " + ", ".join(words) + ".", width, "", "  ")


def _indexes(document: Document, width: int, rest: str) -> Iterator[Text]:
    """Yield the statements that create the indexes which would avoid a costly scan or sort."""
    missing = index_lines(document)
    if missing:
        yield from wrapped("Missing indexes (not measured):", width)
    for line in missing[:_EFFECTS]:
        sql, comment, names = line.partition("  -- ")
        if len(line) + 2 <= width:
            yield Text(f"  {line}")
            continue
        # Users copy the statement, so wrap the comment separately, each line with its own `--`.
        yield from wrapped(f"  {sql}", width, "", "    ")
        if comment:
            yield from wrapped(f"  -- {names}", width, "", "  -- ")
    if len(missing) > _EFFECTS:
        yield from wrapped(f"  … {len(missing) - _EFFECTS} more {rest}", width)


def _warnings(document: Document, width: int, rest: str) -> Iterator[Text]:
    failed = failed_trials(document)
    if failed:
        trials = len(failures(document))
        yield from wrapped(f"✗ {trials} trial{'s' * (trials > 1)} failed: {failed[0].text}", width, "bold red", "  ")
    elsewhere = {finding.text for finding in document.findings if _is_stated_elsewhere(finding, document)}
    often = {finding.text for finding in document.findings if _fails_often(finding)}
    others = sorted(findings(document), key=lambda one: one.text not in often)
    shown = [warning for warning in (*warnings(document), *others) if warning.text not in elsewhere]
    if shown:
        more = f" {len(shown) - 1} more {rest}." if len(shown) > 1 else ""
        first = textwrap.shorten(shown[0].text, 2 * width - len(more), placeholder=" …")
        yield from wrapped(f"! {first}{more}", width, "yellow", "  ")


def _fails_often(finding: Finding) -> bool:
    """Whether the finding has the error of many failed transactions."""
    if finding.kind != failed_transactions.name:
        return False
    counts = finding.evidence["by_cell"].values()
    return any(count["failed"] > _OFTEN * count["issued"] for count in counts)


def _is_stated_elsewhere(finding: Finding, document: Document) -> bool:
    """Whether other lines already state the finding: those on indexes, or a price that names the durability class."""
    if finding.kind == whole_table.name:
        return True
    priced = any(configuration.price or configuration.gain for configuration in document.answer.configurations)
    return priced and finding.evidence.get("not_comparable") == DURABILITY
