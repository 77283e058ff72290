"""SQLite's files."""

from collections.abc import Hashable

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.files.database_file import SideFiles
from dbdyno.engines.files.library import Library
from dbdyno.engines.files.provisioner import FileProvisioner, Target
from dbdyno.engines.sqlite.library import find_library
from dbdyno.engines.sqlite.targets import file_plan, load_target, named_target, settings_of, trial_target
from dbdyno.model.events.answers import FileSet
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.steps import begins
from dbdyno.runtime.worker import ask

# What the worker says where a file cannot have a setting.
_KEEPS = ": the file keeps "


class SqliteProvisioner(FileProvisioner):
    """Keeps the files of SQLite that trials work on."""

    side_files = SideFiles(("-wal", "-journal"), ("-shm",))

    def decides_library(self, compiled: CompiledCell) -> Hashable:
        """Give the settings that decide how it is built, or where it is."""
        return settings_of(compiled).of_library

    def find_library(self, compiled: CompiledCell) -> Library:
        """Find it, or build it."""
        return find_library(settings_of(compiled))

    def load_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Name a file that is to be filled."""
        return load_target(compiled, path, library)

    def trial_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Name the file of a trial."""
        return trial_target(compiled, path, library)

    def keeping_plan(self, target: Target) -> Target | None:
        """Give the journal's mode, which the file keeps, where one is set."""
        return file_plan(target) if target["file_pragmas"] else None

    def can_share_file(self, compiled: CompiledCell) -> bool:
        """Allow it unless a client locks others out or the cell begins with a file outside the page cache."""
        settings = settings_of(compiled)
        locking = [*settings.trial_pragmas, *(each["sql"] for each in compiled.trial["statements"])]
        locks = "locking_mode" in str(locking).lower() or not begins(compiled.trial) <= {"deferred"}
        return compiled.definition.load.fresh_os_cache == "warm" and not locks

    def make_whole(self, compiled: CompiledCell, path: str, library: str | None) -> None:
        """Write the log back, and set what decides the bytes of a file."""
        ask(file_plan(named_target(compiled, path, library)), FileSet, interrupted=self._interrupted)

    def check_kept(self, error: SystemFailed) -> str | None:
        """Tell it of a file with tables."""
        return "leave it out, or make such a file" if _KEEPS in str(error) else None
