"""The bare loop: a program in C that runs one statement on a build and records nothing, to compare measuring with."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.cpu.builds import HEADER, LIBRARY, Build, compile_command, compiler_here, interface
from dbdyno.cpu.callgrind import parse_profile
from dbdyno.cpu.counting import prepared
from dbdyno.cpu.valgrind import run_counted
from dbdyno.cpu.work import Part

#: Its source. Its arguments: the database, the statement, the greatest key, threads, operations, the cache's size.
BARE_LOOP = Path(__file__).with_name("bare.c")

# SQLite's own, where nothing else is asked for.
_CACHE_SIZE = "-2000"


@dataclass(frozen=True)
class BareLoop:
    """The statement ``sql``, which has one parameter: a key drawn uniformly from 1 to ``keys``."""

    sql: str
    keys: int
    cache_size: str


def bare_loop(part: Part) -> BareLoop | None:
    """Give the loop that does what a part does; None where it does more than such a loop can."""
    target, task = part.target("", ""), part.task
    settings = dict((*target.get("pragmas", ()), *target.get("file_pragmas", ())))
    usual = not any(target.get(name) for name in ("config_threading", "open_mutex")) and target.get("cache") != "shared"
    if not usual or not settings.keys() <= {"cache_size"}:
        return None
    match task:
        case {
            "connect": "once",
            "prepare": "once",
            "transactions": [{"steps": [{"do": "execute", "statement": number, "params": [key], "into": []}]}],
        }:
            keys = _keys(key)
            sql = task["statements"][number]["sql"]
            return None if keys is None else BareLoop(sql, keys, str(settings.get("cache_size", _CACHE_SIZE)))
    return None


def _keys(key: dict[str, Any]) -> int | None:
    """Give the greatest of keys that are drawn uniformly from 1 on; None for others."""
    match key:
        case {"kind": "uniform", "low": 1, "high": int(high)}:
            return high
        case {
            "kind": "reference",
            "of": {"kind": "serial", "start": 1, "step": 1},
            "row": {"kind": "uniform", "low": 0, "high": int(high)},
        }:
            return high + 1
    return None


def count_bare_loop(loop: BareLoop, part: Part, build: Build, operations: Sequence[int]) -> list[int]:
    """Count the loop's instructions, as a program on the part's tables, for each of some numbers of ``operations``.

    Raises SystemFailed and TrialFailed.
    """
    with prepared(part, build) as at:
        program = _built(build, at.directory)
        out = at.directory / "callgrind.out"
        found = []
        for number in operations:
            arguments = [str(at.database), loop.sql, str(loop.keys), "1", str(number), loop.cache_size]
            run_counted([program, *arguments], at.directory, out, "", whole=True)
            found.append(parse_profile(out.read_text(encoding="utf-8", errors="replace"), str(out)).totals[0])
        return found


def _built(build: Build, directory: Path) -> Path:
    """Compile the loop in a directory that has the build's library. Raises SystemFailed."""
    compiler, _ = compiler_here()
    (directory / HEADER).write_text(interface(build), encoding="utf-8")
    shutil.copyfile(BARE_LOOP, directory / BARE_LOOP.name)
    output = ["-o", "bare", "-Wl,-z,now", "-Wl,-rpath,$ORIGIN"]
    compile_command([compiler, "-O2", "-I.", *output, BARE_LOOP.name, f"./{LIBRARY}", "-lpthread", "-lrt"], directory)
    return directory / "bare"
