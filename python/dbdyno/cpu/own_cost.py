"""The worker's own instructions beside those of the engine it measures, and against a loop that records nothing."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdyno.base.errors import TrialFailed
from dbdyno.cpu.builds import HEADER, LIBRARY, Build, build, compile_command, compiler_here, interface
from dbdyno.cpu.callgrind import parse_profile, run_counted, valgrind_version
from dbdyno.cpu.counting import count_twice, prepared
from dbdyno.cpu.work import Part, find_work

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


#: Look-ups that an engine answers in a few thousand instructions: what is added to them shows most.
USUAL_WORK = str(Path(__file__).with_name("own_cost.toml"))


@dataclass(frozen=True)
class OwnCost:
    """Instructions of one statement of a part: the ``engine``'s, and the ``worker``'s beside them.

    ``loop``: those of the bare loop, its engine's included; None where the part is more than such a loop can do.
    """

    part: str
    engine: float
    worker: float
    loop: float | None

    @property
    def of_engine(self) -> float:
        """Both to the engine's alone."""
        return (self.engine + self.worker) / self.engine

    @property
    def of_loop(self) -> float | None:
        """Both to the bare loop's."""
        return self.loop and (self.engine + self.worker) / self.loop

    @property
    def ratio(self) -> float:
        """What a margin is held against: the ratio to the loop, or where there is none to the engine."""
        return self.of_loop or self.of_engine


def own_costs(
    work: str, chosen: tuple[str, ...], source: str, cflags: str, seed: int, tell: Callable[[str], None]
) -> list[OwnCost]:
    """Count the worker as it measures: its ordinary session, with its layer over SQLite's files.

    The costs are the differences of runs of n and 2n transactions. Raises DbdynoError.
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
        raise TrialFailed(f"{work} cannot be made longer, and what is done once cannot be told from what is not")
    return found


def _own_cost(part: Part, library: Build, seed: int) -> OwnCost:
    record = part.task["record"] | {"io": True, "groups": None}
    first, second, more = count_twice(replace(part, task=part.task | {"record": record}), library, seed)
    engine = second.attribution.engine[0] - first.attribution.engine[0]
    worker = second.attribution.harness[0] - first.attribution.harness[0]
    if more <= 0 or engine <= 0:
        raise TrialFailed(f"{part.name}: twice the transactions did no more, so that a statement has no cost")
    loop = bare_loop(part)
    bare = None
    if loop is not None:
        once, twice = count_bare_loop(loop, part, library, (first.transactions, second.transactions))
        bare = (twice - once) / (second.transactions - first.transactions)
    return OwnCost(part.name, engine / more, worker / more, bare)
