"""Statements that returned other numbers of rows on other systems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.analysis.findings.searching import (
    Asked,
    all_of,
    asked_alike,
    by_case_of,
    case_words,
    engine_name,
    first_of,
    rules_of,
    shown,
)
from dbdyno.engines.searches import may_find_less
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

OTHER_ROWS = Kind("other rows", ("not_comparable", "rows"))


def other_rows(cells: Sequence[Cell]) -> list[Finding]:
    """Say which statements with the same values returned other numbers of rows on other systems, and why.

    Statements that differ in nothing said here (sorted and not) are told together.
    """
    told: dict[str, tuple[list[str], list[str], dict[str, float]]] = {}
    for pairs in asked_alike(cells):
        rows = {cell["system"]["name"]: each["rows"] or 0.0 for cell, each in pairs}
        # Where rows are changed as well, they may have been so at different speed, which another finding says.
        changed = any(each["rows_changed"] for cell, _ in pairs for each in cell["rounds"])
        if len(set(rows.values())) < 2 or changed:
            continue
        by_count: dict[float, list[str]] = {}
        for system, count in rows.items():
            by_count.setdefault(count, []).append(system)
        found = ", ".join(f"{_count(count)} on {all_of(systems)}" for count, systems in by_count.items())
        why = _why_other_rows(pairs, rows) or "why is not known; compare how the systems compare texts"
        texts, ids, _ = told.setdefault(f"{json.dumps(pairs[0][1]['values'])} {found} {why}", ([], [], rows))
        texts.append(f"`{shown(pairs[0][1])}` returned {found}: {why}")
        ids += [cell["id"] for cell, _ in pairs]
    return [
        OTHER_ROWS.found(first_of(texts), dict.fromkeys(ids), {"not_comparable": "rows", "rows": rows})
        for texts, ids, rows in told.values()
    ]


def _why_other_rows(pairs: Sequence[Asked], rows: Mapping[str, float]) -> str:
    """Say what rule of comparison tells the systems apart; empty where none that is known does.

    ``rows``: by system. A rule says it where systems that have it in common returned the same.
    """
    word, rules = rules_of(pairs)
    by_case = by_case_of(rules)
    if None in by_case:
        return ""
    if _apart(by_case.values(), rows):
        # Who disregards case finds all that others find, and more.
        fewer = rows[by_case[False][0]] < rows[by_case[True][0]]
        cell, asked = pairs[0]
        unfit = fewer and not may_find_less(asked["sql"], asked["values"], engine_name(cell))
        return "" if unfit else f"{word} {case_words(by_case)}"
    by_words: dict[str, list[str]] = {}
    for system, rule in rules.items():
        by_words.setdefault(rule.words if rule else "", []).append(system)
    if not _apart(by_words.values(), rows):
        return ""
    return f"{word} " + all_of([f"{words} on {all_of(systems)}" for words, systems in by_words.items()])


def _apart(groups: Iterable[Sequence[str]], rows: Mapping[str, float]) -> bool:
    """Whether each of several groups of systems returned one number of rows, and each another."""
    counts = [{rows[system] for system in group} for group in groups]
    return len(counts) > 1 and all(len(each) == 1 for each in counts) and len(set.union(*counts)) == len(counts)


def _count(rows: float) -> str:
    return f"{rows:,.6g} row{'' if rows == 1 else 's'}"


RULE = Rule(lambda material: other_rows(material.cells), (OTHER_ROWS,))
