"""Counting: a part of the work on a build, under callgrind, with all that must be the same each time."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.cpu.attribution import Attribution, attribute, of_library
from dbdyno.cpu.builds import Build
from dbdyno.cpu.callgrind import Costs, Profile, read_profile
from dbdyno.cpu.valgrind import run_counted
from dbdyno.cpu.work import Part
from dbdyno.errors import SystemFailed, TrialFailed
from dbdyno.paths import cache_directory
from dbdyno.run.copying import copy_file
from dbdyno.run.templates import template
from dbdyno.worker import Event, WorkerFailed, ask, worker_path


@dataclass(frozen=True)
class Counted:
    """What a part of the work cost on a build.

    ``statements``, ``transactions``: what was done in the window; ``tallies``: what each group of statements gave, by its
    number, as the worker's event has it; ``raw``: callgrind's own file. ``per_statement``: the engine's cost of one
    statement, from runs of n and 2n; None where there was one run only.
    """

    part: Part
    profile: Profile
    attribution: Attribution
    raw: str
    statements: int
    transactions: int
    tallies: dict[int, dict[str, int]]
    per_statement: list[float] | None


def count_part(part: Part, build: Build, seed: int, twice: bool) -> Counted:
    """Count a part on a build. ``twice``: also with twice the work, where it can be made longer.

    Raises SystemFailed and TrialFailed.
    """
    first = _count(part, build, seed, 1)
    if part.once or not twice:
        return first
    second = _count(part, build, seed, 2)
    more = second.statements - first.statements
    if more <= 0:
        return first
    slope = [
        (b - a) / more for a, b in zip(first.attribution.engine, second.attribution.engine, strict=True)
    ]
    return Counted(
        part,
        first.profile,
        first.attribution,
        first.raw,
        first.statements,
        first.transactions,
        first.tallies,
        slope,
    )


def _count(part: Part, build: Build, seed: int, times: int) -> Counted:
    with _directory() as directory:
        database = directory / "trial.db"
        if part.compiled is not None:
            copy_file(_loaded(part, build), database)
        # Where the library lies must not show in the count, and its path is that of the object in callgrind's file.
        library = directory / "libsqlite3.so"
        shutil.copyfile(build.library, library)
        plan = part.plan(str(database), str(library), seed, times)
        out = directory / "callgrind.out"
        result, tallies = _events(run_counted([worker_path()], directory, out, json.dumps(plan), whole=False), part)
        raw = out.read_text(encoding="utf-8", errors="replace")
        profile = read_profile(out)
        attribution = attribute(profile, of_library(str(library), str(worker_path())))
    return Counted(
        part,
        profile,
        attribution,
        raw,
        result["work"]["statements"],
        result["books"]["ok"],
        {number: tally for number, tally in enumerate(tallies) if tally["executions"]},
        None,
    )


@contextmanager
def _directory() -> Iterator[Path]:
    """Make a directory whose path is as long each time, since the library works on the path of its database."""
    path = Path(tempfile.mkdtemp(prefix="dbdyno-cpu-")).resolve()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _loaded(part: Part, build: Build) -> Path:
    """Give the file with the part's tables, made by the very library that is counted."""
    compiled = part.compiled
    assert compiled is not None  # noqa: S101

    def load(path: Path) -> Any:
        target = compiled.load_target(str(path), str(build.library))
        return ask(compiled.load_plan(target), "loaded")["tables"]

    key = compiled.template_key(f"{build.source.source_id} {build.binary_sha256}")
    return template(cache_directory("templates") / f"{key}.db", load).path


def _events(text: str, part: Part) -> tuple[Event, list[dict[str, int]]]:
    events: dict[str, Event] = {}
    for line in text.splitlines():
        event = json.loads(line)
        events[event["event"]] = event
    if "error" in events:
        raise WorkerFailed(str(events["error"].get("message")), str(events["error"].get("kind")))
    if "result" not in events or "counted" not in events:
        raise SystemFailed("the worker gave no result under valgrind: is it the one that came with this dbdyno?")
    result = events["result"]
    failed = result["books"]["failed"]
    if failed or not result["books"]["ok"]:
        said = next(iter((result.get("failures") or {}).values()), "none succeeded")
        raise TrialFailed(f"{part.name}: {failed} transactions failed, and what fails is not counted: {said}")
    return result, events["counted"]["groups"]


def plus(first: Costs, second: Costs) -> Costs:
    """Add two costs up."""
    return [a + b for a, b in zip(first, second, strict=True)]
