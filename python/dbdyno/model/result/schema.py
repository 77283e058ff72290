"""The JSON Schema of the result document, made from its types.

``python -m dbdyno.model.result.schema FILE`` writes it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from dbdyno.model.result import shape


def json_schema(*, closed: bool = False) -> dict[str, Any]:
    """Return the schema of the result document, as :func:`schema_of`."""
    return schema_of(shape.Document, shape.SCHEMA, closed=closed)


def schema_of(kind: Any, title: str, *, closed: bool = False) -> dict[str, Any]:
    """Return the schema of a document of a type, draft 2020-12.

    The published one is open: a later version may add fields. ``closed`` refuses fields the types do not name, for the
    test that documents and types agree.
    """
    # pydantic reads its settings from here, for the types of the parts too. Written into the type, they would make
    # every reader import it.
    kind.__pydantic_config__ = ConfigDict(use_attribute_docstrings=True, extra="forbid" if closed else "ignore")
    try:
        schema = TypeAdapter(kind).json_schema()
    finally:
        # Readers of documents are not to refuse what a closed schema does.
        del kind.__pydantic_config__
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def as_text(schema: dict[str, Any]) -> str:
    """Write a schema as it stands in a file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_text(json_schema()), encoding="utf-8")
