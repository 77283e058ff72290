"""Run a program that competes with the measured system for CPU time."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import SystemFailed

_PROGRAM = Path(__file__).with_name("cpu_load.py")

# Seconds that the program gets to end.
_TIMEOUT_S = 30.0


@dataclass
class CpuCompetitor:
    """``used_share``: the share of each CPU that the program used, set when it has ended."""

    used_share: float | None = None


@contextmanager
def compete_for_cpus(share: float, processors: Sequence[int]) -> Iterator[CpuCompetitor]:
    """Use a share of each of the given CPUs while the context lasts; a share of 0 starts nothing.

    Raises SystemFailed if the program doesn't start.
    """
    result = CpuCompetitor()
    if share <= 0:
        yield result
        return
    command = [sys.executable, "-P", "-S", str(_PROGRAM), str(share), ",".join(map(str, processors))]
    program = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Only dbdyno itself handles Ctrl-C.
        start_new_session=True,
    )
    try:
        assert program.stdout is not None  # noqa: S101
        if program.stdout.readline() != "ready\n":
            raise SystemFailed("could not start the program that competes for the CPUs")
        yield result
        with suppress(subprocess.TimeoutExpired, ValueError):
            output, _ = program.communicate(timeout=_TIMEOUT_S)
            result.used_share = float(output)
    finally:
        with suppress(OSError):
            program.kill()
        program.wait()
