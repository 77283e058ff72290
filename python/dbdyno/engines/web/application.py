"""The program of the web application: where it is, and building it from the source that the package brings."""

import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.base.paths import cache_directory
from dbdyno.base.resources import package_path
from dbdyno.engines.compiling import run_compiler

PROGRAM = "dbdyno-webapp"

VARIABLE = "DBDYNO_WEBAPP"
"""The environment variable that names a program in its place."""

# Characters of cargo's own words that a message repeats.
_LONGEST = 500

_SOURCE = ("Cargo.toml", "Cargo.lock")


def source_directory() -> Path:
    """Give the directory of its source, a package of Rust."""
    return package_path("engines", "web", "app")


def find_application() -> Path | None:
    """Find the program: ``DBDYNO_WEBAPP``, beside this Python's scripts, or as it was built; ``None``: it is not there.

    Raises InputError where the variable names no program.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise InputError(f"{VARIABLE}={named}", "there is no program of that name", "give its path, or unset it")
        return Path(named).absolute()
    beside = (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent)
    for path in (*(directory / PROGRAM for directory in beside), _built()):
        if os.access(path, os.X_OK):
            return path
    return None


def application() -> Path:
    """Give the program; the first time it is built, which takes cargo some minutes. Raises DbdynoError."""
    return find_application() or build_application()


def build_application() -> Path:
    """Build it into the cache, whether or not it is there, and give its path. Raises DbdynoError."""
    if shutil.which("cargo") is None:
        hint = f"install Rust (https://rustup.rs), or name a program that was built elsewhere by {VARIABLE}"
        raise InputError(PROGRAM, "building the web application needs cargo, which is not on the PATH", hint)
    built = _built()
    try:
        built.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=built.parent.parent, prefix="building-") as scratch:
            manifest = source_directory() / "Cargo.toml"
            options = ["--quiet", "--release", "--locked", "--manifest-path", str(manifest), "--target-dir", scratch]
            done = run_compiler(["cargo", "build", *options], Path(scratch))
            if done.returncode != 0:
                said = " ".join((done.stderr.strip() or done.stdout.strip() or "nothing").split())
                raise SystemFailed(f"building {PROGRAM} failed: cargo said: {said[-_LONGEST:]}")
            # In one step, so that nobody starts a part of it.
            os.replace(Path(scratch) / "release" / PROGRAM, built)  # noqa: PTH105
    except OSError as error:
        raise SystemFailed(f"building {PROGRAM} in {built.parent}: {reason(error)}") from error
    return built


def _built() -> Path:
    """Give the path that it is built to: of each source its own."""
    return cache_directory("webapp", _digest()) / PROGRAM


def _digest() -> str:
    directory = source_directory()
    files = [directory / name for name in _SOURCE] + sorted((directory / "src").glob("*.rs"))
    content = hashlib.sha256()
    for path in files:
        content.update(path.name.encode() + b"\0" + path.read_bytes())
    return content.hexdigest()[:16]
