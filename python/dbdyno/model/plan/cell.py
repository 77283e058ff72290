"""One cell of an experiment, and what it is once it is resolved: its plans, and the key of the data it starts from."""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dbdyno.model.experiment.definition import Definition
from dbdyno.model.experiment.levels import Level
from dbdyno.model.plan.change import Change
from dbdyno.model.plan.settings import Settings
from dbdyno.model.plan.steps import begins
from dbdyno.model.plan.system import SystemSpec

PLAN = "dbdyno.plan/1"

# A system as a plan names it.
Target = dict[str, Any]

# Raised when the worker's way of making rows changes, so that no template of the old way is taken for a new one.
TEMPLATE_VERSION = 1


@dataclass(frozen=True)
class Cell:
    """One combination of levels. ``levels`` has one for each factor of the experiment, in the file's order.

    ``id`` names, in that order, the factors that have several levels in the file and those that are at a level which
    is not in the file; it depends on nothing but the file and the cell, so that a cell has the same id in every run.
    """

    id: str
    levels: Mapping[str, Level] = field(hash=False)
    system: SystemSpec = field(hash=False)

    @property
    def factors(self) -> dict[str, bool | int | float | str]:
        """The value of each factor; of a named level, its name."""
        return {name: level.value for name, level in self.levels.items()}


@dataclass(frozen=True)
class ResolvedCell(Cell):
    """A cell with what its experiment is there: its definition, and the settings of its system, checked.

    :func:`dbdyno.experiment.resolve.resolve` makes it, once for each cell.
    """

    definition: Definition = field(hash=False, compare=False, repr=False)
    settings: Settings = field(hash=False, compare=False)


@dataclass(frozen=True)
class TimedStatement:
    """A statement that is timed when a trial is over, and those that bring the data back; as the engine takes them."""

    name: str
    run: str
    undo: tuple[str, ...]


@dataclass(frozen=True)
class CompiledCell:
    """A cell, ready to run. ``trial`` is the trial's task without its target.

    ``left_out``: what kinds of steps are for other engines only; ``change``: what it differs in from the cell that
    `dbdyno why` is asked about, where it was made for that; ``added``: statements that are run on its data at last, of
    a named file on a copy.
    """

    cell: ResolvedCell
    before: list[str]
    tables: list[dict[str, Any]]
    after: list[str]
    trial: dict[str, Any]
    left_out: tuple[str, ...] = ()
    timed: tuple[TimedStatement, ...] = ()
    change: Change | None = None
    added: tuple[str, ...] = ()

    @property
    def definition(self) -> Definition:
        """What the experiment is at the cell."""
        return self.cell.definition

    @property
    def settings(self) -> Settings:
        """The system's."""
        return self.cell.settings

    @property
    def command(self) -> list[str]:
        """The program and its arguments, of an ``exec:`` system, with the levels of the factors put in."""
        values = {name: level.name for name, level in self.cell.levels.items()}
        return [word.format(**values) for word in shlex.split(self.cell.system.command)]

    @property
    def begins(self) -> set[str]:
        """The modes in which its transactions begin: none where each statement is one of its own."""
        return begins(self.trial)

    def template_key(self, identity: str) -> str:
        """Name the loaded data: SHA-256, in hexadecimal, over all that decides the bytes they are kept in.

        ``identity``: of what writes them, the library (its version and source id) or the server. Not in the key: the
        run's seed, and settings that connections or servers are given at a trial.
        """
        tables = [table | {"file": table["file"] and file_digest(table["file"])} for table in self.tables]
        content = {
            "version": TEMPLATE_VERSION,
            "engine": self.cell.system.engine,
            "library": identity,
            "seed": self.definition.data_seed,
            "pragmas": self.settings.of_files,
            "before": self.before,
            "tables": tables,
            "after": [*self.after, *self.added],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def load_plan(self, target: Target) -> dict[str, Any]:
        """Give the plan that makes the tables and fills them on a target."""
        after = [*self.after, *self.added]
        task = {"kind": "load", "target": target, "before": self.before, "tables": self.tables, "after": after}
        return {"schema": PLAN, "seed": self.definition.data_seed, "task": task}

    def growth_plan(self, target: Target, table: str, first: int, rows: int) -> dict[str, Any]:
        """Give the plan that adds rows to a table of a target, which follow the ``first`` ones."""
        (filled,) = [each for each in self.tables if each["name"] == table]
        grown = filled | {"first": first, "rows": rows}
        task = {"kind": "load", "target": target, "before": [], "tables": [grown], "after": []}
        return {"schema": PLAN, "seed": self.definition.data_seed, "task": task}

    def statements_plan(self, target: Target, statements: Sequence[str]) -> dict[str, Any]:
        """Give the plan that runs statements on a target, one after another."""
        task = {"kind": "load", "target": target, "before": [], "tables": [], "after": list(statements)}
        return {"schema": PLAN, "seed": self.definition.data_seed, "task": task}

    def space_plan(self, target: Target) -> dict[str, Any]:
        """Give the plan that tells what the tables of a target take on disk."""
        task = {"kind": "space", "target": target, "tables": list(self.definition.tables)}
        return {"schema": PLAN, "seed": self.definition.data_seed, "task": task}

    def trial_plan(self, target: Target, seed: int, first_use: int = 0, *, analyzed: bool = False) -> dict[str, Any]:
        """Give the plan of a trial on a target that holds the tables.

        ``seed``: that of the block; ``first_use``: how often counters were used by trials before, as the worker told;
        ``analyzed``: an earlier trial has run the statements for their estimates.
        """
        if self.change is not None:
            target = {**target, **self.change.address}
        task = self.trial | {"target": target, "data_seed": self.definition.data_seed}
        if analyzed and "statements" in task:
            task["statements"] = not_analyzed(task["statements"])
        if first_use:
            task["first_use"] = first_use
        return {"schema": PLAN, "seed": seed, "task": task}


def not_analyzed(statements: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give statements of a plan as those of a trial that runs none of them for its estimates."""
    return [{name: value for name, value in each.items() if name != "analyze"} for each in statements]


def file_digest(path: str) -> str:
    """Give the SHA-256 of a file's content, in hexadecimal. A file that has not changed is read once."""
    stat = Path(path).stat()
    return _digest(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@cache
def _digest(path: str, *_state: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
