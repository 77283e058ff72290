"""Carries out a count and returns its document."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.base.errors import DbdynoError, InputError, SystemFailed
from dbdyno.cpu.baseline import check_comparable
from dbdyno.cpu.builds import BUNDLED, Build, build
from dbdyno.cpu.callgrind import valgrind_version
from dbdyno.cpu.costs import engine_costs
from dbdyno.cpu.counting import Counted, count_part
from dbdyno.cpu.document import BuildCount, CpuDocument, build_objects, new_document
from dbdyno.cpu.program import count_program, program_work
from dbdyno.cpu.source import read_source_map
from dbdyno.cpu.work import Work, WorkPart, find_work
from dbdyno.engines.sqlite.releases import release_source


@dataclass(frozen=True)
class CpuRequest:
    """The user's request.

    ``work``: an experiment or a SQL file; ``sources``: versions and paths; ``cflags``: each one is a build of each
    source; ``once``: don't count twice the work; ``program``: source of a program to count instead of an experiment,
    with its ``arguments``; ``base``: the version that is 100 % in charts.
    """

    work: str | None
    chosen: Sequence[str] = ()
    sources: Sequence[str] = field(default=(BUNDLED,))
    cflags: Sequence[str] = field(default=("",))
    seed: int = 1
    once: bool = False
    program: Path | None = None
    arguments: str = ""
    base: str | None = None


def count(
    request: CpuRequest, tell: Callable[[str], None], before: CpuDocument | None = None
) -> tuple[CpuDocument, list[BuildCount]]:
    """Count all builds. ``tell``: called with the next step; ``before``: a count that must be comparable.

    Raises DbdynoError.
    """
    work = _work(request)
    valgrind_version()
    asked = [(source, cflags) for source in request.sources for cflags in request.cflags]
    builds: list[tuple[str, Build]] = []
    left_out: list[str] = []
    for source, cflags in asked:
        name = f"{source} {cflags}".strip()
        tell(f"building {name}")
        try:
            builds.append((name, build(source, cflags)))
        except SystemFailed as error:
            if len(asked) == 1:
                raise
            left_out.append(f"{name} was skipped: {error}")
    if not builds:
        raise SystemFailed("; ".join(left_out))
    document = new_document(work, builds[0][1].compiler, request.seed)
    if before is not None:
        check_comparable(before, document)
    versions = [each.source.version for _, each in builds]
    if request.base is not None and request.base not in versions:
        known = ", ".join(versions)
        raise InputError("--base", f"no build has version `{request.base}`", f"builds: {known}")
    counts = []
    for name, each_build in builds:
        try:
            counted = [_count(part, each_build, request, tell) for part in work.parts]
        except DbdynoError as error:
            # An older library may lack a feature; count the others.
            if len(asked) == 1:
                raise
            left_out.append(f"{name} was skipped: {error}")
            continue
        text = read_source_map(each_build.text)
        costs = engine_costs((each.attribution for each in counted), text)
        counts.append(BuildCount(each_build, [each.without_lines() for each in counted], costs))
    if not counts:
        raise SystemFailed("; ".join(left_out))
    document["notes"] += [
        *_notes_on_definitions(counts),
        *_notes(request, [build_count.build for build_count in counts]),
        *left_out,
    ]
    document["builds"] = build_objects(counts)
    return document, counts


def _notes_on_definitions(counts: list[BuildCount]) -> list[str]:
    """Return notes about constants and functions that a library lacks and dbdyno defined."""
    found: dict[str, list[str]] = {}
    for count in counts:
        for part in count.parts:
            for name in part.given:
                found.setdefault(name, []).append(count.build.source.version)
    return [
        f"{name}, which {', '.join(versions)} lacks, was defined for the program" for name, versions in found.items()
    ]


def _notes(request: CpuRequest, builds: list[Build]) -> list[str]:
    """Return notes about sources of another version than requested, and about sources of different origin."""
    notes = [note for note in (release_source(source).difference for source in request.sources) if note]
    families = dict.fromkeys(each.source.family.rpartition(" ")[0] or each.source.family for each in builds)
    if len(families) > 1:
        notes.append(f"the sources have different origins ({', '.join(families)}), which may have modified them")
    return notes


def _work(request: CpuRequest) -> Work:
    if request.program is not None:
        if request.work is not None:
            problem = f"`{request.work}` and a program were both given"
            raise InputError("--program", problem, "give only one")
        return program_work(request.program, request.arguments)
    if request.work is None:
        raise InputError("cpu", "nothing to count", "give an experiment, a `.sql` file, or `--program`")
    return find_work(request.work, request.chosen)


def _count(part: WorkPart, build: Build, request: CpuRequest, tell: Callable[[str], None]) -> Counted:
    tell(f"counting {part.name} on {build.label}")
    if request.program is not None:
        return count_program(part, request.program, build)
    return count_part(part, build, request.seed, twice=not request.once)
