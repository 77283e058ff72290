"""DuckDB's files."""

from collections.abc import Hashable
from typing import Any

from dbdyno.engines.duckdb.library import find_library
from dbdyno.engines.duckdb.settings import DuckdbSettings
from dbdyno.engines.files.database_file import SideFiles
from dbdyno.engines.files.library import Library
from dbdyno.engines.files.provisioner import FileProvisioner, Target
from dbdyno.errors import InputError
from dbdyno.plan.cell import PLAN, CompiledCell
from dbdyno.worker import ask


class DuckdbProvisioner(FileProvisioner):
    """Keeps the files of DuckDB that trials work on."""

    side_files = SideFiles((".wal",))

    def check(self, compiled: CompiledCell) -> None:
        """See besides that a named file is not to be made anew in another form. Raises DbdynoError."""
        of_files = _settings(compiled).of_files
        if compiled.cell.system.database is not None and of_files:
            name = of_files[0][0]
            problem = f"`{name}` decides how a file is made, and this one is there"
            raise InputError(compiled.cell.system.name, problem, "leave it out, or make such a file")
        super().check(compiled)

    def decides_library(self, compiled: CompiledCell) -> Hashable:
        """Give its path."""
        return _settings(compiled).library

    def find_library(self, compiled: CompiledCell) -> Library:
        """Find it."""
        return find_library(_settings(compiled))

    def load_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Name a file that is to be filled."""
        return _target(path, library) | {"settings": _listed(_settings(compiled).of_files)}

    def trial_target(self, compiled: CompiledCell, path: str, library: str | None) -> Target:
        """Name the file of a trial."""
        return _target(path, library) | {
            "settings": _listed(_settings(compiled).options),
            "os_cache": compiled.definition.load.os_cache,
        }

    def make_whole(self, compiled: CompiledCell, path: str, library: str | None) -> None:
        """Open and close it: DuckDB brings a log into the file when it does."""
        plan = {"schema": PLAN, "seed": 0, "task": {"kind": "inspect", "target": _target(path, library)}}
        ask(plan, "facts", interrupted=self._interrupted)


def _settings(compiled: CompiledCell) -> DuckdbSettings:
    return compiled.settings if isinstance(compiled.settings, DuckdbSettings) else DuckdbSettings()


def _target(path: str, library: str | None) -> dict[str, Any]:
    return {"engine": "duckdb", "path": path, "library": library}


def _listed(pairs: tuple[tuple[str, str], ...]) -> list[list[str]]:
    return [list(pair) for pair in pairs]
