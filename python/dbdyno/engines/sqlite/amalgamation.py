"""SQLite's amalgamation: find it in a directory, read its version, store it in the cache."""

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dbdyno.base.errors import InputError, reason
from dbdyno.base.paths import cache_directory
from dbdyno.runtime.workspace.claims import Claim, remove_abandoned

# Its possible file names, the usual one first.
_NAMES = ("sqlite3.c", "sqlite3/sqlite3.c", "sqlite3-binding.c", "code/sqlite3-binding.c")
_HEADERS = ("sqlite3.h", "sqlite3ext.h")

_VERSION = re.compile(rb'^#[ \t]*define[ \t]+SQLITE_VERSION[ \t]+"([^"\n]+)"', re.MULTILINE)

# Name prefix of incomplete directories.
_UNFINISHED = "unfinished-"


def find_amalgamation(directory: Path) -> Path | None:
    """Find the amalgamation in a directory: the first file with a known name that defines a version."""
    for path in (directory / name for name in _NAMES):
        if path.is_file() and _define(path) is not None:
            return path
    return None


def source_version(file: Path) -> str:
    """Return an amalgamation's version. Raises InputError if the file can't be read or doesn't define one."""
    version = _define(file)
    if version is None:
        problem = "not a SQLite amalgamation: it doesn't define SQLITE_VERSION"
        raise InputError(str(file), problem, "give the path of a `sqlite3.c`, or the directory it is in")
    return version


def _define(file: Path) -> str | None:
    try:
        match = _VERSION.search(file.read_bytes())
    except OSError as error:
        raise InputError(str(file), f"can't read the file: {reason(error)}", "give a readable file") from error
    return match[1].decode(errors="replace") if match else None


def amalgamation_files(source: Path) -> dict[str, Path]:
    """Return the paths of an amalgamation and its headers, by the names under which they are cached.

    Files with other names, such as Go's ``sqlite3-binding.c``, are renamed to the usual ones. Their content doesn't
    change: the condition in Go's file (``#ifndef USE_LIBSQLITE3``) is true because dbdyno doesn't define that name.
    """
    files = {"sqlite3.c": source}
    for name in _HEADERS:
        for beside in (source.with_name(name), source.with_name(name.replace("sqlite3.", "sqlite3-binding."))):
            if beside.is_file():
                files.setdefault(name, beside)
    return files


def keep_by_content(source: Path) -> Path:
    """Store an amalgamation and its headers in the cache under a hash of their content; return the directory."""
    files = amalgamation_files(source)
    digest = hashlib.sha256()
    for name, path in files.items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return keep(files, f"content-{digest.hexdigest()[:24]}")


def kept(name: str) -> Path:
    """Return the cache directory for sources of a name. It may not exist."""
    return sources_directory() / name


def keep(files: Mapping[str, Path], name: str) -> Path:
    """Atomically copy files into a cache directory and return it. An existing directory isn't changed."""
    directory = kept(name)
    if not directory.is_dir():
        with unfinished_directory() as scratch:
            made = Path(scratch) / "made"
            made.mkdir()
            for file, path in files.items():
                shutil.copyfile(path, made / file)
            try:
                made.rename(directory)
            except OSError:
                # Another process has created the directory with the same content.
                if not directory.is_dir():
                    raise
    return directory


def sources_directory() -> Path:
    """Return the cache directory of all sources."""
    return cache_directory("sources")


@contextmanager
def unfinished_directory() -> Iterator[str]:
    """Create a temporary directory in the cache, from which directories can be renamed to their final names."""
    remove_abandoned(sources_directory(), _UNFINISHED)
    claim = Claim(sources_directory(), _UNFINISHED)
    try:
        claim.path.mkdir(mode=0o700)
        yield str(claim.path)
    finally:
        claim.release()
