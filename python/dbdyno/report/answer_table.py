"""The answer's short table: one row per configuration, or one row per cell if the run offers no choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.answer.short import STATEMENT, SYSTEM, named
from dbdyno.analysis.answer.words import interval_words, time_of
from dbdyno.analysis.measured.cell_groups import varied
from dbdyno.analysis.measured.metrics import failing
from dbdyno.base.numbers import NONE, bracketed, factor_words, figure, level, milliseconds, percent, time_words
from dbdyno.engines import engine_of_product
from dbdyno.engines.plans import called, whole_reads
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.effects import Configuration, LoadComparison
from dbdyno.model.result.reading import shown_times
from dbdyno.model.result.shape import Document
from dbdyno.report.estimate_lines import estimate_words
from dbdyno.report.lines import interval, latency, published_value
from dbdyno.report.rows import RATIO, Row

# Maximum number of loads with a column of their own.
_LOADS = 3


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The rows, the most important first. ``corner``: the unit or factor to write above the labels."""

    rows: list[Row]
    corner: str


def has_choices(document: Document) -> bool:
    """Whether the rows are configurations to choose from, not cells."""
    return bool(document.answer.configurations) and document.report.get("times") is not True


def answer_table(document: Document) -> AnswerTable:
    """Return the results of each configuration. With several loads: throughput or p99 at the first, middle and last."""
    if not has_choices(document):
        return AnswerTable(_cells(document), "")
    configurations = document.answer.configurations
    by_id = {cell.id: cell for cell in document.cells}
    loads = load_names(document)
    levels = _shown(list(dict.fromkeys(_load(cell, loads, document) for cell in document.cells)))
    metric = metric_of(document)
    unit = document.cells[0].throughput.unit
    compared = not any(advice.action != "open" for advice in document.answer.advice)
    rows = []
    for configuration in ordered(document):
        cells = {_load(by_id[name], loads, document): by_id[name] for name in configuration.cells}
        values: dict[str, str] = {}
        for load in levels:
            cell = cells.get(load)
            head = load if len(levels) > 1 else unit if metric == "throughput" else f"{metric} ms"
            values[head] = NONE if cell is None else value_of(cell, metric)
        last = next((cells[load] for load in reversed(levels) if load in cells), None)
        if last is not None:
            if metric == "throughput":
                values["p99 ms"] = latency(last, "p99") if shown_times(last.latency_ms) else ""
            else:
                values[unit] = figure(last.throughput.mean)
            values |= waits_and_failures(last)
        if compared and len(levels) == 1:
            values[RATIO] = "1" if configuration is configurations[0] else _ratio(configuration)
            values["verdict"] = "" if configuration is configurations[0] else configuration.verdict or "not ranked"
        if compared:
            values["price"] = ", ".join(configuration.price) or configuration.not_ranked
            values["limited by"] = _limit(last)
        rows.append(Row(configuration.name, values))
    if len(levels) > 1:
        return AnswerTable(rows, unit if metric == "throughput" else f"{metric} ms")
    factors = list(configurations[0].levels) if configurations else []
    # A bare level such as `50` needs the name of its factor above it.
    bare = len(factors) == 1 and all(
        row.label == level(configuration.levels[factors[0]])
        for row, configuration in zip(rows, ordered(document), strict=True)
    )
    return AnswerTable(rows, factors[0] if bare else "")


def _cells(document: Document) -> list[Row]:
    """Return one row per cell, in the order of the loads."""
    systems, cells, loads = document.answer.systems, document.cells, load_names(document)
    choices = [name for name in varied(cells) if name not in loads]
    at = {cell.id: named({name: cell.factors.get(name) for name in loads}, systems) for cell in cells}
    standings = _standings(document.answer.configurations, cells, loads)
    order = list(dict.fromkeys(at.values()))
    # The configuration with which the others are compared.
    first = {name for configuration in document.answer.configurations[:1] for name in configuration.cells}
    called = {
        name: configuration.name for configuration in document.answer.configurations for name in configuration.cells
    }
    times = document.report.get("times") is True
    made = []
    for cell in sorted(cells, key=lambda each: order.index(at[each.id])):
        levels = {name: cell.factors[name] for name in (*loads, *choices) if name in cell.factors}
        alone = cell.system.engine or cell.id
        standing = standings.get(cell.id)
        ratio, word = ("1" if cell.id in first else "", "") if standing is None else _compared(standing)
        values = {
            **(_of_one(cell) if times else _rate(cell)),
            "p99 ms": latency(cell, "p99") if shown_times(cell.latency_ms) else "",
            **({} if times else waits_and_failures(cell)),
            "published": published_value(cell.published) if cell.published else "",
            RATIO: ratio,
            "verdict": word,
        }
        label = named(levels, systems) or (alone if len(cells) == 1 else cell.id)
        if cell.id in called:
            label = f"{at[cell.id]} {called[cell.id]}".strip()
        made.append(Row(label.removeprefix(f"{STATEMENT}=") if times else label, values))
    return made


def _rate(cell: Cell) -> dict[str, str]:
    return {cell.throughput.unit: figure(cell.throughput.mean), "95 %": interval(cell)}


def _of_one(cell: Cell) -> dict[str, str]:
    """Return the time of one execution with its interval, the rows it returns, and the full scans of its plan."""
    return {
        "ms": milliseconds(time_of(cell)),
        "ms 95 %": interval_words(cell, "{} to {}", "too noisy"),
        "rows": figure(cell.rows_per_transaction),
        "plan": ", ".join(filter(None, (_plan(cell), estimate_words(cell)))),
    }


def _plan(cell: Cell) -> str:
    """Return the full scans and the sort in the plan of the cell's only statement."""
    engine = engine_of_product(cell.system.engine)
    read = engine.read_plan(cell.statements[0].plan) if len(cell.statements) == 1 else None
    if read is None:
        return ""
    tables = [called(node) for node in whole_reads(read)]
    return ", ".join([*([f"all of {' and '.join(tables)}"] if tables else []), *(["sort"] if read.sorts else [])])


def _standings(
    configurations: Sequence[Configuration], cells: Sequence[Cell], loads: Sequence[str]
) -> dict[str, LoadComparison]:
    by_id = {cell.id: cell for cell in cells}
    found: dict[str, LoadComparison] = {}
    for configuration in configurations:
        for name in configuration.cells:
            own: dict[str, Any] = {load: by_id[name].factors.get(load) for load in loads}
            found.update((name, standing) for standing in configuration.at if standing.load == own)
    return found


def _compared(standing: LoadComparison) -> tuple[str, str]:
    return NONE if standing.ratio is None else bracketed(standing.ratio, standing.ci95), standing.verdict


def waits_and_failures(cell: Cell) -> dict[str, str]:
    """Return the columns of the slowest request and of the failures."""
    waits = shown_times(cell.latency_ms)
    slowest = waits.max if waits else None
    bound = "≥" if waits and "max" in waits.at_least else ""
    share = failing(cell)
    return {
        "slowest": "" if slowest is None else bound + time_words(slowest),
        "failed": percent(share) if share else "0",
    }


def value_of(cell: Cell, metric: str) -> str:
    """Return the throughput of a cell, or a percentile of its response time in milliseconds."""
    return figure(cell.throughput.mean) if metric == "throughput" else latency(cell, metric)


def metric_of(document: Document) -> str:
    """Return the metric that most comparisons use: throughput, or p99 if open loops keep up."""
    metrics = [at.metric for configuration in document.answer.configurations for at in configuration.at]
    return max(dict.fromkeys(metrics), key=metrics.count) if metrics else "throughput"


def load_names(document: Document) -> list[str]:
    """Return the load factors that vary."""
    return [name for name in varied(document.cells) if document.roles.get(name) == "load"]


def ordered(document: Document) -> list[Configuration]:
    """Return the configurations in order: baseline, recommended one, options with a price, then the best."""
    configurations = document.answer.configurations
    recommended = document.answer.recommended
    if not configurations:
        return []
    taken = next(
        (
            configuration
            for configuration in configurations
            if recommended and configuration.name == recommended.configuration
        ),
        configurations[0],
    )
    maybe = [{**taken.levels, **row.levels} for row in document.answer.advice if row.action == "maybe"]
    top = [
        configurations[0],
        taken,
        *(configuration for wanted in maybe for configuration in configurations if configuration.levels == wanted),
    ]
    if not any(advice.action != "open" for advice in document.answer.advice):
        top = []
    rest = sorted(
        (configuration for configuration in configurations if configuration not in top),
        key=lambda configuration: (
            bool(top and configuration.price),
            -_factor(configuration, configuration is configurations[0]),
        ),
    )
    return [*_unique(top), *rest]


def _unique(each: Sequence[Configuration]) -> list[Configuration]:
    return [one for position, one in enumerate(each) if one not in each[:position]]


def _factor(configuration: Configuration, first: bool) -> float:
    return 1.0 if first else 0.0 if configuration.not_ranked else configuration.ratio or 0.0


def _ratio(configuration: Configuration) -> str:
    return (
        NONE
        if configuration.ratio is None or configuration.not_ranked
        else factor_words(configuration.ratio, configuration.ci95)
    )


def _limit(cell: Cell | None) -> str:
    bottleneck = None if cell is None else cell.bottleneck
    return "" if bottleneck is None or bottleneck.resource in ("unclear", "offered load") else bottleneck.resource


def _load(cell: Cell, loads: Sequence[str], document: Document) -> str:
    levels: dict[str, Any] = {name: cell.factors.get(name) for name in loads if name != SYSTEM}
    if len(levels) == 1:
        # A word such as `mixed` is clear without the name of its factor.
        word = next(iter(levels.values()))
        if isinstance(word, str) and not word.isdigit():
            return word
    return named(levels, document.answer.systems)


def _shown(loads: list[str]) -> list[str]:
    """Choose the first, the middle and the last of many loads."""
    return loads if len(loads) <= _LOADS else [loads[0], loads[len(loads) // 2], loads[-1]]
