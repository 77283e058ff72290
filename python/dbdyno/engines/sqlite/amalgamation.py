"""SQLite's amalgamation as files: finding it in a directory, reading its version, keeping it in the cache."""

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dbdyno.base.errors import InputError, reason
from dbdyno.base.paths import cache_directory
from dbdyno.runtime.workspace.claims import Claim, remove_abandoned

# Its names in directories, the usual one first.
_NAMES = ("sqlite3.c", "sqlite3/sqlite3.c", "sqlite3-binding.c", "code/sqlite3-binding.c")
_HEADERS = ("sqlite3.h", "sqlite3ext.h")

_VERSION = re.compile(rb'^#[ \t]*define[ \t]+SQLITE_VERSION[ \t]+"([^"\n]+)"', re.MULTILINE)

# Begins the name of a directory that is not complete.
_UNFINISHED = "unfinished-"


def find_amalgamation(directory: Path) -> Path | None:
    """Find the amalgamation in a directory: the first file of a known name that says its version."""
    for path in (directory / name for name in _NAMES):
        if path.is_file() and _define(path) is not None:
            return path
    return None


def source_version(file: Path) -> str:
    """Read the version that an amalgamation defines. Raises InputError where the file cannot be read, or has none."""
    version = _define(file)
    if version is None:
        problem = "this is no amalgamation of SQLite: it defines no SQLITE_VERSION"
        raise InputError(str(file), problem, "give the path of a `sqlite3.c`, or the directory it is in")
    return version


def _define(file: Path) -> str | None:
    try:
        found = _VERSION.search(file.read_bytes())
    except OSError as error:
        raise InputError(str(file), f"it cannot be read: {reason(error)}", "give a file that can be read") from error
    return found[1].decode(errors="replace") if found else None


def amalgamation_files(source: Path) -> dict[str, Path]:
    """Give an amalgamation and the headers beside it, by the names under which they are kept.

    A source of another name, such as Go's ``sqlite3-binding.c``, gets the usual one, and so does its header. Its text
    stays as it is: the condition around it (``#ifndef USE_LIBSQLITE3``) holds where nobody defines that name.
    """
    files = {"sqlite3.c": source}
    for name in _HEADERS:
        for beside in (source.with_name(name), source.with_name(name.replace("sqlite3.", "sqlite3-binding."))):
            if beside.is_file():
                files.setdefault(name, beside)
    return files


def keep_by_content(source: Path) -> Path:
    """Keep an amalgamation with its headers in the cache, the same content once; give the directory."""
    files = amalgamation_files(source)
    digest = hashlib.sha256()
    for name, path in files.items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return keep(files, f"content-{digest.hexdigest()[:24]}")


def kept(name: str) -> Path:
    """Give the directory in the cache that sources are kept in under a name, whether or not it is there."""
    return sources_directory() / name


def keep(files: Mapping[str, Path], name: str) -> Path:
    """Copy files into a directory of the cache, whole or not at all; give it. One that is there stays as it is."""
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
                # Another process was quicker, with the same content.
                if not directory.is_dir():
                    raise
    return directory


def sources_directory() -> Path:
    """Give the directory of the cache that sources are kept in."""
    return cache_directory("sources")


@contextmanager
def unfinished_directory() -> Iterator[str]:
    """Make a directory in the cache, from which others can be renamed into it; it goes when its block ends."""
    remove_abandoned(sources_directory(), _UNFINISHED)
    claim = Claim(sources_directory(), _UNFINISHED)
    try:
        claim.path.mkdir(mode=0o700)
        yield str(claim.path)
    finally:
        claim.release()
