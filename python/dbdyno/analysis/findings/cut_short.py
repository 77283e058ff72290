"""Windows whose time limit came before the work that they were to do."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

CUT_SHORT = Kind("cut short", ("asked", "done"))


def cut_short(cells: Sequence[Cell]) -> list[Finding]:
    """Say where the time limit came before the number of transactions or statements that a trial was to do."""
    found: list[Finding] = []
    for cell in cells:
        done = [each for each in cell["rounds"] if each["status"] == "done" and each["ended_by"] == "seconds"]
        for unit, key in (("transactions", "ok"), ("statements", "statements")):
            asked = next((int(each["window"][unit]) for each in done if each["window"].get(unit)), None)
            if asked is None:
                continue
            asked *= int(done[0]["window"].get("clients") or 1)
            counts = [int(each[key] or 0) for each in done]  # type: ignore[literal-required]
            reached = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
            found.append(
                CUT_SHORT.found(
                    f"The time limit of {done[0]['elapsed_s']:g} s came first: {reached} of {asked:,} {unit} were "
                    "done.",
                    [cell["id"]],
                    {"asked": asked, "done": counts},
                )
            )
    return found


RULE = Rule(lambda material: cut_short(material.cells), (CUT_SHORT,))
