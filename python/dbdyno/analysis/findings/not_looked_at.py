"""What of the data that trials left could not be looked at, or timed."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

NOT_LOOKED_AT = Kind("not looked at", ("what", "error"))

_WORDS = {"space": "The space that tables and indexes take"}


def not_looked_at(material: Material) -> Iterator[Finding]:
    """Say it, with the error, once for all cells that it holds of."""
    failed: dict[tuple[str, str], list[str]] = {}
    for cell in material.cells:
        for what, error in cell["not_looked_at"].items():
            failed.setdefault((what, error), []).append(cell["id"])
    for (what, error), cells in failed.items():
        words = f"{_WORDS.get(what, f'The time to {what}')} is not known: {error}."
        yield NOT_LOOKED_AT.found(words, cells, {"what": what, "error": error})


RULE = Rule(not_looked_at, (NOT_LOOKED_AT,))
