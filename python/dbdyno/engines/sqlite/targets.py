"""Plan targets for SQLite files."""

from dbdyno.engines.sqlite.settings import SqliteSettings
from dbdyno.model.plan.cell import CompiledCell
from dbdyno.model.plan.tasks import SetFileTask, Target
from dbdyno.model.plan.worker_plan import WorkerPlan


def settings_of(compiled: CompiledCell) -> SqliteSettings:
    """Return the SQLite settings of a cell."""
    return compiled.settings if isinstance(compiled.settings, SqliteSettings) else SqliteSettings()


def load_target(compiled: CompiledCell, database: str, library: str | None = None) -> Target:
    """Return the target for loading a file; ``library``: a shared library, ``None``: the bundled one."""
    return _file(database, library) | {"pragmas": _listed(settings_of(compiled).load_pragmas)}


def named_target(compiled: CompiledCell, database: str, library: str | None = None) -> Target:
    """Return the target for applying the load PRAGMAs to a copy of a named file."""
    return _file(database, library) | {"file_pragmas": _listed(settings_of(compiled).load_pragmas)}


def trial_target(compiled: CompiledCell, database: str, library: str | None = None) -> Target:
    """Return the target of a trial."""
    settings = settings_of(compiled)
    return _file(database, library) | {
        "cache": settings.cache,
        "open_mutex": settings.open_mutex,
        "config_threading": settings.config_threading,
        "busy_timeout_ms": settings.busy_timeout_ms,
        "pragmas": _listed(settings.connection_pragmas),
        "file_pragmas": _listed(settings.file_pragmas),
        "os_cache": compiled.definition.load.fresh_os_cache,
    }


def file_plan(target: Target) -> WorkerPlan[SetFileTask]:
    """Return the plan that stores the target's ``file_pragmas`` in the file before a trial."""
    return WorkerPlan(task=SetFileTask(target=target))


def _file(database: str, library: str | None) -> Target:
    return {"engine": "sqlite", "path": database, "library": library}


def _listed(pairs: tuple[tuple[str, str], ...]) -> list[list[str]]:
    return [list(pair) for pair in pairs]
