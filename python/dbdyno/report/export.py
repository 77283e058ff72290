"""Write a result to files: JSON, CSV (one row per round) and Markdown.

Each file is written under a temporary name and then renamed, so readers see the old or the new file, never a part.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from dbdyno.base.errors import InputError, reason
from dbdyno.base.numbers import figure, level, percent, whole
from dbdyno.base.special_files import is_pipe, special_kind
from dbdyno.base.text import printable, printable_json
from dbdyno.model.result.convert import to_json
from dbdyno.model.result.shape import Document
from dbdyno.report.cell_columns import CellColumn
from dbdyno.report.data_columns import data_columns
from dbdyno.report.durable_lines import durability
from dbdyno.report.figure_columns import figure_columns
from dbdyno.report.frames.cells import rounds_frame
from dbdyno.report.lines import (
    advice_words,
    bottlenecks,
    ceilings,
    cell_names,
    compared_cells,
    comparison_notes,
    comparison_ratio,
    comparison_sees,
    comparison_word,
    factor_names,
    failed_trials,
    findings,
    interval,
    latency,
    notes_on_measuring,
    published_sources,
    published_value,
    round_value,
    warnings,
)
from dbdyno.report.phases import loads, phase_columns

# File names that mean the standard output.
_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")

# Open named pipes by path. They stay open because closing a pipe signals end of file to its reader.
_pipes: dict[Path, int] = {}

# Spreadsheets interpret a cell that begins with one of these as a formula, unless it starts with an apostrophe.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_writable(path: Path | str, option: str = "") -> None:
    """Check before a run that ``path`` can be written, so that no run is lost to a typing error. Creates no file.

    Raises InputError, which names ``option`` if given.
    """
    target = Path(path)
    if is_output(target):
        return
    location = f"{option} {target}".strip()
    try:
        kind = None if _is_open_pipe(target) else special_kind(target)
    except OSError as error:
        raise InputError(location, reason(error), "give a file in an existing, writable directory") from error
    if kind is not None:
        # Writing would replace the special file, or block until a pipe has a reader.
        also = "" if kind == "a directory" else ", a pipe that is being read, or `-` for the standard output"
        raise InputError(location, f"is {kind}", f"give the name of a file{also}")
    if target in _pipes:
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(location, "may not be written", "give another file")
    try:
        descriptor, probe = tempfile.mkstemp(dir=target.parent, prefix=".dbdyno-")
    except OSError as error:
        raise InputError(location, reason(error), "give a file in an existing, writable directory") from error
    os.close(descriptor)
    Path(probe).unlink()


def new_file(output: str) -> Path:
    """Return the file of ``--output``. Raises InputError if it exists or can't be written."""
    check_writable(output, "--output")
    path = Path(output)
    if path.is_file() and path.stat().st_size:
        raise InputError(f"--output {output}", "the file exists", "remove it, or give another name")
    return path


def is_output(path: Path | str | None) -> bool:
    """Whether the path of an output file means the standard output."""
    return str(path) in _OUTPUT


def _is_open_pipe(path: Path) -> bool:
    """Open a path if it is a pipe with a reader, and return whether it is open. Raises OSError."""
    if path not in _pipes and is_pipe(path):
        # Without O_NONBLOCK, open() would block until the pipe has a reader.
        with contextlib.suppress(OSError):
            _pipes[path] = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            os.set_blocking(_pipes[path], True)
    return path in _pipes


def write_text(path: Path | str, text: str) -> None:
    """Write text as UTF-8 without control characters; see :func:`write_bytes`."""
    write_bytes(path, printable(text).encode())


def write_bytes(path: Path | str, content: bytes) -> None:
    """Write a file atomically, with the user's default permissions.

    ``-`` means the standard output; pipes are written directly. Raises InputError if the file cannot be written.
    """
    target = Path(path)
    if is_output(target):
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    temporary: Path | None = None
    try:
        if _is_open_pipe(target):
            with os.fdopen(_pipes[target], "wb", closefd=False) as pipe:
                pipe.write(content)
            return
        # In the same directory, because rename() works only within one file system.
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".dbdyno-", delete=False) as file:
            temporary = Path(file.name)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = "free some space" if full else "give a file in an existing, writable directory"
        raise InputError(str(target), reason(error), hint) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_result(document: Document, path: Path | str) -> None:
    """Write a result as JSON. Raises InputError if the file cannot be written."""
    write_json(to_json(document), path)


def write_json(document: Mapping[str, Any], path: Path | str) -> None:
    """Write a JSON document, such as ``dbdyno.history/1``. Raises InputError if the file cannot be written."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, printable_json(text).encode())


def write_csv(document: Document, path: Path | str) -> None:
    """Write one CSV row per round, including failed rounds. Raises InputError if the file cannot be written."""
    write_text(path, csv_text(document))


def write_markdown(document: Document, path: Path | str) -> None:
    """Write table, verdicts, bottlenecks and findings as Markdown. Raises InputError if the file cannot be written."""
    write_text(path, markdown_text(document))


def csv_text(document: Document) -> str:
    """Return the rounds as CSV, with the columns of ``rounds_frame``. Unknown values are empty."""
    frame = rounds_frame(document)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in frame.columns])
    for row in frame.rows():
        writer.writerow([_csv_value(value) for value in row])
    return out.getvalue()


def _csv_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    if isinstance(value, str):
        return "'" + value if value.startswith(_FORMULA) and not _is_number(value) else value
    return level(value) if isinstance(value, bool) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def markdown_text(document: Document) -> str:
    """Return table, verdicts, bottlenecks and findings as Markdown."""
    parts = [f"## {_plain(document.title)}", f"run `{document.id}`, started {document.started[:19]} UTC"]
    if document.question:
        parts.append(_plain(document.question))
    answer = [*document.answer.text, *map(advice_words, document.answer.advice)]
    parts += [f"**{_plain(each)}**" if position == 0 else _plain(each) for position, each in enumerate(answer) if each]
    # Warnings precede the numbers, so that readers who stop at the table have seen them.
    parts += [f"**{_plain(statement.text)}**" for statement in warnings(document)]
    parts.append(_markdown_table(document))
    parts.append(_further(document, phase_columns(document)))
    parts.append(_further(document, figure_columns(document)))
    parts.append(_further(document, data_columns(document)))
    notes = [
        f"durability: {_located(statement.text, cell_names(document, statement.cells))}"
        for statement in durability(document)
    ]
    notes += notes_on_measuring(document)
    notes += loads(document)
    notes += [f"published: {source}; not measured by this run" for source in published_sources(document)]
    parts.append("  \n".join(_plain(note) for note in notes))
    if document.comparisons:
        parts.append(_comparisons(document))
    for title, statements in (
        ("What limits it", bottlenecks(document)),
        ("Findings", findings(document)),
    ):
        if statements:
            lines = [
                f"- {_plain(_located(statement.text, cell_names(document, statement.cells)))}"
                + (f"  \n  → {_plain(statement.advice)}" if statement.advice else "")
                for statement in statements
            ]
            parts.append(f"### {title}\n\n" + "\n".join(lines))
    if failed_trials(document):
        lines = [
            f"- {_plain(statement.text)} ({_plain(', '.join(statement.cells))})"
            for statement in failed_trials(document)
        ]
        parts.append("### Failed trials\n\n" + "\n".join(lines))
    return "\n\n".join(part for part in parts if part) + "\n"


def _located(text: str, names: str) -> str:
    """Add the cells' names to a sentence. The name is empty if a run has one cell."""
    return f"{text} ({names})" if names else text


def _markdown_table(document: Document) -> str:
    cells = document.cells
    if not cells:
        return ""
    names = factor_names(document)
    shares = ceilings(document)
    published = any(cell.published for cell in cells)
    head = [*names, cells[0].throughput.unit, "95 %", "CPU %", "p50 ms", "p99 ms", *shares]
    head += ["published"] if published else []
    head += ["rounds"]
    rows = []
    for index, cell in enumerate(cells):
        row = [level(cell.factors.get(name, "")) for name in names]
        row += [figure(cell.throughput.mean), interval(cell), whole(cell.cpu_percent.client)]
        row += [latency(cell, name) for name in ("p50", "p99")]
        row += [percent(values[index]) for values in shares.values()]
        row += [published_value(cell.published)] if published else []
        row += [" ".join(round_value(round_) for round_ in cell.rounds)]
        rows.append(row)
    align = ["---"] * len(names) + ["--:"] * (len(head) - len(names) - 1) + ["---"]
    return _table(head, align, rows)


def _further(document: Document, columns: list[CellColumn]) -> str:
    if not columns:
        return ""
    names = factor_names(document)
    rows = [[level(cell.factors.get(name, "")) for name in names] for cell in document.cells]
    rows = [row + [column.values[index] for column in columns] for index, row in enumerate(rows)]
    return _table(
        [*names, *(cell_column.head for cell_column in columns)], ["---"] * len(names) + ["--:"] * len(columns), rows
    )


def _comparisons(document: Document) -> str:
    heads, cells = compared_cells(document)
    rows = [
        [*names, comparison_ratio(comparison), comparison_sees(comparison), comparison_word(comparison)]
        for names, comparison in zip(cells, document.comparisons, strict=True)
    ]
    align = [*("---" for _ in heads), "---", "--:", "---"]
    made = _table([*heads, "ratio [95 %]", "detectable", "verdict"], align, rows)
    return "\n\n".join([made, *(_plain(note) for note in comparison_notes(document))])


def _table(head: list[str], align: list[str], rows: list[list[str]]) -> str:
    lines = [[_plain(each) for each in head], align, *([_plain(each) for each in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _plain(text: str) -> str:
    """Escape Markdown in text from outside, such as experiment files and messages of engines."""
    for character in "\\`*_[]<>#|":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
