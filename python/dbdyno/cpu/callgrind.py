"""Runs a program under callgrind and parses its output: the cost of each line and of the calls from it.

callgrind_annotate reports lines by source file only; the split into engine and harness also needs their object and
function. gprof2dot's parser keeps one event and no lines. So this module parses callgrind's file itself.

The format is described in valgrind's manual, "Callgrind Format Specification" (version 1): a name is introduced once
and then referenced by number, line numbers can be relative, and the costs after a ``calls=`` line are inclusive.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from dbdyno.base.errors import SystemFailed, TrialFailed

# The simulated caches: bytes, ways, bytes per line. Valgrind's default is this machine's caches, so that misses would
# depend on the machine.
CACHES = {"I1": "32768,8,64", "D1": "32768,8,64", "LL": "8388608,16,64"}

_OLDEST_VALGRIND = (3, 19)

# Time limit in seconds. Valgrind makes a program about fifty times slower.
TIMEOUT_S = 3600.0


def valgrind_version() -> str:
    """Return valgrind's version. Raises SystemFailed if it isn't installed or is older than 3.19."""
    path = shutil.which("valgrind")
    if path is None:
        raise SystemFailed("valgrind is not installed; install it, for instance with `apt install valgrind`")
    said = subprocess.run(
        [path, "--version"], capture_output=True, encoding="utf-8", errors="replace", check=False
    ).stdout.strip()
    match = re.match(r"valgrind-(\d+)\.(\d+)", said)
    if match is None or (int(match[1]), int(match[2])) < _OLDEST_VALGRIND:
        raise SystemFailed(f"`valgrind --version` prints `{said}`: version 3.19 or newer is required")
    return said.removeprefix("valgrind-")


def run_counted(command: Sequence[str | Path], directory: Path, out: Path, entry: str, whole: bool) -> str:
    """Run a command under callgrind in a directory; return its standard output and write the profile to ``out``.

    ``entry``: its standard input; ``whole``: count the program from start to end instead of only the sections that it
    marks itself. Its environment is empty. Raises SystemFailed and TrialFailed.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SystemFailed("valgrind is not installed; install it, for instance with `apt install valgrind`")
    caches = [f"--{name}={size}" for name, size in CACHES.items()]
    at_start = "yes" if whole else "no"
    options = ["--tool=callgrind", "--quiet", "--cache-sim=yes", *caches, f"--collect-atstart={at_start}"]
    # Set every option that affects the file format, regardless of its default.
    options += ["--dump-line=yes", "--dump-instr=no", "--separate-threads=no", f"--callgrind-out-file={out}"]
    # Keep valgrind's own directory if it is set: it doesn't affect the program.
    environment = {name: os.environ[name] for name in ("VALGRIND_LIB",) if name in os.environ}
    try:
        done = subprocess.run(
            [valgrind, *options, *map(str, command)],
            input=entry,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            cwd=directory,
            env=environment,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise TrialFailed(f"counting took longer than {TIMEOUT_S:g} s: reduce the work") from None
    if done.returncode != 0:
        raise TrialFailed(_ending(Path(command[0]).name, done.returncode, done.stdout + done.stderr))
    return done.stdout


def _ending(name: str, code: int, said: str) -> str:
    """Describe how a program ended under valgrind, with its last message or otherwise valgrind's."""
    lines = [line for line in said.strip().splitlines() if line.strip("=- 0123456789")]
    # Valgrind's own lines begin with the process id: `==123==`, `--123--`.
    own = [line for line in lines if not re.match(r"(==|--)\d+(==|--)", line)]
    signals = [match[1] for line in lines if (match := re.search(r"default action of signal (\d+ \(\w+\))", line))]
    if signals:
        return f"{name} was terminated by signal {signals[0]} under valgrind"
    told = f": {own[-1]}" if own else " without a message"
    return f"{name} exited with code {code} under valgrind{told}"


# Costs in the order of a profile's events.
Costs = list[int]

# Maximum difference between the sum of lines and the summary, in instructions and as a share.
_LOOSE = 1000
_LOOSE_SHARE = 0.0001

_Key = TypeVar("_Key", bound=Hashable)


class Function(NamedTuple):
    """A function, identified by its object, source file and name."""

    object: str
    file: str
    name: str


class Line(NamedTuple):
    """A source line within a function, possibly inlined from another file; line 0 if unknown."""

    function: int
    file: str
    line: int


class Call(NamedTuple):
    """Calls from a line to a function."""

    line: Line
    callee: int


@dataclass
class Profile:
    """The costs of one run. Functions are referenced by their index.

    ``lines``: exclusive cost of each line; ``calls``: inclusive cost of the calls from a line; ``counts``: number of
    calls; ``totals``, ``summary``: as reported by callgrind. The two differ by a few instructions if counting is
    switched on and off during the run.
    """

    events: tuple[str, ...]
    functions: list[Function] = field(default_factory=list)
    lines: dict[Line, Costs] = field(default_factory=dict)
    calls: dict[Call, Costs] = field(default_factory=dict)
    counts: dict[Call, int] = field(default_factory=dict)
    totals: Costs = field(default_factory=list)
    summary: Costs = field(default_factory=list)

    def sum_of_lines(self) -> Costs:
        """Return the sum over all lines."""
        return add_up(self.lines.values(), len(self.events))


def add_up(costs: Iterable[Costs], events: int) -> Costs:
    """Return the sum of costs. ``events``: number of values in each."""
    rows = list(costs)
    return [sum(row[index] for row in rows) for index in range(events)]


def parse_profile(text: str, location: str) -> Profile:
    """Parse the text of a callgrind file. ``location``: its name in messages.

    Raises SystemFailed if the text is invalid or its lines don't add up to its totals.
    """
    reader = _Reader(location)
    for line in text.splitlines():
        reader.line(line)
    profile = reader.profile
    if not profile.totals:
        raise SystemFailed(f"{location}: neither `summary:` nor `totals:` found: is this a complete callgrind file?")
    found = profile.sum_of_lines()
    if found != profile.totals:
        raise SystemFailed(f"{location}: the lines add up to {found}, but the totals are {profile.totals}")
    if profile.summary and abs(profile.summary[0] - found[0]) > max(_LOOSE, found[0] * _LOOSE_SHARE):
        raise SystemFailed(f"{location}: the lines add up to {found}, but the summary is {profile.summary}")
    return profile


class _Reader:
    """Parses line by line and keeps the current position."""

    def __init__(self, location: str) -> None:
        self.profile = Profile(("Ir",))
        self._location = location
        self._names: dict[str, dict[str, str]] = {"object": {}, "file": {}, "function": {}}
        self._index: dict[Function, int] = {}
        self._object = self._function_file = self._file = self._name = ""
        self._called_object: str | None = None
        self._called_file: str | None = None
        self._called = ""
        self._position = 0
        self._pending: tuple[int, int] | None = None
        self._columns = 1
        # The current function, or -1 after a name has changed.
        self._current = -1

    def line(self, line: str) -> None:
        if not line or line[0] == "#":
            return
        first = line[0]
        if first.isdigit() or first in "+-*":
            self._cost(line)
            return
        key, found, value = line.partition("=")
        if found and key in _SPECIFICATIONS:
            getattr(self, f"_{_SPECIFICATIONS[key]}")(value, key)
        elif ":" in line:
            self._header(line)

    def _header(self, line: str) -> None:
        key, _, value = line.partition(":")
        if key == "events":
            self.profile.events = tuple(value.split())
        elif key == "positions":
            if "line" not in value.split():
                raise SystemFailed(f"{self._location}: the file has no line numbers")
            self._columns = len(value.split())
        elif key == "totals" or (key == "summary" and not self.profile.totals):
            self.profile.totals = self._whole([int(each) for each in value.split()])
            if key == "summary":
                self.profile.summary = self.profile.totals

    def _in_object(self, value: str, _key: str) -> None:
        self._object, self._current = self._expand(value, "object"), -1

    def _in_file(self, value: str, key: str) -> None:
        self._file = self._expand(value, "file")
        if key == "fl":
            self._function_file, self._current = self._file, -1

    def _in_function(self, value: str, _key: str) -> None:
        self._name, self._current = self._expand(value, "function"), -1
        # A function begins in its own file; `fi` and `fe` change the file within it.
        self._function_file = self._file

    def _to_object(self, value: str, _key: str) -> None:
        self._called_object = self._expand(value, "object")

    def _to_file(self, value: str, _key: str) -> None:
        self._called_file = self._expand(value, "file")

    def _to_function(self, value: str, _key: str) -> None:
        self._called = self._expand(value, "function")

    def _made(self, value: str, _key: str) -> None:
        called = Function(
            self._object if self._called_object is None else self._called_object,
            self._file if self._called_file is None else self._called_file,
            self._called,
        )
        self._pending = (int(value.split(maxsplit=1)[0]), self._number_of(called))
        self._called_object = self._called_file = None

    def _skip(self, _value: str, _key: str) -> None:
        """Ignore jumps within a function, which have counts but no costs."""

    def _cost(self, line: str) -> None:
        fields = line.split()
        self._position = self._moved(fields[self._columns - 1])
        costs = self._whole([int(each) for each in fields[self._columns :]])
        if self._current < 0:
            self._current = self._number_of(Function(self._object, self._function_file, self._name))
        at_line = Line(self._current, self._file, self._position)
        if self._pending is None:
            _add(self.profile.lines, at_line, costs)
            return
        count, callee = self._pending
        self._pending = None
        call = Call(at_line, callee)
        _add(self.profile.calls, call, costs)
        self.profile.counts[call] = self.profile.counts.get(call, 0) + count

    def _moved(self, field: str) -> int:
        if field == "*":
            return self._position
        if field[0] in "+-":
            return self._position + int(field)
        return int(field, 0)

    def _whole(self, costs: Costs) -> Costs:
        """Append the trailing zeros that callgrind omits."""
        return costs + [0] * (len(self.profile.events) - len(costs))

    def _number_of(self, function: Function) -> int:
        number = self._index.get(function)
        if number is None:
            number = self._index[function] = len(self.profile.functions)
            self.profile.functions.append(function)
        return number

    def _expand(self, value: str, kind: str) -> str:
        """Return the name that ``(5) name`` introduces or ``(5)`` references."""
        if not value.startswith("("):
            return value
        number, _, name = value.partition(")")
        names = self._names[kind]
        if name:
            names[number] = name.strip()
        elif number not in names:
            raise SystemFailed(f"{self._location}: the name {value} is used before its definition")
        return names[number]


_SPECIFICATIONS = {
    "ob": "in_object",
    "fl": "in_file",
    "fi": "in_file",
    "fe": "in_file",
    "fn": "in_function",
    "cob": "to_object",
    "cfi": "to_file",
    "cfl": "to_file",
    "cfn": "to_function",
    "calls": "made",
    "jump": "skip",
    "jcnd": "skip",
}


def _add(table: dict[_Key, Costs], key: _Key, costs: Costs) -> None:
    known = table.get(key)
    table[key] = costs if known is None else [a + b for a, b in zip(known, costs, strict=True)]
