"""Patterns that begin with fixed characters, and no index that served them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dbdyno.analysis.findings.rule import Rule
from dbdyno.analysis.findings.searching import all_of, scans
from dbdyno.engines.prefixes import Why, why_no_prefix
from dbdyno.experiment.recommendations import PREFIX_SCAN
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.reading import JsonObject
from dbdyno.model.result.shape import Finding, Recommendation

PREFIX_SCAN_FOUND = Kind("prefix scan", ("plans", "searches"))


@dataclass
class _Unserved:
    """Searches of one system that no index served, for one reason."""

    engine: str
    why: Why | None
    searches: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)


def prefix_scans(cells: Sequence[Cell], recommendations: Sequence[Recommendation]) -> list[Finding]:
    """Say which searches used no index although their pattern begins with fixed characters, and what would help.

    From the plans as the engines gave them: a search is told where ``looks_up`` says that the plan is none. Why is
    told where the catalogue says it (:func:`why_no_prefix`).
    """
    groups: dict[tuple[str, str], _Unserved] = {}
    for cell, each, search in scans(cells):
        system = cell["system"]
        engine, over = system["engine"] or "", system["passed_over"].get(each["name"], [])
        why = why_no_prefix(engine, system["version"] or "", system["settings"], system["catalog"], search, over)
        group = groups.setdefault((system["name"], why.words if why else ""), _Unserved(engine.lower(), why))
        plan = "; ".join(each["plan"])
        for of, value in ((group.searches, search.text), (group.plans, plan), (group.cells, cell["id"])):
            if value not in of:
                of.append(value)
    tried = {cell for recommendation in recommendations for cell in recommendation["cells"]}
    found: list[Finding] = []
    for (name, words), group in groups.items():
        patterns = ", ".join(f"`{search}`" for search in group.searches)
        plans = all_of([f"`{plan}`" for plan in group.plans], "or")
        text = f"On {name} no index was used for {patterns}, whose beginning is fixed: the plan is {plans}"
        text += f"; {words}." if words else "."
        can_be_helped = group.why is None or group.why.can_be_helped
        fits = any(each["engine"] == group.engine for each in recommendations) and not tried & set(group.cells)
        if can_be_helped and fits:
            text += " `--try-recommendations` measures what the experiment has against that."
        observed: JsonObject = {"finding": PREFIX_SCAN, "searches": group.searches, "plans": group.plans}
        if group.why:
            observed["catalog"] = group.why.rows
        found.append(PREFIX_SCAN_FOUND.found(text, group.cells, observed))
    return found


RULE = Rule(lambda material: prefix_scans(material.cells, material.recommendations), (PREFIX_SCAN_FOUND,))
