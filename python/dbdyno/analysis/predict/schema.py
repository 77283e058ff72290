"""The JSON Schema of a prediction, made from its types.

``python -m dbdyno.analysis.predict.schema FILE`` writes it.
"""

import sys
from pathlib import Path
from typing import Any

from dbdyno.model.result import prediction
from dbdyno.model.result.schema import as_text, schema_of


def json_schema(*, closed: bool = False) -> dict[str, Any]:
    """Return the schema. ``closed``: reject fields that the types don't define."""
    return schema_of(prediction.Prediction, prediction.SCHEMA, closed=closed)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_text(json_schema()), encoding="utf-8")
