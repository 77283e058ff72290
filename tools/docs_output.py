"""Run the commands of documentation pages, and put their output beneath them: `make docs-output PAGES=…`.

It processes a page's files and commands in order. The output of a command is in a `text` block after it. Numbers in the
page's sentences are not updated; check them by hand.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

# Columns of output on a page.
_WIDTH = "88"
# Lines below an answer that lead on to other commands.
_LEADING_ON = re.compile(r"^(run \S+ is stored|what limits it is inferred|report: |to take |$)")


@dataclass(frozen=True)
class Command:
    """A command of a page, and the exit codes that the page says it can have."""

    arguments: list[str]
    codes: frozenset[int]


@dataclass(frozen=True)
class File:
    """A file that a page shows."""

    name: str
    text: str


@dataclass(frozen=True)
class Output:
    """What the command before it printed, and the lines of the page that have it: the first, and the one after."""

    first: int
    end: int


def steps(text: str) -> Iterator[Command | File | Output]:
    """Yield what a reader of a page does, in order: write its files, run its commands, read their output."""
    ran = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "heading_open":
            ran = False
        title = re.search(r'title="([^"]+)"', token.info)
        kind = token.info.split()[:1]
        if token.type == "fence" and title:
            yield File(title[1], token.content)
        elif token.type == "fence" and kind in (["sh"], ["console"]):
            found = list(commands(token.content))
            yield from found
            ran = bool(found)
        elif token.type == "fence" and kind == ["text"] and ran and token.map is not None:
            yield Output(token.map[0] + 1, token.map[1] - 1)


def commands(block: str) -> Iterator[Command]:
    """Yield the commands of a block that are dbdyno's, or that fill a SQLite database from a file."""
    for each in block.replace("\\\n", " ").splitlines():
        if not each.removeprefix("$ ").startswith(("dbdyno ", "sqlite3 ")):
            continue
        line, _, remark = each.removeprefix("$ ").partition("  # ")
        words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        words.whitespace_split, words.commenters = True, ""
        arguments = list(words)
        said = re.match(r"exit code ([0-9, or]+)", remark)
        yield Command(arguments, frozenset(map(int, re.findall(r"\d+", said[1]))) if said else frozenset({0}))


def renewed(page: str, dbdyno: Path) -> str:
    """Return a page with the output of its commands as they print it now. Raises SystemExit if one fails."""
    lines, shift, printed = page.splitlines(), 0, ""
    environment = os.environ | {"COLUMNS": _WIDTH, "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory(prefix="dbdyno-docs-") as place:
        environment["DBDYNO_STORE"] = str(Path(place) / "runs.db")
        for step in steps(page):
            match step:
                case File(name, text):
                    path = Path(place) / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text)
                case Command(arguments, codes):
                    done = _run(arguments, dbdyno, Path(place), environment)
                    if done.returncode not in codes:
                        sys.exit(f"{shlex.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
                    # An error is what a page shows of a command that fails.
                    printed = done.stdout or done.stderr
                case Output(first, end):
                    new = _answer(printed)
                    lines[first + shift : end + shift] = new
                    shift += len(new) - (end - first)
    return "\n".join(lines) + "\n"


def _run(
    arguments: list[str], dbdyno: Path, place: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command that may read its input from a file."""
    program, *others = arguments
    words, file = (others[:-2], others[-1]) if "<" in others else (others, os.devnull)
    with (place / file).open() as given:
        return subprocess.run(
            [dbdyno if program == "dbdyno" else program, *words],
            cwd=place,
            env=environment,
            stdin=given,
            capture_output=True,
            text=True,
            check=False,
        )


def _answer(printed: str) -> list[str]:
    """Return the lines of an answer, without those that lead on to other commands."""
    lines = [line.rstrip() for line in printed.strip().splitlines()]
    while lines and _LEADING_ON.match(lines[-1]):
        lines.pop()
    return lines


if __name__ == "__main__":
    program = Path(sys.argv[1]).resolve()
    for name in sys.argv[2:]:
        path = Path(name)
        path.write_text(renewed(path.read_text(), program))
        print(f"{name}: output renewed", flush=True)
