"""SQLite: a file, a copy of the template, for each block of each cell."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbdyno.compile import CompiledCell
from dbdyno.errors import InputError, SystemFailed, reason
from dbdyno.paths import cache_directory
from dbdyno.run.copying import copy_file
from dbdyno.run.hosts.host import Note, Ready
from dbdyno.run.listening import Interrupted
from dbdyno.run.templates import Template, template
from dbdyno.run.workspace import Workspace
from dbdyno.systems.sqlite_library import Library, find_library
from dbdyno.worker import ask

_SIDE_FILES = ("-wal", "-shm", "-journal")


class _File:
    """A file that a trial works on, and what it is a copy of."""

    def __init__(self, path: Path, interrupted: Interrupted) -> None:
        self.path = path
        self.in_use = False
        self._interrupted = interrupted
        self._of: tuple[Path, int, tuple[int, int, int]] | None = None

    def fresh(self, template_path: Path, block: int) -> float:
        """Bring the file into the state of a template and return the seconds that took.

        A file that was made from the same template in the same block and has not been written to since is that state
        already. Each block has a copy of its own: where the file system puts it is part of the noise between blocks,
        and not of one run's result.
        """
        start = time.monotonic()
        side = [Path(f"{self.path}{name}") for name in _SIDE_FILES]
        if (
            self._of is not None
            and self._of == (template_path, block, self._signature())
            and not any(p.exists() for p in side)
        ):
            return 0.0
        self._of = None
        for path in (self.path, *side):
            path.unlink(missing_ok=True)
        try:
            copy_file(template_path, self.path, self._interrupted)
        except OSError as error:
            self.path.unlink(missing_ok=True)
            raise SystemFailed(f"copying the loaded tables to {self.path}: {reason(error)}") from error
        self._of = (template_path, block, self._signature())
        return time.monotonic() - start

    def _signature(self) -> tuple[int, int, int]:
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return (0, 0, 0)
        return (stat.st_ino, stat.st_size, stat.st_mtime_ns)


class FileHost:
    """Keeps the file that trials on SQLite work on; of trials that take turns, each has one of its own."""

    notes: list[Note] | None = None

    def __init__(self, workspace: Workspace, interrupted: Interrupted) -> None:
        """Make nothing yet. ``interrupted``: what ends loading and copying."""
        self._interrupted = interrupted
        self._directory = workspace.path
        self._files = [_File(self._directory / "trial.db", interrupted)]
        self._libraries: dict[tuple[str | int | None, ...], Library] = {}
        # What was loaded before the trial that tells of it.
        self._loaded: dict[Path, Template] = {}

    def check(self, compiled: CompiledCell) -> None:
        """Find the library, or build it, and see that a named file is there and would not be written over."""
        named = compiled.cell.system.database
        name = compiled.cell.system.name
        if named is not None and not Path(named).is_file():
            raise InputError(name, "there is no such file", "give an existing database, or `sqlite:` for a new one")
        if named is not None and (compiled.tables or compiled.before):
            problem = "the experiment makes its own tables, and a named file is not written to"
            raise InputError(name, problem, "use `sqlite:`, or an experiment without tables")
        self._library(compiled)

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Have the file in the state of its template."""
        library = self._library(compiled)
        source = self._source(compiled, library)
        source = self._loaded.pop(source.path, source)
        file = self._free_file()
        file.in_use = True
        try:
            copy_s = file.fresh(source.path, block)
            target = compiled.target(str(file.path), library.path)
            yield Ready(target, {"load_s": source.load_s, "copy_s": copy_s}, source.loaded)
        finally:
            file.in_use = False

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return the size of the file that a trial of the cell starts from, which is loaded where it was not yet.

        Raises DbdynoError.
        """
        source = self._source(compiled, self._library(compiled))
        self._loaded.setdefault(source.path, source)
        return source.path.stat().st_size

    def close(self) -> None:
        """Nothing: the file lies in the workspace."""

    def _free_file(self) -> _File:
        free = next((file for file in self._files if not file.in_use), None)
        if free is None:
            free = _File(self._directory / f"trial-{len(self._files) + 1}.db", self._interrupted)
            self._files.append(free)
        return free

    def _library(self, compiled: CompiledCell) -> Library:
        """Give a cell's library, which is looked for once in a run."""
        settings = compiled.sqlite
        if settings.of_library not in self._libraries:
            self._libraries[settings.of_library] = find_library(settings)
        return self._libraries[settings.of_library]

    def _source(self, compiled: CompiledCell, library: Library) -> Template:
        """Give the file a trial starts from, and what it took to make; a named file is its own."""
        named = compiled.cell.system.database
        if named is not None:
            return Template(Path(named), 0.0)

        def load(path: Path) -> Any:
            plan = compiled.load_plan(compiled.load_target(str(path), library.path))
            return ask(plan, "loaded", interrupted=self._interrupted)["tables"]

        return template(cache_directory("templates") / f"{compiled.template_key(library.identity)}.db", load)
