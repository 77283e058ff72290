"""How well a run of a distilled workload agrees with the trace that it was made of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from dbdyno.analysis.measured.metrics import done
from dbdyno.analysis.measured.statements import plan_nodes
from dbdyno.analysis.plan_changes import PlanChange, plan_change
from dbdyno.engines import engine_of
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.reading import count, part, ratio
from dbdyno.trace.fingerprint import CURSOR, Fingerprints
from dbdyno.trace.header import ReplayFacts, begins_transaction, ends_transaction
from dbdyno.trace.summary import StatementTotals, Summary


@dataclass
class Side:
    """The executions of a statement on one side. ``seconds``: of the ``timed`` ones; ``rows``: of the ``counted`` ones.

    Percentiles are in milliseconds. They are unknown for several operations with the same text: they can't be merged.
    """

    count: float = 0
    seconds: float = 0.0
    timed: float = 0
    rows: float = 0.0
    counted: float = 0
    p50_ms: float | None = None
    p99_ms: float | None = None

    @property
    def mean_ms(self) -> float | None:
        """The mean duration; ``None`` if it isn't known."""
        return self.seconds / self.timed * 1e3 if self.timed else None

    def add(self, other: Side) -> None:
        """Add further executions."""
        self.p50_ms, self.p99_ms = (None, None) if self.count else (other.p50_ms, other.p99_ms)
        self.count += other.count
        self.seconds += other.seconds
        self.timed += other.timed
        self.rows += other.rows
        self.counted += other.counted

    @property
    def mean_rows(self) -> float | None:
        """The rows per execution; ``None`` if they aren't known."""
        return self.rows / self.counted if self.counted else None


@dataclass(frozen=True)
class Agreement:
    """A statement in the trace and in the run. Shares refer to each side's total."""

    statement: str
    recorded: Side
    run: Side
    recorded_count_share: float
    run_count_share: float
    recorded_time_share: float | None
    run_time_share: float | None


def compare_with_trace(summary: Summary, cell: Cell, engine: str) -> list[Agreement]:
    """Return the statements of a trace and of a cell, by recorded time, the longest first.

    Statements are equal if their fingerprints are, or if the workload has expressions instead of values. The query of
    a cursor is equal to the query without one. ``engine``: whose SQL it is.
    """
    recorded = _by_text((totals.text.removeprefix(CURSOR), _recorded(totals)) for totals in summary.statements)
    executed = list(_executed(cell, Fingerprints(engine)))
    others = recorded.keys() - {text for text, _ in executed}
    run = _by_text((text if text in recorded else _original(text, others), side) for text, side in executed)
    counts = [sum(side.count for side in sides.values()) for sides in (recorded, run)]
    times = [sum(side.seconds for side in sides.values()) for sides in (recorded, run)]
    made = []
    for text in dict.fromkeys((*recorded, *run)):
        sides = (recorded.get(text, Side()), run.get(text, Side()))
        count_shares = [side.count / total if total else 0.0 for side, total in zip(sides, counts, strict=True)]
        time_shares = [side.seconds / time if time else None for side, time in zip(sides, times, strict=True)]
        made.append(Agreement(text, *sides, *count_shares, *time_shares))
    return sorted(made, key=lambda one: (-(one.recorded_time_share or 0.0), -one.recorded.count, one.statement))


def plans_that_differ(replay: ReplayFacts, cell: Cell, engine: str) -> list[PlanChange]:
    """Return the statements whose plan in a cell differs in kind from the plan in a replay."""
    fingerprints, is_server = Fingerprints(engine), engine_of(engine).is_server
    changes = []
    for statement in cell.statements:
        text = fingerprints.of(statement.sql).text
        if text in replay.plans:
            nodes = plan_nodes(cell.system, statement.sql, replay.plans[text])
            changes.append(plan_change(text, nodes, statement.plan_nodes, is_server=is_server))
    return [change for change in changes if change is not None]


def largest_difference(agreements: Iterable[Agreement]) -> float | None:
    """Return the largest difference of a statement between the two sides' time; ``None`` if times aren't known."""
    differences = [
        abs(one.recorded_time_share - one.run_time_share)
        for one in agreements
        if one.recorded_time_share is not None and one.run_time_share is not None
    ]
    return max(differences, default=None)


def is_control(statement: str) -> bool:
    """Whether a statement begins or ends a transaction."""
    return _control(statement) is not None


def _by_text(sides: Iterable[tuple[str, Side]]) -> dict[str, Side]:
    made: dict[str, Side] = {}
    for text, side in sides:
        made.setdefault(_control(text) or text, Side()).add(side)
    return made


def _original(text: str, recorded: Collection[str]) -> str:
    """Return the recorded statement whose values a text replaces by expressions; the text if several may be meant."""
    found = [other for other in recorded if _fills_in(text, other)]
    return found[0] if len(found) == 1 else text


def _fills_in(text: str, recorded: str) -> bool:
    first, *rest = recorded.split("?")
    if not rest or not text.startswith(first):
        return False
    at = len(first)
    for piece in rest[:-1]:
        # A value is at least one character.
        found = text.find(piece, at + 1)
        if found < 0:
            return False
        at = found + len(piece)
    return text.endswith(rest[-1]) and at < len(text) - len(rest[-1])


def _control(text: str) -> str | None:
    """Return the name of a begin, commit or rollback, which has other forms in runs; None for other statements."""
    if begins_transaction(text):
        return "begin"
    if ends_transaction(text):
        return "rollback" if text.lower().startswith(("rollback", "abort")) else "commit"
    return None


def _recorded(totals: StatementTotals) -> Side:
    percentiles = totals.percentile_ms(50), totals.percentile_ms(99)
    return Side(totals.count, totals.duration_ns / 1e9, totals.timed, totals.rows, totals.counted, *percentiles)


def _executed(cell: Cell, fingerprints: Fingerprints) -> Iterator[tuple[str, Side]]:
    """Yield the statements and controls of a run with their texts."""
    texts = {statement.name: fingerprints.of(statement.sql).text for statement in cell.statements}
    for operation in cell.operations:
        if operation.kind == "transaction":
            continue
        text = texts.get(operation.name, operation.name)
        number, latency = operation.count, operation.latency_ms
        rows = number * _rows_per_execution(cell, operation.name)
        yield text, Side(number, operation.seconds, number, rows, number, latency.p50, latency.p99)


def _rows_per_execution(cell: Cell, statement: str) -> float:
    """Return the rows that a statement returned or changed, as in a trace."""
    counts = [part(round_.statements_by_name, statement) for round_ in done(cell)]
    # A change may also return its rows.
    rows = sum(max(count(one, "rows") or 0, count(one, "changed") or 0) for one in counts)
    return ratio(rows, sum(count(one, "executions") or 0 for one in counts)) or 0.0
