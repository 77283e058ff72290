"""The worker's own instructions compared with the engine's, and with a bare loop in C that records nothing."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno.base.errors import TrialFailed
from dbdyno.cpu.builds import HEADER, LIBRARY, Build, build, compile_command, find_compiler, interface
from dbdyno.cpu.callgrind import parse_profile, run_counted, valgrind_version
from dbdyno.cpu.counting import count_twice, prepared
from dbdyno.cpu.work import WorkPart, find_work

#: Source of the loop. Arguments: database, statement, largest key, threads, operations, cache size.
BARE_LOOP = Path(__file__).with_name("bare.c")

# SQLite's default.
_CACHE_SIZE = "-2000"


@dataclass(frozen=True)
class BareLoop:
    """The statement ``sql``, which has one parameter: a key drawn uniformly from 1 to ``keys``."""

    sql: str
    keys: int
    cache_size: str


def bare_loop(part: WorkPart) -> BareLoop | None:
    """Return the loop that is equivalent to a part, or None if the part does more than a loop can."""
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
    """Return the largest key of a uniform distribution from 1 on; None for other generators."""
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


def count_bare_loop(loop: BareLoop, part: WorkPart, build: Build, operations: Sequence[int]) -> list[int]:
    """Count the loop's instructions on the part's tables for each number of ``operations``.

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
    """Compile the loop in a directory that contains the build's library. Raises SystemFailed."""
    compiler, _ = find_compiler()
    (directory / HEADER).write_text(interface(build), encoding="utf-8")
    shutil.copyfile(BARE_LOOP, directory / BARE_LOOP.name)
    output = ["-o", "bare", "-Wl,-z,now", "-Wl,-rpath,$ORIGIN"]
    compile_command([compiler, "-O2", "-I.", *output, BARE_LOOP.name, f"./{LIBRARY}", "-lpthread", "-lrt"], directory)
    return directory / "bare"


#: Lookups of a few thousand instructions, for which additional instructions matter most.
USUAL_WORK = str(Path(__file__).with_name("own_cost.toml"))


@dataclass(frozen=True)
class OwnCost:
    """Instructions per statement of a part: the ``engine``'s and the ``worker``'s.

    ``loop``: instructions of the bare loop including the engine; None if the part does more than a loop can.
    """

    part: str
    engine: float
    worker: float
    loop: float | None

    @property
    def of_engine(self) -> float:
        """Ratio of engine plus worker to the engine only."""
        return (self.engine + self.worker) / self.engine

    @property
    def of_loop(self) -> float | None:
        """Ratio of engine plus worker to the bare loop."""
        return self.loop and (self.engine + self.worker) / self.loop

    @property
    def ratio(self) -> float:
        """The ratio to compare with a margin: to the loop, or to the engine if there is no loop."""
        return self.of_loop or self.of_engine


def own_costs(
    work: str, chosen: tuple[str, ...], source: str, cflags: str, seed: int, tell: Callable[[str], None]
) -> list[OwnCost]:
    """Count the worker as in a measurement: its ordinary session, with its layer over SQLite's files.

    Costs are differences between runs of n and 2n transactions. Raises DbdynoError.
    """
    valgrind_version()
    parts = [each for each in find_work(work, list(chosen)).parts if not each.once]
    tell(f"building {source}")
    library = build(source, cflags)
    found = []
    for part in parts:
        tell(f"counting {part.name}")
        found.append(_own_cost(part, library, seed))
    if not found:
        raise TrialFailed(f"{work} cannot be repeated, so that set-up cannot be separated from the work")
    return found


def _own_cost(part: WorkPart, library: Build, seed: int) -> OwnCost:
    record = part.task["record"] | {"io": True, "groups": None}
    first, second, more = count_twice(replace(part, task=part.task | {"record": record}), library, seed)
    engine = second.attribution.engine[0] - first.attribution.engine[0]
    worker = second.attribution.harness[0] - first.attribution.harness[0]
    if more <= 0 or engine <= 0:
        raise TrialFailed(f"{part.name}: twice the transactions executed no more statements")
    loop = bare_loop(part)
    bare = None
    if loop is not None:
        once, twice = count_bare_loop(loop, part, library, (first.transactions, second.transactions))
        bare = (twice - once) / (second.transactions - first.transactions)
    return OwnCost(part.name, engine / more, worker / more, bare)
