"""Find DuckDB's library: the named one, otherwise the newest fetched one, otherwise an installed one."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from dbdyno.base.errors import InputError
from dbdyno.base.paths import cache_directory
from dbdyno.engines.duckdb.settings import DuckdbSettings
from dbdyno.engines.files.library import Library
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.plan.tasks import InspectTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import ask

NAME = "libduckdb.so"

_INSTALLED = ("/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib", "/opt/duckdb/lib", "/opt/duckdb")


def find_library(settings: DuckdbSettings) -> Library:
    """Return the library that settings select. Starts a worker to read its version.

    Raises InputError if it doesn't exist, and SystemFailed if it can't be loaded.
    """
    path = settings.library
    if path is not None and not Path(path).is_file():
        raise InputError("library", f"no such file: `{path}`", f"give the path of DuckDB's `{NAME}`")
    if path is None:
        found = next(found_libraries(), None)
        if found is None:
            hint = "fetch it from npm with `dbdyno duckdb get`, or name one with duckdb:?library=PATH"
            raise InputError("duckdb:", f"`{NAME}` isn't installed on this machine", hint)
        path = str(found)
    return Library(path, identity(path))


def identity(path: str) -> str:
    """Return a library's version and source id. Raises SystemFailed if it isn't a DuckDB library."""
    target = {"engine": "duckdb", "path": ":memory:", "library": path}
    facts = ask(WorkerPlan(task=InspectTask(target=target)), FactsRead, 60.0).engine
    return f"{facts.version} {facts.source_id}"


def found_libraries() -> Iterator[Path]:
    """Yield the libraries on this machine: the fetched ones, newest first, then the installed ones."""
    yield from sorted(fetched().glob(f"*/{NAME}"), key=lambda path: _number(path.parent.name), reverse=True)
    named = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    seen = set[Path]()
    for directory in (*filter(None, named), *_INSTALLED, *_of_architecture()):
        path = Path(directory) / NAME
        if path.is_file() and path.resolve() not in seen:
            seen.add(path.resolve())
            yield path


def fetched() -> Path:
    """Return the directory of fetched libraries, with a subdirectory per version."""
    return cache_directory("duckdb")


def _of_architecture() -> Iterator[str]:
    yield from (str(path) for path in Path("/usr/lib").glob("*-linux-gnu*") if path.is_dir())


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
