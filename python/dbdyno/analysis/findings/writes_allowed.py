"""What a run wrote to that dbdyno did not make."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.engines.writes import ALLOW
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

WRITES_ALLOWED = Kind("writes allowed", ("system", "wrote_to", "statements"))


def writes_allowed(material: Material) -> Iterator[Finding]:
    """Say it of each system for which it was allowed, with the statements that did."""
    for each in material.observed(WRITES_ALLOWED):
        told = "; ".join(str(statement.get("told")) for statement in each["statements"])
        left = f"with {ALLOW}, the run wrote to {each['wrote_to']}, which dbdyno did not make, and left it so"
        evidence = {"system": each["system"], "wrote_to": each["wrote_to"], "statements": each["statements"]}
        yield WRITES_ALLOWED.found(f"{each['system']}: {left}: {told}.", [], evidence)


RULE = Rule(writes_allowed, (WRITES_ALLOWED,))
