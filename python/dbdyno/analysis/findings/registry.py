"""All rules: from the modules of this package and from the engines."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module

from dbdyno.analysis import findings
from dbdyno.analysis.findings.rule import Material, Rule
from dbdyno.engines import ENGINES, engine_of, known_engine
from dbdyno.model.result.finding import Kind, Measured
from dbdyno.model.result.reading import objects, part, text
from dbdyno.model.result.shape import Finding

ORDER = (
    # Different work.
    "durability contradicted",
    "not comparable",
    "setting not in force",
    "memory not limited",
    "other rows",
    "counts may differ",
    # Statements without an index, wrong estimates, and measured recommendations.
    "prefix scan",
    "whole table",
    "foreign key without index",
    "foreign keys not enforced",
    "row estimate",
    "generic plan",
    "recommendation",
    # The course of the run.
    "one of several servers",
    "indexes on another device",
    "writes allowed",
    "probe failed",
    "ended",
    "name resolution",
    "counts vary",
    "interleaved cells sync differently",
    "not measured",
    "load machine lost",
    "not looked at",
    "steps left out",
    "checks left out",
    # Findings of engines.
    "locked while upgrading",
    "locked without waiting",
    "overtaken while waiting",
    # Several cells together.
    "key order",
    "falls as it grows",
    "change",
    "connecting",
    "connection for each request",
    "bottleneck tier",
    "other product",
    # Failures and limits.
    "lost updates",
    "failures",
    "limit met",
    "backlog full",
    "one at a time",
    "skipped",
    "cut short",
    # Reasons to doubt a result.
    "more commits than syncs",
    "slower device",
    "outliers",
    "disturbed",
    "unsettled",
    "stalled",
    "few transactions",
    "plan changed",
    "two levels",
    "busy client",
    "load machines differ",
    "load machines apart",
    "load machines shared",
    "overrun",
    "fits in cache",
    "unreadable data",
)
"""Kinds in the order in which reports list them. Kinds that are not listed come last."""


def of_engines(material: Material) -> Iterator[Finding]:
    """Yield the findings of each engine about its own cells."""
    planned = {str(each.get("id", "")): each for each in objects(material.run.design.get("cells"))}
    by_engine: dict[str, list[Measured]] = {}
    for cell in material.cells:
        design, task = planned.get(cell.id, {}), material.tasks.get(cell.id)
        engine = text(part(design, "system"), "engine")
        if engine is not None and task is not None:
            by_engine.setdefault(engine, []).append(Measured(cell, task, text(design, "data") or ""))
    for name, cells in by_engine.items():
        yield from known_engine(name).findings(cells)


def _all_rules() -> tuple[Rule, ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(findings.__path__, f"{findings.__name__}."))
    modules = [import_module(name) for name in names if name != __name__]
    rules = [rule for module in modules for rule in vars(module).values() if isinstance(rule, Rule)]
    rules.append(Rule(of_engines, tuple(kind for name in ENGINES for kind in engine_of(name).finding_kinds)))
    # dict.fromkeys() because a module can import the rule of another one.
    return tuple(sorted(dict.fromkeys(rules), key=_order))


def _order(rule: Rule) -> int:
    return min((ORDER.index(kind.name) for kind in rule.kinds if kind.name in ORDER), default=len(ORDER))


RULES = _all_rules()
KINDS: Mapping[str, Kind] = {kind.name: kind for rule in RULES for kind in rule.kinds}
"""All kinds, by name."""


def find_all(material: Material) -> list[Finding]:
    """Return the findings of a run, in the order of :data:`ORDER`."""
    return [found for rule in RULES for found in rule.find(material)]
