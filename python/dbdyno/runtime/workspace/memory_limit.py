"""A limit to the memory of processes, with what the kernel caches of their files: a control group of their own.

Both versions of Linux's control groups do (cgroups(7)). A page that was cached for somebody else before counts there,
so what is to be limited must not be in the cache when the group begins to read it.
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
    """Memory cannot be limited here. The message is the reason, a clause."""


@dataclass(frozen=True)
class _Version:
    """A version of control groups: its name, and the files of a group with what they say."""

    name: str
    limit: str
    unlimited: str
    events: str


_V1 = _Version("cgroup v1", "memory.limit_in_bytes", "-1", "memory.oom_control")
_V2 = _Version("cgroup v2", "memory.max", "max", "memory.events")


class MemoryLimit:
    """A control group. Processes that are added take at most so many bytes, while :meth:`set` says so."""

    def __init__(self) -> None:
        """Make it. Raises NoMemoryLimit where that is not allowed, or there is no such thing."""
        self._version, parents = _places()
        problem = "no control group of this process has its memory counted"
        for parent in parents:
            _remove_left(parent)
            path = parent / f"dbdyno-{os.getpid()}-{secrets.token_hex(4)}"
            try:
                path.mkdir()
            except OSError as error:
                problem = f"a control group in {parent} cannot be made: {reason(error)}"
                continue
            if os.access(path / self._version.limit, os.W_OK):
                self._path = path
                return
            problem = f"a control group in {parent} has no limit to its memory"
            path.rmdir()
        raise NoMemoryLimit(problem)

    @property
    def means(self) -> str:
        """What limits it, as ``cgroup v1``."""
        return self._version.name

    def add(self, pid: int) -> None:
        """Put a process and all below it into the group. One that has ended is left out. Raises NoMemoryLimit."""
        for each in _with_children(pid):
            try:
                (self._path / "cgroup.procs").write_text(str(each), encoding="ascii")
            except ProcessLookupError:
                continue
            except OSError as error:
                raise NoMemoryLimit(f"process {each} cannot be put into a control group: {reason(error)}") from None

    def set(self, limit: int | None) -> None:
        """Limit the group to so many bytes, or no longer; what is cached beyond is dropped. Raises NoMemoryLimit."""
        text = self._version.unlimited if limit is None else str(limit)
        try:
            (self._path / self._version.limit).write_text(text, encoding="ascii")
        except OSError as error:
            raise NoMemoryLimit(f"memory cannot be limited to {limit} bytes: {reason(error)}") from None

    @property
    def kills(self) -> int:
        """How many processes the kernel has killed because the limit was not enough for them."""
        with contextlib.suppress(OSError, ValueError):
            for line in (self._path / self._version.events).read_text(encoding="ascii").splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
        return 0

    def close(self) -> None:
        """Remove the group, where its processes have ended; else the next run does."""
        with contextlib.suppress(OSError):
            self._path.rmdir()


def _places() -> tuple[_Version, list[Path]]:
    """Give the version that counts memory here, and the groups in which another can be made: this process's own first.

    Raises NoMemoryLimit where there is none.
    """
    mounts = _mounts()
    try:
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NoMemoryLimit(f"there are no control groups: {reason(error)}") from None
    groups = [line.split(":", 2) for line in own if line.count(":") >= 2]
    for _, controllers, path in groups:
        if "memory" in controllers.split(",") and mounts.get("memory"):
            return _V1, [_below(mounts["memory"], path)]
    for number, controllers, path in groups:
        if number == "0" and not controllers and mounts.get("unified"):
            group = _below(mounts["unified"], path)
            # Controllers do not reach below a group that has processes, so that one beside it is the other way.
            return _V2, [group] if group == mounts["unified"] else [group, group.parent]
    raise NoMemoryLimit("there are no control groups that limit memory")


def _below(mount: Path, path: str) -> Path:
    """Give a group's directory; where only a part of the tree is mounted, that part's top."""
    group = mount / path.lstrip("/")
    return group if group.is_dir() else mount


def _mounts() -> dict[str, Path]:
    """Give where control groups are mounted that count memory: ``memory`` of version 1, ``unified`` of version 2."""
    found: dict[str, Path] = {}
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return found
    for line in lines:
        _, place, kind, options, *_ = [*line.split(" "), "", "", "", ""]
        if kind == "cgroup2":
            found["unified"] = Path(place)
        elif kind == "cgroup" and "memory" in options.split(","):
            found["memory"] = Path(place)
    return found


def _with_children(pid: int) -> list[int]:
    """Give a process and all below it."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                text = (task / "children").read_text(encoding="ascii")
                found += [child for child in map(int, text.split()) if child not in found]
    return found


def _remove_left(parent: Path) -> None:
    """Remove what processes of dbdyno that have ended left behind."""
    with contextlib.suppress(OSError):
        for path in parent.iterdir():
            name = _OWN.fullmatch(path.name)
            if name and not Path(f"/proc/{name[1]}").exists():
                with contextlib.suppress(OSError):
                    path.rmdir()
