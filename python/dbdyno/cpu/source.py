"""Maps the lines of an amalgamation to original files and functions."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

# SQLite's comments at the begin, the end and the continuation of an original file within the amalgamation.
_MARK = re.compile(
    r"^/\*+ (?:(?P<begin>Begin file)|(?P<end>End of)|(?P<resume>Continuing where we left off in)) (?P<file>\S+) \*+/"
)

# The last identifier before the first parenthesis of a definition, after macros for the storage class
# (`SQLITE_PRIVATE`).
_NAME = re.compile(r"([A-Za-z_]\w*)\s*\(")
_NO_FUNCTION = frozenset({"sizeof", "defined", "__attribute__", "__declspec", "SQLITE_NOINLINE"})
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)|//.*")

# Maximum number of lines of a function's head.
_MAX_HEAD_LINES = 40

# The file before the first comment.
_TOP = "sqlite3.c"


class SourceFunction(NamedTuple):
    """A function's definition: first and last line, from 1, and the original file."""

    name: str
    file: str
    first: int
    last: int


@dataclass(frozen=True)
class SourceMap:
    """The lines (index 0 is line 1), the original file of each, and the functions in order."""

    lines: list[str]
    files: list[str]
    functions: list[SourceFunction]

    def function_at(self, line: int) -> SourceFunction | None:
        """Return the function that contains a line (from 1), or None."""
        at = bisect_right(self._starts, line) - 1
        if at < 0 or self.functions[at].last < line:
            return None
        return self.functions[at]

    def file_at(self, line: int) -> str:
        """Return the original file of a line (from 1)."""
        return self.files[line - 1] if 0 < line <= len(self.files) else _TOP

    @property
    def _starts(self) -> list[int]:
        found = self.__dict__.get("starts")
        if found is None:
            found = [function.first for function in self.functions]
            object.__setattr__(self, "starts", found)
        return found


@lru_cache(maxsize=1)
def read_source_map(path: Path) -> SourceMap:
    """Parse the source file of a build, replacing bytes that aren't UTF-8.

    Caches the last result, because a count, its program and its page parse the same file in 0.25 s each.
    """
    return source_map(path.read_text(encoding="utf-8", errors="replace"))


def source_map(text: str) -> SourceMap:
    """Find the original files and the functions of a source text."""
    # Don't use splitlines(): compilers don't end lines at form feeds and similar characters.
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    files = _original_files(lines)
    return SourceMap(lines, files, list(_functions(lines, files)))


def _original_files(lines: list[str]) -> list[str]:
    current = _TOP
    open_files: list[str] = []
    files = []
    for line in lines:
        mark = _MARK.match(line) if line.startswith("/****") else None
        if mark is None:
            files.append(current)
        elif mark["end"]:
            files.append(current)
            if open_files:
                current = open_files.pop()
        else:
            if mark["begin"]:
                open_files.append(current)
            current = mark["file"]
            files.append(current)
    return files


def _functions(lines: list[str], files: list[str]) -> Iterator[SourceFunction]:
    """Yield the definitions: in SQLite's style, heads and closing braces are in the first column."""
    number, count = 0, len(lines)
    while number < count:
        line = lines[number]
        first = line[:1]
        if first == "#":
            number = _after_directive(lines, number)
        elif line.lstrip().startswith("/*"):
            number = _after_comment(lines, number)
        elif first.isalpha() or first == "_":
            head, opening = _head(lines, number)
            name = _name(head) if opening is not None else None
            if opening is None or name is None:
                number = (number if opening is None else opening) + 1
                continue
            last = opening
            while last < count and not _ends_body(lines, last, opening):
                last += 1
            if last < count:
                yield SourceFunction(name, files[number], number + 1, last + 1)
            number = last + 1
        else:
            number += 1


def _ends_body(lines: list[str], number: int, opening: int) -> bool:
    """Whether a line closes a body. In SQLite's largest `switch`, cases also close in the first column."""
    if number == opening and _closed(lines[number]):
        return True
    if not lines[number].startswith("}"):
        return False
    number += 1
    while number < len(lines):
        line = lines[number]
        if line.lstrip().startswith("#"):
            number = _after_directive(lines, number)
        elif line.lstrip().startswith("/*"):
            number = _after_comment(lines, number)
        elif line.strip():
            return not line.startswith(("case ", "default:", " ", "\t"))
        else:
            number += 1
    return True


def _after_directive(lines: list[str], number: int) -> int:
    while number < len(lines) and lines[number].rstrip().endswith("\\"):
        number += 1
    return number + 1


def _after_comment(lines: list[str], number: int) -> int:
    start = lines[number].index("/*") + 2
    while number < len(lines) and "*/" not in lines[number][start:]:
        number, start = number + 1, 0
    return number + 1


def _head(lines: list[str], number: int) -> tuple[str, int | None]:
    """Return the text from a line to a body's opening brace, and the brace's line; None without a body."""
    text = ""
    for at in range(number, min(number + _MAX_HEAD_LINES, len(lines))):
        if lines[at].startswith("#"):
            continue
        text += _COMMENT.sub(" ", lines[at]) + " "
        if "{" in text or ";" in text:
            head, brace, _ = text.partition("{")
            return head, at if brace and ";" not in head else None
    return text, None


def _name(head: str) -> str | None:
    """Return the name of a function from its head; None for other definitions."""
    if re.search(r"=\s*$", head) or re.match(r"\s*(typedef|enum)\b", head):
        return None
    return next((str(name) for name in _NAME.findall(head) if name not in _NO_FUNCTION), None)


def _closed(line: str) -> bool:
    """Whether a body begins and ends on the line."""
    return line.rstrip().endswith("}") and line.count("{") == line.count("}")
