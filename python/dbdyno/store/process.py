"""Identify the process of a run, to detect that it was killed."""

import contextlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


def this_process() -> dict[str, Any]:
    """Return the identity of this process: host name, boot id, PID namespace, process id and start time."""
    import psutil

    return {
        "host": platform.node(),
        "boot": _boot(),
        "namespace": _namespace(),
        "pid": os.getpid(),
        "started": psutil.Process().create_time(),
    }


def is_gone(process: Mapping[str, Any] | None) -> bool:
    """Whether a process, identified by :func:`this_process`, has ended. False if it ran on another host."""
    import psutil

    if not isinstance(process, Mapping) or process.get("host") != platform.node():
        return False
    if process.get("boot") != _boot():
        return True
    # Process ids of another container have no meaning in this one.
    if process.get("namespace", _namespace()) != _namespace():
        return False
    try:
        return bool(psutil.Process(int(process["pid"])).create_time() != process["started"])
    except psutil.NoSuchProcess:
        return True
    except (psutil.Error, KeyError, TypeError, ValueError):
        return False


def is_running(process: Mapping[str, Any]) -> bool:
    """Whether a process is running on this host and in this container. ``process``: from :func:`this_process`."""
    origin = (process.get("host"), process.get("boot"), process.get("namespace"))
    return origin == (platform.node(), _boot(), _namespace()) and not is_gone(process)


def _namespace() -> str | None:
    """Return the PID namespace of this process, which differs between containers."""
    with contextlib.suppress(OSError):
        return str(_NAMESPACE.readlink())
    return None


def _boot() -> str | None:
    with contextlib.suppress(OSError):
        return _BOOT.read_text().strip()
    return None
