"""The document of a count: one JSON object, with one object per build."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from dbdyno.base.errors import InputError, reason
from dbdyno.base.timestamps import utc_now
from dbdyno.cpu.builds import Build
from dbdyno.cpu.callgrind import CACHES, Costs, add_up, valgrind_version
from dbdyno.cpu.costs import EngineCosts
from dbdyno.cpu.counters import CYCLES_FORMULA, counters
from dbdyno.cpu.counting import Counted
from dbdyno.cpu.work import Work
from dbdyno.engines.sqlite.releases import version_numbers
from dbdyno.model.plan.serialization import as_json
from dbdyno.run.machine import host_facts
from dbdyno.runtime.worker import worker_path

SCHEMA = "dbdyno.cpu/1"

LIMITS = (
    "the count covers one compiler, one set of options and one platform",
    "the workload is a proxy for an application",
    "cycle counts approximate energy more than time",
    "I/O is not counted: a system call counts as one instruction, however long it waits",
)


class Environment(TypedDict):
    """The environment of a count. Only counts with equal environments are compared."""

    cpu: str
    libc: str
    machine: str
    valgrind: str
    caches: dict[str, str]
    compiler: str
    worker_sha256: str


class CpuDocument(TypedDict):
    """A count. ``work_sha256``: hash of the work, to compare only counts of the same work."""

    schema: str
    work: str
    work_sha256: str
    seed: int
    at: str
    surroundings: Environment
    cycles: str
    limits: list[str]
    notes: list[str]
    builds: list[dict[str, Any]]


@dataclass(frozen=True)
class BuildCount:
    """The counts of one build."""

    build: Build
    parts: list[Counted]
    costs: EngineCosts


def new_document(work: Work, compiler: str, seed: int) -> CpuDocument:
    """Return a document without builds: the work and the environment of a count."""
    host = host_facts(Path("/"))
    return {
        "schema": SCHEMA,
        "work": work.name,
        "work_sha256": _work_hash(work, seed),
        "seed": seed,
        "at": utc_now(),
        "surroundings": {
            "cpu": str(host["cpu"]),
            "libc": str(host["libc"]),
            "machine": str(host["machine"]),
            "valgrind": valgrind_version(),
            "caches": dict(CACHES),
            "compiler": compiler,
            "worker_sha256": hashlib.sha256(worker_path().read_bytes()).hexdigest(),
        },
        "cycles": CYCLES_FORMULA,
        "limits": list(LIMITS),
        "notes": list(work.notes),
        "builds": [],
    }


def build_objects(counts: Sequence[BuildCount]) -> list[dict[str, Any]]:
    """Return the objects of builds with unique names."""
    builds = [build_object(count) for count in counts]
    names = [build["name"] for build in builds]
    for build in builds:
        # Sources of the same version can differ: distinguish them by their hash.
        if names.count(build["name"]) > 1:
            build["name"] = f"{build['version']} ({build['source_sha256'][:7]}) {build['cflags']}"
    return builds


def check_document(found: Any, location: str, hint: str) -> CpuDocument:
    """Check the structure of a document and return it. Raises InputError if it is invalid."""
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise InputError(location, f"not a document of the schema `{SCHEMA}`", hint)
    builds = found.get("builds")
    whole = isinstance(builds, list) and builds and all(_is_build(build) for build in builds)
    if not whole or any(name not in found for name in CpuDocument.__annotations__):
        raise InputError(location, f"this `{SCHEMA}` document is incomplete", hint)
    document: CpuDocument = found  # type: ignore[assignment]
    return document


def _is_build(build: Any) -> bool:
    """Whether an object has the fields of a build, and its instructions are the sum of its parts."""
    texts = ("name", "version", "cflags", "source_sha256")
    lists = ("parts", "files", "functions")
    if not isinstance(build, dict) or not all(isinstance(build.get(name), str) for name in texts):
        return False
    if not all(isinstance(build.get(name), list) for name in lists) or "program" not in build:
        return False
    counted = [part.get("i_refs") for part in build["parts"] if isinstance(part, dict)]
    return all(isinstance(each, int) for each in counted) and sum(each or 0 for each in counted) == build.get("i_refs")


def by_version(builds: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return builds by version, oldest first, if all versions differ; otherwise unchanged."""
    if len({version_numbers(build["version"]) for build in builds}) < len(builds):
        return list(builds)
    return sorted(builds, key=lambda build: version_numbers(build["version"]))


def part_of(build: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return the part of a build with a name, or None."""
    return next((part for part in build["parts"] if part["name"] == name), None)


def kinds_of(build: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the groups of statements of a build, most expensive first: display name, part name, group."""
    short = short_names([part["name"] for part in build["parts"]])
    found = [
        (group["name"] if len(short) == 1 else f"{short[part['name']]}: {group['name']}", part["name"], group)
        for part in build["parts"]
        for group in part["groups"]
    ]
    return sorted(found, key=lambda each: -each[2]["i_refs"])


#: The version that SQLite's developers use as 100 % in their chart.
USUAL_BASE = "3.21.0"


def base_of(document: CpuDocument, named: str | None) -> dict[str, Any]:
    """Return the base build: version ``named``, otherwise 3.21.0, otherwise the first one. Raises InputError."""
    builds = document["builds"]
    for build in builds:
        if (named or USUAL_BASE) in (build["version"], build["name"]):
            return build
    if named is not None:
        known = ", ".join(build["name"] for build in builds)
        raise InputError("--base", f"no build of version `{named}` was counted", f"counted builds: {known}")
    return builds[0]


def read_cpu_document(path: Path) -> CpuDocument:
    """Read a count's document from a file. Raises InputError if it is invalid."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {reason(error)}") from None
    except ValueError:
        found = None
    return check_document(found, str(path), "use a file written by `dbdyno cpu --json`")


def build_object(count: BuildCount) -> dict[str, Any]:
    """Return the object of one build.

    Its counters are the engine's, summed over all parts. For a program that is counted as a whole they are the total of
    ``engine`` and ``harness``.
    """
    build, source = count.build, count.build.source
    events = len(count.parts[0].attribution.events)
    total = add_up((part.costs for part in count.parts), events)
    engine = add_up((part.attribution.engine for part in count.parts), events)
    harness = add_up((part.attribution.harness for part in count.parts), events)
    return {
        "name": build.label,
        "version": source.version,
        "source_id": source.source_id,
        "family": source.family,
        "cflags": build.cflags,
        "compiler": build.compiler,
        "binary_sha256": build.binary_sha256,
        "source_sha256": source.sha256,
        "source_lines": source.lines,
        "source_bytes": source.bytes,
        "object_text_bytes": build.size.text,
        "object_data_bytes": build.size.data,
        "object_bss_bytes": build.size.bss,
        **counters(total),
        "engine": counters(engine),
        "harness": counters(harness),
        "program": _program(count),
        "statements": sum(part.statements for part in count.parts),
        "parts": [_part(part) for part in count.parts],
        "files": [{"file": file, "i_refs": i_refs} for file, i_refs in count.costs.by_file().items()],
        "functions": [
            {
                "name": function.name,
                "file": function.file,
                "line": function.line,
                "i_refs": function.i_refs,
                "own": function.own[0],
            }
            for function in count.costs.functions
        ],
    }


def _program(count: BuildCount) -> dict[str, Any] | None:
    program = next((part for part in count.parts if part.whole), None)
    if program is None:
        return None
    return {
        "name": program.part.name,
        "arguments": program.part.task["arguments"],
        "sha256": program.part.task["program"],
        "verified": program.verified,
        "given": list(program.given),
    }


def _part(counted: Counted) -> dict[str, Any]:
    groups = [_group(counted, number, costs) for number, costs in counted.attribution.groups.items()]
    slope = counted.per_statement
    return {
        "name": counted.part.name,
        **counters(counted.costs),
        "transactions": counted.transactions,
        "statements": counted.statements,
        "i_refs_per_statement": None if slope is None else slope[0],
        "harness_i_refs": counted.attribution.harness[0],
        "groups": sorted(groups, key=lambda group: -group["i_refs"]),
    }


def _group(counted: Counted, number: int, costs: Costs) -> dict[str, Any]:
    tally = counted.tallies.get(number, {})
    executions = tally.get("executions", 0)
    return {
        "name": counted.part.groups.get(number, f"group {number}"),
        "i_refs": costs[0],
        "executions": executions,
        "i_refs_per_execution": costs[0] / executions if executions else None,
        "rows": tally.get("rows", 0),
        "rows_hash": f"{tally.get('ordered', 0):016x}",
        "rows_hash_any_order": f"{tally.get('unordered', 0):016x}",
    }


def _work_hash(work: Work, seed: int) -> str:
    content = [[part.name, part.plan("", "", seed)] for part in work.parts]
    tables = [
        [part.compiled.before, as_json(part.compiled.tables), part.compiled.after, part.compiled.definition.data_seed]
        for part in work.parts
        if part.compiled is not None
    ]
    return hashlib.sha256(json.dumps([content, tables], sort_keys=True, default=str).encode()).hexdigest()


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Shorten cell ids: drop levels that all cells share, and the factor's name if only one factor is left."""
    pieces = {name: name.split(",") for name in names}
    if len(pieces) <= 1:
        return {name: name for name in names}
    common = set.intersection(*(set(each) for each in pieces.values()))
    left = {name: [piece for piece in each if piece not in common] for name, each in pieces.items()}
    factors = {each[0].partition("=")[0] for each in left.values() if len(each) == 1}
    if len(factors) == 1 and all(len(each) == 1 for each in left.values()):
        levels = {name: each[0].partition("=")[2] for name, each in left.items()}
        # Keep the factor's name for numbers.
        if all(level[:1].isalpha() for level in levels.values()):
            return levels
    return {name: ",".join(each) or name for name, each in left.items()}


def differing_results(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Return the differences between the rows that two builds returned for the same work: one clause each."""
    said = []
    programs = [each["program"]["verified"] for each in (first, second) if each["program"]]
    if len(set(programs)) > 1:
        said.append(f"the program verified its results as `{programs[0]}` and `{programs[1]}`")
    for one in first["parts"]:
        other = part_of(second, one["name"])
        if other is None:
            said.append(f"{one['name']}: counted on one build only")
            continue
        groups = {each["name"]: each for each in other["groups"]}
        for group in one["groups"]:
            same = groups.get(group["name"])
            where = f"{one['name']}: {group['name']}"
            if same is None:
                said.append(f"{where}: executed on one build only")
            elif (group["rows"], group["rows_hash_any_order"]) != (same["rows"], same["rows_hash_any_order"]):
                said.append(f"{where}: different rows")
            elif group["rows_hash"] != same["rows_hash"]:
                said.append(f"{where}: the same rows in a different order")
    return said
