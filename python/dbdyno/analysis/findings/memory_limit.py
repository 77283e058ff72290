"""A limit to memory that was asked for and is not in force."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

MEMORY_NOT_LIMITED = Kind("memory not limited", ("bytes", "refused"))


def memory_not_limited(material: Material) -> Iterator[Finding]:
    """Say why, once for all cells that it holds of."""
    refused: dict[tuple[int, str], list[str]] = {}
    for cell in material.cells:
        limit = cell["memory_limit"]
        if limit is not None and limit["refused"] is not None:
            refused.setdefault((limit["bytes"], limit["refused"]), []).append(cell["id"])
    for (limited, why), cells in refused.items():
        words = f"Memory was not limited to {limited / 1e6:g} MB: {why}. What the kernel caches is limited by nothing."
        yield MEMORY_NOT_LIMITED.found(words, cells, {"bytes": limited, "refused": why})


RULE = Rule(memory_not_limited, (MEMORY_NOT_LIMITED,))
