"""Counting: a part of the work on a build, under callgrind, with all that must be the same each time."""

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
from dbdyno.cpu.attribution import Attribution, Side, attribute, of_library, of_program
from dbdyno.cpu.builds import LIBRARY, Build
from dbdyno.cpu.callgrind import Costs, Function, parse_profile, run_counted
from dbdyno.cpu.work import Part
from dbdyno.engines.sqlite.targets import file_plan, load_target
from dbdyno.model.events.answers import Counted as GroupsCounted
from dbdyno.model.events.answers import Error, FileSet, Loaded, Tally
from dbdyno.model.events.reading import Event, NotAnEvent, read_line
from dbdyno.model.events.trial import TrialResult
from dbdyno.runtime.worker import WorkerFailed, ask, worker_path
from dbdyno.runtime.workspace.claims import Claim, remove_abandoned
from dbdyno.runtime.workspace.copying import copy_file
from dbdyno.runtime.workspace.templates import template

# The worker, as the object of its functions is called in the files that are kept.
WORKER = "dbdyno-worker"

# A count's directory; its name is as long each time.
_PREFIX = "dbdyno-cpu-"
_PATH_LENGTH = 48
_TOKEN_LENGTH = 19
_ROOM = 256 << 20


@dataclass(frozen=True)
class Counted:
    """What a part of the work cost on a build.

    ``totals``, ``raw``: callgrind's own sums and file; ``statements``, ``transactions``: what was done in the window;
    ``tallies``: what each group of statements gave, by its number, as the worker's event has it. ``per_statement``: the
    engine's cost of one statement, from runs of n and 2n; None where there was one run only. ``whole``: it is a program
    counted from start to end; ``verified``: what it said of its results; ``given``: the constants and
    functions that its library lacks and that were defined for it.
    """

    part: Part
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
        """What is told as the cost: the engine's, or of a program that was counted as a whole that of all of it."""
        return self.totals if self.whole else self.attribution.engine

    def without_lines(self) -> "Counted":
        """Let go of the costs of single lines and calls, which are large, and can be read from ``raw`` again."""
        return replace(self, attribution=replace(self.attribution, functions=[], lines={}, outgoing={}))


def count_part(part: Part, build: Build, seed: int, twice: bool) -> Counted:
    """Count a part on a build. ``twice``: also with twice the work, where it can be made longer.

    Raises SystemFailed and TrialFailed.
    """
    if part.once or not twice:
        return count_once(part, build, seed)
    first, second, more = count_twice(part, build, seed)
    if more <= 0:
        return first
    both = zip(first.attribution.engine, second.attribution.engine, strict=True)
    return replace(first, per_statement=[(b - a) / more for a, b in both])


def count_twice(part: Part, build: Build, seed: int) -> tuple[Counted, Counted, int]:
    """Count a part, and twice as many transactions of it; give both counts, and how many statements more those have.

    The difference of the two is the cost of so many statements without what is done once. Raises SystemFailed and
    TrialFailed.
    """
    first = count_once(part, build, seed)
    second = count_once(part, build, seed, 2 * first.transactions)
    return first, second, second.statements - first.statements


def count_once(part: Part, build: Build, seed: int, transactions: int | None = None) -> Counted:
    """Count a part, with as many ``transactions`` or its own end. Raises SystemFailed and TrialFailed."""
    with prepared(part, build) as at:
        plan = part.plan(str(at.database), str(at.library), seed, transactions)
        out = at.directory / "callgrind.out"
        said = run_counted([worker_path()], at.directory, out, json.dumps(plan), whole=False)
        result, tallies = _events(said, part)
        # The directory is another each time; what is kept of the file is not to show it.
        raw = out.read_text(encoding="utf-8", errors="replace").replace(f"{at.directory}/", "")
        raw = raw.replace(str(worker_path()), WORKER)
        profile = parse_profile(raw, str(out))
        attribution = attribute(profile, whose(None))
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


def whose(program: str | None) -> Callable[[Function], Side]:
    """Tell whose functions are: in a count of the worker, or of a program with this name."""
    return of_library(LIBRARY, WORKER) if program is None else of_program(program)


@dataclass(frozen=True)
class Prepared:
    """Where a count is made: its directory, and in it the database and the library."""

    directory: Path
    database: Path
    library: Path


@contextmanager
def prepared(part: Part, build: Build) -> Iterator[Prepared]:
    """Make a directory with the part's tables, where it has any, and the library. Raises SystemFailed."""
    template_path = None if part.compiled is None else _loaded(part, build)
    with counting_directory(0 if template_path is None else template_path.stat().st_size) as directory:
        database = directory / "trial.db"
        if template_path is not None:
            copy_file(template_path, database)
        # Where the library lies must not show in the count, and its path is that of the object in callgrind's file.
        library = directory / LIBRARY
        shutil.copyfile(build.library, library)
        target = part.target(str(database), str(library))
        if part.compiled is not None and target["file_pragmas"]:
            ask(file_plan(target), FileSet)
        yield Prepared(directory, database, library)


@contextmanager
def counting_directory(size: int) -> Iterator[Path]:
    """Make a directory for a count, in memory where there is room for files of ``size`` bytes and as much again.

    Its path is as long each time, since a library works on the path of its database. What a disk does is not in the
    count, and in memory nobody waits for it. It goes with the context; what a count that was killed left behind, the
    next one removes.
    """
    memory = Path("/dev/shm")  # noqa: S108
    for place in (memory, Path(tempfile.gettempdir()).resolve()):
        remove_abandoned(place, _PREFIX)
    fits = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 3 * size + _ROOM
    parent = memory if fits else Path(tempfile.gettempdir()).resolve()
    padding = "-" * max(0, _PATH_LENGTH - len(str(parent)) - len(f"/{_PREFIX}") - _TOKEN_LENGTH)
    try:
        claim = Claim(parent, f"{_PREFIX}{padding}", length=_TOKEN_LENGTH)
    except OSError as error:
        raise SystemFailed(f"{parent}: the directory of a count cannot be made: {reason(error)}") from error
    try:
        claim.path.mkdir(mode=0o700)
        yield claim.path
    finally:
        claim.release()


def _loaded(part: Part, build: Build) -> Path:
    """Give the file with the part's tables, made by the very library that is counted."""
    compiled = part.compiled
    assert compiled is not None  # noqa: S101

    def load(path: Path) -> Any:
        target = load_target(compiled, str(path), str(build.library))
        return ask(compiled.load_plan(target), Loaded).model_dump(mode="json")["tables"]

    key = compiled.template_key(f"{build.source.source_id} {build.binary_sha256}")
    return template(cache_directory("templates") / f"{key}.db", load).path


def _events(text: str, part: Part) -> tuple[TrialResult, list[Tally]]:
    events: dict[type, Event] = {}
    try:
        for line in text.splitlines():
            event = read_line(line).event
            events[type(event)] = event
    except NotAnEvent as wrong:
        raise SystemFailed(f"the worker wrote what is no event: {wrong}") from None
    error, result, counted = (events.get(each) for each in (Error, TrialResult, GroupsCounted))
    if isinstance(error, Error):
        raise WorkerFailed(error.message, error.kind)
    grouped = part.task["record"]["groups"] is not None
    if not isinstance(result, TrialResult) or (counted is not None) != grouped:
        raise SystemFailed("the worker gave no result under valgrind: is it the one that came with this dbdyno?")
    failed = sum(result.accounting.failed.values())
    if failed or not result.accounting.ok:
        said = next(iter(result.failures.values()), "none succeeded")
        of = "its transaction" if failed == 1 else f"{failed:,} transactions"
        raise TrialFailed(f"{part.name}: {of} failed, and what fails is not counted: {said}")
    return result, counted.groups if isinstance(counted, GroupsCounted) else []
