"""Costly statements whose plan reads a table whole, or sorts, and the index that would spare it."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.analysis.findings.searching import engine_name, known, shown
from dbdyno.analysis.measured.metrics import done
from dbdyno.base.numbers import milliseconds, percent
from dbdyno.engines.index import Index
from dbdyno.engines.plans import Read, whole_reads
from dbdyno.engines.serving import served
from dbdyno.model.result.cell import Cell, CellStatement
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, number
from dbdyno.model.result.shape import Finding

WHOLE_TABLE = Kind("whole table", ("plan", "statement", "mean_ms"))

# What takes less of the time of its transactions, or of a database as small as a few pages, is not worth an index.
_COSTLY = 0.05
_SHORTEST_MS = 0.2
_SMALLEST_BYTES = 65_536


def whole_tables(material: Material) -> Iterator[Finding]:
    """Say it once for each statement, plan and system, with the index and the statement that makes it."""
    found: dict[tuple[str, str, str], tuple[CellStatement, Read | str, Index | str, list[Cell]]] = {}
    elsewhere = {
        (engine_name(cell), each["sql"])
        for cell in material.cells
        for each in cell["statements"]
        if _spared(cell, each)
    }
    for cell in material.cells:
        for statement in cell["statements"]:
            # What another cell or round does better is not advised: it was measured.
            if (engine_name(cell), statement["sql"]) in elsewhere or not _costly(cell, statement):
                continue
            for what, index in _served(cell, statement):
                line = what if isinstance(what, str) else what.line
                key = (cell["system"]["name"], statement["sql"], line)
                found.setdefault(key, (statement, what, index, []))[3].append(cell)
    for (_, sql, line), (statement, what, index, cells) in found.items():
        times = [time for cell in cells if (time := _time(cell, statement)) is not None]
        slowest = max(times, key=lambda each: each[0])
        evidence: JsonObject = {
            "plan": line,
            "statement": sql,
            "mean_ms": slowest[0],
            "share": slowest[1],
        }
        if isinstance(index, Index):
            evidence |= {"table": index.table, "columns": list(index.columns), "sql": index.sql, "there": index.there}
        text = f"`{shown(statement)}` {_does(what, index)} (`{line}`) and takes {milliseconds(slowest[0])} ms"
        text += f", {percent(slowest[1])} of the time" if slowest[1] is not None and slowest[1] < 1 else ""
        yield WHOLE_TABLE.found(f"{text}: {_help(index)}.", [cell["id"] for cell in cells], evidence)


def _served(cell: Cell, statement: CellStatement) -> Iterator[tuple[Read | str, Index | str]]:
    return served(known(cell), statement["sql"], statement["plan"], statement["rows"], cell["system"]["catalog"])


def _spared(cell: Cell, statement: CellStatement) -> bool:
    """Whether the plan reads no table whole, and sorts nothing, in a round at least."""
    plans = [statement["plan"], *(each["plans"].get(statement["name"], []) for each in done(cell))]
    read = [found for plan in plans if (found := known(cell).read_plan(plan)) is not None]
    return any(bool(each.reads) and not each.sorts and not list(whole_reads(each)) for each in read)


def _does(what: Read | str, index: Index | str) -> str:
    if isinstance(what, str):
        return f"sorts the rows of {index.table if isinstance(index, Index) else 'its table'}"
    return f"reads all of {index.table if isinstance(index, Index) else what.table}"


def _help(index: Index | str) -> str:
    if isinstance(index, str):
        return index
    columns = ", ".join(index.columns)
    if index.there is not None:
        return f"the index {index.there} on ({columns}) is there, and the plan leaves it aside"
    return f"no index on ({columns}) is there; `{index.sql}` makes one, which was not measured"


def _costly(cell: Cell, statement: CellStatement) -> bool:
    time = _time(cell, statement)
    size = number(cell["system"]["catalog"], "data_bytes")
    if time is None or (size is not None and size < _SMALLEST_BYTES):
        return False
    mean, share = time
    return mean >= _SHORTEST_MS and (share is None or share >= _COSTLY)


def _time(cell: Cell, statement: CellStatement) -> tuple[float, float | None] | None:
    """Give the mean time of a statement in milliseconds, and its share of the time of its transactions."""
    for each in cell["operations"]:
        if each["kind"] == "statement" and each["name"] == statement["name"]:
            mean = each["latency_ms"]["mean"]
            return None if mean is None else (mean, each["share"])
    return None


RULE = Rule(whole_tables, (WHOLE_TABLE,))
