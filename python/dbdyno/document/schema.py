"""The JSON Schema of the result document, made from its types. Written to ``docs/result.schema.json``.

``python -m dbdyno.document.schema FILE`` writes it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import is_typeddict

from dbdyno.document import cell, shape


def json_schema(*, closed: bool = False) -> dict[str, Any]:
    """Return the schema, draft 2020-12.

    The published one is open: a later version may add fields. ``closed`` refuses fields the types do not name, for the
    test that documents and types agree.
    """
    config = ConfigDict(use_attribute_docstrings=True, extra="forbid" if closed else "ignore")
    for kind in (*vars(cell).values(), *vars(shape).values()):
        if is_typeddict(kind):
            # pydantic reads its settings from here; written into the types, they would make every reader import it.
            kind.__pydantic_config__ = config
    schema = TypeAdapter(shape.Document).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": shape.SCHEMA, **schema}


def schema_text() -> str:
    """Return the published schema as it stands in the file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
