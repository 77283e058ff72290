"""Compiles a user's program with a SQLite build, and counts it from start to end."""

import hashlib
import itertools
import json
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.base.paths import cache_directory
from dbdyno.cpu.attribution import PINNED, STAND_INS, attribute
from dbdyno.cpu.builds import BUNDLED, HEADER, SOURCE, Build, compile_command, find_compiler, interface
from dbdyno.cpu.callgrind import parse_profile, run_counted
from dbdyno.cpu.counting import Counted, classifier_of, counting_directory
from dbdyno.cpu.work import Work, WorkPart
from dbdyno.engines.sqlite.releases import release_source

# Increased if programs are compiled differently.
_FORMAT = 4

# File next to a program: the constants and functions that were defined for it.
_GIVEN = "given.json"

# Replacements for functions that older libraries lack, and the macro prefix that enables one.
_STAND_INS = Path(__file__).with_name(STAND_INS)
_STANDS_IN = "DBDYNO_STANDS_IN_"

# Deterministic replacements, and the functions that they replace.
_PINNED = Path(__file__).with_name(PINNED)
_WRAPPED = ("time", "gettimeofday", "clock_gettime", "clock", "getpid", "open", "open64")

_UNDECLARED = re.compile(
    r"error: (?:\W(?P<constant>SQLITE_\w+)\W undeclared|implicit declaration of function \W(?P<function>sqlite3_\w+))"
)

# The output of the developers' program with `--verify`.
_VERIFIED = re.compile(r"^Verification Hash.*$", re.MULTILINE)


def program_work(path: Path, arguments: str) -> Work:
    """Return a program with its arguments as work. Raises InputError if the file doesn't exist."""
    if not path.is_file():
        raise InputError("--program", f"`{path}`: no such file", "give the source of a program, such as `speedtest1.c`")
    try:
        shlex.split(arguments)
    except ValueError as error:
        raise InputError("--program-args", str(error).lower(), "close the quotes") from None
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    task = {"program": content, "arguments": arguments, "window": {}}
    notes = ["counts cover the whole program from start to end; the engine's part is listed separately"]
    return Work(path.name, [WorkPart(path.name, task, {}, once=True)], notes)


def build_program(path: Path, build: Build) -> Path:
    """Compile a program with a build's object, or reuse a cached one. Raises SystemFailed."""
    compiler, version = find_compiler()
    key = hashlib.sha256()
    for part in (path.read_bytes(), build.directory.name.encode(), version.encode(), str(_FORMAT).encode()):
        key.update(hashlib.sha256(part).digest())
    directory = cache_directory("cpu-programs") / key.hexdigest()[:24]
    binary = directory / path.stem
    if binary.is_file():
        return binary
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=directory.parent))
    try:
        shutil.copyfile(path, unfinished / path.name)
        shutil.copyfile(build.directory / "sqlite3.o", unfinished / "sqlite3.o")
        shutil.copyfile(_STAND_INS, unfinished / STAND_INS)
        shutil.copyfile(_PINNED, unfinished / PINNED)
        (unfinished / HEADER).write_text(interface(build), encoding="utf-8")
        # The compiler would otherwise assume that undeclared functions return an int.
        strict = "-Werror=implicit-function-declaration"
        flags = ["-g", strict, f"-ffile-prefix-map={unfinished}=.", *shlex.split(build.cflags), "-I."]
        libraries = ["-lpthread", "-ldl", "-lm"]
        output = ["-o", path.stem, "-Wl,-z,now", "-Wl,--build-id=none"]
        output += [f"-Wl,--wrap={name}" for name in _WRAPPED]
        given = _compile([compiler, *flags, *output, path.name, "sqlite3.o", PINNED, *libraries], unfinished, build)
        (unfinished / _GIVEN).write_text(json.dumps(given), encoding="utf-8")
        try:
            unfinished.rename(directory)
        except OSError:
            # Another process finished first and may use its program, or an incomplete one exists.
            if not binary.is_file():
                shutil.rmtree(directory, ignore_errors=True)
                unfinished.rename(directory)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return binary


def added_definitions(binary: Path) -> list[str]:
    """Return the constants and functions that a program's library lacked and dbdyno defined."""
    return list(json.loads((binary.parent / _GIVEN).read_text(encoding="utf-8")))


def _compile(command: list[str], directory: Path, build: Build) -> list[str]:
    """Compile a program and return the SQLite constants and functions that were defined because the library lacks them.

    An older library returns an error for an unknown constant, which the program must handle. Functions need a
    replacement in ``stand_ins.h``.
    """
    given: dict[str, list[str]] = {}
    while True:
        try:
            compile_command([*command, *itertools.chain(*given.values())], directory)
        except SystemFailed as error:
            match = _UNDECLARED.search(str(error))
            name = match and (match["constant"] or match["function"])
            definition = None if name is None or name in given else _definition(name)
            if name is None or definition is None:
                raise SystemFailed(f"it doesn't compile with SQLite {build.source.version}: {error}") from error
            given[name] = definition
        else:
            return list(given)


def _definition(name: str) -> list[str] | None:
    """Return the compiler options that define a constant or a function's replacement, or None."""
    if name.startswith("SQLITE_"):
        value = _newest_value(name)
        return None if value is None else [f"-D{name}={value}"]
    stands_in = f"{_STANDS_IN}{name}"
    if not re.search(rf"\b{stands_in}\b", _STAND_INS.read_text(encoding="utf-8")):
        return None
    return [f"-D{stands_in}", "-include", STAND_INS]


def _newest_value(name: str) -> str | None:
    """Return the value of a constant in the bundled SQLite."""
    text = (release_source(BUNDLED).directory / SOURCE).read_text(encoding="utf-8", errors="replace")
    match = re.search(rf"^#define\s+{name}\s+(\d+)\b", text, re.MULTILINE)
    return match and match[1]


def count_program(part: WorkPart, path: Path, build: Build) -> Counted:
    """Compile and count a program. Raises SystemFailed and TrialFailed."""
    binary = build_program(path, build)
    arguments = shlex.split(part.task["arguments"])
    with counting_directory(0) as directory:
        copy = directory / binary.name
        shutil.copy(binary, copy)
        out = directory / "callgrind.out"
        said = run_counted([copy, *arguments], directory, out, "", whole=True)
        raw = out.read_text(encoding="utf-8", errors="replace").replace(f"{directory}/", "")
    profile = parse_profile(raw, str(out))
    attribution = attribute(profile, classifier_of(path.name))
    if not attribution.engine[0]:
        raise SystemFailed(f"{path.name} called no SQLite function")
    verified = "\n".join(_VERIFIED.findall(said))
    return Counted(
        part, profile.totals, attribution, raw, 0, 1, {}, None, True, verified, tuple(added_definitions(binary))
    )
