"""Provision DuckDB files."""

from collections.abc import Hashable
from typing import Any

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.duckdb.library import find_library
from dbdyno.engines.duckdb.settings import DuckdbSettings
from dbdyno.engines.files.database_file import SideFiles
from dbdyno.engines.files.library import Library
from dbdyno.engines.files.provisioner import FileProvisioner
from dbdyno.engines.provisioner import ProvisioningContext
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.tasks import InspectTask, Target
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import ask


class DuckdbProvisioner(FileProvisioner):
    """Creates and keeps the DuckDB files of trials."""

    side_files = SideFiles((".wal",))

    def __init__(self, context: ProvisioningContext) -> None:
        """Create the provisioner without creating files."""
        super().__init__(context)
        self._taken: set[DuckdbSettings] = set()

    def check(self, compiled: CompiledCell) -> None:
        """Also check the settings, and that none of them would change a named file's format. Raises DbdynoError."""
        file_settings = _settings(compiled).file_settings
        if compiled.cell.system.database is not None and file_settings:
            name = file_settings[0][0]
            problem = f"`{name}` only applies to new files, but this file exists"
            raise InputError(compiled.cell.system.name, problem, "leave it out, or create a file with this setting")
        super().check(compiled)
        self._check_settings(compiled)

    def _check_settings(self, compiled: CompiledCell) -> None:
        """Open a database once with the settings. Raises InputError if the library rejects them."""
        settings = _settings(compiled)
        if settings in self._taken:
            return
        library = self._library(compiled).path
        path = self._directory / "settings.db"
        self._inspect(_target(str(path), library) | {"settings": _listed(settings.file_settings)})
        try:
            self._inspect(_target(str(path), library) | {"settings": _listed(settings.options)})
        except SystemFailed as error:
            hint = "`select name from duckdb_settings()` lists all settings"
            raise InputError(compiled.cell.system.name, str(error), hint) from None
        finally:
            path.unlink(missing_ok=True)
        self._taken.add(settings)

    def _inspect(self, target: Target) -> None:
        ask(WorkerPlan(task=InspectTask(target=target)), FactsRead, interrupted=self._interrupted)

    def decides_library(self, compiled: CompiledCell) -> Hashable:
        """Return the library's path."""
        return _settings(compiled).library

    def find_library(self, compiled: CompiledCell) -> Library:
        """Find the library."""
        return find_library(_settings(compiled))

    def load_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Return the target for loading a file."""
        return _target(path, library) | {"settings": _listed(_settings(compiled).file_settings)}

    def trial_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Return the target of a trial."""
        return _target(path, library) | {
            "settings": _listed(_settings(compiled).options),
            "os_cache": compiled.definition.load.fresh_os_cache,
        }

    def make_whole(self, compiled: CompiledCell, path: str, library: str | None) -> None:
        """Open and close the file, because DuckDB then writes the log back."""
        self._inspect(_target(path, library))


def _settings(compiled: CompiledCell) -> DuckdbSettings:
    return compiled.settings if isinstance(compiled.settings, DuckdbSettings) else DuckdbSettings()


def _target(path: str, library: str | None) -> dict[str, Any]:
    return {"engine": "duckdb", "path": path, "library": library}


def _listed(pairs: tuple[tuple[str, str], ...]) -> list[list[str]]:
    return [list(pair) for pair in pairs]
