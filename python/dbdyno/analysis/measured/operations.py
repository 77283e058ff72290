"""Times of each transaction, statement and control statement over all rounds of a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dbdyno.analysis.measured.histograms import Histogram, HistogramError, merge
from dbdyno.model.events.trial import Operations, TrialResult
from dbdyno.model.result.cell import Operation, OperationKind


def cell_operations(results: Sequence[TrialResult]) -> tuple[list[Operation], list[str]]:
    """Return the times of each operation of a cell, and errors in the data.

    Empty if operations were not timed.
    """
    timed = [each for each in (_timed(result) for result in results) if each is not None]
    services = {None, *(result.histograms.get("service") for result in results)}
    operations: list[Operation] = []
    troubles: list[str] = []
    total = 0.0
    for kind, name in dict.fromkeys(key for each in timed for key in each):
        try:
            merged = merge(each[kind, name] for each in timed if (kind, name) in each)
        except HistogramError as error:
            # An invalid service histogram is reported with the cell's latencies.
            if {each.get((kind, name)) for each in timed} <= services:
                continue
            troubles.append(f"the times of the {kind} {name} could not be merged across rounds: {error}")
            continue
        if merged is None or not merged.count:
            continue
        made = _operation(kind, name, merged)
        operations.append(made)
        total += made.seconds if kind == "transaction" else 0.0
    # Statements may be timed in a sample of transactions, whose total differs from the total of all.
    timed_s = (
        sum(trial_result.operations.timed_s for trial_result in results if trial_result.operations is not None) or total
    )
    for operation in operations:
        whole = total if operation.kind == "transaction" else timed_s
        operation.share = operation.seconds / whole if whole else None
    return operations, troubles


def merge_operations(operations: Sequence[Operations | None]) -> Operations | None:
    """Merge the operations of several processes; None if one has none. Raises HistogramError."""
    known = [each for each in operations if each is not None]
    if not known or len(known) < len(operations):
        return None
    return Operations(
        transactions=_merged([each.transactions for each in known]),
        statements=_merged([each.statements for each in known]),
        controls=_merged([each.controls for each in known]),
        timed_s=sum(each.timed_s for each in known),
    )


def _merged(tables: Sequence[Mapping[str, str]]) -> dict[str, str]:
    names = dict.fromkeys(name for table in tables for name in table)
    sums = {name: merge(table[name] for table in tables if name in table) for name in names}
    return {name: total.encode() for name, total in sums.items() if total is not None}


def _timed(result: TrialResult) -> dict[tuple[OperationKind, str], str] | None:
    """Return the histogram of each operation. An operation that is the whole load has the service time."""
    if result.operations is None:
        return None
    return dict(_histograms(result, result.operations))


def _histograms(result: TrialResult, operations: Operations) -> Iterator[tuple[tuple[OperationKind, str], str]]:
    service = result.histograms.get("service")
    alone = next(iter(result.transactions)) if len(result.transactions) == 1 else None
    if alone is not None and service is not None:
        yield ("transaction", alone), service
    for name, encoded in operations.transactions.items():
        yield ("transaction", name), encoded
    if alone is not None and service is not None and not operations.statements and not operations.controls:
        run = [name for name, counts in result.statements.items() if counts.executions]
        if len(run) == 1:
            yield ("statement", run[0]), service
    for name, encoded in operations.statements.items():
        yield ("statement", name), encoded
    for name, encoded in operations.controls.items():
        yield ("control", name), encoded


def _operation(kind: OperationKind, name: str, times: Histogram) -> Operation:
    latency = times.latency_ms()
    return Operation(
        kind=kind,
        name=name,
        count=times.count,
        seconds=times.count * (latency.mean or 0.0) / 1e3,
        share=None,
        latency_ms=latency,
    )
