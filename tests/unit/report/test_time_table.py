"""The table of where a workload's time goes."""

from dataclasses import replace
from typing import Literal

from dbdyno.model.result.cell import Latency, Operation
from dbdyno.report.operations import time_table
from synthetic import lookup_document


def test_rows_are_ordered_by_their_share_of_the_time() -> None:
    cell = lookup_document(rounds=1).cells[0]

    def operation(kind: Literal["transaction", "statement", "control"], name: str, seconds: float) -> Operation:
        latency = Latency(p50=1, p90=1, p99=1, p99_9=1, max=1, mean=1, count=5, at_least=[])
        return Operation(kind=kind, name=name, count=5, seconds=seconds, share=seconds / 100, latency_ms=latency)

    operations = [operation("transaction", "scan", 90), operation("statement", "scan", 89)]
    for number in range(13):
        operations += [operation("transaction", f"tx {number}", 0.5), operation("statement", f"update {number}", 0.3)]
    rows = time_table(replace(cell, operations=[*operations, operation("control", "commit", 2)]))
    labels = [row.label for row in rows]
    assert labels[:3] == ["scan", "COMMIT", "transaction tx 0"]
    assert labels.index("transaction tx 12") < labels.index("update 0")
