"""Which process carries out a run, so that a run whose process was killed is known for what it is."""

import contextlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


def this_process() -> dict[str, Any]:
    """Return what tells this process from every other: host, the host's present run, number and start."""
    import psutil

    return {
        "host": platform.node(),
        "boot": _boot(),
        "namespace": _namespace(),
        "pid": os.getpid(),
        "started": psutil.Process().create_time(),
    }


def is_gone(process: Mapping[str, Any] | None) -> bool:
    """Whether a process that :func:`this_process` named has ended. Of other hosts' processes nothing is known."""
    import psutil

    if not isinstance(process, Mapping) or process.get("host") != platform.node():
        return False
    if process.get("boot") != _boot():
        return True
    # Of another container's, neither: there its number is another's, or nobody's.
    if process.get("namespace", _namespace()) != _namespace():
        return False
    try:
        return bool(psutil.Process(int(process["pid"])).create_time() != process["started"])
    except psutil.NoSuchProcess:
        return True
    except (psutil.Error, KeyError, TypeError, ValueError):
        return False


def is_here(process: Mapping[str, Any]) -> bool:
    """Whether a process that :func:`this_process` named goes on here. One that cannot be seen from here does not."""
    place = (process.get("host"), process.get("boot"), process.get("namespace"))
    return place == (platform.node(), _boot(), _namespace()) and not is_gone(process)


def _namespace() -> str | None:
    """Return what tells the processes that this one can see from those of other containers."""
    with contextlib.suppress(OSError):
        return str(_NAMESPACE.readlink())
    return None


def _boot() -> str | None:
    with contextlib.suppress(OSError):
        return _BOOT.read_text().strip()
    return None
