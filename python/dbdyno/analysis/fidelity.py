"""How well a run of a distilled workload agrees with the trace that it was made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dbdyno.model.result.cell import Cell, Operation
from dbdyno.trace.fingerprint import Fingerprints
from dbdyno.trace.summary import StatementTotals, Summary

# A begin, commit or rollback has the same name in traces and in runs of each engine.
_CONTROLS = {"begin": "begin", "start transaction": "begin", "end": "commit"}


@dataclass
class Side:
    """The executions of a statement on one side. ``seconds``: of the ``timed`` ones; percentiles in milliseconds."""

    count: float = 0
    seconds: float = 0.0
    timed: float = 0
    rows: float = 0.0
    p50_ms: float | None = None
    p99_ms: float | None = None

    @property
    def mean_ms(self) -> float | None:
        """The mean duration; ``None`` if it isn't known."""
        return self.seconds / self.timed * 1e3 if self.timed else None


@dataclass
class Agreement:
    """A statement in the trace and in the run. Shares refer to each side's total."""

    statement: str
    recorded: Side = field(default_factory=Side)
    run: Side = field(default_factory=Side)
    recorded_count_share: float = 0.0
    run_count_share: float = 0.0
    recorded_time_share: float | None = None
    run_time_share: float | None = None


def compare_with_trace(summary: Summary, cell: Cell, engine: str) -> list[Agreement]:
    """Return the statements of a trace and of a cell, by recorded time, the longest first.

    Statements are equal if their fingerprints are. ``engine``: whose SQL it is.
    """
    statements: dict[str, Agreement] = {}

    def agreement(text: str) -> Agreement:
        return statements.setdefault(text, Agreement(text))

    for totals in summary.statements:
        _add_recorded(agreement(_control(totals.text)).recorded, totals)
    fingerprints = Fingerprints(engine)
    texts = {statement.name: fingerprints.of(statement.sql).text for statement in cell.statements}
    rows = {statement.name: statement.rows or 0.0 for statement in cell.statements}
    for operation in cell.operations:
        if operation.kind != "transaction":
            text = _control(texts.get(operation.name, operation.name))
            _add_run(agreement(text).run, operation, rows.get(operation.name, 0.0))
    made = list(statements.values())
    _add_shares(made)
    return sorted(made, key=lambda one: (-(one.recorded_time_share or 0.0), -one.recorded.count, one.statement))


def largest_difference(agreements: Iterable[Agreement]) -> float | None:
    """Return the largest difference of a statement between the two sides' time; ``None`` if times aren't known."""
    differences = [
        abs(one.recorded_time_share - one.run_time_share)
        for one in agreements
        if one.recorded_time_share is not None and one.run_time_share is not None
    ]
    return max(differences, default=None)


def _control(text: str) -> str:
    lower = text.lower()
    return _CONTROLS.get(lower, lower if lower in ("commit", "rollback") else text)


def _add_recorded(side: Side, totals: StatementTotals) -> None:
    side.p50_ms, side.p99_ms = (None, None) if side.count else (totals.percentile_ms(50), totals.percentile_ms(99))
    side.count += totals.count
    side.seconds += totals.duration_ns / 1e9
    side.timed += totals.timed
    side.rows += totals.rows


def _add_run(side: Side, operation: Operation, rows: float) -> None:
    # Percentiles of several statements with the same text can't be merged.
    latency = operation.latency_ms
    side.p50_ms, side.p99_ms = (None, None) if side.count else (latency.p50, latency.p99)
    side.count += operation.count
    side.seconds += operation.seconds
    side.timed += operation.count
    side.rows += operation.count * rows


def _add_shares(agreements: Iterable[Agreement]) -> None:
    agreements = list(agreements)
    for side, count_share, time_share in (
        ("recorded", "recorded_count_share", "recorded_time_share"),
        ("run", "run_count_share", "run_time_share"),
    ):
        sides: list[tuple[Agreement, Side]] = [(one, getattr(one, side)) for one in agreements]
        count, seconds = sum(each.count for _, each in sides), sum(each.seconds for _, each in sides)
        for one, each in sides:
            setattr(one, count_share, each.count / count if count else 0.0)
            setattr(one, time_share, each.seconds / seconds if seconds else None)
