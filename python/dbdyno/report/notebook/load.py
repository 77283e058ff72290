"""Load a run from a store, or from a file with a result document."""

from __future__ import annotations

import json
from contextlib import closing
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from dbdyno.analysis.document import read_run
from dbdyno.base.errors import InputError, reason
from dbdyno.model.result.convert import from_json
from dbdyno.model.result.shape import SCHEMA, Document
from dbdyno.report.notebook.run import Run
from dbdyno.store import open_store

# Fields that every result document has.
_NEEDED = frozenset({"schema", "id", "experiment", "cells"})


def load_run(run: str | PathLike[str], store: str | PathLike[str] | None = None) -> Run:
    """Load a run; see :func:`dbdyno.load`."""
    if not isinstance(run, str) or "/" in run or run.endswith(".json"):
        return read_document(Path(run))
    with closing(open_store(None if store is None else fspath(store), make=False)) as opened:
        return Run(read_run(opened, run))


def read_document(path: Path) -> Run:
    """Read a result document (``dbdyno.run/1``) from a file.

    Fields that are newer than the writing version are missing. Raises InputError if the file cannot be read, is not a
    result document, or has a field of a wrong type.
    """
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), f"it cannot be read: {reason(error)}", "give a file of `--json`") from None
    except ValueError as error:
        raise InputError(str(path), f"this is not JSON: {error}", "give a file of `--json`") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        problem = f"its schema is `{schema}`" if isinstance(schema, str) else "its schema is missing"
        raise InputError(str(path), problem, f"give a result of `dbdyno run --json`, whose schema is `{SCHEMA}`")
    try:
        TypeAdapter(Document).validate_python(data)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            where = each["loc"]
            # New fields don't change the schema's version, so files of older versions may lack some.
            if each["type"] != "missing" or where[-1] == "id" or (len(where) == 1 and where[0] in _NEEDED):
                location = ".".join(map(str, where))
                what = f"`{location}`: {each['msg'][:1].lower()}{each['msg'][1:]}"
                raise InputError(str(path), what, f"write it again: `dbdyno show {data.get('id')} --json`") from None
    return Run(from_json(Document, data), data)
