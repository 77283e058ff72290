"""Gates by the command line: how often equal code passes, and how often a planted slowdown is found.

Each measures primary-key look-ups of one client against the same SQLite, built from the same source, in as much
measuring as two runs of five rounds of `pk-lookup` take: 20 rounds of each side with a quarter of the look-ups.
"""

import os
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench import LOOKUP, Bench, rate
from figures import DBDYNO, Figure

import dbdyno
from dbdyno.engines.sqlite.library import find_library
from dbdyno.engines.sqlite.settings import SqliteSettings
from dbdyno.runtime.worker import worker_path

GATES = 100
PLANTED_GATES = 40
MARGIN = 0.03
SLOWER = 0.05
ROUNDS = 20
LOOKUPS = 25_000

_STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){"
# Iterations of an empty loop before each step, so many as the environment says.
_PLANTED = """
static int dbdynoPlanted = -1;
SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){
  if( dbdynoPlanted<0 ){
    const char *z = getenv("BENCH_PLANTED");
    dbdynoPlanted = z ? atoi(z) : 0;
  }
  { volatile int dbdynoTurn; for(dbdynoTurn=0; dbdynoTurn<dbdynoPlanted; dbdynoTurn++){} }
"""


def gates_of_equal_code(bench: Bench) -> Iterator[Figure]:
    """Equal code against equal code."""
    answers = [gate(bench, source(bench, "same"), {}) for _ in range(GATES)]
    told = _told(answers)
    yield Figure("gates of equal code: regressions, %", _share(answers, 3), told, 2, at_most=True)
    yield Figure("gates of equal code: passed, %", _share(answers, 0), told, 90, at_most=False)


def gates_of_slower_code(bench: Bench) -> Iterator[Figure]:
    """The same with a loop planted in each step of a statement."""
    slower = source(bench, "slower", planted=True)
    iterations = str(calibrated(bench, slower))
    answers = [gate(bench, slower, {"BENCH_PLANTED": iterations}) for _ in range(PLANTED_GATES)]
    name = f"gates of code {SLOWER:.0%} slower: regressions, %"
    yield Figure(name, _share(answers, 3), f"{_told(answers)}; {iterations} iterations", 95, at_most=False)


def source(bench: Bench, name: str, *, planted: bool = False) -> Path:
    """A folder with SQLite's source, made once."""
    folder = bench.directory / name
    if not folder.exists():
        folder.mkdir()
        subprocess.run([worker_path(), "amalgamation", folder], check=True)
        if planted:
            file = folder / "sqlite3.c"
            text = file.read_text()
            if text.count(_STEP) != 1:
                raise ValueError("this release of SQLite has no such step to plant a loop in")
            file.write_text(text.replace(_STEP, _PLANTED))
    return folder


def calibrated(bench: Bench, folder: Path) -> int:
    """The iterations of the loop that make a look-up longer by what is wanted, with all that a window is."""
    library = find_library(SqliteSettings(source=str(folder))).path
    trial = {"engine": "sqlite", "path": str(bench.database), "library": library}
    each: dict[int, list[float]] = {0: [], 2000: []}
    for block in range(20):
        for iterations in sorted(each, reverse=bool(block % 2)):
            os.environ["BENCH_PLANTED"] = str(iterations)
            target = trial | {"pragmas": [["cache_size", "2000"]]}
            each[iterations].append(1 / rate(bench.ours(LOOKUP, 1, LOOKUPS, 2000, target=target)))
    del os.environ["BENCH_PLANTED"]
    plain, slowed = (statistics.median(each[iterations]) for iterations in each)
    # Slower by a share is longer by more: 1 / (1 - share).
    return round(plain * (1 / (1 - SLOWER) - 1) / ((slowed - plain) / 2000))


def gate(bench: Bench, candidate: Path, planted: dict[str, str]) -> int:
    """The exit code of a gate of a build against that of the bench's own folder."""
    file = bench.directory / "lookups.toml"
    if not file.exists():
        text = (Path(dbdyno.__file__).parent / "experiments" / "pk-lookup.toml").read_text()
        measured, _, _ = text.partition("[published]")
        file.write_text(measured.replace("transactions = 100_000", f"transactions = {LOOKUPS}"))
    chosen = ["--set", "threads=1", "--set", "cache=private", "--rounds", str(ROUNDS), "--margin", f"{MARGIN:.0%}"]
    sides = ["--system", f"sqlite:?source={candidate}", "--against", f"sqlite:?source={source(bench, 'baseline')}"]
    store = ["--store", str(bench.directory / "runs.db"), "--inconclusive", "fail"]
    done = subprocess.run(
        [DBDYNO, "gate", str(file), *chosen, *sides, *store],
        env={**os.environ, **planted},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 3, 4):
        raise RuntimeError(done.stdout + done.stderr)
    return done.returncode


def _share(answers: list[int], code: int) -> float:
    return 100 * answers.count(code) / len(answers)


def _told(answers: list[int]) -> str:
    passed, found, open_ = (answers.count(code) for code in (0, 3, 4))
    return f"{passed} passed, {found} regressions, {open_} not settled"
