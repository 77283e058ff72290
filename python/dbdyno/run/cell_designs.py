"""The description of a run's cells in its stored design."""

from collections.abc import Sequence
from typing import Any

from dbdyno.model.plan.cell import CompiledCell


def describe_cells(compiled: Sequence[CompiledCell]) -> list[dict[str, Any]]:
    """Return each cell's system, levels, settings and added statements, as the design stores them."""
    return [
        {
            "id": cell.cell.id,
            "system": {"name": cell.cell.system.name, "engine": cell.cell.system.engine},
            "factors": cell.cell.factors,
            "asked": dict(cell.settings.shown()),
            "makes": [*cell.before, *cell.after, *cell.added],
            "left_out": list(cell.left_out),
            "unchecked": list(cell.unchecked),
            # Identifies the data at the start of a trial.
            "data": cell.template_key(""),
        }
        for cell in compiled
    ]
