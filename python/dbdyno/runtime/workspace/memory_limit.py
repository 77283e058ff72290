"""Limit the memory of processes, including the page cache of their files, with a control group.

Supports both versions of cgroups(7). A page that is already in the cache is charged to the group that read it first, so
the data must be evicted before the limited processes read it.
"""

import contextlib
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import SystemFailed, reason

_OWN = re.compile(r"dbdyno-(\d+)-[0-9a-f]+")


class NoMemoryLimit(SystemFailed):
    """Memory can't be limited on this machine. The message is the reason, a clause."""


@dataclass(frozen=True)
class _Version:
    """A version of cgroups: its name, its limit file, the value for no limit, and the file with the OOM count."""

    name: str
    limit: str
    unlimited: str
    events: str


_V1 = _Version("cgroup v1", "memory.limit_in_bytes", "-1", "memory.oom_control")
_V2 = _Version("cgroup v2", "memory.max", "max", "memory.events")


class MemoryLimit:
    """A control group whose processes are limited to the number of bytes given to :meth:`set`."""

    def __init__(self) -> None:
        """Create the group. Raises NoMemoryLimit if that isn't possible."""
        self._version, parents = _places()
        problem = "this process is in no control group with memory accounting"
        for parent in parents:
            _remove_left(parent)
            path = parent / f"dbdyno-{os.getpid()}-{secrets.token_hex(4)}"
            try:
                path.mkdir()
            except OSError as error:
                problem = f"can't create a control group in {parent}: {reason(error)}"
                continue
            if os.access(path / self._version.limit, os.W_OK):
                self._path = path
                return
            problem = f"control groups in {parent} don't support a memory limit"
            path.rmdir()
        raise NoMemoryLimit(problem)

    @property
    def means(self) -> str:
        """The mechanism, such as ``cgroup v1``."""
        return self._version.name

    def add(self, pid: int) -> None:
        """Add a process and its descendants, skipping those that have ended. Raises NoMemoryLimit."""
        for each in _with_children(pid):
            try:
                (self._path / "cgroup.procs").write_text(str(each), encoding="ascii")
            except ProcessLookupError:
                continue
            except OSError as error:
                raise NoMemoryLimit(f"can't add process {each} to a control group: {reason(error)}") from None

    def set(self, limit: int | None) -> None:
        """Set the limit in bytes, or None for no limit; the kernel evicts the excess. Raises NoMemoryLimit."""
        text = self._version.unlimited if limit is None else str(limit)
        try:
            (self._path / self._version.limit).write_text(text, encoding="ascii")
        except OSError as error:
            raise NoMemoryLimit(f"can't limit memory to {limit} bytes: {reason(error)}") from None

    @property
    def kills(self) -> int:
        """How many processes the kernel has killed because of the limit."""
        with contextlib.suppress(OSError, ValueError):
            for line in (self._path / self._version.events).read_text(encoding="ascii").splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
        return 0

    def close(self) -> None:
        """Remove the group if its processes have ended; otherwise the next run removes it."""
        with contextlib.suppress(OSError):
            self._path.rmdir()


def _places() -> tuple[_Version, list[Path]]:
    """Return the cgroup version with memory accounting, and possible parents of a new group, the own group first.

    Raises NoMemoryLimit if there is none.
    """
    mounts = _mounts()
    try:
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NoMemoryLimit(f"control groups aren't available: {reason(error)}") from None
    groups = [line.split(":", 2) for line in own if line.count(":") > 1]
    for _, controllers, path in groups:
        if "memory" in controllers.split(",") and mounts.get("memory"):
            return _V1, [_below(mounts["memory"], path)]
    for number, controllers, path in groups:
        if number == "0" and not controllers and mounts.get("unified"):
            group = _below(mounts["unified"], path)
            # A group with processes can't enable controllers for its children, so try a sibling too.
            return _V2, [group] if group == mounts["unified"] else [group, group.parent]
    raise NoMemoryLimit("no control groups with memory limits are available")


def _below(mount: Path, path: str) -> Path:
    """Return a group's directory, or the mount point if only a part of the tree is mounted."""
    group = mount / path.lstrip("/")
    return group if group.is_dir() else mount


def _mounts() -> dict[str, Path]:
    """Return the mount points of cgroups with memory accounting: ``memory`` (version 1), ``unified`` (version 2)."""
    found: dict[str, Path] = {}
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return found
    for line in lines:
        _, path, kind, options, *_ = [*line.split(" "), "", "", "", ""]
        if kind == "cgroup2":
            found["unified"] = Path(path)
        elif kind == "cgroup" and "memory" in options.split(","):
            found["memory"] = Path(path)
    return found


def _with_children(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                text = (task / "children").read_text(encoding="ascii")
                found += [child for child in map(int, text.split()) if child not in found]
    return found


def _remove_left(parent: Path) -> None:
    """Remove the groups of dbdyno processes that have ended."""
    with contextlib.suppress(OSError):
        for path in parent.iterdir():
            name = _OWN.fullmatch(path.name)
            if name and not Path(f"/proc/{name[1]}").exists():
                with contextlib.suppress(OSError):
                    path.rmdir()
