"""Provision SQLite files."""

from collections.abc import Hashable

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.files.database_file import SideFiles
from dbdyno.engines.files.library import Library
from dbdyno.engines.files.provisioner import FileProvisioner
from dbdyno.engines.sqlite.library import find_library
from dbdyno.engines.sqlite.targets import file_plan, load_target, named_target, settings_of, trial_target
from dbdyno.model.events.answers import FileSet
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.tasks import SetFileTask, Target
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import ask

# Part of the worker's error if a file can't take a setting.
_KEEPS = ": the file keeps "


class SqliteProvisioner(FileProvisioner):
    """Creates and keeps the SQLite files of trials."""

    side_files = SideFiles(("-wal", "-journal"), ("-shm",))

    def decides_library(self, compiled: CompiledCell) -> Hashable:
        """Return the settings that determine the library."""
        return settings_of(compiled).of_library

    def find_library(self, compiled: CompiledCell) -> Library:
        """Find or build the library."""
        return find_library(settings_of(compiled))

    def load_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Return the target for loading a file."""
        return load_target(compiled, path, library)

    def trial_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Return the target of a trial."""
        return trial_target(compiled, path, library)

    def keeping_plan(self, target: Target) -> WorkerPlan[SetFileTask] | None:
        """Return the plan that sets the journal mode in the file, if one is requested."""
        return file_plan(target) if target["file_pragmas"] else None

    def can_share_file(self, compiled: CompiledCell) -> bool:
        """Allow sharing unless a client locks others out or trials begin with a cold page cache."""
        settings = settings_of(compiled)
        locking = [
            *settings.trial_pragmas,
            *(statement.sql for statement in compiled.task.with_all_statements().statements),
        ]
        locks = "locking_mode" in str(locking).lower() or not compiled.task.begins <= {"deferred"}
        return compiled.definition.load.fresh_os_cache == "warm" and not locks

    def make_whole(self, compiled: CompiledCell, path: str, library: str | None) -> None:
        """Write the log back to the file, and apply the settings that determine its bytes."""
        ask(file_plan(named_target(compiled, path, library)), FileSet, interrupted=self._interrupted)

    def check_kept(self, error: SystemFailed) -> str | None:
        """Return a hint if a file with tables can't take a setting."""
        return "leave it out, or create a file with this setting" if _KEEPS in str(error) else None
