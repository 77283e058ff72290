"""A cell of an experiment, its plans, and the key of its initial data."""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path

from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.levels import Level
from dbdyno.model.plan.change import Change
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.settings import Settings
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import LoadTable, LoadTask, SpaceTask, Target, TrialTask, without_analysis
from dbdyno.model.plan.worker_plan import TaskT, TrialPlan, WorkerPlan

# Increase this when the worker generates other rows from the same plan, so that old templates aren't reused.
TEMPLATE_VERSION = 1


@dataclass(frozen=True)
class Cell:
    """One combination of levels."""

    id: str
    """``factor=level,…`` in the file's order: the factors with several levels in the file, and the factors at a level
    that isn't in the file. It depends only on the file and the levels, so a cell has the same id in every run."""
    levels: Mapping[str, Level] = field(hash=False)
    """The level of each factor of the experiment, in the file's order."""
    system: SystemSpec = field(hash=False)
    """The system that the cell measures."""

    @property
    def factors(self) -> dict[str, bool | int | float | str]:
        """The value of each factor; for a named level, its name."""
        return {name: level.value for name, level in self.levels.items()}


@dataclass(frozen=True)
class ResolvedCell(Cell):
    """A cell with the experiment's definition for its levels.

    :func:`dbdyno.experiment.resolve.resolve` creates it once for each cell.
    """

    definition: Definition = field(hash=False, compare=False, repr=False)
    """The tables, transactions and load, with all references to factors replaced."""
    settings: Settings = field(hash=False, compare=False)
    """The validated settings of the system."""
    places: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False, repr=False)
    """File and line of each statement of a SQL file, by its name."""


@dataclass(frozen=True)
class TimedStatement:
    """A statement that is timed after a trial."""

    name: str
    """The name of its time in the result."""
    run: str
    """The statement in the engine's SQL."""
    undo: tuple[str, ...]
    """Statements that restore the data afterwards. They aren't timed."""


@dataclass(frozen=True)
class CheckQuery:
    """A query that must return a value on the data after a trial."""

    name: str
    sql: str
    equals: int | float | str

    def violation(self, answer: str | None) -> str | None:
        """Return why an answer is wrong, or None. ``answer``: the first value of the first row, None for null."""
        if answer is not None and _equal(answer, self.equals):
            return None
        found = "null, or no row" if answer is None else answer
        return f"the check `{self.name}` failed: expected {self.equals}, found {found}: {' '.join(self.sql.split())}"


def _equal(answer: str, expected: float | str) -> bool:
    if isinstance(expected, str):
        return answer == expected
    try:
        return Decimal(answer) == Decimal(str(expected))
    except InvalidOperation:
        return False


@dataclass(frozen=True)
class CompiledCell:
    """A cell, ready to run: the parts of its plans."""

    cell: ResolvedCell
    """The cell that these plans belong to."""
    before: list[str]
    """Statements that run before rows are loaded, such as ``create table``."""
    tables: list[LoadTable]
    """The tables to load."""
    after: list[str]
    """Statements that run after rows are loaded, such as ``create index``."""
    task: TrialTask
    """The task of a trial, without its target and seeds."""
    left_out: tuple[str, ...] = ()
    """The kinds of steps that were left out, because they are for other engines only."""
    unchecked: tuple[str, ...] = ()
    """The names of the checks whose SQL is for other engines only."""
    timed: tuple[TimedStatement, ...] = ()
    """Statements that are timed after a trial."""
    checks: tuple[CheckQuery, ...] = ()
    """Conditions that the data must meet after a trial."""
    change: Change | None = None
    """The change from the original cell, if `dbdyno why` created this cell."""
    added: tuple[str, ...] = ()
    """Statements that run on the loaded data after ``after``; for a named file, on a copy."""

    @property
    def definition(self) -> Definition:
        """The experiment's definition for the cell."""
        return self.cell.definition

    @property
    def settings(self) -> Settings:
        """The settings of the system."""
        return self.cell.settings

    @property
    def command(self) -> list[str]:
        """The program of an ``exec:`` system and its arguments, with the levels of the factors inserted."""
        values = {name: level.name for name, level in self.cell.levels.items()}
        return [word.format(**values) for word in shlex.split(self.cell.system.command)]

    def template_key(self, identity: str) -> str:
        """Return a key of the loaded data: the SHA-256, in hexadecimal, of everything that determines the stored bytes.

        ``identity``: of the library (its version and source id) or the server that writes the data. The key excludes
        the run's seed and settings that apply to connections or servers during a trial.
        """
        tables = [replace(table, file=table.file and file_digest(table.file)) for table in self.tables]
        content = {
            "version": TEMPLATE_VERSION,
            "engine": self.cell.system.engine,
            "library": identity,
            "seed": self.definition.data_seed,
            "pragmas": self.settings.file_settings,
            "before": self.before,
            "tables": as_json(tables),
            "after": [*self.after, *self.added],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def load_plan(self, target: Target) -> WorkerPlan[LoadTask]:
        """Return the plan that creates and fills the tables on a target."""
        after = [*self.after, *self.added]
        return self._plan(LoadTask(target=target, before=self.before, tables=self.tables, after=after))

    def growth_plan(self, target: Target, table: str, first: int, rows: int) -> WorkerPlan[LoadTask]:
        """Return the plan that adds ``rows`` rows to a table that already has ``first`` rows."""
        (filled,) = [each for each in self.tables if each.name == table]
        grown = replace(filled, first=first, rows=rows)
        return self._plan(LoadTask(target=target, before=[], tables=[grown], after=[]))

    def statements_plan(self, target: Target, statements: Sequence[str]) -> WorkerPlan[LoadTask]:
        """Return the plan that runs statements on a target, one after another."""
        return self._plan(LoadTask(target=target, before=[], tables=[], after=statements))

    def space_plan(self, target: Target) -> WorkerPlan[SpaceTask]:
        """Return the plan that measures the disk space of the tables on a target."""
        return self._plan(SpaceTask(target=target, tables=list(self.definition.tables)))

    def plan(self, target: Target, seed: int, first_use: int = 0, *, analyzed: bool = False) -> TrialPlan:
        """Return the plan of a trial on a target that has the tables.

        ``seed``: the seed of the round. ``first_use``: how often earlier trials used the counters, as the worker
        reported. ``analyzed``: whether an earlier trial has already measured row estimates.
        """
        if self.change is not None:
            target = {**target, **self.change.address}
        statements = without_analysis(self.task.statements) if analyzed else self.task.statements
        task = replace(
            self.task,
            target=target,
            statements=statements,
            data_seed=self.definition.data_seed,
            first_use=first_use,
        )
        return WorkerPlan(seed=seed, task=task)

    def _plan(self, task: TaskT) -> WorkerPlan[TaskT]:
        return WorkerPlan(seed=self.definition.data_seed, task=task)


def file_digest(path: str) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal. Unchanged files are read only once."""
    stat = Path(path).stat()
    return _digest(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@cache
def _digest(path: str, *_state: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
