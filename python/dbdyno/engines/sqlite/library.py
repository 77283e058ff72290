"""SQLite libraries: the bundled one, a shared library by its path, or one built from source with chosen options."""

import hashlib
import os
import secrets
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.base.paths import cache_directory, expand_user
from dbdyno.engines.compiler import run_compiler
from dbdyno.engines.files.library import Library
from dbdyno.engines.sqlite.settings import SqliteSettings
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.plan.tasks import InspectTask
from dbdyno.model.plan.worker_plan import WorkerPlan
from dbdyno.runtime.worker import ask, write_amalgamation

# Options from SQLite's documentation; the user's `cflags` follow and take precedence.
_FLAGS = ("-O2", "-g1", "-fPIC", "-shared")


def find_library(settings: SqliteSettings) -> Library:
    """Return the library that settings select, building it if necessary. Starts a worker to read its version.

    Raises InputError for a wrong path, and SystemFailed if building or loading fails.
    """
    path = settings.library
    if path is not None and not Path(path).is_file():
        raise InputError("library", f"no such file: `{path}`", "give the path of a shared SQLite library")
    if path is None and (settings.source or settings.cflags or settings.library_threading is not None):
        path = str(_build(settings))
    return Library(path, _identity(path))


def _identity(path: str | None) -> str:
    target = {"engine": "sqlite", "path": ":memory:", "library": path}
    facts = ask(WorkerPlan(task=InspectTask(target=target)), FactsRead, 60.0).engine
    return f"{facts.version} {facts.source_id}"


def _build(settings: SqliteSettings) -> Path:
    flags = shlex.split(settings.cflags or "")
    if settings.library_threading is not None:
        flags.append(f"-DSQLITE_THREADSAFE={settings.library_threading}")
    compiler = c_compiler()
    with tempfile.TemporaryDirectory(prefix="dbdyno-") as scratch:
        source = _source(settings.source, Path(scratch))
        key = hashlib.sha256()
        for part in (source.read_bytes(), "\0".join([compiler, *_FLAGS, *flags]).encode(), _version(compiler)):
            key.update(hashlib.sha256(part).digest())
        built = cache_directory("libraries") / f"sqlite-{key.hexdigest()[:24]}.so"
        if not built.exists():
            command = [
                compiler,
                *_FLAGS,
                *flags,
                "-o",
                str(Path(scratch) / "out.so"),
                str(source),
                "-lpthread",
                "-ldl",
                "-lm",
            ]
            done = run_compiler(command, Path(scratch))
            if done.returncode != 0:
                said = done.stderr.strip().splitlines()
                raise SystemFailed(
                    f"building SQLite failed: {shlex.join(command)}: {said[-1] if said else 'no message'}"
                )
            unfinished = built.with_suffix(f".{secrets.token_hex(8)}.tmp")
            shutil.copyfile(Path(scratch) / "out.so", unfinished)
            unfinished.rename(built)
    return built


def c_compiler() -> str:
    """Return the C compiler's command: ``CC``, or ``cc`` by default. Raises SystemFailed if it isn't installed."""
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        raise SystemFailed(
            f"building SQLite needs a C compiler, but `{compiler}` isn't installed: install it or set CC"
        )
    return compiler


def _source(source: str | None, scratch: Path) -> Path:
    if source is None:
        write_amalgamation(scratch)
        return scratch / "sqlite3.c"
    path = expand_user(source, "source")
    if path.is_dir():
        path /= "sqlite3.c"
    if not path.is_file():
        raise InputError("source", f"no such file: `{path}`", "give an amalgamation or its directory")
    return path


def _version(compiler: str) -> bytes:
    return subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
