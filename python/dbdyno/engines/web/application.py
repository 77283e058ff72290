"""Find the web application, or build it from the source in this package."""

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
from dbdyno.engines.compiler import run_compiler

PROGRAM = "dbdyno-webapp"

VARIABLE = "DBDYNO_WEBAPP"
"""The environment variable with the path of another program to use."""

# Maximum length of cargo's output in a message.
_MAX_OUTPUT_LENGTH = 500

_SOURCE = ("Cargo.toml", "Cargo.lock")


def source_directory() -> Path:
    """Return the directory of its source, a Rust package."""
    return package_path("engines", "web", "app")


def find_application() -> Path | None:
    """Find the program: ``DBDYNO_WEBAPP``, among this Python's scripts, or in the cache; ``None``: it isn't built.

    Raises InputError if the variable doesn't name an executable file.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise InputError(f"{VARIABLE}={named}", "not an executable file", "give the program's path, or unset it")
        return Path(named).absolute()
    beside = (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent)
    for path in (*(directory / PROGRAM for directory in beside), _built()):
        if os.access(path, os.X_OK):
            return path
    return None


def application() -> Path:
    """Return the program's path, building it if necessary, which takes some minutes. Raises DbdynoError."""
    return find_application() or build_application()


def build_application() -> Path:
    """Build it into the cache, even if it exists already, and return its path. Raises DbdynoError."""
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
                raise SystemFailed(f"building {PROGRAM} failed: cargo reported: {said[-_MAX_OUTPUT_LENGTH:]}")
            # Atomically, so that no other process can execute an incomplete file.
            os.replace(Path(scratch) / "release" / PROGRAM, built)  # noqa: PTH105
    except OSError as error:
        raise SystemFailed(f"building {PROGRAM} in {built.parent}: {reason(error)}") from error
    return built


def _built() -> Path:
    """Return the path in the cache that it is built to; each version of the source has its own."""
    return cache_directory("webapp", _digest()) / PROGRAM


def _digest() -> str:
    directory = source_directory()
    files = [directory / name for name in _SOURCE] + sorted((directory / "src").glob("*.rs"))
    content = hashlib.sha256()
    for path in files:
        content.update(path.name.encode() + b"\0" + path.read_bytes())
    return content.hexdigest()[:16]
