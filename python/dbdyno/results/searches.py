"""Findings about searches: systems that find different rows, patterns that no index serves, and remedies against it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.experiment.remedies import PREFIX_SCAN
from dbdyno.experiment.sql import places
from dbdyno.results.cell_document import Cell, CellStatement
from dbdyno.results.document import Finding, Remedy
from dbdyno.results.judging import Pair, other_factors, ratio_of_pair
from dbdyno.searches import PrefixSearch, gives_one_row, may_find_less, prefix_search, text_comparison
from dbdyno.systems.searching import CaseRule, equality_rule, like_rule, looks_up, why_no_prefix
from dbdyno.text import shortened

_LONGEST = 90

# A statement, and the cell it was run in.
_Asked = tuple[Cell, CellStatement]


def other_rows(cells: Sequence[Cell]) -> list[Finding]:
    """Say which statements with the same values returned other numbers of rows on other systems, and why.

    Statements that differ in nothing said here (sorted and not) are told together.
    """
    told: dict[str, tuple[list[str], list[str], dict[str, float]]] = {}
    for pairs in _asked_alike(cells):
        rows = {cell["system"]["name"]: each["rows"] or 0.0 for cell, each in pairs}
        # Where rows are changed as well, they may have been so at different speed, which another finding says.
        changed = any(each["rows_changed"] for cell, _ in pairs for each in cell["rounds"])
        if len(set(rows.values())) < 2 or changed:
            continue
        by_count: dict[float, list[str]] = {}
        for system, count in rows.items():
            by_count.setdefault(count, []).append(system)
        found = ", ".join(f"{_count(count)} on {_all(systems)}" for count, systems in by_count.items())
        why = _why_other_rows(pairs, rows) or "why is not known; compare how the systems compare texts"
        texts, ids, _ = told.setdefault(f"{json.dumps(pairs[0][1]['values'])} {found} {why}", ([], [], rows))
        texts.append(f"`{_shown(pairs[0][1])}` returned {found}: {why}")
        ids += [cell["id"] for cell, _ in pairs]
    return [
        {"text": _first_of(texts), "cells": list(dict.fromkeys(ids)), "evidence": {"unlike": "rows", "rows": rows}}
        for texts, ids, rows in told.values()
    ]


def other_counts(cells: Sequence[Cell]) -> list[Finding]:
    """Say which statements may have counted other rows, since the systems compare texts by other rules.

    What was counted is not in the results: each count is one row.
    """
    told: dict[str, tuple[list[str], list[str], dict[str, list[str]]]] = {}
    for pairs in _asked_alike(cells):
        if not all(gives_one_row(each["sql"]) and each["rows"] == 1 for _, each in pairs):
            continue
        word, rules = _rules(pairs)
        by_case = _by_case(rules)
        if not {True, False} <= set(by_case):
            continue
        why = f"{word} {_case_words(by_case)}"
        regards = {"regards": by_case[True], "disregards": by_case[False]}
        texts, ids, _ = told.setdefault(why, ([], [], regards))
        text = f"`{_shown(pairs[0][1])}` returns one row whatever it finds, which may differ between the systems"
        texts.append(f"{text}: {why}")
        ids += [cell["id"] for cell, _ in pairs]
    return [
        {"text": _first_of(texts), "cells": list(dict.fromkeys(ids)), "evidence": {"case": regards}}
        for texts, ids, regards in told.values()
    ]


def _asked_alike(cells: Sequence[Cell]) -> Iterable[list[_Asked]]:
    """Group the statements that ask for the same each time by what they are in the experiment.

    Their texts differ from engine to engine. One system alone is no group.
    """
    asked: dict[str, list[_Asked]] = {}
    if len({cell["system"]["name"] for cell in cells}) < 2:
        return []
    for cell in cells:
        engine = _engine(cell)
        for each in cell["statements"]:
            sql = each["sql"]
            fixed = each["values"] or (text_comparison(sql, [], engine) is not None and not places(sql, engine))
            if fixed and each["rows"] is not None:
                key = json.dumps([each["name"], each["values"], other_factors(cell)], sort_keys=True)
                asked.setdefault(key, []).append((cell, each))
    return asked.values()


def _why_other_rows(pairs: Sequence[_Asked], rows: Mapping[str, float]) -> str:
    """Say what rule of comparison tells the systems apart; empty where none that is known does.

    ``rows``: by system. A rule says it where systems that have it in common returned the same.
    """
    word, rules = _rules(pairs)
    by_case = _by_case(rules)
    if None in by_case:
        return ""
    if _apart(by_case.values(), rows):
        # Who disregards case finds all that others find, and more.
        fewer = rows[by_case[False][0]] < rows[by_case[True][0]]
        cell, asked = pairs[0]
        unfit = fewer and not may_find_less(asked["sql"], asked["values"], _engine(cell))
        return "" if unfit else f"{word} {_case_words(by_case)}"
    by_words: dict[str, list[str]] = {}
    for system, rule in rules.items():
        by_words.setdefault(rule.words if rule else "", []).append(system)
    if not _apart(by_words.values(), rows):
        return ""
    return f"{word} " + _all([f"{words} on {_all(systems)}" for words, systems in by_words.items()])


def _rules(pairs: Sequence[_Asked]) -> tuple[str, dict[str, CaseRule | None]]:
    """Give the operator by which a statement compares texts, and its rule on each system."""
    words = {text_comparison(each["sql"], each["values"], _engine(cell)) for cell, each in pairs}
    word = words.pop() if len(words) == 1 else None
    rule = {"LIKE": like_rule, "=": equality_rule}.get(word or "")
    found: dict[str, CaseRule | None] = {}
    for cell, _ in pairs:
        system = cell["system"]
        own = cell["load"] is not None
        found[system["name"]] = rule(system["engine"] or "", system["settings"], own_tables=own) if rule else None
    return word or "", found


def _engine(cell: Cell) -> str:
    """Give the name by which experiments call a cell's engine, of those whose SQL is read."""
    name = (cell["system"]["engine"] or "").lower()
    return {"mariadb": "mysql", "sql server": "sqlserver"}.get(name, name)


def _by_case(rules: Mapping[str, CaseRule | None]) -> dict[bool | None, list[str]]:
    """Group systems by whether they regard case; ``None``: it is not known."""
    found: dict[bool | None, list[str]] = {}
    for system, rule in rules.items():
        found.setdefault(rule.regards if rule else None, []).append(system)
    return found


def _case_words(by_case: Mapping[bool | None, Sequence[str]]) -> str:
    return f"regards case on {_all(by_case[True])} and disregards it on {_all(by_case[False])}"


def _apart(groups: Iterable[Sequence[str]], rows: Mapping[str, float]) -> bool:
    """Whether each of several groups of systems returned one number of rows, and each another."""
    counts = [{rows[system] for system in group} for group in groups]
    return len(counts) > 1 and all(len(each) == 1 for each in counts) and len(set.union(*counts)) == len(counts)


def _count(rows: float) -> str:
    return f"{rows:,.6g} row{'' if rows == 1 else 's'}"


def _first_of(texts: Sequence[str]) -> str:
    return f"{texts[0]}." if len(texts) == 1 else f"{texts[0]}; {len(texts) - 1} more of this kind."


def prefix_scans(cells: Sequence[Cell], remedies: Sequence[Remedy]) -> list[Finding]:
    """Say which searches used no index although their pattern begins with fixed characters, and what would help.

    From the plans as the engines gave them: a search is told where :func:`looks_up` says that the plan is none.
    """
    groups: dict[tuple[str, str], tuple[list[str], list[str], list[str]]] = {}
    for cell, each, search in _scans(cells):
        system = cell["system"]
        why = why_no_prefix(system["engine"] or "", system["settings"])
        group = groups.setdefault((system["name"], why), ([], [], []))
        plan = "; ".join(each["plan"])
        for values, value in zip(group, (search.text, f"`{plan}`", cell["id"]), strict=True):
            if value not in values:
                values.append(value)
    tried = {cell for remedy in remedies for cell in remedy["cells"]}
    found: list[Finding] = []
    for (name, why), (searches, plans, ids) in groups.items():
        patterns = ", ".join(f"`{search}`" for search in searches)
        text = f"On {name} no index was used for {patterns}, whose beginning is fixed: the plan is {_all(plans, 'or')}"
        text += f"; {why}." if why else "."
        engine = next(cell["system"]["engine"] or "" for cell in cells if cell["id"] == ids[0])
        if any(each["engine"] == engine.lower() for each in remedies) and not tried & set(ids):
            text += " `--try-remedies` measures that."
        found.append({"text": text, "cells": ids, "evidence": {"finding": PREFIX_SCAN, "plans": plans}})
    return found


def remedies_tried(cells: Sequence[Cell], remedies: Iterable[Remedy]) -> list[Finding]:
    """Say what each remedy that was measured did where it was needed: the change within blocks, and what came of it."""
    by_id = {cell["id"]: cell for cell in cells}
    found: list[Finding] = []
    for remedy in remedies:
        ratios: dict[str, float] = {}
        unserved: list[str] = []
        rows: list[str] = []
        for base, changed in ((by_id.get(a), by_id.get(b)) for a, b in remedy["cells"].items()):
            ratio = ratio_of_pair(Pair(base, changed)) if base and changed else None
            if base is None or changed is None or ratio is None or not any(_scans([base])):
                continue
            ratios[changed["id"]] = ratio.mean
            before = {each["name"]: each["rows"] for each in base["statements"]}
            unserved += [f"`{search.text}`" for _, _, search in _scans([changed])]
            for _, each, search in _prefix_searches([changed]):
                was, now = before.get(each["name"]), each["rows"]
                if was is not None and now is not None and was != now:
                    rows.append(f"{now:,.6g} for `{search.text}` instead of {was:,.6g}")
        if not ratios:
            continue
        least, most = min(ratios.values()), max(ratios.values())
        span = _times(least) if len(ratios) == 1 else f"{_times(least)} to {_times(most)}"
        number = "1 cell" if len(ratios) == 1 else f"{len(ratios)} cells"
        text = f"Remedy {remedy['name']} ({remedy['does']}) was measured: {span} times the throughput, in {number}"
        text += f"; still without an index: {_all(list(dict.fromkeys(unserved)))}" if unserved else ""
        text += f"; it returns other rows: {', '.join(dict.fromkeys(rows))}" if rows else ""
        evidence = {"remedy": remedy["name"], "finding": remedy["answers"], "ratios": ratios}
        found.append({"text": f"{text}.", "cells": list(ratios), "evidence": evidence})
    return found


def _scans(cells: Iterable[Cell]) -> Iterable[tuple[Cell, CellStatement, PrefixSearch]]:
    """Find the searches whose plan is known and looks nothing up."""
    for cell, each, search in _prefix_searches(cells):
        if looks_up(cell["system"]["engine"] or "", each["plan"]) is False:
            yield cell, each, search


def _prefix_searches(cells: Iterable[Cell]) -> Iterable[tuple[Cell, CellStatement, PrefixSearch]]:
    for cell in cells:
        for each in cell["statements"]:
            search = prefix_search(each["sql"], each["values"], _engine(cell))
            if search is not None:
                yield cell, each, search


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def _shown(statement: CellStatement) -> str:
    """Write a statement with its values in it, shortened where it is long."""
    text = " ".join(statement["sql"].split())
    for value in statement["values"]:
        text = text.replace("?", "'" + str(value) + "'" if isinstance(value, str) else str(value), 1)
    return shortened(text, _LONGEST)


def _all(names: Sequence[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
