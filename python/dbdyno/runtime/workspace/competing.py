"""A program that competes with what is measured for the processors."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import SystemFailed

_PROGRAM = Path(__file__).with_name("taking.py")

# Seconds for it to begin, and to end.
_LONGEST_S = 30.0


@dataclass
class Competing:
    """``took``: the share of each processor that it had, known when it has ended."""

    took: float | None = None


@contextmanager
def competing(share: float, processors: Sequence[int]) -> Iterator[Competing]:
    """Have a program take a share of each of some processors, as long as the context lasts; of no share, have none.

    Raises SystemFailed where it does not begin.
    """
    told = Competing()
    if share <= 0:
        yield told
        return
    command = [sys.executable, "-P", "-S", str(_PROGRAM), str(share), ",".join(map(str, processors))]
    program = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C on the terminal is dbdyno's to hear.
        start_new_session=True,
    )
    try:
        assert program.stdout is not None  # noqa: S101
        if program.stdout.readline() != "ready\n":
            raise SystemFailed("the program that is to compete for the processors did not begin")
        yield told
        with suppress(subprocess.TimeoutExpired, ValueError):
            said, _ = program.communicate(timeout=_LONGEST_S)
            told.took = float(said)
    finally:
        with suppress(OSError):
            program.kill()
        program.wait()
