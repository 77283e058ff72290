"""The time of each transaction and statement, as table rows and in one line."""

from __future__ import annotations

from dbdyno.base.numbers import figure, milliseconds, percent
from dbdyno.model.result.cell import Cell, Operation
from dbdyno.model.result.shape import Document
from dbdyno.report.lines import cell_name, factor_names
from dbdyno.report.rows import NamedRow, Row

HEADS = ("count", "share", "mean ms", "p50 ms", "p90 ms", "p99 ms", "max ms")
NOTE = (
    "share: of the transactions' time; the client's own work takes the remaining time. "
    "A statement's time begins when the previous one ends"
)


def operation_rows(document: Document) -> list[NamedRow]:
    """Return the operations of each cell, the longest first; empty if each transaction is one statement."""
    factors = factor_names(document)
    rows = []
    for cell in document.cells:
        rows += [_row(cell_name(cell, factors), operation) for operation in _timed_operations(cell)]
    return rows


def where_time_goes(cell: Cell, most: int = 4) -> str:
    """Return the largest parts of the transactions' time in one line; empty if there is only one statement."""
    operations = [operation for operation in _timed_operations(cell) if operation.kind != "transaction"]
    parts = [
        f"{called(operation)} {percent(operation.share)} ({milliseconds(operation.latency_ms.mean)} ms)"
        for operation in operations[:most]
        if operation.share
    ]
    rest = sum(operation.share or 0.0 for operation in operations[most:])
    return ", ".join([*parts, *([f"others {percent(rest)}"] if rest else [])])


def time_table(cell: Cell) -> list[Row]:
    """Return a row for each transaction of several statements and for each statement of a cell, the longest first."""
    statements = {operation.name for operation in cell.operations if operation.kind == "statement"}
    shown = [
        operation
        for operation in cell.operations
        if operation.kind != "transaction" or operation.name not in statements
    ]
    ordered = sorted(shown, key=lambda operation: -operation.seconds)
    return [
        Row(
            f"transaction {operation.name}" if operation.kind == "transaction" else called(operation),
            {
                "share of time": percent(operation.share),
                "p50 ms": milliseconds(operation.latency_ms.p50),
                "p99 ms": milliseconds(operation.latency_ms.p99),
                "count": figure(operation.count),
            },
        )
        for operation in ordered
    ]


def called(operation: Operation) -> str:
    """Return the name of an operation; control statements such as COMMIT in capitals."""
    return operation.name.upper() if operation.kind == "control" else operation.name


def _timed_operations(cell: Cell) -> list[Operation]:
    """Return the operations that add to the transactions' latencies: not a single transaction or statement."""
    steps = [operation for operation in cell.operations if operation.kind != "transaction"]
    transactions = [operation for operation in cell.operations if operation.kind == "transaction"]
    operations = [*(transactions if len(transactions) > 1 else []), *(steps if len(steps) > 1 else [])]
    return sorted(operations, key=lambda operation: (operation.kind != "transaction", -operation.seconds))


def _row(cell: str, operation: Operation) -> NamedRow:
    times = operation.latency_ms
    figures = (milliseconds(getattr(times, name)) for name in ("mean", "p50", "p90", "p99", "max"))
    name = f"transaction {operation.name}" if operation.kind == "transaction" else called(operation)
    return NamedRow(cell, name, (figure(operation.count), percent(operation.share), *figures))
