"""Counts a part of the work on a build under callgrind, in a reproducible environment."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno.base.errors import SystemFailed, TrialFailed, reason
from dbdyno.base.paths import cache_directory
from dbdyno.cpu.attribution import Attribution, Side, attribute, by_file_of_program, by_object
from dbdyno.cpu.builds import LIBRARY, Build
from dbdyno.cpu.callgrind import Costs, Function, parse_profile, run_counted
from dbdyno.cpu.work import WorkPart
from dbdyno.engines.sqlite.targets import file_plan, load_target
from dbdyno.model.events.answers import Counted as GroupsCounted
from dbdyno.model.events.answers import Error, FileSet, Loaded, Tally
from dbdyno.model.events.reading import Event, InvalidEvent, read_line
from dbdyno.model.events.trial import TrialResult
from dbdyno.runtime.worker import WorkerFailed, ask, worker_path
from dbdyno.runtime.workspace.claims import Claim, remove_abandoned
from dbdyno.runtime.workspace.file_copies import copy_file
from dbdyno.runtime.workspace.templates import template

# The worker's object name in stored callgrind files.
WORKER = "dbdyno-worker"

# The directory of a count; its path always has the same length.
_PREFIX = "dbdyno-cpu-"
_PATH_LENGTH = 48
_TOKEN_LENGTH = 19
_ROOM = 256 << 20


@dataclass(frozen=True)
class Counted:
    """The cost of a part of the work on a build.

    ``totals``, ``raw``: callgrind's sums and file; ``statements``, ``transactions``: numbers in the window;
    ``tallies``: the worker's results of each group of statements, by group number. ``per_statement``: the engine's cost
    of one statement, from runs of n and 2n; None after a single run. ``whole``: a program counted from start to end;
    ``verified``: the program's verification of its results; ``given``: constants and functions that its library lacks
    and dbdyno defined.
    """

    part: WorkPart
    totals: Costs
    attribution: Attribution
    raw: str
    statements: int
    transactions: int
    tallies: dict[int, dict[str, int]]
    per_statement: list[float] | None
    whole: bool = False
    verified: str = ""
    given: tuple[str, ...] = ()

    @property
    def costs(self) -> Costs:
        """The reported cost: the engine's, or the total of a program that was counted as a whole."""
        return self.totals if self.whole else self.attribution.engine

    def without_lines(self) -> "Counted":
        """Return a copy without the costs of lines and calls, which are large and can be parsed from ``raw`` again."""
        return replace(self, attribution=replace(self.attribution, functions=[], lines={}, outgoing={}))


def count_part(part: WorkPart, build: Build, seed: int, twice: bool) -> Counted:
    """Count a part on a build. ``twice``: also count twice the work, if the part can be made longer.

    Raises SystemFailed and TrialFailed.
    """
    if part.once or not twice:
        return count_once(part, build, seed)
    first, second, more = count_twice(part, build, seed)
    if more <= 0:
        return first
    both = zip(first.attribution.engine, second.attribution.engine, strict=True)
    return replace(first, per_statement=[(b - a) / more for a, b in both])


def count_twice(part: WorkPart, build: Build, seed: int) -> tuple[Counted, Counted, int]:
    """Count a part and twice as many of its transactions. Returns both counts and the number of additional statements.

    The difference between the counts is the cost of these statements without set-up. Raises SystemFailed and
    TrialFailed.
    """
    first = count_once(part, build, seed)
    second = count_once(part, build, seed, 2 * first.transactions)
    return first, second, second.statements - first.statements


def count_once(part: WorkPart, build: Build, seed: int, transactions: int | None = None) -> Counted:
    """Count a part with a number of ``transactions`` or its default end. Raises SystemFailed and TrialFailed."""
    with prepared(part, build) as at:
        plan = part.plan(str(at.database), str(at.library), seed, transactions)
        out = at.directory / "callgrind.out"
        said = run_counted([worker_path()], at.directory, out, json.dumps(plan), whole=False)
        result, tallies = _events(said, part)
        # Remove the directory's random path from the stored file.
        raw = out.read_text(encoding="utf-8", errors="replace").replace(f"{at.directory}/", "")
        raw = raw.replace(str(worker_path()), WORKER)
        profile = parse_profile(raw, str(out))
        attribution = attribute(profile, classifier_of(None))
    return Counted(
        part,
        profile.totals,
        attribution,
        raw,
        result.work.statements,
        result.accounting.ok,
        {number: tally.model_dump() for number, tally in enumerate(tallies) if tally.executions},
        None,
    )


def classifier_of(program: str | None) -> Callable[[Function], Side]:
    """Return the classifier of functions for a count of the worker, or of a program with this name."""
    return by_object(LIBRARY, WORKER) if program is None else by_file_of_program(program)


@dataclass(frozen=True)
class Prepared:
    """The directory of a count with its database and library."""

    directory: Path
    database: Path
    library: Path


@contextmanager
def prepared(part: WorkPart, build: Build) -> Iterator[Prepared]:
    """Create a directory with the part's tables, if it has any, and the library. Raises SystemFailed."""
    template_path = None if part.compiled is None else _loaded(part, build)
    with counting_directory(0 if template_path is None else template_path.stat().st_size) as directory:
        database = directory / "trial.db"
        if template_path is not None:
            copy_file(template_path, database)
        # Copy the library, because its path appears as the object in callgrind's file.
        library = directory / LIBRARY
        shutil.copyfile(build.library, library)
        target = part.target(str(database), str(library))
        if part.compiled is not None and target["file_pragmas"]:
            ask(file_plan(target), FileSet)
        yield Prepared(directory, database, library)


@contextmanager
def counting_directory(size: int) -> Iterator[Path]:
    """Create a directory for a count, in memory if there is room for several copies of ``size`` bytes.

    The path always has the same length, because SQLite processes the path of its database. The count doesn't include
    the disk, and memory avoids waiting for it. The directory is removed at the end; the next count removes directories
    that a killed count left behind.
    """
    memory = Path("/dev/shm")  # noqa: S108
    for directory in (memory, Path(tempfile.gettempdir()).resolve()):
        remove_abandoned(directory, _PREFIX)
    fits = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 3 * size + _ROOM
    parent = memory if fits else Path(tempfile.gettempdir()).resolve()
    padding = "-" * max(0, _PATH_LENGTH - len(str(parent)) - len(f"/{_PREFIX}") - _TOKEN_LENGTH)
    try:
        claim = Claim(parent, f"{_PREFIX}{padding}", length=_TOKEN_LENGTH)
    except OSError as error:
        raise SystemFailed(f"{parent}: the directory of a count cannot be created: {reason(error)}") from error
    try:
        claim.path.mkdir(mode=0o700)
        yield claim.path
    finally:
        claim.release()


def _loaded(part: WorkPart, build: Build) -> Path:
    """Return the file with the part's tables, created by the counted library itself."""
    compiled = part.compiled
    assert compiled is not None  # noqa: S101

    def load(path: Path) -> Any:
        target = load_target(compiled, str(path), str(build.library))
        return ask(compiled.load_plan(target), Loaded).model_dump(mode="json")["tables"]

    key = compiled.template_key(f"{build.source.source_id} {build.binary_sha256}")
    return template(cache_directory("templates") / f"{key}.db", load).path


def _events(text: str, part: WorkPart) -> tuple[TrialResult, list[Tally]]:
    events: dict[type, Event] = {}
    try:
        for line in text.splitlines():
            event = read_line(line).event
            events[type(event)] = event
    except InvalidEvent as wrong:
        raise SystemFailed(f"the worker wrote an invalid event: {wrong}") from None
    error, result, counted = (events.get(each) for each in (Error, TrialResult, GroupsCounted))
    if isinstance(error, Error):
        raise WorkerFailed(error.message, error.kind)
    grouped = part.task["record"]["groups"] is not None
    if not isinstance(result, TrialResult) or (counted is not None) != grouped:
        raise SystemFailed("the worker returned no result under valgrind: does its version match dbdyno's?")
    failed = sum(result.accounting.failed.values())
    if failed or not result.accounting.ok:
        said = next(iter(result.failures.values()), "none succeeded")
        of = "its transaction" if failed == 1 else f"{failed:,} transactions"
        raise TrialFailed(f"{part.name}: {of} failed, and failures cannot be counted: {said}")
    return result, counted.groups if isinstance(counted, GroupsCounted) else []
