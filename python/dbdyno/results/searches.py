"""Findings about searches: systems that find different rows, patterns that no index serves, and remedies against it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from dbdyno.experiment.remedies import PREFIX_SCAN
from dbdyno.results.cell_document import Cell, CellStatement
from dbdyno.results.comparing import by_block, other_factors
from dbdyno.results.document import Finding, Remedy
from dbdyno.searches import PrefixSearch, prefix_search
from dbdyno.stats import paired_ratio
from dbdyno.systems.searching import equality_regards_case, like_regards_case, looks_up, why_no_prefix
from dbdyno.text import shortened

_LONGEST = 90


def other_rows(cells: Sequence[Cell]) -> list[Finding]:
    """Say which statements with the same values returned other numbers of rows on other systems, and why.

    Statements that differ in nothing said here (sorted and not) are told together.
    """
    asked: dict[str, list[tuple[Cell, CellStatement]]] = {}
    for cell in cells:
        for each in cell["statements"]:
            if each["values"] and each["rows"] is not None:
                key = json.dumps([each["sql"], each["values"], other_factors(cell)], sort_keys=True)
                asked.setdefault(key, []).append((cell, each))
    told: dict[str, tuple[list[str], list[str], dict[str, float]]] = {}
    for pairs in asked.values():
        rows = {cell["system"]["name"]: each["rows"] or 0.0 for cell, each in pairs}
        if len(set(rows.values())) < 2:
            continue
        by_count: dict[float, list[str]] = {}
        for system, count in rows.items():
            by_count.setdefault(count, []).append(system)
        found = ", ".join(f"{count:,.6g} rows on {_all(systems)}" for count, systems in by_count.items())
        why = _why_other_rows(pairs)
        texts, ids, _ = told.setdefault(f"{json.dumps(pairs[0][1]['values'])} {found} {why}", ([], [], rows))
        texts.append(f"`{_shown(pairs[0][1])}` returned {found}: {why}")
        ids += [cell["id"] for cell, _ in pairs]
    return [
        {
            "text": f"{texts[0]}." if len(texts) == 1 else f"{texts[0]}; {len(texts) - 1} more of this kind.",
            "cells": list(dict.fromkeys(ids)),
            "evidence": {"unlike": "rows", "rows": rows},
        }
        for texts, ids, rows in told.values()
    ]


def _why_other_rows(pairs: Sequence[tuple[Cell, CellStatement]]) -> str:
    """Say what rule of comparison tells the systems apart."""
    sql = pairs[0][1]["sql"].lower()
    word, rule = ("LIKE", like_regards_case) if " like " in sql else ("=", equality_regards_case)
    regards: dict[bool | None, list[str]] = {}
    for cell, _ in pairs:
        system = cell["system"]
        kind = rule(system["engine"] or "", system["settings"])
        names = regards.setdefault(kind, [])
        if system["name"] not in names:
            names.append(system["name"])
    if set(regards) == {True, False}:
        return f"{word} regards case on {_all(regards[True])} and disregards it on {_all(regards[False])}"
    return "why is not known; compare how the systems compare texts"


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
            ratio = paired_ratio(by_block(base), by_block(changed)) if base and changed else None
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
            search = prefix_search(each["sql"], each["values"])
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
