"""The cells of a run as its design has them."""

from collections.abc import Sequence
from typing import Any

from dbdyno.model.plan.cell import CompiledCell


def designed(compiled: Sequence[CompiledCell]) -> list[dict[str, Any]]:
    """Say of each cell what it is: its system and levels, what is set, what its data are made by."""
    return [
        {
            "id": each.cell.id,
            "system": {"name": each.cell.system.name, "engine": each.cell.system.engine},
            "factors": each.cell.factors,
            "asked": dict(each.settings.shown()),
            "makes": [*each.before, *each.after, *each.added],
            "left_out": list(each.left_out),
            # What tells the data that its trials begin with from other data.
            "data": each.template_key(""),
        }
        for each in compiled
    ]
