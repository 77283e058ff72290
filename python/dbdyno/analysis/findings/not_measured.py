"""Combinations that were not measured, and why."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Rule
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject, objects, text
from dbdyno.model.result.shape import Finding

NOT_MEASURED = Kind("not measured", ("excluded",))


def not_measured(design: JsonObject) -> Iterator[Finding]:
    """Say which combinations a design leaves out, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for each in objects(design.get("excluded")):
        cell, reason = text(each, "id"), text(each, "reason")
        if cell is not None and reason is not None:
            reasons.setdefault(reason, []).append(cell)
    for reason, ids in reasons.items():
        yield NOT_MEASURED.found(f"Not measured: {', '.join(ids)}: {reason}.", [], {"excluded": ids})


RULE = Rule(lambda material: not_measured(material.run.design), (NOT_MEASURED,))
