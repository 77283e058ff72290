"""``dbdyno trace compare``: a trace beside a run of its workload."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.text import Text

from dbdyno.analysis.document.run import read_run
from dbdyno.analysis.fidelity import (
    Agreement,
    Side,
    compare_with_trace,
    is_control,
    largest_difference,
    plans_that_differ,
)
from dbdyno.analysis.system_cost import compared_costs, cost_of_cell, cost_per_transaction
from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.base.numbers import figure, milliseconds, percent, whole
from dbdyno.base.text import shortened
from dbdyno.cli.statement_table import statement_table
from dbdyno.model.cell_choice import choose_cell, shown_ids
from dbdyno.model.result import Cell
from dbdyno.report.export import check_writable, is_output, write_text
from dbdyno.store import open_store
from dbdyno.trace.header import role_of
from dbdyno.trace.reading import Trace, open_trace
from dbdyno.trace.summary import summarize

# Rates whose ratio is closer to 1 count as equal.
_CLOSE = 0.8
# A larger ratio of rows per execution is reported, for statements with so many executions.
_OTHER_ROWS, _COUNTED, _SHOWN_ROWS, _SHOWN = 2, 10, 3, 80


@dataclass(frozen=True)
class Compared:
    """The run to compare a trace with: its id, its store, and the id of its cell if it has several."""

    run: str
    store: str | None
    cell: str | None


def print_comparison(file: str, compared: Compared, top: int, json_file: Path | None) -> None:
    """Print how a run agrees with a trace. Raises InputError, ExtraMissing, StoreError."""
    if json_file is not None:
        check_writable(json_file, "--json")
    trace = open_trace(Path(file))
    with closing(open_store(compared.store, make=False)) as opened:
        document = read_run(opened, compared.run)
    cell = _chosen_cell(document.cells, document.id, compared.cell)
    summary = summarize(trace)
    agreements = compare_with_trace(summary, cell, trace.header.engine)
    if not any(one.recorded.count and one.run.count and not is_control(one.statement) for one in agreements):
        raise InputError(f"run {document.id}", f"no statement of {file} is in it", "name a run of the trace's workload")
    console = Console(stderr=is_output(json_file))
    rates = _recorded_rate(trace, agreements), _rate(cell)
    console.print(_rates(file, document.id, rates), soft_wrap=True)
    if (speed := _speed(*rates)) is not None and not _CLOSE < speed < 1 / _CLOSE:
        console.print(f"! {_other_rate(speed)}", soft_wrap=True)
    difference = largest_difference(agreements)
    if difference is not None:
        console.print(f"Shares of time differ by at most {difference * 100:.3g} points.", soft_wrap=True)
    replay = trace.header.replay
    plans = [] if replay is None else plans_that_differ(replay, cell, trace.header.engine)
    costs = None
    if replay is not None:
        costs = cost_per_transaction(replay.cpu_s, replay.counters, _transactions(agreements, cell)), cost_of_cell(cell)
        if words := compared_costs(*costs):
            console.print(f"Per transaction: {', '.join(words)}.", soft_wrap=True)
    texts, rows = [one.statement for one in agreements[:top]], [_cells(one) for one in agreements[:top]]
    console.print(statement_table(texts, rows, console.width, ("rows", "p99 ms", "mean ms")))
    if len(agreements) > top:
        console.print(f"{whole(len(agreements) - top)} more statements; `--top` shows more.")
    for sentence in _other_rows(agreements):
        console.print(sentence, soft_wrap=True)
    for change in plans:
        console.print(f"Another plan: {change.words}", soft_wrap=True)
    if json_file is not None:
        statements = [asdict(one) for one in agreements]
        made = {
            "trace": file,
            "run": document.id,
            "largest_difference": difference,
            "costs": None if costs is None else [asdict(each) for each in costs],
            "plans": [asdict(change) for change in plans],
            "statements": statements,
        }
        write_text(json_file, json.dumps(made, indent=2) + "\n")


def _chosen_cell(cells: list[Cell], run: str, wanted: str | None) -> Cell:
    measured = [cell for cell in cells if cell.operations]
    if not measured:
        raise InputError(f"run {run}", "the times of statements are missing", "name a run of the trace's workload")
    if wanted is not None:
        return choose_cell(wanted, measured)
    if len(measured) > 1:
        problem = f"{len(measured)} cells have times of statements, but one is compared with a trace"
        raise InputError(f"run {run}", problem, f"choose it with `--cell ID`: {shown_ids(measured)}")
    return measured[0]


def _rates(file: str, run: str, rates: Sequence[float | None]) -> Text:
    """Return the rates of statements: a trace doesn't know which statements outside of transactions belong together."""
    recorded, ran = ("no rate" if rate is None else f"{figure(rate)} statements/s" for rate in rates)
    return Text.assemble((file, "bold"), f": {recorded};  run ", (run, "bold"), f": {ran}.")


def _recorded_rate(trace: Trace, agreements: Sequence[Agreement]) -> float | None:
    """Return the recorded statements per second. Reading a cursor is a part of its query.

    Statements that only change the session, such as pragmas, aren't counted: a workload has no such statements.
    """
    seconds = trace.header.seconds
    counted = sum(one.recorded.count for one in agreements if role_of(one.statement) != "session")
    return counted / seconds if seconds else None


def _rate(cell: Cell) -> float | None:
    rate, succeeded = cell.throughput.mean, sum(each.ok for each in cell.rounds)
    executed = sum(operation.count for operation in cell.operations if operation.kind != "transaction")
    return None if rate is None or not succeeded else rate * executed / succeeded


def _transactions(agreements: Sequence[Agreement], cell: Cell) -> float:
    """Return how many of the run's transactions have as many statements as were recorded.

    A request in the run may have several recorded transactions.
    """
    queries = [one for one in agreements if role_of(one.statement) == "query"]
    executed = sum(one.run.count for one in queries)
    succeeded = sum(each.ok for each in cell.rounds)
    return succeeded * sum(one.recorded.count for one in queries) / executed if executed else 0.0


def _speed(recorded: float | None, ran: float | None) -> float | None:
    return ran / recorded if recorded and ran else None


def _other_rate(speed: float) -> str:
    """Return possible reasons for another rate than recorded."""
    if speed > 1:
        reason = "its clients don't wait for the application, and pauses below 0.2 ms are left out"
        return f"The run is {figure(speed)} times as fast: {reason}."
    return f"The run has {percent(speed)} of the recorded rate: its statements take longer, or it has fewer clients."


def _cells(one: Agreement) -> dict[str, str]:
    recorded, run = one.recorded, one.run
    return {
        "count": f"{percent(one.recorded_count_share)} → {percent(one.run_count_share)}",
        "time": f"{_share(one.recorded_time_share)} → {_share(one.run_time_share)}",
        "mean ms": f"{milliseconds(recorded.mean_ms)} → {milliseconds(run.mean_ms)}",
        "p50 ms": f"{milliseconds(recorded.p50_ms)} → {milliseconds(run.p50_ms)}",
        "p99 ms": f"{milliseconds(recorded.p99_ms)} → {milliseconds(run.p99_ms)}",
        "rows": f"{_rows(recorded)} → {_rows(run)}",
    }


def _other_rows(agreements: Sequence[Agreement]) -> Iterator[str]:
    """Yield a sentence about statements that find other numbers of rows than recorded, the longest ones first."""
    found = [one for one in agreements if min(one.recorded.counted, one.run.counted) >= _COUNTED and _finds_others(one)]
    for one in found[:_SHOWN_ROWS]:
        yield f"! Rows per execution: {_rows(one.recorded)} → {_rows(one.run)}: {shortened(one.statement, _SHOWN)}"
    if len(found) > _SHOWN_ROWS:
        yield f"! {whole(len(found) - _SHOWN_ROWS)} more statements find other numbers of rows; `--json` has them."


def _finds_others(one: Agreement) -> bool:
    recorded, run = (side.mean_rows or 0.0 for side in (one.recorded, one.run))
    return max(recorded, run) > _OTHER_ROWS * min(recorded, run)


def _share(share: float | None) -> str:
    return "?" if share is None else percent(share)


def _rows(side: Side) -> str:
    return "-" if side.mean_rows is None else figure(side.mean_rows)
