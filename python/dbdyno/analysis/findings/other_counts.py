"""Statements that may have counted other rows on other systems."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.findings.rule import Rule
from dbdyno.analysis.findings.searching import asked_alike, by_case_of, case_words, first_of, rules_of, shown
from dbdyno.engines.searches import gives_one_row
from dbdyno.model.result.cell import Cell
from dbdyno.model.result.finding import Kind
from dbdyno.model.result.shape import Finding

OTHER_COUNTS = Kind("counts may differ", ("case", "rules"))


def other_counts(cells: Sequence[Cell]) -> list[Finding]:
    """Say which statements may have counted other rows, since the systems compare texts by other rules.

    What was counted is not in the results: each count is one row.
    """
    told: dict[str, tuple[list[str], list[str], dict[str, list[str]], dict[str, str]]] = {}
    for pairs in asked_alike(cells):
        if not all(gives_one_row(each["sql"]) and each["rows"] == 1 for _, each in pairs):
            continue
        word, rules = rules_of(pairs)
        by_case = by_case_of(rules)
        if not {True, False} <= set(by_case):
            continue
        why = f"{word} {case_words(by_case)}"
        regards = {"regards": by_case[True], "disregards": by_case[False]}
        words = {system: rule.words for system, rule in rules.items() if rule}
        texts, ids, _, _ = told.setdefault(why, ([], [], regards, words))
        text = f"`{shown(pairs[0][1])}` returns one row whatever it finds, which may differ between the systems"
        texts.append(f"{text}: {why}")
        ids += [cell["id"] for cell, _ in pairs]
    return [
        OTHER_COUNTS.found(first_of(texts), dict.fromkeys(ids), {"case": regards, "rules": words})
        for texts, ids, regards, words in told.values()
    ]


RULE = Rule(lambda material: other_counts(material.cells), (OTHER_COUNTS,))
