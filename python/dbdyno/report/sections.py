"""The rows of tables and lists in the HTML report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.answer.short import named
from dbdyno.analysis.answer.words import durability_words
from dbdyno.analysis.measured.durable import class_of
from dbdyno.base.numbers import NONE, Pairs, bracketed, figure, flat, level, milliseconds, percent, whole
from dbdyno.model.result.cell import Cell, CellStatement, Round
from dbdyno.model.result.convert import to_json
from dbdyno.model.result.reading import number, objects
from dbdyno.model.result.shape import Document
from dbdyno.report import lines, scalability_lines
from dbdyno.report.answer_table import answer_table
from dbdyno.report.cell_columns import CellColumn
from dbdyno.report.data_columns import data_columns
from dbdyno.report.durable_lines import syncs
from dbdyno.report.estimate_lines import estimate_lines
from dbdyno.report.figure_columns import figure_columns
from dbdyno.report.operations import HEADS, operation_rows
from dbdyno.report.phases import loads, phase_columns
from dbdyno.report.rows import LEFT, NamedRow
from dbdyno.report.stages import BESIDE_HEADS, STAGE_HEADS, beside_rows, stage_rows


@dataclass(frozen=True, slots=True)
class Column:
    """The heading of a column and the CSS class of its values."""

    head: str
    right: bool = True
    style: str = ""


@dataclass(frozen=True, slots=True)
class CellTable:
    """Columns and rows of strings."""

    columns: list[Column]
    rows: list[list[str]]


def cell_table(document: Document) -> CellTable:
    """Return the table of cells, without columns that have no known values."""
    cells = document.cells
    factors = lines.factor_names(document)
    # One column for all factors leaves space for the throughput on a phone.
    names = [lines.cell_name(cell, factors) for cell in cells]
    columns: list[tuple[Column, list[str]]] = [(Column("cell", right=False), names)]

    def add(head: str, values: list[str], style: str = "number") -> None:
        if any(value not in {"", "-"} for value in values):
            columns.append((Column(head, right=style.startswith("number"), style=style), values))

    add(cells[0].throughput.unit if cells else "", [figure(cell.throughput.mean) for cell in cells])
    add("95 %", [lines.interval(cell) for cell in cells])
    add("published", [lines.published_value(cell.published) for cell in cells], "number dim")
    for name in ("p50", "p99", "p99_9"):
        add(f"{name.replace('_', '.')} ms", [lines.latency(cell, name) for cell in cells])
    add("max ms", [lines.latency(cell, "max") for cell in cells])
    add("client CPU %", [whole(cell.cpu_percent.client) for cell in cells])
    add("hottest thread %", [whole(cell.cpu_percent.hottest_thread) for cell in cells])
    for tier in dict.fromkeys(name for cell in cells for name in cell.cpu_percent.tiers):
        add(f"{tier} CPU %", [whole(cell.cpu_percent.tiers.get(tier)) for cell in cells])
    add("server CPU %", [whole(cell.cpu_percent.server) for cell in cells])
    for name, shares in lines.ceilings(document).items():
        add(name, [percent(share) for share in shares])
    if any((cell.disk.flushes_per_s or 0) >= 1 for cell in cells):
        add("flushes/s", [figure(cell.disk.flushes_per_s) for cell in cells])
        add("flush ms", [milliseconds(cell.disk.flush_ms or None) for cell in cells])
    add("failed", [_failures(cell) for cell in cells], "lost")
    add("durability", [class_of(cell) or "" for cell in cells], "dim")
    add("bottleneck", [cell.bottleneck.resource if cell.bottleneck else "" for cell in cells], "text")
    return CellTable(
        [column for column, _ in columns], [list(row) for row in zip(*(v for _, v in columns), strict=True)]
    )


# Maximum number of rows of the answer's table on the first screen.
_ANSWER_ROWS = 5


def answer_rows(document: Document) -> CellTable | None:
    """Return the answer's short table; None for runs of statements, whose chart shows names and times."""
    if document.report.get("times") is True:
        return None
    table = answer_table(document)
    # Another section of the page shows the bottlenecks.
    known = {head for row in table.rows for head, value in row.values.items() if value} - {"limited by"}
    heads = [head for head in dict.fromkeys(head for row in table.rows for head in row.values) if head in known]
    columns = [Column(_breakable(table.corner), right=False)]
    columns += [
        Column(_breakable(head), right=head not in LEFT, style="" if head in LEFT else "number") for head in heads
    ]
    rows = [[row.label, *(row.values.get(head, "") for head in heads)] for row in table.rows[:_ANSWER_ROWS]]
    left = len(table.rows) - len(rows)
    if left:
        rows.append([f"{left} more below", *([""] * len(heads))])
    return CellTable(columns, rows)


def _breakable(head: str) -> str:
    """Insert zero-width spaces before `=` and `/`, so that narrow screens can break the heading there."""
    return head.replace("=", "\u200b=").replace("/", "\u200b/")


def effect_table(document: Document) -> CellTable:
    """Return the effect of each level, compared with the factor's first level."""
    heads = [Column(head, right=False) for head in ("factor", "level", "against", "where", "of")]
    heads += [Column("ratio [95 %]", style="number"), Column("verdict", right=False), Column("price", right=False)]
    systems = document.answer.systems
    rows = []
    for effect in document.effects:
        is_system = effect.factor == "system"
        names = [
            systems.get(str(value), str(value)) if is_system else level(value)
            for value in (effect.level, effect.against)
        ]
        where = named(effect.at, systems) or (
            f"depends on {', '.join(effect.depends_on)}" if effect.depends_on else "all"
        )
        ratio = NONE if effect.ratio is None else bracketed(effect.ratio, effect.ci95)
        price = durability_words(effect)
        if effect.failed is not None:
            price += f"{', ' * bool(price)}failures {percent(effect.failed[1])} instead of {percent(effect.failed[0])}"
        rows.append([effect.factor, *names, where, effect.metric, ratio, effect.verdict, price])
    return CellTable(heads, rows)


def scalability_table(document: Document) -> CellTable | None:
    """Return the curve of each scalability model; None if no model was fitted."""
    rows = scalability_lines.rows(document)
    heads = [
        Column(head, right=position > 0, style="number" * (position > 0))
        for position, head in enumerate(scalability_lines.HEADS)
    ]
    return CellTable(heads, rows) if rows else None


def operation_table(document: Document) -> CellTable | None:
    """Return the time of each transaction and statement; None if each transaction is one statement."""
    return _named_table("operation", HEADS, operation_rows(document))


def stage_table(document: Document) -> CellTable | None:
    """Return the stages of open loops; None if no rate changes."""
    return _named_table("stage", STAGE_HEADS, stage_rows(document))


def beside_table(document: Document) -> CellTable | None:
    """Return the work beside the clients; None without such work."""
    return _named_table("beside the load", BESIDE_HEADS, beside_rows(document))


def _named_table(head: str, names: Sequence[str], rows: Sequence[NamedRow]) -> CellTable | None:
    if not rows:
        return None
    several = len({row.cell for row in rows}) > 1
    heads = [Column(each, right=False) for each in (*(["cell"] if several else []), head)]
    heads += [Column(name, style="number") for name in names]
    return CellTable(heads, [[*([row.cell] if several else []), row.name, *row.values] for row in rows])


def phase_table(document: Document) -> CellTable | None:
    """Return the median of each phase of a transaction in milliseconds; None if phases were not recorded."""
    return _further_table(document, phase_columns(document))


def figure_table(document: Document) -> CellTable | None:
    """Return the values that are declared with a heading; None if all are 0."""
    return _further_table(document, figure_columns(document))


def data_table(document: Document) -> CellTable | None:
    """Return the size and I/O of the data of each cell; None if they were not recorded."""
    return _further_table(document, data_columns(document))


def _further_table(document: Document, columns: list[CellColumn]) -> CellTable | None:
    if not columns:
        return None
    factors = lines.factor_names(document)
    heads = [Column("cell", right=False)]
    heads += [Column(column.head, style="number dim" if column.published else "number") for column in columns]
    names = [lines.cell_name(cell, factors) for cell in document.cells]
    return CellTable(heads, [list(row) for row in zip(names, *(column.values for column in columns), strict=True)])


def sent_statements(document: Document) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return each statement's name with its SQL variants, each with the systems that received it."""
    found: dict[str, dict[str, list[str]]] = {}
    for cell in document.cells:
        for statement in cell.statements:
            systems = found.setdefault(statement.name, {}).setdefault(statement.sql, [])
            if cell.system.name not in systems:
                systems.append(cell.system.name)
    return [(name, [(", ".join(systems), sql) for sql, systems in texts.items()]) for name, texts in found.items()]


def plan_rows(document: Document) -> list[dict[str, Any]]:
    """Return each distinct combination of statement, values and plan with its cells."""
    grouped: dict[str, tuple[CellStatement, list[str]]] = {}
    for cell in document.cells:
        for statement in cell.statements:
            if statement.plan:
                key = json.dumps([statement.sql, statement.values, statement.plan, cell.system.name])
                grouped.setdefault(key, (statement, []))[1].append(cell.id)
    return [
        {
            "sql": statement.sql,
            "values": ", ".join(json.dumps(value, ensure_ascii=False) for value in statement.values),
            "plan": statement.plan,
            "estimates": estimate_lines(statement),
            "cells": ids,
        }
        for statement, ids in grouped.values()
    ]


def notes(document: Document) -> list[str]:
    """Return the lines under the table of cells."""
    found = lines.notes_on_measuring(document)
    found += loads(document)
    found = [note[0].upper() + note[1:] + "." for note in found]
    if any(cell.published for cell in document.cells):
        sources = "; ".join(lines.published_sources(document))
        found.append(f"Published: {sources}. Not measured by this run.")
    return found


def round_rows(document: Document) -> list[dict[str, Any]]:
    """Return the rounds of each cell, ordered by block."""
    factors = lines.factor_names(document)
    blocks = max((round_.block + 1 for cell in document.cells for round_ in cell.rounds), default=0)
    rows = []
    for cell in document.cells:
        by_block = {round_.block: round_ for round_ in cell.rounds}
        values = [_round(by_block.get(block)) for block in range(blocks)]
        rows.append({"name": lines.cell_name(cell, factors), "rounds": values})
    return rows


def _round(round_: Round | None) -> dict[str, str]:
    if round_ is None:
        return {"text": "", "style": "", "title": ""}
    lost = lines.lost_mark(round_)
    style = " lost" if lost else " outlier" if round_.outlier else ""
    text = lost or figure(round_.throughput) + ("*" if round_.outlier else "")
    return {"text": text, "style": style, "title": round_.error or ""}


def comparison_rows(document: Document) -> list[dict[str, Any]]:
    """Return the comparisons. The warnings above the numbers explain why some cells are not ranked."""
    _, cells = lines.compared_cells(document)
    rows = []
    for names, comparison in zip(cells, document.comparisons, strict=True):
        word = lines.comparison_word(comparison)
        rows.append(
            {
                "names": names,
                "ratio": lines.comparison_ratio(comparison),
                "sees": lines.comparison_sees(comparison),
                "verdict": word,
                "style": comparison.verdict or "unranked",
            }
        )
    return rows


def mutex_sections(document: Document) -> list[dict[str, Any]]:
    """Return the contended mutexes of each cell that has some."""
    factors = lines.factor_names(document)
    made = []
    for cell in document.cells:
        mutex = cell.mutex
        if mutex is None or not mutex.sites:
            continue
        share = "" if mutex.wait_share is None else f", {percent(mutex.wait_share)} of the clients' time"
        summary = f"{mutex.contended:,} waits, {figure(mutex.wait_s)} s{share}, over all rounds."
        sites = [
            {
                "function": site.function or "unknown",
                "mutex": site.mutex or "unknown",
                "waits": f"{site.waits:,}",
                "wait_s": figure(site.wait_s),
                "stack": site.stack,
            }
            for site in mutex.sites
        ]
        made.append({"name": lines.cell_name(cell, factors), "summary": summary, "sites": sites})
    return made


# Facts of a system that depend on the statements and data of its cell.
_READ = {"catalog", "passed_over", "lost_updates"}


def systems(document: Document) -> list[dict[str, Any]]:
    """Return each distinct system with the cells that measured it."""
    grouped: dict[str, tuple[Cell, list[str]]] = {}
    for cell in document.cells:
        # The same system can differ in these facts between cells.
        key = json.dumps(
            {name: value for name, value in to_json(cell.system).items() if name not in _READ}, sort_keys=True
        )
        grouped.setdefault(key, (cell, []))[1].append(cell.id)
    made = []
    for cell, ids in grouped.values():
        system = cell.system
        because = f": {system.durability_because}" if system.durability_because else ""
        seen = f" ({each})" if (each := syncs(cell)) else ""
        facts = [
            ("engine", " ".join(each for each in (system.engine, system.version) if each) or "unknown"),
            ("durability", (class_of(cell) or "unknown") + because + seen),
        ]
        if system.source_id:
            facts.append(("source", system.source_id))
        made.append(
            {
                "name": system.name or "system",
                "cells": ids,
                "facts": facts,
                "settings": flat(system.settings),
                "options": system.compile_options,
            }
        )
    return made


#: Fields of a device that contain its random I/O rates by queue depth.
_RANDOM = ("random_read", "random_write")


def device_facts(document: Document) -> Pairs:
    """Return the measured speed of the device, measured once per run."""
    device = document.device
    facts: Pairs = []
    sync_us, per_s = number(device, "sync_us"), number(device, "sync_per_s")
    if sync_us is not None and per_s is not None:
        facts.append(("sync", f"{figure(sync_us)} µs, {figure(per_s)} a second one after another"))
    for name in _RANDOM:
        for each in objects(device.get(name)):
            depth = level(each.get("depth"))
            latency = number(each, "mean_us")
            tail = "" if latency is None else f", {figure(latency)} µs each"
            words = f"{name.replace('_', ' ')}, depth {depth}"
            facts.append((words, f"{figure(number(each, 'per_s'))} a second{tail}"))
    rest = {name: value for name, value in device.items() if name not in {"sync_us", "sync_per_s", *_RANDOM}}
    return facts + flat(rest)


def _failures(cell: Cell) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in cell.failed.items())
