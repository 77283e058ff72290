"""SQLite builds with line numbers, cached by a hash of their source, options and compiler."""

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.base.paths import cache_directory
from dbdyno.cpu.source import read_source_map
from dbdyno.engines.compiler import run_compiler
from dbdyno.engines.sqlite.library import c_compiler
from dbdyno.engines.sqlite.releases import release_source

# Default optimization if `--cflags` has none. Line numbers don't change the instructions.
_USUAL = ("-O2",)
_ALWAYS = ("-g", "-fPIC", "-ffile-prefix-map={directory}=.")

# Bind functions of other libraries at load time, so that binding is not counted. Functions of the library call each
# other directly, as in a program with SQLite compiled into it.
_LINK = ("-shared", "-Wl,-z,now", "-Wl,-Bsymbolic-functions", "-Wl,--build-id=none")
_LIBRARIES = ("-lpthread", "-ldl", "-lm")

# Increased if the build or the stored files change, to invalidate builds by older versions.
_FORMAT = 2

SOURCE = "sqlite3.c"
LIBRARY = "libsqlite3.so"
HEADER = "sqlite3.h"
BUNDLED = "bundled"

# The API's variables: the amalgamation defines them, but a program must only declare them.
_VARIABLE = re.compile(r"^SQLITE_API\s+((?:const\s+)?char\s+\*?\s*sqlite3_\w+(?:\[\])?)\s*(?:=[^;]*)?;", re.MULTILINE)


class ObjectSize(NamedTuple):
    """Bytes of code and constants (``text``), of initialized variables (``data``) and of others (``bss``)."""

    text: int
    data: int
    bss: int


@dataclass(frozen=True)
class SqliteSource:
    """An amalgamation. ``version``, ``source_id``: its own identification; ``family``: its origin."""

    path: Path
    version: str
    source_id: str
    family: str
    sha256: str
    lines: int
    bytes: int

    def facts(self) -> dict[str, Any]:
        """Return all fields except for the path, which is specific to this machine."""
        return {name: value for name, value in asdict(self).items() if name != "path"}


@dataclass(frozen=True)
class Build:
    """A library built from a source. ``directory`` contains it and a copy of the source.

    ``compiler``: its version line; ``cflags``: all options that affect the code, including defaults;
    ``binary_sha256``: hash of the library.
    """

    directory: Path
    source: SqliteSource
    cflags: str
    compiler: str
    binary_sha256: str
    size: ObjectSize

    @property
    def library(self) -> Path:
        """The shared object."""
        return self.directory / LIBRARY

    @property
    def text(self) -> Path:
        """The copy of the source."""
        return self.directory / SOURCE

    @property
    def label(self) -> str:
        """A short name."""
        return f"{self.source.version} {self.cflags}".strip()


def find_source(spec: str) -> SqliteSource:
    """Find an amalgamation: ``bundled``, a release, or a path (:func:`dbdyno.engines.sqlite.releases.release_source`).

    Raises InputError if it doesn't exist, SystemFailed if it cannot be downloaded.
    """
    source = release_source(spec)
    return read_source(source.directory / SOURCE, source.title)


def read_source(path: Path, family: str) -> SqliteSource:
    """Read the identification of an amalgamation. Raises InputError if the file isn't one."""
    content = path.read_bytes()
    version = re.search(rb'^#define\s+SQLITE_VERSION\s+"([^"]+)"', content, re.MULTILINE)
    source_id = re.search(rb'^#define\s+SQLITE_SOURCE_ID\s+"([^"]+)"', content, re.MULTILINE)
    if version is None or source_id is None:
        raise InputError("--sqlite", f"`{path}` is not a SQLite amalgamation", "give a `sqlite3.c` of 3.6.18 or newer")
    return SqliteSource(
        path,
        version[1].decode(),
        source_id[1].decode(),
        family,
        hashlib.sha256(content).hexdigest(),
        content.count(b"\n"),
        len(content),
    )


def build(spec: str, cflags: str) -> Build:
    """Build a library, or reuse a cached one with the same source, options and compiler.

    ``cflags``: the user's options. Raises InputError if the source is invalid, SystemFailed if there is no compiler or
    it fails.
    """
    source = find_source(spec)
    flags = _flags(cflags)
    compiler, version = find_compiler()
    key = hashlib.sha256()
    for part in (source.sha256, source.family, "\0".join(flags), compiler, version, str(_FORMAT)):
        key.update(hashlib.sha256(part.encode()).digest())
    directory = cache_directory("cpu") / key.hexdigest()[:24]
    if not (directory / "build.json").is_file():
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=directory.parent))
        try:
            shutil.copyfile(source.path, unfinished / SOURCE)
            _compile(unfinished, compiler, flags)
            facts = {"cflags": shlex.join(flags), "compiler": version, "source": source.facts()}
            (unfinished / "build.json").write_text(json.dumps(facts), encoding="utf-8")
            try:
                unfinished.rename(directory)
            except OSError:
                # Another process finished first and may use its build, or an incomplete build exists.
                if not (directory / "build.json").is_file():
                    shutil.rmtree(directory, ignore_errors=True)
                    unfinished.rename(directory)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return _read(directory)


def interface(build: Build) -> str:
    """Return the header of a build, extracted from its amalgamation. Raises SystemFailed."""
    source = read_source_map(build.text)
    lines = [line for line, file in zip(source.lines, source.files, strict=True) if file == HEADER]
    if not lines:
        raise SystemFailed(f"the SQLite {build.source.version} source does not contain {HEADER}")
    return _VARIABLE.sub(r"extern \1;", "\n".join(lines) + "\n")


def _flags(cflags: str) -> list[str]:
    try:
        given = shlex.split(cflags)
    except ValueError as error:
        raise InputError("--cflags", f"`{cflags}`: {str(error).lower()}", "close the quotes") from None
    return given if any(each.startswith("-O") for each in given) else [*_USUAL, *given]


def _read(directory: Path) -> Build:
    facts = json.loads((directory / "build.json").read_text(encoding="utf-8"))
    source = SqliteSource(path=directory / SOURCE, **facts["source"])
    binary = hashlib.sha256((directory / LIBRARY).read_bytes()).hexdigest()
    return Build(directory, source, facts["cflags"], facts["compiler"], binary, object_size(directory / "sqlite3.o"))


def object_size(path: Path) -> ObjectSize:
    """Return the sizes that ``size`` of binutils prints for an object file. Raises SystemFailed."""
    command = ["size", "--format=berkeley", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise SystemFailed(f"`size` cannot be started ({reason(error)}): install binutils") from error
    if done.returncode != 0:
        raise SystemFailed(f"`size` failed: {done.stderr.strip()}")
    return ObjectSize(*(int(each) for each in done.stdout.splitlines()[1].split()[:3]))


def find_compiler() -> tuple[str, str]:
    """Return the compiler's command and the first line of its `--version`. Raises SystemFailed."""
    compiler = c_compiler()
    said = subprocess.run(
        [compiler, "--version"], capture_output=True, encoding="utf-8", errors="replace", check=False
    ).stdout
    return compiler, said.partition("\n")[0].strip()


def _compile(directory: Path, compiler: str, flags: list[str]) -> None:
    always = [each.format(directory=directory) for each in _ALWAYS]
    # Use relative names, so that the object contains no paths of this machine.
    compile_command([compiler, *always, *flags, "-c", "-o", "sqlite3.o", SOURCE], directory)
    compile_command([compiler, *_LINK, *flags, "-o", LIBRARY, "sqlite3.o", *_LIBRARIES], directory)


def compile_command(command: list[str], directory: Path) -> None:
    """Run a compiler in a directory. Raises SystemFailed with its first error message."""
    done = run_compiler(command, directory)
    if done.returncode == 0:
        return
    telling = re.compile(r"\berror:|undefined reference|multiple definition")
    said = [line for line in done.stderr.splitlines() if telling.search(line)] or done.stderr.strip().splitlines()
    raise SystemFailed(f"building failed: {shlex.join(command)}: {said[0] if said else 'no message'}")
