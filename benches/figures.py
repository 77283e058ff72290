"""A measured figure against its target, and picking benches by name."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dbdyno.runtime.worker import worker_path

Bench = TypeVar("Bench")

T = TypeVar("T")

DBDYNO = Path(sys.executable).parent / "dbdyno"
"""The command line of this environment, whatever worker is measured."""


@dataclass
class Figure:
    """A figure with its spread over blocks and its target; ``at_most`` tells the target's side."""

    name: str
    value: float
    spread: str
    target: float
    at_most: bool

    @classmethod
    def of(cls, name: str, values: Sequence[float], target: float, *, at_most: bool) -> "Figure":
        """The median of several values."""
        return cls(name, statistics.median(values), spread(values), target, at_most)

    @property
    def met(self) -> bool:
        return self.value <= self.target if self.at_most else self.value >= self.target

    def line(self) -> str:
        side = "at most" if self.at_most else "at least"
        verdict = "ok" if self.met else "MISSED"
        return f"{self.name:42} {self.value:10.4g}  {self.spread:24} {side} {self.target:<8g} {verdict}"


class NotMeasuredError(Exception):
    """What a figure needs is not here; it says what."""


def spread(values: Sequence[float]) -> str:
    return f"{min(values):.4g} to {max(values):.4g}, n={len(values)}"


def in_turn(first: Callable[[], T], second: Callable[[], T], block: int) -> tuple[T, T]:
    """Measure two sides, the second first in every other block, and give both."""
    if block % 2:
        b = second()
        return first(), b
    return first(), second()


def descriptors_of(plan: dict[str, Any], looks: int, apart_s: float) -> tuple[dict[str, Any], list[int]]:
    """Run a worker; give its result, and how many descriptors it had open each time that it was looked at."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as out:
        given.write(json.dumps(plan))
        given.seek(0)
        process = subprocess.Popen([worker_path()], stdin=given, stdout=out)
        seen = []
        for _ in range(looks):
            time.sleep(apart_s)
            seen.append(len(list(Path(f"/proc/{process.pid}/fd").iterdir())))
        process.wait()
        out.seek(0)
        return next(event for event in map(json.loads, out) if event["event"] == "result"), seen


def run(
    make: Callable[[Path], Bench],
    benches: Iterable[Callable[[Bench], Iterator[Figure]]],
    description: str | None,
    where: str | None = None,
    options: argparse.ArgumentParser | None = None,
) -> int:
    """Run the benches chosen on the command line; 1 where one misses its target, or was not measured.

    ``options``: further ones, which the caller reads.
    """
    parser = argparse.ArgumentParser(description=description, parents=[] if options is None else [options])
    parser.add_argument("--only", default="", help="benches whose name contains this")
    only = parser.parse_args().only
    chosen = [each for each in benches if only in each.__name__]
    if not chosen:
        sys.exit(f"no bench has `{only}` in its name")
    met = True
    with tempfile.TemporaryDirectory(prefix="dbdyno-bench-", dir=where) as directory:
        bench = make(Path(directory))
        try:
            for each in chosen:
                figures = 0
                try:
                    for figure in each(bench):
                        figures += 1
                        met = met and figure.met
                        print(figure.line(), flush=True)
                    if not figures:
                        raise NotMeasuredError("it gave no figure")
                except NotMeasuredError as why:
                    met = False
                    print(f"{each.__name__}: NOT MEASURED, {why}", flush=True)
        finally:
            getattr(bench, "close", lambda: None)()
    return 0 if met else 1
