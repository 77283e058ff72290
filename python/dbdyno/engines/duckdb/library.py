"""DuckDB's library: the one that is named, else one that was fetched, else one that is installed."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from dbdyno.base.errors import InputError
from dbdyno.base.paths import cache_directory
from dbdyno.engines.duckdb.settings import DuckdbSettings
from dbdyno.engines.files.library import Library
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.plan.cell import PLAN
from dbdyno.runtime.worker import ask

NAME = "libduckdb.so"

_INSTALLED = ("/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib", "/opt/duckdb/lib", "/opt/duckdb")


def find_library(settings: DuckdbSettings) -> Library:
    """Give the library that settings ask for. Starts a worker to look at it.

    Raises InputError where there is none, and SystemFailed where it cannot be loaded.
    """
    path = settings.library
    if path is not None and not Path(path).is_file():
        raise InputError("library", f"there is no file `{path}`", f"give the path of DuckDB's `{NAME}`")
    if path is None:
        found = next(found_libraries(), None)
        if found is None:
            hint = "`dbdyno duckdb get` fetches it by npm, and `library=` names one: duckdb:?library=PATH"
            raise InputError("duckdb:", f"there is no `{NAME}` on this machine", hint)
        path = str(found)
    return Library(path, identity(path))


def identity(path: str) -> str:
    """Give a library's version and source. Raises SystemFailed where it is none of DuckDB's."""
    target = {"engine": "duckdb", "path": ":memory:", "library": path}
    plan = {"schema": PLAN, "seed": 0, "task": {"kind": "inspect", "target": target}}
    facts = ask(plan, FactsRead, 60.0).engine
    return f"{facts.version} {facts.source_id}"


def found_libraries() -> Iterator[Path]:
    """Give the libraries that are here: those that were fetched, the newest first, then those that are installed."""
    yield from sorted(fetched().glob(f"*/{NAME}"), key=lambda path: _number(path.parent.name), reverse=True)
    named = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    seen = set[Path]()
    for directory in (*filter(None, named), *_INSTALLED, *_of_architecture()):
        path = Path(directory) / NAME
        if path.is_file() and path.resolve() not in seen:
            seen.add(path.resolve())
            yield path


def fetched() -> Path:
    """Give the directory of those that were fetched, one below it for each version."""
    return cache_directory("duckdb")


def _of_architecture() -> Iterator[str]:
    yield from (str(path) for path in Path("/usr/lib").glob("*-linux-gnu*") if path.is_dir())


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
