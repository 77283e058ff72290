"""Generate the JSON Schema of the result document from its types.

``python -m dbdyno.model.result.schema FILE`` writes the schema to a file. ``make schema`` writes
``docs/result.schema.json``, and building the wheel ``dbdyno/schemas/result.schema.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from dbdyno.model.result import shape


def json_schema(*, closed: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of the result document. For ``closed``, see :func:`schema_of`."""
    return schema_of(shape.Document, shape.SCHEMA, closed=closed)


def schema_of(kind: Any, title: str, *, closed: bool = False) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a document type.

    The published schema allows additional fields, because later versions may add some. With ``closed``, the schema
    rejects fields that are not in the types. Tests use this to check that documents and types agree.
    """
    # pydantic reads this configuration for the document type and the types of its parts. It is set only here, so that
    # other modules can use the types without importing pydantic.
    kind.__pydantic_config__ = ConfigDict(use_attribute_docstrings=True, extra="forbid" if closed else "ignore")
    try:
        schema = TypeAdapter(kind).json_schema()
    finally:
        # Code that reads documents must not become as strict as a closed schema.
        del kind.__pydantic_config__
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def as_text(schema: dict[str, Any]) -> str:
    """Return a schema as the text of a JSON file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_text(json_schema()), encoding="utf-8")
