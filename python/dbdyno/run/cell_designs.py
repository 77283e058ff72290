"""The description of a run's cells in its stored design."""

from collections.abc import Sequence
from typing import Any

from dbdyno.model.plan.cell import CompiledCell


def describe_cells(compiled: Sequence[CompiledCell]) -> list[dict[str, Any]]:
    """Return each cell's system, levels, settings and added statements, as the design stores them."""
    return [
        {
            "id": each.cell.id,
            "system": {"name": each.cell.system.name, "engine": each.cell.system.engine},
            "factors": each.cell.factors,
            "asked": dict(each.settings.shown()),
            "makes": [*each.before, *each.after, *each.added],
            "left_out": list(each.left_out),
            # Identifies the data at the start of a trial.
            "data": each.template_key(""),
        }
        for each in compiled
    ]
