"""Loaded data: made once for each distinct content, kept as a file, and copied for each trial."""

import contextlib
import fcntl
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from dbdyno.compile import CompiledCell
from dbdyno.errors import SystemFailed
from dbdyno.paths import cache_directory
from dbdyno.store import utc_now
from dbdyno.systems.sqlite_library import Library
from dbdyno.worker import ask

# ioctl FICLONE (linux/fs.h): the copy shares the original's blocks until either is changed.
_FICLONE = 0x40049409
_CHUNK = 1 << 26

# Templates not used lately are removed when all together are larger than this.
_CACHE_BYTES = int(os.environ.get("DBDYNO_CACHE_BYTES", str(20 * 10**9)))

_SIDE_FILES = ("-wal", "-shm", "-journal")

# Beside each template: what loading it took.
_LOADED = ".json"


@dataclass(frozen=True)
class Template:
    """Loaded data. ``load_s``: seconds it took to make, 0 where it was there already.

    ``loaded``: ``at``, when that was, and ``tables``, what the worker said it took; empty where that is not known.
    """

    path: Path
    load_s: float
    loaded: dict[str, Any] = field(default_factory=dict)


def template(compiled: CompiledCell, library: Library) -> Template:
    """Give the template of a cell; load it where it is not there yet. Raises SystemFailed."""
    directory = cache_directory("templates")
    path = directory / f"{compiled.template_key(library.identity)}.db"
    if path.exists():
        os.utime(path)
        return Template(path, 0.0, _loaded(path))
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    start = time.monotonic()
    try:
        steps = ask(compiled.load_plan(str(unfinished), library.path), "loaded")["tables"]
        loaded = {"at": utc_now(), "tables": steps}
        path.with_suffix(_LOADED).write_text(json.dumps(loaded), encoding="utf-8")
        unfinished.rename(path)
    except SystemFailed as error:
        raise SystemFailed(f"loading the tables: {error}") from error
    finally:
        for name in ("", *_SIDE_FILES):
            Path(f"{unfinished}{name}").unlink(missing_ok=True)
    _make_room(directory, keep=path)
    return Template(path, time.monotonic() - start, loaded)


def _loaded(path: Path) -> dict[str, Any]:
    """Read what loading a template took, which is kept beside it."""
    try:
        loaded = json.loads(path.with_suffix(_LOADED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _make_room(directory: Path, keep: Path) -> None:
    """Remove the templates unused for longest until the rest fits; and what killed runs left half made."""
    for unfinished in directory.glob("*.tmp*"):
        owner = unfinished.name.split(".")[1]
        if not (owner.isdigit() and psutil.pid_exists(int(owner))):
            unfinished.unlink(missing_ok=True)
    by_use = sorted(directory.glob("*.db"), key=lambda path: path.stat().st_mtime)
    total = sum(path.stat().st_size for path in by_use)
    for path in by_use:
        if total <= _CACHE_BYTES:
            break
        if path != keep:
            total -= path.stat().st_size
            path.unlink(missing_ok=True)
            path.with_suffix(_LOADED).unlink(missing_ok=True)


class Workspace:
    """The directory in which trials work, and the one file in it that they work on.

    It goes when it is closed; what a run that was killed left behind, the next run removes.
    """

    def __init__(self, directory: str | None = None) -> None:
        """Make it below ``directory``, by default below the cache."""
        root = cache_directory("work") if directory is None else Path(directory)
        for left in root.glob("dbdyno-run-*"):
            owner = left.name.rpartition("-")[2]
            if owner.isdigit() and not psutil.pid_exists(int(owner)):
                _remove(left)
        self.path = root / f"dbdyno-run-{os.getpid()}"
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise SystemFailed(
                f"{self.path}: the directory cannot be made: {(error.strerror or '').lower()}"
            ) from error
        self._of: tuple[Path, int, tuple[int, int, int]] | None = None

    @property
    def database(self) -> Path:
        """The file that trials work on."""
        return self.path / "trial.db"

    def fresh(self, template_path: Path, block: int) -> float:
        """Bring the file into the state of a template and return the seconds that took.

        A file that was made from the same template in the same block and has not been written to since is that state
        already. Each block has a copy of its own: where the file system puts it is part of the noise between blocks,
        and not of one run's result.
        """
        start = time.monotonic()
        side = [Path(f"{self.database}{name}") for name in _SIDE_FILES]
        if (
            self._of is not None
            and self._of == (template_path, block, self._signature())
            and not any(p.exists() for p in side)
        ):
            return 0.0
        self._of = None
        for path in (self.database, *side):
            path.unlink(missing_ok=True)
        try:
            copy_file(template_path, self.database)
        except OSError as error:
            self.database.unlink(missing_ok=True)
            why = (error.strerror or str(error)).lower()
            raise SystemFailed(f"copying the loaded tables to {self.database}: {why}") from error
        self._of = (template_path, block, self._signature())
        return time.monotonic() - start

    def close(self) -> None:
        """Remove it."""
        _remove(self.path)

    def _signature(self) -> tuple[int, int, int]:
        try:
            stat = self.database.stat()
        except FileNotFoundError:
            return (0, 0, 0)
        return (stat.st_ino, stat.st_size, stat.st_mtime_ns)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, sharing blocks where the file system can, and put it on the device. Raises OSError."""
    with source.open("rb") as read, target.open("wb") as write:
        try:
            fcntl.ioctl(write.fileno(), _FICLONE, read.fileno())
        except OSError:
            left = os.fstat(read.fileno()).st_size
            while left > 0:
                copied = os.copy_file_range(read.fileno(), write.fileno(), min(left, _CHUNK))
                if copied == 0:
                    raise OSError(0, "the template became shorter while it was copied") from None
                left -= copied
        # Pages still to be written would be written during the trial, at the trial's cost.
        os.fsync(write.fileno())


def _remove(directory: Path) -> None:
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            path.unlink(missing_ok=True)
        directory.rmdir()
