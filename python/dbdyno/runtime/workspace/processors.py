"""Pin the tiers of a system and the load generator to CPUs."""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress

import psutil

from dbdyno.base.errors import InputError


def check_processors(wanted: Mapping[str, Sequence[int]], location: str) -> None:
    """Raise InputError (beginning with ``location``) if a CPU doesn't exist, or if pinning isn't possible."""
    allowed = sorted(os.sched_getaffinity(0))
    for tier, processors in wanted.items():
        for number in processors:
            if number not in allowed:
                known = ", ".join(map(str, allowed))
                raise InputError(f"{location}: processors.{tier}", f"no CPU {number}", f"available: {known}")
    if wanted and shutil.which("taskset") is None:
        raise InputError(
            f"{location}: processors", "taskset is not installed", "install util-linux, or remove `processors`"
        )


def processors_of(pid: int) -> list[int]:
    """Return the CPUs that a process may use, sorted; empty if it has ended."""
    try:
        return sorted(os.sched_getaffinity(pid))
    except ProcessLookupError:
        return []


def bound_to(processors: Sequence[int] | None) -> list[str]:
    """Return the command prefix that starts a program on the given CPUs; empty for None (all CPUs)."""
    if processors is None:
        return []
    return [shutil.which("taskset") or "taskset", "--cpu-list", ",".join(map(str, processors))]


def bind_all(pid: int, processors: Sequence[int]) -> None:
    """Pin a running process, all its threads and all its descendants to the given CPUs.

    Their future children inherit the pinning.
    """
    try:
        first = psutil.Process(pid)
        processes = [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in processes:
        try:
            threads = process.threads()
        except psutil.NoSuchProcess:
            continue
        for thread in threads:
            # The thread may have ended.
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread.id, processors)
