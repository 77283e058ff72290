"""Check the resource limits of this process, so that a limit that is too low gives a clear error."""

import os
import resource

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.model.limits import MAX_THREADS

_MEGABYTE = 1 << 20

# Bytes of address space that a command needs, in total and per CPU. The linear algebra libraries reserve buffers per
# CPU when they are loaded, and hang if they can't.
_ADDRESS_SPACE = 512 * _MEGABYTE
_PER_CPU = 64 * _MEGABYTE

# Files that a worker opens in addition to its clients' files; the same as in `crates/load/src/capacity.rs`.
_OTHER_FILES = 64
# Pipes between this process and a worker.
_PIPES = 3


def check_address_space() -> None:
    """Raise SystemFailed if the limit on address space (``ulimit -v``) is too low."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = _ADDRESS_SPACE + _PER_CPU * len(os.sched_getaffinity(0))
    if limit != resource.RLIM_INFINITY and limit < needed:
        problem = f"the limit of {limit // _MEGABYTE} MB on address space is too low"
        raise SystemFailed(f"{problem}; dbdyno needs {needed // _MEGABYTE} MB here: `ulimit -v unlimited`")


def check_threads(clients: int, location: str) -> None:
    """Raise InputError if there are too many clients for the threads of one worker."""
    if clients > MAX_THREADS:
        problem = f"{clients:,} clients of an embedded engine need as many threads"
        raise InputError(location, problem, f"use at most {MAX_THREADS:,} clients")


def check_open_files(clients: int, each: int, location: str) -> None:
    """Raise InputError if the limit on open files (``ulimit -n``) is too low for the clients of a worker.

    ``each``: files and connections per client. The hard limit counts, since a worker raises its soft limit. Raises
    SystemFailed if the limit is too low even for one client.
    """
    _check_files(clients, each, resource.getrlimit(resource.RLIMIT_NOFILE)[1], location)


def check_pipes(workers: int, location: str) -> None:
    """Raise InputError if the limit on open files is too low for this process to run this number of workers at once."""
    _check_files(workers, _PIPES, resource.getrlimit(resource.RLIMIT_NOFILE)[0], location)


def _check_files(clients: int, each: int, limit: int, location: str) -> None:
    needed = clients * each + _OTHER_FILES
    if limit == resource.RLIM_INFINITY or needed <= limit:
        return
    possible = (limit - _OTHER_FILES) // max(each, 1)
    if possible < 1:
        raise SystemFailed(
            f"the limit of {limit} open files is too low; dbdyno needs {needed} here: `ulimit -n {needed}`"
        )
    problem = f"{clients:,} clients need {needed:,} open files, and the limit is {limit:,}"
    raise InputError(location, problem, f"use at most {possible:,} clients, or raise the limit: `ulimit -n {needed}`")
