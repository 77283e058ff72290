"""Limits on this process under which a command would hang or fail in a way that says nothing."""

import os
import resource

from dbdyno.errors import SystemFailed

_MEGABYTE = 1 << 20

# Bytes of address space that a command needs, and for each CPU: the libraries for linear algebra reserve buffers for
# each when they are loaded, and try for ever where they cannot.
_ADDRESS_SPACE = 512 * _MEGABYTE
_PER_CPU = 64 * _MEGABYTE


def check_address_space() -> None:
    """Raise SystemFailed if the limit on address space (``ulimit -v``) is too low."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = _ADDRESS_SPACE + _PER_CPU * len(os.sched_getaffinity(0))
    if limit != resource.RLIM_INFINITY and limit < needed:
        problem = f"the limit of {limit // _MEGABYTE} MB on address space is too low"
        raise SystemFailed(f"{problem}; dbdyno needs {needed // _MEGABYTE} MB here: `ulimit -v unlimited`")
