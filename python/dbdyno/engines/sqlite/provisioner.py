"""SQLite: a file, a copy of the template, for each block of each cell."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbdyno.engines.provisioner import Place, Ready
from dbdyno.engines.sqlite.library import Library, find_library
from dbdyno.engines.sqlite.targets import file_plan, load_target, named_target, settings_of, trial_target
from dbdyno.engines.writes import OTHER_FILE, allowed, reaching_statements, refuse
from dbdyno.errors import InputError, SystemFailed, reason
from dbdyno.paths import cache_directory
from dbdyno.plan.cell import CompiledCell
from dbdyno.worker import ask
from dbdyno.workplace.copying import copy_file
from dbdyno.workplace.listening import Interrupted
from dbdyno.workplace.templates import Template, template

_SHARED_MEMORY = "-shm"
_SIDE_FILES = ("-wal", _SHARED_MEMORY, "-journal")


# What the worker says where a file cannot have a setting.
_KEEPS = ": the file keeps "

# Inode, size and time of the last change; zeros where there is no file.
State = tuple[int, int, int]


class NamedFile:
    """A database of the user's, which is read and never written to."""

    def __init__(self, path: Path) -> None:
        """``path``: of the database; a log or a journal may lie beside what it leads to."""
        self.path = path.resolve()

    def left(self) -> list[Path]:
        """Give the files beside it without which it is not whole: a log that was not written back, a journal."""
        beside = [Path(f"{self.path}{name}") for name in _SIDE_FILES if name != _SHARED_MEMORY]
        return [each for each in beside if _state(each)[1] > 0]

    def state(self) -> tuple[State, ...]:
        """Tell one state of it from another."""
        return tuple(map(_state, [self.path, *self.left()]))

    def copy(self, target: Path, interrupted: Interrupted) -> None:
        """Copy it, with all that lies beside it. Raises SystemFailed where it cannot be or changes meanwhile."""
        before = self.state()
        try:
            for each in [self.path, *self.left()]:
                copy_file(each, Path(f"{target}{str(each).removeprefix(str(self.path))}"), interrupted)
        except OSError as error:
            raise SystemFailed(f"copying {self.path} to {target}: {reason(error)}") from error
        if before != self.state():
            raise SystemFailed(f"{self.path}: it was written to while it was copied; end what writes to it")


def _state(path: Path) -> State:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return (0, 0, 0)
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns)


class _File:
    """A file that a trial works on, and what it is a copy of."""

    def __init__(self, path: Path, interrupted: Interrupted) -> None:
        self.path = path
        self.in_use = False
        self._interrupted = interrupted
        self._of: tuple[Path, int, str, State] | None = None

    def fresh(self, template_path: Path, block: int, plan: dict[str, Any] | None) -> float:
        """Bring the file into the state of a template and return the seconds that took.

        ``plan``: what gives it the settings that it keeps, where there are any.

        A file that was made from the same template in the same block and has not been written to since is that state
        already. Each block has a copy of its own: where the file system puts it is part of the noise between blocks,
        and not of one run's result.
        """
        start = time.monotonic()
        made_by = json.dumps(plan, sort_keys=True)
        if self._of == (template_path, block, made_by, _state(self.path)) and not any(map(Path.exists, self._side)):
            return 0.0
        self._of = None
        self._remove()
        try:
            before = _state(template_path)
            copy_file(template_path, self.path, self._interrupted)
            if before != _state(template_path):
                raise SystemFailed(f"{template_path}: it was written to while it was copied; end what writes to it")
            if plan is not None:
                ask(plan, "file_set", interrupted=self._interrupted)
        except OSError as error:
            self._remove()
            raise SystemFailed(f"copying the loaded tables to {self.path}: {reason(error)}") from error
        self._of = (template_path, block, made_by, _state(self.path))
        return time.monotonic() - start

    @property
    def _side(self) -> list[Path]:
        return [Path(f"{self.path}{name}") for name in _SIDE_FILES]

    def _remove(self) -> None:
        for path in (self.path, *self._side):
            path.unlink(missing_ok=True)


class FileProvisioner:
    """Keeps the file that trials on SQLite work on; of trials that take turns, each has one of its own."""

    def __init__(self, place: Place) -> None:
        """Make nothing yet. Where writes are allowed, statements may lead to files that are not copies of dbdyno's."""
        interrupted = place.interrupted
        self._interrupted = interrupted
        self._allow_writes = place.allow_writes
        self.observations: list[dict[str, Any]] = []
        self._judged: set[str] = set()
        self._directory = place.workspace.path
        self._files = [_File(self._directory / "trial.db", interrupted)]
        self._libraries: dict[tuple[str | int | None, ...], Library] = {}
        # Of named files: how they were at first, and copies that have all that lay beside them.
        self._seen: dict[Path, tuple[State, ...]] = {}
        self._wholes: dict[tuple[Any, ...], Path] = {}
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
        self._judge(compiled)
        library = self._library(compiled)
        if named is not None and settings_of(compiled).load_pragmas:
            self._check_kept(NamedFile(Path(named)), compiled, library)

    def _judge(self, compiled: CompiledCell) -> None:
        """See that no statement leads to a file that is not dbdyno's. Raises InputError, unless that is allowed."""
        asked = json.dumps([compiled.before, compiled.after, compiled.trial["statements"]])
        if asked in self._judged:
            return
        found = reaching_statements(compiled, load_target(compiled, ""), [])
        if not self._allow_writes:
            refuse(compiled.cell.system, OTHER_FILE, found)
        self._judged.add(asked)
        if found:
            self.observations.append(allowed(compiled.cell.system, OTHER_FILE, found))

    def _check_kept(self, file: NamedFile, compiled: CompiledCell, library: Library) -> None:
        """See that a copy of a named file takes what decides its bytes. Raises InputError."""
        try:
            self._named(file, compiled, library)
        except SystemFailed as error:
            if _KEEPS not in str(error):
                raise
            raise InputError(compiled.cell.system.name, str(error), "leave it out, or make such a file") from None

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Have the file in the state of its template."""
        library = self._library(compiled)
        source = self._source(compiled, library)
        source = self._loaded.pop(source.path, source)
        file = self._free_file()
        file.in_use = True
        try:
            target = trial_target(compiled, str(file.path), library.path)
            copy_s = file.fresh(source.path, block, file_plan(target) if target["file_pragmas"] else None)
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
        settings = settings_of(compiled)
        if settings.of_library not in self._libraries:
            self._libraries[settings.of_library] = find_library(settings)
        return self._libraries[settings.of_library]

    def _source(self, compiled: CompiledCell, library: Library) -> Template:
        """Give the file a trial starts from, and what it took to make; a named file is its own, where it can be."""
        named = compiled.cell.system.database
        if named is not None:
            return self._named(NamedFile(Path(named)), compiled, library)

        def load(path: Path) -> Any:
            plan = compiled.load_plan(load_target(compiled, str(path), library.path))
            return ask(plan, "loaded", interrupted=self._interrupted)["tables"]

        return template(cache_directory("templates") / f"{compiled.template_key(library.identity)}.db", load)

    def _named(self, file: NamedFile, compiled: CompiledCell, library: Library) -> Template:
        """Give what trials on a named file start from: the file, or one copy of it that is made whole."""
        key = (file.path, library.path, settings_of(compiled).load_pragmas)
        if key in self._wholes:
            return Template(self._wholes[key], 0.0)
        seen = self._seen.setdefault(file.path, file.state())
        if seen != file.state():
            raise SystemFailed(f"{file.path}: it was written to since the run began, whose trials start from one state")
        if not file.left() and not settings_of(compiled).load_pragmas:
            return Template(file.path, 0.0)
        start = time.monotonic()
        whole = self._directory / f"named-{len(self._wholes) + 1}.db"
        file.copy(whole, self._interrupted)
        plan = file_plan(named_target(compiled, str(whole), library.path))
        ask(plan, "file_set", interrupted=self._interrupted)
        self._wholes[key] = whole
        return Template(whole, time.monotonic() - start)
