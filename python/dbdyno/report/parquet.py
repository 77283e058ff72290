"""Write a result as Parquet: the rounds as one file, or all frames as a directory of files."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.base.errors import InputError, reason
from dbdyno.model.result.shape import Document
from dbdyno.report.export import check_writable, write_bytes
from dbdyno.report.frames.cells import cells_frame, intervals_frame, rounds_frame
from dbdyno.report.frames.comparisons import comparisons_frame, effects_frame
from dbdyno.report.frames.frame import Frame
from dbdyno.report.frames.libraries import check_arrow, to_arrow

if TYPE_CHECKING:
    from pyarrow import Table

SUFFIX = ".parquet"

# The frame of each file in a directory, by the file's name.
_FILES: Mapping[str, Callable[[Document], Frame]] = {
    "rounds": rounds_frame,
    "cells": cells_frame,
    "intervals": intervals_frame,
    "effects": effects_frame,
    "comparisons": comparisons_frame,
}


def check_parquet(path: Path, option: str = "") -> None:
    """Check before a run that :func:`write_parquet` can write to ``path``. Creates no file.

    Raises ExtraMissing if the library isn't installed, and otherwise InputError, which names ``option`` if given.
    """
    check_arrow()
    if _is_file(path):
        check_writable(path, option)
    elif path.is_dir():
        for name in _FILES:
            check_writable(path / f"{name}{SUFFIX}", option)
    else:
        location = f"{option} {path}".strip()
        if path.exists():
            hint = f"give a directory, or a file whose name ends in `{SUFFIX}`"
            raise InputError(location, "is a file of another kind", hint)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(location, "the directory cannot be created", "choose a writable directory")


def write_parquet(document: Document, path: Path) -> None:
    """Write a result as Parquet.

    If the name of ``path`` ends with ``.parquet``, it becomes one file with one row per round. Otherwise it is a
    directory, created if missing, with one file each for rounds, cells, intervals, effects and comparisons. Each file
    is written atomically. Raises ExtraMissing if the library isn't installed, InputError if a file cannot be written.
    """
    if _is_file(path):
        write_bytes(path, _content(document, rounds_frame))
        return
    contents = {name: _content(document, make) for name, make in _FILES.items()}
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(str(path), f"the directory cannot be created: {reason(error)}", "give another") from error
    for name, content in contents.items():
        write_bytes(path / f"{name}{SUFFIX}", content)


def _is_file(path: Path) -> bool:
    return path.suffix == SUFFIX and not path.is_dir()


def _content(document: Document, make: Callable[[Document], Frame]) -> bytes:
    table: Table = to_arrow(make(document))
    from pyarrow import parquet

    metadata = {"dbdyno.schema": document.schema, "dbdyno.run": document.id}
    out = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(metadata), out, compression="zstd")
    return out.getvalue()
