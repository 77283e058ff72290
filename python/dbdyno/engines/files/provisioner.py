"""Provision database files: trials work on copies of a template file."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.base.paths import cache_directory
from dbdyno.base.special_files import special_kind
from dbdyno.engines.files.database_file import NamedFile, SideFiles, State, TrialFile
from dbdyno.engines.files.library import Library
from dbdyno.engines.provisioner import ProvisioningContext, Ready
from dbdyno.engines.writes import ALLOW, OTHER_FILES, allowed, reaching_statements, refuse, writes_by_transaction
from dbdyno.model.events.answers import FileSet, Loaded
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.serialization import as_json
from dbdyno.model.plan.system import SystemSpec
from dbdyno.model.plan.tasks import SetFileTask, Target
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.model.result.reading import JsonObject
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.templates import Template, template

# The worker's message for a statement that the engine denied (`DENIED` in crates/engines/src/external_access.rs).
_DENIED = "not allowed on a copy of a database"


@dataclass(kw_only=True)
class Copied(Ready):
    """A copy of a file, whose engine denies statements that access other files."""

    system: SystemSpec

    def check(self, result: TrialResult) -> None:
        """Raise InputError if the engine denied a statement."""
        for message in result.failures.values():
            if _DENIED in message:
                raise InputError(self.system.name, message, f"leave it out, or allow it with `{ALLOW}`")


class FileProvisioner(ABC):
    """Creates and keeps the files of trials. Interleaved trials share a file if they only read.

    Engines implement the abstract methods for their files.
    """

    side_files: SideFiles

    def __init__(self, context: ProvisioningContext) -> None:
        """Create no files yet. If ``context`` allows writes, statements may access files that dbdyno didn't create."""
        self._interrupted = context.interrupted
        self._allow_writes = context.allow_writes
        self.observations: list[dict[str, Any]] = []
        self._judged: set[str] = set()
        # By statements and library: whether a cell's transactions only read.
        self._reading: dict[str, bool] = {}
        # Each provisioner needs its own directory, because all use the same file names.
        self._directory = context.workspace.part()
        self._files = [self._trial_file("trial.db")]
        self._libraries: dict[Hashable, Library] = {}
        # Named files: their initial states, and copies that include the content of side files.
        self._seen: dict[Path, tuple[State, ...]] = {}
        self._wholes: dict[tuple[Any, ...], Path] = {}
        # Templates loaded before their first trial, which reports the loading time.
        self._loaded: dict[Path, Template] = {}

    @abstractmethod
    def decides_library(self, compiled: CompiledCell) -> Hashable:
        """Return the settings that determine the library."""

    @abstractmethod
    def find_library(self, compiled: CompiledCell) -> Library:
        """Find or build the library that a cell's settings select. Raises DbdynoError."""

    @abstractmethod
    def load_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Return the target for loading a file."""

    @abstractmethod
    def trial_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Return the target of a trial."""

    def keeping_plan(self, target: Target) -> WorkerPlan[SetFileTask] | None:
        """Return the plan that stores settings in a trial's file; ``None``: no setting is stored in the file."""
        return None

    def can_share_file(self, compiled: CompiledCell) -> bool:
        """Whether several workers can read the file of a trial at the same time."""
        return False

    @abstractmethod
    def make_whole(self, compiled: CompiledCell, path: str, library: str | None) -> None:
        """Merge the side files of a named file's copy into it, and apply file settings. Raises DbdynoError."""

    def check_kept(self, error: SystemFailed) -> str | None:
        """Return a hint if a file can't take a setting; ``None``: the error has another cause."""
        return None

    def check(self, compiled: CompiledCell) -> None:
        """Find or build the library, and check that a named file exists and that the experiment doesn't write to it."""
        named = compiled.cell.system.database
        name = compiled.cell.system.name
        if named is not None and not Path(named).is_file():
            kind = special_kind(Path(named))
            problem = "no such file" if kind is None else f"is {kind}, not a file"
            raise InputError(name, problem, f"give an existing database, or `{_engine(compiled)}:` for a new one")
        if named is not None and (compiled.tables or compiled.before):
            problem = "the experiment creates tables, but dbdyno doesn't write to a named file"
            raise InputError(name, problem, f"use `{_engine(compiled)}:`, or an experiment without tables")
        self._judge(compiled)
        library = self._library(compiled)
        if named is not None and compiled.settings.file_settings:
            self._check_kept(NamedFile(Path(named), self.side_files), compiled, library)

    def _judge(self, compiled: CompiledCell) -> None:
        """Raise InputError if a statement accesses files that dbdyno didn't create, unless that is allowed."""
        asked = json.dumps([compiled.before, compiled.after, as_json(compiled.task.with_all_statements().statements)])
        if asked in self._judged:
            return
        library = self._library(compiled)
        writings = reaching_statements(compiled, self.load_target(compiled, "", library.path), [])
        if not self._allow_writes:
            refuse(compiled.cell.system, OTHER_FILES, writings)
        self._judged.add(asked)
        if writings:
            self.observations.append(allowed(compiled.cell.system, OTHER_FILES, writings))

    def _check_kept(self, file: NamedFile, compiled: CompiledCell, library: Library) -> None:
        """Check that a copy of a named file accepts the file settings. Raises InputError."""
        try:
            self._named(file, compiled, library)
        except SystemFailed as error:
            hint = self.check_kept(error)
            if hint is None:
                raise
            raise InputError(compiled.cell.system.name, str(error), hint) from None

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Provide a file in the state of its template."""
        library = self._library(compiled)
        source = self._source(compiled, library)
        source = self._loaded.pop(source.path, source)
        file = self._shared_file(compiled, source) or self._free_file()
        shared = bool(file.users)
        file.users.append(compiled)
        try:
            target = self._target_of(compiled, file)
            copy_s = 0.0 if shared else file.fresh(source.path, block, self.keeping_plan(target), self._set_file)
            durations = {"load_s": source.load_s, "copy_s": copy_s}
            yield Copied(target, durations, source.loaded, system=compiled.cell.system)
        finally:
            file.users.remove(compiled)

    @contextmanager
    def copies(self, compiled: CompiledCell, tables: Sequence[JsonObject]) -> Iterator[tuple[Target, Target]]:
        """Provide two copies of the file of a trial."""
        source = self._source(compiled, self._library(compiled))
        files = [self._trial_file(f"copy-{number}.db") for number in (1, 2)]
        try:
            targets = [self._target_of(compiled, file) for file in files]
            for file, target in zip(files, targets, strict=True):
                file.fresh(source.path, 0, self.keeping_plan(target), self._set_file)
            yield targets[0], targets[1]
        finally:
            for file in files:
                file.remove()

    def _target_of(self, compiled: CompiledCell, file: TrialFile) -> Target:
        return self._confined(self.trial_target(compiled, str(file.path), self._library(compiled).path))

    def _shared_file(self, compiled: CompiledCell, source: Template) -> TrialFile | None:
        """Return a file that other interleaved trials use and that this cell can share, if any."""
        for file in self._files:
            if (
                file.users
                and file.is_copy(source.path, self.keeping_plan(self._target_of(compiled, file)))
                and all(self.can_share_file(user) and self._only_reads(user, file) for user in (*file.users, compiled))
            ):
                return file
        return None

    def _only_reads(self, compiled: CompiledCell, file: TrialFile) -> bool:
        asked = compiled.task.with_all_statements()
        work = as_json([asked.statements, asked.transactions])
        key = json.dumps([*work, self._library(compiled).path])
        if key not in self._reading:
            target = self._target_of(compiled, file)
            self._reading[key] = not any(writes_by_transaction(compiled, target).values())
        return self._reading[key]

    def _set_file(self, plan: WorkerPlan[SetFileTask]) -> None:
        ask(plan, FileSet, interrupted=self._interrupted)

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return the size of the template file in bytes, loading it if necessary.

        Raises DbdynoError.
        """
        source = self._source(compiled, self._library(compiled))
        self._loaded.setdefault(source.path, source)
        return source.path.stat().st_size

    def close(self) -> None:
        """Forget the files; they are removed with the workspace."""
        self._files.clear()

    def _confined(self, target: Target) -> Target:
        """Return the target with access to other files denied, unless writes are allowed."""
        return target | {"confined": not self._allow_writes}

    def _trial_file(self, name: str) -> TrialFile:
        return TrialFile(self._directory / name, self.side_files, self._interrupted)

    def _free_file(self) -> TrialFile:
        free = next((file for file in self._files if not file.users), None)
        if free is None:
            free = self._trial_file(f"trial-{len(self._files) + 1}.db")
            self._files.append(free)
        return free

    def _library(self, compiled: CompiledCell) -> Library:
        """Return a cell's library, which is found once per run."""
        key = self.decides_library(compiled)
        if key not in self._libraries:
            self._libraries[key] = self.find_library(compiled)
        return self._libraries[key]

    def _source(self, compiled: CompiledCell, library: Library) -> Template:
        """Return the template file of a cell. A named file is its own template if possible."""
        named = compiled.cell.system.database
        if named is not None:
            return self._named(NamedFile(Path(named), self.side_files), compiled, library)

        def load(path: Path) -> Any:
            plan = compiled.load_plan(self._confined(self.load_target(compiled, str(path), library.path)))
            return ask(plan, Loaded, interrupted=self._interrupted).model_dump(mode="json")["tables"]

        return template(cache_directory("templates") / f"{compiled.template_key(library.identity)}.db", load)

    def _named(self, file: NamedFile, compiled: CompiledCell, library: Library) -> Template:
        """Return the template for trials on a named file: the file itself, or one complete copy of it."""
        key = (file.path, library.path, compiled.settings.file_settings, compiled.added)
        if key in self._wholes:
            return Template(self._wholes[key], 0.0)
        seen = self._seen.setdefault(file.path, file.state())
        if seen != file.state():
            raise SystemFailed(
                f"{file.path}: the file changed during the run, but all trials must start from the same state"
            )
        if not file.left() and not compiled.settings.file_settings and not compiled.added:
            return Template(file.path, 0.0)
        start = time.monotonic()
        whole = self._directory / f"named-{len(self._wholes) + 1}.db"
        file.copy(whole, self._interrupted)
        self.make_whole(compiled, str(whole), library.path)
        if compiled.added:
            target = self._confined(self.load_target(compiled, str(whole), library.path))
            plan = compiled.statements_plan(target, compiled.added)
            ask(plan, Loaded, interrupted=self._interrupted)
        self._wholes[key] = whole
        return Template(whole, time.monotonic() - start)


def _engine(compiled: CompiledCell) -> str:
    return compiled.cell.system.engine
