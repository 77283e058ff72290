"""What the terminal shows first: the answer, how sure it is, what to take at what price, and what was measured.

Lines are laid out here and not by a table of the terminal's library: labels never vanish, and numbers and verdicts are
never cut. Where the lines are too narrow, columns go in a stated order, and then labels get lines of their own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from math import log
from typing import Any

from rich.text import Text

from dbdyno.answer.short import STATEMENT, named
from dbdyno.answer.words import durability_words, interval_of, time_of
from dbdyno.console import Console
from dbdyno.document.cell import Cell
from dbdyno.document.effects import Configuration, Effect, Standing
from dbdyno.document.reading import shown_times
from dbdyno.document.shape import Document, Finding
from dbdyno.engines import engine_of_product
from dbdyno.engines.plans import whole_reads
from dbdyno.findings.whole_tables import WHOLE_TABLE
from dbdyno.numbers import NONE, bracketed, figure, milliseconds, percent
from dbdyno.report.estimates import estimate_words
from dbdyno.report.fixes import fix_lines
from dbdyno.report.indexes import index_lines
from dbdyno.report.lines import failed_trials, findings, interval, latency, published_value, warnings
from dbdyno.report.operations import where_time_goes
from dbdyno.report.rows import RATIO as _RATIO
from dbdyno.report.rows import SECOND as _SECOND
from dbdyno.report.rows import Row, laid_out, wrapped
from dbdyno.report.scalability import refusals, sentences
from dbdyno.report.why import why_lines
from dbdyno.results.alike import varied
from dbdyno.results.judging import DURABILITY
from dbdyno.stats.scalability import LEAST_LEVELS

_TIMES = "\N{MULTIPLICATION SIGN}"
# So many rows are shown; the rest is left to --verbose.
_ROWS = 12
_EFFECTS = 4
_CURVES = 3
_NARROWEST = 40
# What goes first where there is no room.
_SPARE = ("price", "published", "p99 ms", "95 %", "ms 95 %", "plan")


def show_brief(document: Document, console: Console, *, followed: bool = False) -> None:
    """Write the answer and what it rests on to the console, laid out for its width; ``followed``: by all the rest."""
    for line in brief_lines(document, max(console.width, _NARROWEST), "below" if followed else "with --verbose"):
        console.print(line, soft_wrap=True)


def brief_lines(document: Document, width: int, rest: str = "with --verbose") -> Iterator[Text]:
    """Give the lines for a terminal of ``width`` columns, none of them longer but where a single word is.

    ``rest``: where all is that is left out here.
    """
    status = "" if document["status"] == "done" else f"  {document['status']}"
    yield Text.assemble((document["experiment"], "bold"), (f"  {document['id']}", "dim"), (status, "bold yellow"))
    yield from wrapped(document["question"], width)
    yield Text("")
    for place, sentence in enumerate(document["answer"]["text"]):
        yield from wrapped(sentence, width, "bold" if place == 0 else "")
    if document["why"] is not None:
        yield Text("")
        yield from why_lines(document["why"], width)
        if document["why"]["fixes"] is not None:
            yield Text("")
            yield from fix_lines(document["why"]["fixes"], width)
        yield from _warnings(document, width, rest)
        return
    yield from _recommended(document, width)
    yield from _effects(document, width, rest)
    yield Text("")
    yield from _table(document, width, rest)
    yield from _scalability(document, width, rest)
    yield from _time(document, width)
    yield from _indexes(document, width, rest)
    yield from _bottlenecks(document, width)
    yield from _warnings(document, width, rest)


def _recommended(document: Document, width: int) -> Iterator[Text]:
    yield from wrapped(recommended_words(document), width, "green")
    found = document["answer"]["recommended"]
    for line in found["apply"][:3] if found is not None else ():
        yield from wrapped(f"  {line}", width, "green", "    ")


def recommended_words(document: Document) -> str:
    """Say which configuration to take, or to keep, why, and at what price; empty where there is none to choose."""
    found = document["answer"]["recommended"]
    if found is None:
        return ""
    price = f"; its price: {'; '.join(found['price'])}" if found["price"] else ""
    return f"{'Take' if found['changes'] else 'Keep'} {found['configuration']}: {found['why']}{price}."


def _effects(document: Document, width: int, rest: str) -> Iterator[Text]:
    """Write what each choice does, where several were varied: with one alone the answer says it."""
    chosen = [each for each in document["effects"] if each["role"] == "choice" and each["metric"] == _usual(document)]
    if len({each["factor"] for each in chosen}) < 2:
        return
    whole = [each for each in chosen if not each["at"]]
    whole.sort(key=lambda each: -abs(_size(each)))
    parts = [effect_words(each, document) for each in whole[:_EFFECTS]]
    left = len(whole) - _EFFECTS
    parts += [f"{left} more {rest}"] if left > 0 else []
    yield from wrapped("Effects: " + " · ".join(parts), width, "", "  ")


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


def _table(document: Document, width: int, rest: str) -> Iterator[Text]:
    rows = _rows(document)
    shown, left = rows[:_ROWS], len(rows) - _ROWS
    if left == 1:
        shown, left = rows, 0
    # Where configurations stand beside one another, nothing says what their figures are.
    beside = any(_SECOND in row.values for row in rows)
    yield from laid_out(shown, width, _SPARE, known_of=rows, corner=_unit(document) if beside else "")
    if left > 0:
        also = "" if rest == "below" else f", or `dbdyno show {document['id']}`"
        yield Text(f"… {left} more {rest}{also}", style="dim")


def _unit(document: Document) -> str:
    return document["cells"][0]["throughput"]["unit"]


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


def _scalability(document: Document, width: int, rest: str) -> Iterator[Text]:
    """Say of each scalability model where throughput peaks, and its terms, or why there is none for enough levels."""
    told = sentences(document)
    for sentence in told[:_CURVES]:
        yield from wrapped(sentence, width, "", "  ")
    if len(told) > _CURVES:
        yield from wrapped(f"  … {len(told) - _CURVES} more {rest}", width)
    # Who measured fewer levels did not ask for a curve.
    for each in refusals(document, LEAST_LEVELS)[:_CURVES]:
        yield from wrapped(f"{each.text[:-1]} ({', '.join(each.of)}).", width, "", "  ")


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
        yield from wrapped(f"Time{where}: {where_time_goes(cells[-1])}.", width, "", "  ")


def _bottlenecks(document: Document, width: int) -> Iterator[Text]:
    """Write each bottleneck once, with how many cells have it."""
    inferred: dict[str, int] = {}
    proven: dict[str, list[str]] = {}
    for cell in document["cells"]:
        found = cell["bottleneck"]
        if found is not None and found["proven"] is not None:
            proven.setdefault(f"{found['proven']['text']} ({found['proven']['run']})", []).append(cell["id"])
        elif found is not None:
            inferred[found["resource"]] = inferred.get(found["resource"], 0) + 1
    several = len(document["cells"]) > 1
    for text, cells in proven.items():
        where = f", of {', '.join(cells)}" if several else ""
        yield from wrapped(f"Bottleneck, proven{where}: {text}", width, "", "  ")
    words = [f"{name} ({count} cell{'s' * (count > 1)})" if several else name for name, count in inferred.items()]
    if words:
        yield from wrapped("Bottleneck, inferred: " + ", ".join(words) + ".", width, "", "  ")


def _indexes(document: Document, width: int, rest: str) -> Iterator[Text]:
    """Give the statements that make the indexes which would spare a costly scan or sort."""
    missing = index_lines(document)
    if missing:
        yield from wrapped("Indexes that plans lack (not measured):", width)
    for line in missing[:_EFFECTS]:
        sql, comment, names = line.partition("  -- ")
        if len(line) + 2 <= width:
            yield Text(f"  {line}")
            continue
        # What is copied must stay a statement: a comment of several lines would not be one.
        yield from wrapped(f"  {sql}", width, "", "    ")
        if comment:
            yield from wrapped(f"  -- {names}", width, "", "  -- ")
    if len(missing) > _EFFECTS:
        yield from wrapped(f"  … {len(missing) - _EFFECTS} more {rest}", width)


def _warnings(document: Document, width: int, rest: str) -> Iterator[Text]:
    failed = failed_trials(document)
    if failed:
        trials = len(document["failed_trials"])
        yield from wrapped(f"✗ {trials} trial{'s' * (trials > 1)} failed: {failed[0].text}", width, "bold red", "  ")
    elsewhere = {each["text"] for each in document["findings"] if _is_told_elsewhere(each, document)}
    told = [each for each in (*warnings(document), *findings(document)) if each.text not in elsewhere]
    if told:
        more = f" {len(told) - 1} more {rest}." if len(told) > 1 else ""
        first = textwrap.shorten(told[0].text, 2 * width - len(more), placeholder=" …")
        yield from wrapped(f"! {first}{more}", width, "yellow", "  ")


def _is_told_elsewhere(finding: Finding, document: Document) -> bool:
    """Whether the lines on indexes say it, or the price of a configuration does: another class of durability."""
    if finding.get("kind") == WHOLE_TABLE.name:
        return True
    priced = any(each["price"] or each["gain"] for each in document["answer"]["configurations"])
    return priced and finding["evidence"].get("not_comparable") == DURABILITY
