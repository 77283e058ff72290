"""A database that is a file: a copy of the template for each block of each cell."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.base.paths import cache_directory
from dbdyno.base.special_files import special_kind
from dbdyno.engines.files.database_file import NamedFile, SideFiles, State, TrialFile
from dbdyno.engines.files.library import Library
from dbdyno.engines.provisioner import Place, Ready
from dbdyno.engines.writes import ALLOW, OTHER_FILES, allowed, reaching_statements, refuse, writes_by_transaction
from dbdyno.model.events.answers import FileSet, Loaded
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.system import SystemSpec
from dbdyno.runtime.worker import ask
from dbdyno.runtime.workspace.templates import Template, template

# A system as a plan names it.
Target = dict[str, Any]

# The worker's message for a statement that the engine denied (`DENIED` in crates/engines/src/external_access.rs).
_DENIED = "not allowed on a copy of a database"


@dataclass(kw_only=True)
class Copied(Ready):
    """A copy of a file, whose engine denies statements that lead out of it."""

    system: SystemSpec

    def check(self, result: TrialResult) -> None:
        """Raise InputError if it denied one."""
        for message in result.failures.values():
            if _DENIED in message:
                raise InputError(self.system.name, message, f"leave it out, or allow it with `{ALLOW}`")


class FileProvisioner(ABC):
    """Keeps the files that trials work on. Interleaved trials share one if they only read; others have one each.

    What an engine's own says of its files are the abstract methods.
    """

    side_files: SideFiles

    def __init__(self, place: Place) -> None:
        """Make nothing yet. Where writes are allowed, statements may lead to files that are not copies of dbdyno's."""
        self._interrupted = place.interrupted
        self._allow_writes = place.allow_writes
        self.observations: list[dict[str, Any]] = []
        self._judged: set[str] = set()
        # By statements and library: whether a cell's transactions only read.
        self._reading: dict[str, bool] = {}
        # Provisioners have files of the same names: those of two named files are at work side by side.
        self._directory = place.workspace.part()
        self._files = [self._trial_file("trial.db")]
        self._libraries: dict[Hashable, Library] = {}
        # Of named files: how they were at first, and copies that have all that lay beside them.
        self._seen: dict[Path, tuple[State, ...]] = {}
        self._wholes: dict[tuple[Any, ...], Path] = {}
        # What was loaded before the trial that tells of it.
        self._loaded: dict[Path, Template] = {}

    @abstractmethod
    def decides_library(self, compiled: CompiledCell) -> Hashable:
        """Give the settings that decide which library it is."""

    @abstractmethod
    def find_library(self, compiled: CompiledCell) -> Library:
        """Find the library that a cell's settings ask for, or make it. Raises DbdynoError."""

    @abstractmethod
    def load_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Name a file that is to be filled."""

    @abstractmethod
    def trial_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Name the file of a trial."""

    def keeping_plan(self, target: Target) -> Target | None:
        """Give the plan that gives the file of a trial the settings which it keeps; ``None``: there are none."""
        return None

    def can_share_file(self, compiled: CompiledCell) -> bool:
        """Whether several workers can read the file of a trial at the same time."""
        return False

    @abstractmethod
    def make_whole(self, compiled: CompiledCell, path: str, library: str | None) -> None:
        """Bring what lies beside a copy of a named file into it, with the settings of files. Raises DbdynoError."""

    def check_kept(self, error: SystemFailed) -> str | None:
        """Give what to do where a file cannot have a setting of files; ``None``: the error says something else."""
        return None

    def check(self, compiled: CompiledCell) -> None:
        """Find the library, or build it, and see that a named file is there and would not be written over."""
        named = compiled.cell.system.database
        name = compiled.cell.system.name
        if named is not None and not Path(named).is_file():
            kind = special_kind(Path(named))
            problem = "there is no such file" if kind is None else f"is {kind}, not a file"
            raise InputError(name, problem, f"give an existing database, or `{_engine(compiled)}:` for a new one")
        if named is not None and (compiled.tables or compiled.before):
            problem = "the experiment makes its own tables, and a named file is not written to"
            raise InputError(name, problem, f"use `{_engine(compiled)}:`, or an experiment without tables")
        self._judge(compiled)
        library = self._library(compiled)
        if named is not None and compiled.settings.of_files:
            self._check_kept(NamedFile(Path(named), self.side_files), compiled, library)

    def _judge(self, compiled: CompiledCell) -> None:
        """See that no statement leads to a file that is not dbdyno's. Raises InputError, unless that is allowed."""
        asked = json.dumps([compiled.before, compiled.after, compiled.trial["statements"]])
        if asked in self._judged:
            return
        library = self._library(compiled)
        found = reaching_statements(compiled, self.load_target(compiled, "", library.path), [])
        if not self._allow_writes:
            refuse(compiled.cell.system, OTHER_FILES, found)
        self._judged.add(asked)
        if found:
            self.observations.append(allowed(compiled.cell.system, OTHER_FILES, found))

    def _check_kept(self, file: NamedFile, compiled: CompiledCell, library: Library) -> None:
        """See that a copy of a named file takes what decides its bytes. Raises InputError."""
        try:
            self._named(file, compiled, library)
        except SystemFailed as error:
            hint = self.check_kept(error)
            if hint is None:
                raise
            raise InputError(compiled.cell.system.name, str(error), hint) from None

    @contextmanager
    def ready(self, compiled: CompiledCell, block: int) -> Iterator[Ready]:
        """Have the file in the state of its template."""
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

    def _target_of(self, compiled: CompiledCell, file: TrialFile) -> Target:
        return self._confined(self.trial_target(compiled, str(file.path), self._library(compiled).path))

    def _shared_file(self, compiled: CompiledCell, source: Template) -> TrialFile | None:
        """Return a file that interleaved trials have at the moment and that this cell can read beside them, if any."""
        for file in self._files:
            if (
                file.users
                and file.is_copy(source.path, self.keeping_plan(self._target_of(compiled, file)))
                and all(self.can_share_file(each) and self._only_reads(each, file) for each in (*file.users, compiled))
            ):
                return file
        return None

    def _only_reads(self, compiled: CompiledCell, file: TrialFile) -> bool:
        statements, transactions = compiled.trial["statements"], compiled.trial["transactions"]
        key = json.dumps([statements, transactions, self._library(compiled).path])
        if key not in self._reading:
            target = self._target_of(compiled, file)
            self._reading[key] = not any(writes_by_transaction(compiled, target).values())
        return self._reading[key]

    def _set_file(self, plan: Target) -> None:
        ask(plan, FileSet, interrupted=self._interrupted)

    def bytes_of_copy(self, compiled: CompiledCell) -> int:
        """Return the size of the file that a trial of the cell starts from, which is loaded where it was not yet.

        Raises DbdynoError.
        """
        source = self._source(compiled, self._library(compiled))
        self._loaded.setdefault(source.path, source)
        return source.path.stat().st_size

    def close(self) -> None:
        """Forget the files: they lie in the workspace."""
        self._files.clear()

    def _confined(self, target: Target) -> Target:
        """Return the target whose engine denies statements that lead out of the file, unless that is allowed."""
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
        """Give a cell's library, which is looked for once in a run."""
        key = self.decides_library(compiled)
        if key not in self._libraries:
            self._libraries[key] = self.find_library(compiled)
        return self._libraries[key]

    def _source(self, compiled: CompiledCell, library: Library) -> Template:
        """Give the file a trial starts from, and what it took to make; a named file is its own, where it can be."""
        named = compiled.cell.system.database
        if named is not None:
            return self._named(NamedFile(Path(named), self.side_files), compiled, library)

        def load(path: Path) -> Any:
            plan = compiled.load_plan(self._confined(self.load_target(compiled, str(path), library.path)))
            return ask(plan, Loaded, interrupted=self._interrupted).model_dump(mode="json")["tables"]

        return template(cache_directory("templates") / f"{compiled.template_key(library.identity)}.db", load)

    def _named(self, file: NamedFile, compiled: CompiledCell, library: Library) -> Template:
        """Give what trials on a named file start from: the file, or one copy of it that is made whole."""
        key = (file.path, library.path, compiled.settings.of_files, compiled.added)
        if key in self._wholes:
            return Template(self._wholes[key], 0.0)
        seen = self._seen.setdefault(file.path, file.state())
        if seen != file.state():
            raise SystemFailed(f"{file.path}: it was written to since the run began, whose trials start from one state")
        if not file.left() and not compiled.settings.of_files and not compiled.added:
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
