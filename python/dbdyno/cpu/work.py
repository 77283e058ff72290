"""The work to count: cells of an experiment, or a SQL file, as plans of one client with a fixed end."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError
from dbdyno.cpu.sql_file import kind_of, read_statements, sql_task
from dbdyno.engines.sqlite.targets import load_target, settings_of, trial_target
from dbdyno.engines.writes import reaching_statements
from dbdyno.experiment import Experiment, load_experiment
from dbdyno.experiment.compile import compile_cell, refusal
from dbdyno.experiment.design import make_cells, parse_set
from dbdyno.model.plan.cell import CompiledCell, ResolvedCell
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.worker_plan import PLAN

# Number of statements if an experiment's window ends by time.
STATEMENTS = 2000

# The worker's groups (crates/engines/src/sqlite/session/counted.rs): begin, commit and rollback; the others are free,
# and the last one collects all further statements.
_CONTROL = ("begin", "commit", "rollback")
_GROUPS = 64
_FURTHER = "further statements"


@dataclass(frozen=True)
class WorkPart:
    """A part of the work: a cell or a file. ``name``: the cell's id.

    ``task``: the trial's task as JSON, without target: saved counts contain a hash of it, so its keys must not change.
    ``groups``: names of the groups of statements, by number; ``compiled``: the cell, if it has tables; ``once``: the
    part can't be repeated, such as a file.
    """

    name: str
    task: dict[str, Any]
    groups: dict[int, str]
    compiled: CompiledCell | None = None
    once: bool = False

    def target(self, database: str, library: str) -> dict[str, Any]:
        """Return the target of a plan."""
        if self.compiled is None:
            return {"engine": "sqlite", "path": database, "library": library}
        return trial_target(self.compiled, database, library)

    def plan(self, database: str, library: str, seed: int, transactions: int | None = None) -> dict[str, Any]:
        """Return the plan to count. ``transactions``: their number, instead of the part's default end."""
        task = self.task | {"target": self.target(database, library)}
        if self.compiled is not None:
            task["data_seed"] = self.compiled.definition.data_seed
        if transactions is not None:
            task["window"] = {"transactions": transactions}
        return {"schema": PLAN, "seed": seed, "task": task}


@dataclass(frozen=True)
class Work:
    """All parts to count. ``name``: of the experiment or the file; ``notes``: remarks for the reader."""

    name: str
    parts: list[WorkPart]
    notes: list[str] = field(default_factory=list)


def find_work(name: str, chosen: Sequence[str]) -> Work:
    """Read an experiment, or a file with the suffix ``.sql``. ``chosen``: levels in the syntax of ``--set``.

    Raises InputError.
    """
    if name.lower().endswith(".sql"):
        if chosen:
            raise InputError("--set", "a SQL file has no factors", "omit `--set`, or give an experiment")
        return _of_file(Path(name))
    return _of_experiment(load_experiment(name), chosen)


def _of_file(path: Path) -> Work:
    statements = read_statements(path)
    groups, names = _grouped([kind_of(statement.text) for statement in statements])
    task = sql_task(statements) | {"record": _record(groups)}
    return Work(
        path.name, [WorkPart("file", task, names, once=True)], ["the file is run once, including its first statements"]
    )


def _of_experiment(experiment: Experiment, chosen: Sequence[str]) -> Work:
    levels = parse_set(chosen, experiment)
    cells = make_cells(experiment, levels, [], refusal)
    parts: list[WorkPart] = []
    seen: set[str] = set()
    for cell in cells.cells:
        part = _of_cell(experiment, cell)
        # Cells that differ only in clients or duration are the same work.
        content = json.dumps([part.task, part.target("", "")], sort_keys=True)
        if content not in seen:
            seen.add(content)
            parts.append(part)
    if not parts:
        raise InputError(experiment.location, "no selected cell uses SQLite", "choose other cells with `--set`")
    notes = []
    if len(parts) < len(cells.cells):
        notes.append(
            f"{len(parts)} of {len(cells.cells)} cells differ with one client and a fixed end, and are counted"
        )
    return Work(experiment.name, parts, notes)


def _of_cell(experiment: Experiment, cell: ResolvedCell) -> WorkPart:
    if cell.system.engine != "sqlite":
        problem = f"`{cell.system.name}` runs in another process, whose instructions are not counted"
        raise InputError(f"{experiment.location}: {cell.id}", problem, "count cells of `sqlite:`")
    compiled = compile_cell(experiment, cell)
    leading = reaching_statements(compiled, load_target(compiled, ""), [])
    if leading:
        raise InputError(
            f"{experiment.location}: {cell.id}", leading[0].clause, "a count can only access its own database file"
        )
    settings = settings_of(compiled)
    if settings.library or settings.source or settings.cflags or settings.library_threading is not None:
        problem = "the cell selects its own library"
        hint = "choose other cells, and use `--sqlite` and `--cflags` (such as `-DSQLITE_THREADSAFE=2`) instead"
        raise InputError(f"{experiment.location}: {cell.id}", problem, hint)
    task = as_json(compiled.task)
    names = [" ".join(statement["sql"].split()) for statement in task["statements"]]
    if len(names) > _GROUPS - len(_CONTROL) - 1:
        names = [kind_of(name) for name in names]
    groups, named = _grouped(names)
    ends = {name: task["window"].get(name) for name in ("transactions", "statements")}
    changed = {
        "clients": 1,
        "threads": None,
        "arrival": {"loop": "closed"},
        "warmup": {"transactions": task["warmup"].get("transactions") or 0},
        "window": ends if any(ends.values()) else {"statements": STATEMENTS},
        "record": _record(groups),
    }
    return WorkPart(cell.id, task | changed, named, compiled)


def _record(groups: list[int]) -> dict[str, Any]:
    """Return the recording options: nothing that would add to the engine's cost."""
    return {
        "operations": False,
        "io": False,
        "mutexes": False,
        "waits": False,
        "interval_ms": 3_600_000,
        "groups": groups,
    }


def _grouped(names: Sequence[str]) -> tuple[list[int], dict[int, str]]:
    """Number the names, transaction control first; return the number of each, and the names by number."""
    numbers = {name: number for number, name in enumerate(_CONTROL)}
    # A `begin` statement in a file belongs to the group of BEGIN.
    groups = [numbers.setdefault(name, min(len(numbers), _GROUPS - 1)) for name in names]
    named = {number: name for name, number in numbers.items()}
    if len(numbers) >= _GROUPS:
        named[_GROUPS - 1] = _FURTHER
    return groups, named
