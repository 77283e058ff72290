"""Build candidate indexes for the statements of a file on a copy of the data, and measure what each one changes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.findings.foreign_keys import enforces_foreign_keys
from dbdyno.analysis.indexes import (
    MIN_GAIN,
    NEGLIGIBLE_MS,
    Measured,
    choose,
    far_apart,
    idle_indexes,
    is_decided,
    names_index,
    speedup,
    verdict_of,
)
from dbdyno.base.console import Console
from dbdyno.base.errors import DbdynoError, RunInterrupted, SystemFailed
from dbdyno.base.numbers import duration
from dbdyno.engines import engine_of
from dbdyno.engines.fixes import StatementFacts
from dbdyno.engines.index import Index
from dbdyno.engines.index_advice import index_candidates
from dbdyno.engines.index_trials import IndexTrials, Operation, column_names
from dbdyno.engines.provisioner import CopyingProvisioner
from dbdyno.model.events.answers import Answer, Loaded
from dbdyno.model.events.reading import E
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.steps import Begin, Rollback
from dbdyno.model.plan.tasks import AskTask, LoadTask, Target, Warmup, Window, without_analysis
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.model.result import Document
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.convert import to_json
from dbdyno.model.result.indexes import EstimatedIndex, Indexes, StatementSpeed, TriedIndex, WriteCost
from dbdyno.model.result.reading import JsonObject, objects, part
from dbdyno.run.provisioners import Provisioners
from dbdyno.run.statement_checks import prepare_on
from dbdyno.runtime.worker import ask

# Seconds that a window should last at first, if the first pairs differ little, and the most executions in it.
_WINDOW_S, _LONG_WINDOW_S, _MAX_EXECUTIONS = 0.1, 0.6, 5000
# Statements that take longer run once per window, without a warm-up.
_SLOW_S = 0.5
# Pairs of windows: at least, and at most unless the interval decides.
_MIN_PAIRS, _MAX_PAIRS = 3, 16
_WRITE_PAIRS = 5
# With weights, statements that take less than this share of the total are not worth an index.
_NEGLIGIBLE_SHARE = 0.001
_CANDIDATES_PER_STATEMENT = 6
_WRITTEN_ROWS = 1000
# Pairs of indexes that are tried for a statement that no index helps alone.
_MAX_COMBINATIONS = 4
# The share of the time that one statement may always take with one candidate.
_SHARE_OF_ONE = 0.1
# The share of the time that is kept for measuring the chosen set and its costs.
_KEPT_FOR_SET = 0.3


@dataclass
class _Statement:
    """A statement of the file: its cell, its measured time, and its candidates."""

    name: str
    compiled: CompiledCell
    cell: Cell
    ms: float
    weight: float
    plan: Sequence[str]
    candidates: list[Index] = field(default_factory=list)
    without_ms: list[float] = field(default_factory=list)
    """Its times on the copy without new indexes."""

    def may_use(self, index: TriedIndex) -> bool:
        """Whether an index is a candidate for this statement."""
        return any(candidate.name in index.names for candidate in self.candidates)

    @property
    def total_ms(self) -> float:
        return self.ms * self.weight

    @property
    def facts(self) -> StatementFacts:
        return StatementFacts(self.name, self.sql)

    @property
    def sql(self) -> str:
        return self.compiled.task.statements[0].sql


def try_indexes(
    document: Document,
    compiled: Sequence[CompiledCell],
    provisioners: Provisioners,
    console: Console,
    *,
    budget_s: float,
    budget_bytes: int | None,
) -> list[JsonObject]:
    """Measure candidate indexes for each system of a run of statements; return ``Indexes`` as JSON.

    ``document``: the result of the run, with the time of each statement; ``budget_s``: seconds for all systems;
    ``budget_bytes``: the largest size of the chosen indexes. Returns early if the run is interrupted.
    """
    cells = {cell.id: cell for cell in document.cells}
    systems: dict[str, list[CompiledCell]] = {}
    for cell in compiled:
        if STATEMENT in cell.cell.factors and cell.cell.id in cells:
            systems.setdefault(cell.cell.system.name, []).append(cell)
    found = []
    for name, own in systems.items():
        statements = list(_statements(own, cells, part(document.report, "weights")))
        if not statements or provisioners.interrupted:
            continue
        trials = _SystemTrials(name, statements, provisioners, console, budget_s / len(systems), budget_bytes)
        found.append(to_json(trials.measure()))
    return found


def _statements(
    compiled: Sequence[CompiledCell], cells: Mapping[str, Cell], weights: Mapping[str, Any]
) -> Iterator[_Statement]:
    for compiled_cell in compiled:
        cell = cells[compiled_cell.cell.id]
        service = cell.latency_ms.get("service")
        mean = None if service is None else service.mean
        if mean is None or len(cell.statements) != 1:
            continue
        name = str(compiled_cell.cell.factors[STATEMENT])
        yield _Statement(name, compiled_cell, cell, mean, float(weights.get(name, 1.0)), cell.statements[0].plan)


class _SystemTrials:
    """The candidates of one system."""

    def __init__(
        self,
        system: str,
        statements: list[_Statement],
        provisioners: Provisioners,
        console: Console,
        budget_s: float,
        budget_bytes: int | None,
    ) -> None:
        self._system = system
        self._statements = statements
        self._provisioners = provisioners
        self._console = console
        self._began = self._trials_began = time.monotonic()
        self._budget_s = budget_s
        self._budget_bytes = budget_bytes
        self._share_s = 0.0
        first = statements[0]
        self._engine = engine_of(first.compiled.cell.system.engine)
        self._catalog: JsonObject = _merged(statement.cell.system.catalog for statement in statements)
        if not enforces_foreign_keys(first.cell):
            self._catalog["foreign_keys"] = []

    @property
    def _weighted(self) -> bool:
        return any(statement.weight != 1 for statement in self._statements)

    def measure(self) -> Indexes:
        """Measure the candidates; return what was found."""
        plans = [statement.plan for statement in self._statements]
        result = Indexes(
            system=self._system,
            not_measured=None,
            estimated=None,
            tried=[],
            chosen=[],
            statements=[],
            weights={statement.name: statement.weight for statement in self._statements},
            writes=[],
            unmeasured_writes={},
            idle=idle_indexes(self._catalog, plans, frozenset(self._tables())),
            over_budget=[],
            untried=[],
            without_candidates=[],
            copied_bytes=None,
            seconds=0.0,
        )
        candidates = self._candidates()
        result.without_candidates = [statement.name for statement in self._statements if not statement.candidates]
        sql = self._engine.index_trials()
        if not candidates:
            result.not_measured = "no statement has a condition or an order that an index could serve"
        elif sql is None:
            result.not_measured = f"dbdyno does not measure indexes of {self._engine.title}"
        else:
            try:
                self._measure_on_copies(result, candidates, sql)
            except RunInterrupted:
                result.not_measured = "the run was interrupted"
            except DbdynoError as error:
                result.not_measured, result.untried = str(error), [_definitions(candidate) for candidate in candidates]
                result.estimated = self._estimates(candidates)
        result.seconds = time.monotonic() - self._began
        return result

    def _tables(self) -> Iterator[str]:
        views = (str(view.get("definition")) for view in objects(self._catalog.get("views")))
        texts = " ".join([*(statement.sql for statement in self._statements), *views]).lower()
        yield from (
            name for table in objects(self._catalog.get("tables")) if (name := str(table["name"]).lower()) in texts
        )

    def _candidates(self) -> list[list[Index]]:
        """Return the candidates, starting with the costliest statement; arms of an ``or`` are one candidate."""
        total = sum(statement.total_ms for statement in self._statements)
        engine = self._statements[0].cell.system.engine or self._engine.name
        ranked = sorted(self._statements, key=lambda statement: -statement.total_ms)
        for statement in ranked:
            if (statement.total_ms > _NEGLIGIBLE_SHARE * total) if self._weighted else (statement.ms > NEGLIGIBLE_MS):
                plan = self._engine.read_plan(statement.plan)
                known = [index for other in ranked for index in other.candidates]
                statement.candidates = index_candidates(
                    statement.sql, engine, dict(self._catalog), plan=plan, limit=_CANDIDATES_PER_STATEMENT, known=known
                )
        groups: dict[tuple[str, ...], list[Index]] = {}
        for position in range(_CANDIDATES_PER_STATEMENT):
            for statement in ranked:
                for index in statement.candidates[position : position + 1]:
                    group = [one for one in statement.candidates if one.together] if index.together else [index]
                    groups.setdefault(tuple(one.name for one in group), group)
        return list(groups.values())

    def _measure_on_copies(self, result: Indexes, candidates: Sequence[Sequence[Index]], sql: IndexTrials) -> None:
        compiled = self._statements[0].compiled
        provisioner = self._provisioners.of(compiled)
        if not isinstance(provisioner, CopyingProvisioner):
            raise SystemFailed(f"{self._system}: its data can't be copied")
        database = compiled.cell.system.database or ""
        leaving = next(
            (statement.name for statement in self._statements if sql.leaves_copy(statement.sql, database)), None
        )
        if leaving is not None:
            raise SystemFailed(f"{leaving} names the database {database}: leave the name out, so that it uses the copy")
        with provisioner.copies(compiled, _copied_tables(self._catalog)) as (without, copy):
            self._trials_began = time.monotonic()
            self._console.print(
                f"{len(candidates)} candidate index{'es' * (len(candidates) != 1)}, "
                f"each built and measured on a copy, at most {duration(self._budget_s)}",
                style="dim",
                soft_wrap=True,
            )
            lab = _Copies(without, copy, self._provisioners, sql, self._catalog)
            result.copied_bytes = self._statements[0].cell.system.catalog.get("data_bytes")
            self._try_each(lab, candidates, result)
            self._try_together(lab, candidates, result)
            useful = [tried_index for tried_index in result.tried if tried_index.verdict == "helps"]
            choice = choose(
                [_measured(tried_index, useful) for tried_index in useful],
                {statement.name: statement.total_ms for statement in self._statements},
                self._budget_bytes,
                weighted=self._weighted,
            )
            result.over_budget = list(choice.over_budget)
            chosen = [tried_index for tried_index in useful if tried_index.name in choice.chosen]
            parts = [
                tried_index for tried_index in chosen for other in chosen if set(tried_index.names) < set(other.names)
            ]
            self._measure_set(lab, [tried_index for tried_index in chosen if tried_index not in parts], result)

    def _estimates(self, candidates: Sequence[Sequence[Index]]) -> list[EstimatedIndex] | None:
        """Return the candidates that the planner would use, by the statement and its gain; None if it can't say."""
        first = self._statements[0].compiled
        asked = [each.compiled.task.statements[0] for each in self._statements]
        statements = [(each.sql, each.example) for each in asked]
        try:
            with self._provisioners.of(first).ready(first, 0) as ready:
                groups = [[index.sql for index in candidate] for candidate in candidates]
                gains = self._engine.estimated_gains(ready.target, statements, groups)
        except DbdynoError:
            return None
        if gains is None:
            return None
        found = []
        for indexes, each in zip(candidates, gains, strict=True):
            for position, statement in enumerate(self._statements):
                times = None if each is None else each[position]
                unknown = each is None and any(one in statement.candidates for one in indexes)
                if unknown or (times is not None and times > MIN_GAIN):
                    sql = [index.sql for index in indexes]
                    keys = _definitions(indexes)
                    found.append((position, EstimatedIndex(statement=statement.name, keys=keys, sql=sql, times=times)))
        return [
            estimated_index for _, estimated_index in sorted(found, key=lambda pair: (pair[0], -(pair[1].times or 0.0)))
        ]

    def _try_each(self, lab: _Copies, candidates: Sequence[Sequence[Index]], result: Indexes) -> None:
        for position, indexes in enumerate(candidates):
            if self._is_time_spent:
                result.untried = [_definitions(candidate) for candidate in candidates[position:]]
                break
            # Half of what is left for each candidate, since several statements may use it.
            self._share_s = self._left_s / (len(candidates) - position) / 2
            result.tried.append(self._try_one(lab, indexes))
        self._share_s = 0.0

    def _try_together(self, lab: _Copies, candidates: Sequence[Sequence[Index]], result: Indexes) -> None:
        """Try indexes that may help only beside another one, such as one for each side of a join.

        The planner chooses among all candidates of a statement. If none of them helps alone, pairs of indexes of
        different tables are tried, too.
        """
        singles = {
            tried_index.name: tried_index
            for tried_index in result.tried
            if len(tried_index.names) == 1 and tried_index.verdict != "refused"
        }
        indexes = {one.name: one for group in candidates for one in group}
        for statement in self._statements:
            own = [indexes[one.name] for one in statement.candidates if one.name in singles]
            if len(own) <= 1 or self._is_time_spent:
                continue
            helps = any(singles[one.name].verdict == "helps" for one in own)
            pairs = [pair for pair in combinations(own, 2) if pair[0].table != pair[1].table]
            for group in (own, *([] if helps else pairs[:_MAX_COMBINATIONS])):
                used = self._used_together(lab, statement, group)
                names = {one.name for one in used}
                if len(used) <= 1 or any(names == set(one.names) for one in result.tried) or self._is_time_spent:
                    continue
                result.tried.append(self._try_one(lab, used))
                if result.tried[-1].verdict == "helps":
                    break

    def _used_together(self, lab: _Copies, statement: _Statement, indexes: Sequence[Index]) -> list[Index]:
        """Return which indexes the plan of a statement uses if all exist."""
        made = _tried(indexes)
        try:
            lab.create(made)
            plan = lab.plans([statement.compiled]).get(statement.sql, [])
        except SystemFailed:
            return []
        finally:
            lab.drop(made)
        return [index for index in indexes if names_index(plan, index.name)]

    def _try_one(self, lab: _Copies, indexes: Sequence[Index]) -> TriedIndex:
        tried = _tried(indexes)
        try:
            try:
                tried.build_s = lab.create(tried)
            except SystemFailed as error:
                tried.problem = str(error)
                return tried
            tried.bytes = lab.index_bytes(tried)
            tried.statements = self._speeds(lab, [tried])
        finally:
            lab.drop(tried)
        tried.verdict = verdict_of([statement.pairs_ms for statement in tried.statements if statement.uses])
        return tried

    def _speeds(self, lab: _Copies, indexes: Sequence[TriedIndex]) -> list[StatementSpeed]:
        """Measure the statements whose plans use the indexes, and the statements that write to the tables."""
        tables = {table.rpartition(".")[2].lower() for index in indexes for table in index.tables}
        plans = lab.plans([statement.compiled for statement in self._statements])
        speeds = []
        for statement in self._statements:
            plan = plans.get(statement.sql, [])
            uses = [one.name for one in indexes if any(names_index(plan, name) for name in one.names)]
            if statement.facts.changes:
                # Plans don't show the rows that a foreign key searches for.
                uses += [one.name for one in indexes if one.name not in uses and statement.may_use(one)]
            if not uses and not (statement.facts.writes and any(table in statement.sql.lower() for table in tables)):
                continue
            speed = self._speed(lab, statement, plan, uses)
            if speed is not None:
                speeds.append(speed)
        return speeds

    def _speed(self, lab: _Copies, statement: _Statement, plan: list[str], uses: list[str]) -> StatementSpeed | None:
        """Measure a statement on both copies; None if it fails."""
        pairs = self._far_pairs(lab, statement)
        if pairs is None or far_apart(pairs) is None:
            pairs = self._pairs(lab, statement)
        ratio = speedup(pairs)
        if ratio is None:
            return None
        return StatementSpeed(
            statement=statement.name,
            pairs_ms=pairs,
            times=ratio.mean,
            ci95=ratio.ends if len(pairs) >= _MIN_PAIRS else None,
            plan=plan,
            uses=uses,
        )

    def _far_pairs(self, lab: _Copies, statement: _Statement) -> list[list[float]] | None:
        """Pair new times on the second copy with earlier ones on the first, which is enough for a large difference.

        None without earlier ones.
        """
        known = statement.without_ms
        if len(known) < _MIN_PAIRS:
            return None
        pairs: list[list[float]] = []
        ms = known[0]
        if ms <= _SLOW_S * 1e3:
            # The first time fills the caches.
            ms = lab.time(1, statement.compiled, ms, seed=0, writes=statement.facts.writes) or ms
        for number, before in enumerate(known[:_MIN_PAIRS]):
            told = lab.time(1, statement.compiled, ms, seed=number, writes=statement.facts.writes)
            if told is None:
                break
            ms = told
            pairs.append([before, told])
            if len(pairs) > 1 and (far_apart(pairs) is None or max(ms, before) > _SLOW_S * 1e3):
                break
        return pairs

    def _pairs(self, lab: _Copies, statement: _Statement) -> list[list[float]]:
        """Measure a statement on both copies alternately, until the difference is certain; empty if it fails."""
        pairs: list[list[float]] = []
        ms = [statement.ms, statement.ms]
        began = time.monotonic()
        for number in range(_MAX_PAIRS):
            pair = [0.0, 0.0]
            window_s = _WINDOW_S if number <= _MIN_PAIRS else _LONG_WINDOW_S
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                told = lab.time(
                    side, statement.compiled, ms[side], seed=number, writes=statement.facts.writes, window_s=window_s
                )
                if told is None:
                    return []
                pair[side] = ms[side] = told
            # The first pair fills the caches, unless the statement is too slow for that.
            if number or max(ms) > _SLOW_S * 1e3:
                pairs.append(pair)
                statement.without_ms.append(pair[0])
            is_over = time.monotonic() - began > max(self._budget_s * _SHARE_OF_ONE, self._share_s, 1.0)
            is_far = far_apart(pairs) is not None and max(pair) > _SLOW_S * 1e3
            if is_far or (len(pairs) >= _MIN_PAIRS and (is_decided(pairs) or is_over)):
                break
        return pairs

    def _measure_set(self, lab: _Copies, chosen: list[TriedIndex], result: Indexes) -> None:
        """Measure all chosen indexes together; drop unused and harmful ones."""
        while chosen:
            for tried_index in chosen:
                lab.create(tried_index)
            speeds = self._speeds(lab, chosen)
            used = {name for speed in speeds for name in speed.uses}
            harmful = {name for speed in speeds if speed.uses and _is_slower(speed) for name in speed.uses}
            kept = [
                tried_index for tried_index in chosen if tried_index.name in used and tried_index.name not in harmful
            ]
            if len(kept) == len(chosen):
                result.chosen, result.statements = [tried_index.name for tried_index in chosen], speeds
                self._measure_writes(lab, chosen, result)
                return
            for tried_index in chosen:
                lab.drop(tried_index)
            chosen = kept

    def _measure_writes(self, lab: _Copies, chosen: Sequence[TriedIndex], result: Indexes) -> None:
        """Measure the cost of writing to the tables of the chosen indexes."""
        for table in dict.fromkeys(table for tried_index in chosen for table in tried_index.tables):
            entry = _table(self._catalog, table)
            if entry is None or "columns" not in entry:
                result.unmeasured_writes[table] = "no statement names the table, so its columns are not read"
                continue
            wanted = {name for tried_index in chosen if table in tried_index.tables for name in tried_index.columns}
            # Values of unique columns can't be exchanged between rows.
            unique = _unique_columns(entry)
            columns = [name for name in column_names(entry) if name in wanted and name.lower() not in unique]
            rows = max(min(_WRITTEN_ROWS, (entry.get("rows") or _WRITTEN_ROWS) // 4), 1)
            try:
                result.writes += lab.write_costs(entry, columns, rows)
            except RunInterrupted:
                raise
            except SystemFailed as error:
                result.unmeasured_writes[table] = str(error)

    @property
    def _left_s(self) -> float:
        """Seconds that are left for single candidates."""
        return (1 - _KEPT_FOR_SET) * self._budget_s - (time.monotonic() - self._trials_began)

    @property
    def _is_time_spent(self) -> bool:
        return self._left_s <= 0


class _Copies:
    """Two equal copies of the data; indexes are created on the second one."""

    def __init__(
        self, without: Target, copy: Target, provisioners: Provisioners, sql: IndexTrials, catalog: JsonObject
    ) -> None:
        self._targets = (without, copy)
        self._provisioners = provisioners
        self._sql = sql
        self._catalog = catalog
        self._created: set[str] = set()

    def create(self, index: TriedIndex) -> float:
        """Create indexes that don't exist yet; return the seconds that took. Raises SystemFailed."""
        seconds = 0.0
        for name, sql in zip(index.names, index.sql, strict=True):
            if name not in self._created:
                seconds += sum(self._run(1, [sql]))
                self._created.add(name)
        entries = [self._entry(table) for table in dict.fromkeys(index.tables)]
        self._run(1, [sql for entry in entries for sql in self._sql.refresh_statistics(entry)])
        return seconds

    def drop(self, index: TriedIndex) -> None:
        """Drop its indexes that exist."""
        pairs = zip(index.names, index.tables, strict=True)
        self._run(1, [self._sql.drop(name, self._entry(table)) for name, table in pairs if name in self._created])
        self._created.difference_update(index.names)

    def _entry(self, table: str) -> JsonObject:
        return _table(self._catalog, table) or {"name": table}

    def index_bytes(self, index: TriedIndex) -> int | None:
        """Return the size of an index; None if it is unknown."""
        total = 0
        for name in index.names:
            query = self._sql.index_bytes(name)
            if query is None:
                return None
            try:
                answer = self._ask(AskTask(target=self._targets[1], sql=query), Answer).answer
            except SystemFailed:
                return None
            if not answer:
                return None
            total += round(float(answer))
        return total

    def plans(self, compiled: Sequence[CompiledCell]) -> Mapping[str, list[str]]:
        """Return the plan of each statement on the second copy, by its SQL."""
        statements = {
            one.sql: replace(one, name=one.sql) for cell in compiled for one in without_analysis(cell.task.statements)
        }
        prepared = prepare_on(self._targets[1], list(statements.values()), self._provisioners)
        return {sql: list(plan) for sql, plan in prepared.engine.plans.items()}

    def time(
        self, side: int, compiled: CompiledCell, ms: float, *, seed: int, writes: bool, window_s: float = _WINDOW_S
    ) -> float | None:
        """Return the mean milliseconds of a statement on a copy; None if it fails. ``ms``: about how long it takes."""
        executions = max(1, min(math.ceil(window_s * 1e3 / max(ms, 1e-3)), _MAX_EXECUTIONS))
        warmup = 0 if ms > _SLOW_S * 1e3 else 1
        plan = compiled.plan(self._targets[side], seed, analyzed=True)
        task = replace(
            plan.task,
            window=Window(transactions=executions, seconds=600.0),
            warmup=Warmup(transactions=warmup),
        )
        # Deletes are rolled back already.
        if writes and not task.begins:
            undone = [
                replace(transaction, steps=[Begin(), *transaction.steps, Rollback()])
                for transaction in task.transactions
            ]
            task = replace(task, transactions=undone)
        told = ask(plan.with_task(task), TrialResult, interrupted=self._provisioners.interrupted)
        if not told.accounting.ok or told.failures:
            return None
        return told.elapsed_s * 1e3 / told.completed

    def write_costs(self, table: JsonObject, columns: Sequence[str], rows: int) -> list[WriteCost]:
        """Return what writing rows of a table costs with the indexes of the second copy. Raises SystemFailed."""
        script = self._sql.write_script(table, columns, rows)
        if script is None:
            raise SystemFailed("the table has no primary key")
        pairs: dict[Operation, list[list[float]]] = {each: [] for each in script.timed}
        # The first pair fills the caches.
        for number in range(_WRITE_PAIRS + 1):
            seconds = [self._run(side, script.statements) for side in (0, 1)]
            for operation, position in script.timed.items():
                if number:
                    pairs[operation].append([each[position] * 1e3 for each in seconds])
        found = []
        for operation, measured in pairs.items():
            ratio = speedup([[b, a] for a, b in measured])
            if ratio is not None:
                found.append(
                    WriteCost(
                        table=str(table["name"]),
                        operation=operation,
                        pairs_ms=measured,
                        times=ratio.mean,
                        ci95=ratio.ends,
                    )
                )
        return found

    def _run(self, side: int, statements: Sequence[str]) -> list[float]:
        """Run statements in one session; return the seconds of each. Raises SystemFailed."""
        if not statements:
            return []
        task = LoadTask(target=self._targets[side], before=[], tables=[], after=statements)
        return [step.seconds for step in self._ask(task, Loaded).tables[: len(statements)]]

    def _ask(self, task: AskTask | LoadTask, answer: type[E]) -> E:
        return ask(WorkerPlan(task=task), answer, interrupted=self._provisioners.interrupted)


def _tried(indexes: Sequence[Index]) -> TriedIndex:
    """Return indexes that are tried together, before they were built."""
    return TriedIndex(
        name="+".join(index.name for index in indexes),
        names=[index.name for index in indexes],
        tables=[_qualified(index.schema, index.table) for index in indexes],
        keys=_definitions(indexes),
        columns=[key.name for index in indexes for key in index.keys if key.name],
        sql=[index.sql for index in indexes],
        verdict="refused",
        problem=None,
        build_s=None,
        bytes=None,
        statements=[],
    )


def _measured(index: TriedIndex, useful: Sequence[TriedIndex]) -> Measured:
    """Return what several indexes do together, or a part of them alone."""
    times: dict[str, float] = {}
    for part_of in useful:
        if set(part_of.names) <= set(index.names):
            for statement in part_of.statements:
                times[statement.statement] = max(statement.times, times.get(statement.statement, 0.0))
    times |= {statement.statement: statement.times for statement in index.statements}
    return Measured(index.name, times, index.bytes, len(index.names))


def _is_slower(speed: StatementSpeed) -> bool:
    return speed.ci95 is not None and speed.ci95[1] < 1


def _merged(catalogs: Iterable[JsonObject]) -> JsonObject:
    """Return one catalog with the tables of all statements."""
    tables: dict[tuple[str, str], JsonObject] = {}
    keys: list[JsonObject] = []
    views: list[JsonObject] = []
    for catalog in catalogs:
        keys += [foreign_key for foreign_key in objects(catalog.get("foreign_keys")) if foreign_key not in keys]
        views += [view for view in objects(catalog.get("views")) if view not in views]
        for table in objects(catalog.get("tables")):
            tables.setdefault((str(table.get("schema")), str(table.get("name"))), table)
    return {"tables": list(tables.values()), "foreign_keys": keys, "views": views}


def _copied_tables(catalog: JsonObject) -> list[JsonObject]:
    """Return the tables in the statements, all tables whose foreign keys refer to them, and then the views."""
    tables = list(objects(catalog.get("tables")))
    known = {(table.get("schema"), table.get("name")) for table in tables}
    for foreign_key in objects(catalog.get("foreign_keys")):
        if (foreign_key.get("schema"), foreign_key.get("table")) not in known:
            known.add((foreign_key.get("schema"), foreign_key.get("table")))
            tables.append({"schema": foreign_key.get("schema"), "name": foreign_key.get("table")})
    # The catalog lists a view before the views that it reads.
    return [*tables, *reversed(objects(catalog.get("views")))]


def _unique_columns(table: JsonObject) -> set[str]:
    """Return the columns of the primary key and of unique indexes, in lower case."""
    keys = [key for index in objects(table.get("indexes")) if index.get("unique") for key in objects(index.get("keys"))]
    return {str(each).lower() for each in [*table.get("primary_key", []), *(key.get("column") for key in keys)]}


def _definitions(indexes: Sequence[Index]) -> str:
    """Return what follows `on` in the statements that create indexes."""
    return " + ".join(index.sql.partition(" on ")[2] for index in indexes)


def _qualified(schema: object, name: object) -> str:
    return f"{schema}.{name}" if schema else str(name)


def _table(catalog: JsonObject, name: str) -> JsonObject | None:
    """Return the entry of a table, or only its name and schema if no statement names it. ``name``: with its schema."""
    children = [
        {"schema": foreign_key.get("schema"), "name": foreign_key.get("table")}
        for foreign_key in objects(catalog["foreign_keys"])
    ]
    entries = [*objects(catalog.get("tables")), *children]
    named = {_qualified(entry.get("schema"), entry.get("name")).lower(): entry for entry in reversed(entries)}
    # A table in the search path is listed without its schema.
    return named.get(name.lower(), named.get(name.rpartition(".")[2].lower()))
