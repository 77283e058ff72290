"""What the terminal shows first: the answer, how sure it is, what to take at what price, and what was measured.

Lines are laid out here and not by a table of the terminal's library: labels never vanish, and numbers and verdicts are
never cut. Where the lines are too narrow, columns go in a stated order, and then labels get lines of their own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from rich.console import Console
from rich.text import Text

from dbdyno.answer.short import named
from dbdyno.answer.words import STATEMENT, durability_words, interval_of, time_of
from dbdyno.document.cell import Cell
from dbdyno.document.effects import Configuration, Effect, Standing
from dbdyno.document.reading import shown_times
from dbdyno.document.shape import Document, Finding
from dbdyno.engines import engine_of_product
from dbdyno.engines.plans import whole_reads
from dbdyno.findings.whole_tables import WHOLE_TABLE
from dbdyno.numbers import NONE, bracketed, figure, milliseconds, percent
from dbdyno.report.estimates import estimate_words
from dbdyno.report.indexes import index_lines
from dbdyno.report.lines import failed_trials, findings, interval, latency, published_value, warnings
from dbdyno.report.operations import where_time_goes
from dbdyno.report.scalability import refusals, sentences
from dbdyno.results.alike import varied
from dbdyno.results.judging import DURABILITY
from dbdyno.stats.scalability import LEAST_LEVELS

_GAP = 2
# Of figures below a label.
_INDENT = 2
_TIMES = "\N{MULTIPLICATION SIGN}"
# So many rows are shown; the rest is left to --verbose.
_ROWS = 12
_EFFECTS = 4
_CURVES = 3
_NARROWEST = 40
_STYLES = {"faster": "green", "slower": "red", "equivalent": "cyan", "inconclusive": "yellow"}
_RATIO, _SECOND = "ratio [95 %]", "2nd/1st [95 %]"
# What goes first where there is no room.
_SPARE = ("price", "published", "p99 ms", "95 %", "ms 95 %", "plan")


@dataclass(frozen=True, slots=True)
class Row:
    """A label, and by column the figures of one cell."""

    label: str
    values: dict[str, str]


def show_brief(document: Document, console: Console) -> None:
    """Write the answer and what it rests on to the console, laid out for its width."""
    for line in brief_lines(document, max(console.width, _NARROWEST)):
        console.print(line, soft_wrap=True, highlight=False)


def brief_lines(document: Document, width: int) -> Iterator[Text]:
    """Give the lines for a terminal of ``width`` columns, none of them longer but where a single word is."""
    status = "" if document["status"] == "done" else f"  {document['status']}"
    yield Text.assemble((document["experiment"], "bold"), (f"  {document['id']}", "dim"), (status, "bold yellow"))
    yield from _wrapped(document["question"], width)
    yield Text("")
    for place, sentence in enumerate(document["answer"]["text"]):
        yield from _wrapped(sentence, width, "bold" if place == 0 else "")
    yield from _recommended(document, width)
    yield from _effects(document, width)
    yield Text("")
    yield from _table(document, width)
    yield from _scalability(document, width)
    yield from _time(document, width)
    yield from _indexes(document, width)
    yield from _bottlenecks(document, width)
    yield from _warnings(document, width)


def _wrapped(text: str, width: int, style: str = "", indent: str = "") -> Iterator[Text]:
    for line in textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False):
        yield Text(line, style=style)


def _recommended(document: Document, width: int) -> Iterator[Text]:
    yield from _wrapped(recommended_words(document), width, "green")
    found = document["answer"]["recommended"]
    for line in found["apply"][:3] if found is not None else ():
        yield from _wrapped(f"  {line}", width, "green", "    ")


def recommended_words(document: Document) -> str:
    """Say which configuration to take, or to keep, why, and at what price; empty where there is none to choose."""
    found = document["answer"]["recommended"]
    if found is None:
        return ""
    price = f"; its price: {'; '.join(found['price'])}" if found["price"] else ""
    return f"{'Take' if found['changes'] else 'Keep'} {found['configuration']}: {found['why']}{price}."


def _effects(document: Document, width: int) -> Iterator[Text]:
    """Write what each choice does, where several were varied: with one alone the answer says it."""
    chosen = [each for each in document["effects"] if each["role"] == "choice" and each["metric"] == _usual(document)]
    if len({each["factor"] for each in chosen}) < 2:
        return
    whole = [each for each in chosen if not each["at"]]
    whole.sort(key=lambda each: -abs(_size(each)))
    parts = [effect_words(each, document) for each in whole[:_EFFECTS]]
    rest = len(whole) - _EFFECTS
    parts += [f"{rest} more with --verbose"] if rest > 0 else []
    yield from _wrapped("Effects: " + " · ".join(parts), width, "", "  ")


def _size(effect: Effect) -> float:
    return log(effect["ratio"]) if effect["ratio"] else 0.0


def _usual(document: Document) -> str:
    metrics = [each["metric"] for each in document["effects"]]
    return "throughput" if "throughput" in metrics or not metrics else metrics[0]


def effect_words(effect: Effect, document: Document) -> str:
    """Write an effect with its interval, and what it costs."""
    name = named({effect["factor"]: effect["level"]}, document["answer"]["systems"])
    if effect["ratio"] is None:
        return f"{name} unknown"
    words = f"{name} {_TIMES}{bracketed(effect['ratio'], effect['ci95'])}"
    if effect["verdict"] == "inconclusive":
        words += " (open)"
    if effect["at"]:
        words += f" at {named(effect['at'], document['answer']['systems'])}"
    elif effect["depends_on"]:
        words += f" (depends on {', '.join(effect['depends_on'])})"
    durability = durability_words(effect)
    words += f", {durability}" if durability else ""
    if effect["failed"]:
        a, b = effect["failed"]
        words += f", {'adds' if b > a else 'removes'} {percent(abs(b - a))} failures"
    return words


def _table(document: Document, width: int) -> Iterator[Text]:
    rows = _rows(document)
    shown, rest = rows[:_ROWS], len(rows) - _ROWS
    if rest == 1:
        shown, rest = rows, 0
    heads = [head for head in dict.fromkeys(name for row in rows for name in row.values) if _known(rows, head)]
    heads = _fitting(shown, heads, width)
    label = max((len(row.label) for row in shown), default=0)
    of_numbers = sum(_width(shown, head) + _GAP for head in heads)
    if label + of_numbers <= width:
        yield from _beside(shown, heads, label)
    elif _INDENT + of_numbers <= width:
        yield from _below(shown, heads, width)
    else:
        yield from _one_by_one(shown, heads, width)
    if rest > 0:
        yield Text(f"… {rest} more with --verbose, or `dbdyno show {document['id']}`", style="dim")


def _beside(rows: Sequence[Row], heads: Sequence[str], label: int) -> Iterator[Text]:
    """Write each row as a line: its label, then its figures."""
    yield Text(" " * label + _line(heads, {head: head for head in heads}, rows).plain.rstrip(), style="dim")
    for row in rows:
        line = Text(row.label.ljust(label)).append_text(_line(heads, row.values, rows))
        line.rstrip()
        yield line


def _below(rows: Sequence[Row], heads: Sequence[str], width: int) -> Iterator[Text]:
    """Write each row as its label, and its figures in a line below."""
    yield Text(" " * _INDENT + _line(heads, {head: head for head in heads}, rows).plain.rstrip(), style="dim")
    for row in rows:
        yield from _wrapped(row.label, width, "", "  ")
        line = Text(" " * _INDENT).append_text(_line(heads, row.values, rows))
        line.rstrip()
        yield line


def _one_by_one(rows: Sequence[Row], heads: Sequence[str], width: int) -> Iterator[Text]:
    """Write each figure in a line of its own, with its head."""
    for row in rows:
        yield from _wrapped(row.label, width, "", "  ")
        for head in heads:
            if row.values.get(head):
                yield from _wrapped(f"{head}: {row.values[head]}", width - _INDENT, "", "  ")


def _line(heads: Sequence[str], values: Mapping[str, str], rows: Sequence[Row]) -> Text:
    text = Text()
    for head in heads:
        style = _STYLES.get(values.get(head, ""), "") if head == "verdict" else ""
        text.append(" " * _GAP)
        text.append(_placed(head, values.get(head, ""), rows), style=style)
    return text


def _known(rows: Sequence[Row], head: str) -> bool:
    return any(row.values.get(head) not in (None, "", NONE) for row in rows)


def _fitting(rows: Sequence[Row], heads: list[str], width: int) -> list[str]:
    """Leave out columns, in the stated order, as long as the rest does not fit beside the labels."""
    left = list(heads)
    label = max((len(row.label) for row in rows), default=0)
    for spare in _SPARE:
        if label + sum(_width(rows, head) + _GAP for head in left) <= width:
            break
        # Numbers on a line of their own have more room.
        if label > width // 2 and _INDENT + sum(_width(rows, head) + _GAP for head in left) <= width:
            break
        left = [head for head in left if head != spare]
    return left


def _width(rows: Sequence[Row], head: str) -> int:
    return max([len(head), *(len(row.values.get(head, "")) for row in rows)])


def _placed(head: str, value: str, rows: Sequence[Row]) -> str:
    width = _width(rows, head)
    return value.ljust(width) if head in ("verdict", _RATIO, _SECOND, "price", "plan") else value.rjust(width)


def _rows(document: Document) -> list[Row]:
    """Give the rows of what was measured.

    Two configurations stand beside one another, a row for each load. Of many cells there is a row for each
    configuration, the fastest first; else one for each cell.
    """
    found, factors = document["answer"]["configurations"], varied(document["cells"])
    loads = [name for name in factors if document["roles"].get(name) == "load"]
    several = len({_load(cell, loads, document) for cell in document["cells"]}) > 1
    if len(found) == 2 and several:
        return _pairs(document, loads)
    if len(found) > 2 and several and len(document["cells"]) > _ROWS:
        return _configurations(document)
    return _cells(document, loads, [name for name in factors if name not in loads])


def _load(cell: Cell, loads: Sequence[str], document: Document) -> str:
    return named({name: cell["factors"].get(name) for name in loads}, document["answer"]["systems"])


def _pairs(document: Document, loads: Sequence[str]) -> list[Row]:
    found = document["answer"]["configurations"]
    standings = _standings(found, document["cells"], loads)
    of = {name: each["name"] for each in found for name in each["cells"]}
    rows: dict[str, Row] = {}
    for cell in document["cells"]:
        row = rows.setdefault(_load(cell, loads, document), Row(_load(cell, loads, document), {}))
        row.values[of.get(cell["id"], cell["id"])] = figure(cell["throughput"]["mean"])
    for cell in document["cells"]:
        standing, label = standings.get(cell["id"]), _load(cell, loads, document)
        if standing is not None:
            ratio, word = _compared(standing)
            values = rows[label].values | {_SECOND: ratio, "verdict": word}
            rows[label] = Row(label, values)
    return list(rows.values())


def _configurations(document: Document) -> list[Row]:
    first, *others = document["answer"]["configurations"]
    made = [(1.0, Row(first["name"], {_RATIO: "1"}))]
    for each in others:
        known = each["ratio"] is not None and not each["not_ranked"]
        values = {
            _RATIO: bracketed(each["ratio"], each["ci95"]) if known and each["ratio"] is not None else NONE,
            "verdict": (each["verdict"] or "") if known else "not ranked",
            "price": ", ".join(each["price"]) or each["not_ranked"],
        }
        # Those that are not ranked come last.
        made.append((each["ratio"] or 0.0 if known else 0.0, Row(each["name"], values)))
    return [row for _, row in sorted(made, key=lambda each: -each[0])]


def _cells(document: Document, loads: Sequence[str], choices: Sequence[str]) -> list[Row]:
    systems, cells = document["answer"]["systems"], document["cells"]
    standings = _standings(document["answer"]["configurations"], cells, loads)
    order = list(dict.fromkeys(_load(cell, loads, document) for cell in cells))
    # The first of those that others are held against.
    first = {name for each in document["answer"]["configurations"][:1] for name in each["cells"]}
    called = {name: each["name"] for each in document["answer"]["configurations"] for name in each["cells"]}
    times = document["report"].get("times") is True
    made = []
    for cell in sorted(cells, key=lambda each: order.index(_load(each, loads, document))):
        levels = {name: cell["factors"][name] for name in (*loads, *choices) if name in cell["factors"]}
        alone = cell["system"]["engine"] or cell["id"]
        standing = standings.get(cell["id"])
        ratio, word = ("1" if cell["id"] in first else "", "") if standing is None else _compared(standing)
        values = {
            **(_of_one(cell) if times else _rate(cell)),
            "p99 ms": latency(cell, "p99") if shown_times(cell["latency_ms"]) else "",
            "published": published_value(cell["published"]) if cell["published"] else "",
            _RATIO: ratio,
            "verdict": word,
        }
        label = named(levels, systems) or (alone if len(cells) == 1 else cell["id"])
        if cell["id"] in called:
            label = f"{_load(cell, loads, document)} {called[cell['id']]}".strip()
        made.append(Row(label.removeprefix(f"{STATEMENT}=") if times else label, values))
    return made


def _rate(cell: Cell) -> dict[str, str]:
    return {cell["throughput"]["unit"]: figure(cell["throughput"]["mean"]), "95 %": interval(cell)}


def _of_one(cell: Cell) -> dict[str, str]:
    """Give the time of one execution with its interval, the rows that it returns, and what its plan reads whole."""
    span = interval_of(cell)
    return {
        "ms": milliseconds(time_of(cell)),
        "ms 95 %": f"{milliseconds(span[0])} to {milliseconds(span[1])}" if span else "",
        "rows": figure(cell["rows_per_transaction"]),
        "plan": ", ".join(filter(None, (_plan(cell), estimate_words(cell)))),
    }


def _plan(cell: Cell) -> str:
    """Say in a few words what is costly in the plan of a cell's one statement."""
    engine = engine_of_product(cell["system"]["engine"])
    read = engine.read_plan(cell["statements"][0]["plan"]) if len(cell["statements"]) == 1 else None
    if read is None:
        return ""
    tables = [each.table for each in whole_reads(read)]
    return ", ".join([*([f"all of {' and '.join(tables)}"] if tables else []), *(["sort"] if read.sorts else [])])


def _standings(
    configurations: Sequence[Configuration], cells: Sequence[Cell], loads: Sequence[str]
) -> dict[str, Standing]:
    by_id = {cell["id"]: cell for cell in cells}
    found: dict[str, Standing] = {}
    for each in configurations:
        for name in each["cells"]:
            own: dict[str, Any] = {load: by_id[name]["factors"].get(load) for load in loads}
            found.update((name, standing) for standing in each["at"] if standing["load"] == own)
    return found


def _compared(standing: Standing) -> tuple[str, str]:
    return NONE if standing["ratio"] is None else bracketed(standing["ratio"], standing["ci95"]), standing["verdict"]


def _scalability(document: Document, width: int) -> Iterator[Text]:
    """Say of each scalability model where throughput peaks, and its terms, or why there is none for enough levels."""
    told = sentences(document)
    for sentence in told[:_CURVES]:
        yield from _wrapped(sentence, width, "", "  ")
    if len(told) > _CURVES:
        yield from _wrapped(f"  … {len(told) - _CURVES} more with --verbose", width)
    # Who measured fewer levels did not ask for a curve.
    for each in refusals(document, LEAST_LEVELS)[:_CURVES]:
        yield from _wrapped(f"{each.text[:-1]} ({', '.join(each.of)}).", width, "", "  ")


def _time(document: Document, width: int) -> Iterator[Text]:
    """Say what took the time, in the configuration to take, or the first one, at the load that is measured last."""
    taken, found = document["answer"]["recommended"], document["answer"]["configurations"]
    wanted = [each for each in found if taken is not None and each["name"] == taken["configuration"]] or found[:1]
    names = [name for each in wanted for name in each["cells"]]
    cells = [cell for cell in document["cells"] if not names or cell["id"] in names]
    cells = [cell for cell in cells if where_time_goes(cell)]
    if cells:
        where = ""
        if len(document["cells"]) > 1:
            factors = varied(document["cells"])
            levels = {name: cells[-1]["factors"].get(name) for name in factors}
            where = f" ({named(levels, document['answer']['systems'])})"
        yield from _wrapped(f"Time{where}: {where_time_goes(cells[-1])}.", width, "", "  ")


def _bottlenecks(document: Document, width: int) -> Iterator[Text]:
    """Write each bottleneck once, with how many cells have it."""
    cells: dict[str, int] = {}
    for cell in document["cells"]:
        if cell["bottleneck"]:
            cells[cell["bottleneck"]["resource"]] = cells.get(cell["bottleneck"]["resource"], 0) + 1
    if not cells:
        return
    several = len(document["cells"]) > 1
    words = [f"{name} ({count} cell{'s' * (count > 1)})" if several else name for name, count in cells.items()]
    yield from _wrapped("Bottleneck, inferred: " + ", ".join(words) + ".", width, "", "  ")


def _indexes(document: Document, width: int) -> Iterator[Text]:
    """Give the statements that make the indexes which would spare a costly scan or sort."""
    missing = index_lines(document)
    if missing:
        yield from _wrapped("Indexes that plans lack (not measured):", width)
    for line in missing[:_EFFECTS]:
        yield from _wrapped(f"  {line}", width, "", "    ")
    if len(missing) > _EFFECTS:
        yield from _wrapped(f"  … {len(missing) - _EFFECTS} more with --verbose", width)


def _warnings(document: Document, width: int) -> Iterator[Text]:
    failed = failed_trials(document)
    if failed:
        trials = len(document["failed_trials"])
        yield from _wrapped(f"✗ {trials} trial{'s' * (trials > 1)} failed: {failed[0].text}", width, "bold red", "  ")
    elsewhere = {each["text"] for each in document["findings"] if _is_told_elsewhere(each, document)}
    told = [each for each in (*warnings(document), *findings(document)) if each.text not in elsewhere]
    if told:
        more = f" {len(told) - 1} more with --verbose." if len(told) > 1 else ""
        first = textwrap.shorten(told[0].text, 2 * width - len(more), placeholder=" …")
        yield from _wrapped(f"! {first}{more}", width, "yellow", "  ")


def _is_told_elsewhere(finding: Finding, document: Document) -> bool:
    """Whether the lines on indexes say it, or the price of a configuration does: another class of durability."""
    if finding.get("kind") == WHOLE_TABLE.name:
        return True
    priced = any(each["price"] or each["gain"] for each in document["answer"]["configurations"])
    return priced and finding["evidence"].get("not_comparable") == DURABILITY
