"""Processors of their own, for the tiers of a system and for the load generator."""

import os
import shutil
from collections.abc import Mapping, Sequence

import psutil

from dbdyno.base.errors import InputError


def check_processors(asked: Mapping[str, Sequence[int]], place: str) -> None:
    """Raise InputError that begins with ``place`` for a processor that there is not, or where none can be given."""
    allowed = sorted(os.sched_getaffinity(0))
    for tier, processors in asked.items():
        for number in processors:
            if number not in allowed:
                known = ", ".join(map(str, allowed))
                raise InputError(f"{place}: processors.{tier}", f"there is no processor {number}", f"known: {known}")
    if asked and shutil.which("taskset") is None:
        raise InputError(f"{place}: processors", "taskset is not installed", "install util-linux, or leave it out")


def processors_of(pid: int) -> list[int]:
    """Give the processors that a process may use, in order; none where it has ended."""
    try:
        return sorted(os.sched_getaffinity(pid))
    except ProcessLookupError:
        return []


def bound_to(processors: Sequence[int] | None) -> list[str]:
    """Give the program that starts another on some processors alone; ``None``: on all."""
    if processors is None:
        return []
    return [shutil.which("taskset") or "taskset", "--cpu-list", ",".join(map(str, processors))]


def bind_all(pid: int, processors: Sequence[int]) -> None:
    """Keep a process that runs, all its threads and all its descendants to some processors.

    What they start later is kept to them too. Who has ended meanwhile needs none.
    """
    try:
        first = psutil.Process(pid)
        processes = [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in processes:
        try:
            for thread in process.threads():
                os.sched_setaffinity(thread.id, processors)
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
