"""The JSON Schema of the result document, made from its types. Written to ``docs/result.schema.json``.

``python -m dbdyno.document.schema FILE`` writes it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import is_typeddict

from dbdyno.document import cell, scalability, shape, why


def json_schema(*, closed: bool = False) -> dict[str, Any]:
    """Return the schema of the result document, as :func:`schema_of`."""
    return schema_of(shape.Document, (cell, scalability, shape, why), shape.SCHEMA, closed=closed)


def schema_of(kind: Any, modules: Iterable[ModuleType], title: str, *, closed: bool = False) -> dict[str, Any]:
    """Return the schema of a document, draft 2020-12.

    ``kind``: its type; ``modules``: where the types of its parts are.

    The published one is open: a later version may add fields. ``closed`` refuses fields the types do not name, for the
    test that documents and types agree.
    """
    config = ConfigDict(use_attribute_docstrings=True, extra="forbid" if closed else "ignore")
    types = {one for module in modules for one in vars(module).values() if is_typeddict(one)}
    for each in types:
        # pydantic reads its settings from here; written into the types, they would make every reader import it.
        each.__pydantic_config__ = config
    try:
        schema = TypeAdapter(kind).json_schema()
    finally:
        # Readers of documents are not to refuse what a closed schema does.
        for each in types:
            del each.__pydantic_config__
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def as_text(schema: dict[str, Any]) -> str:
    """Write a schema as it stands in a file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_text(json_schema()), encoding="utf-8")
