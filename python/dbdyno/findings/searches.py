"""Findings about searches: systems that find different rows, patterns that no index serves, and what helps."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.document.cell import Cell, CellStatement
from dbdyno.document.finding import finding
from dbdyno.document.reading import JsonObject, objects
from dbdyno.document.shape import Comparison, Finding, Recommendation
from dbdyno.engines import Engine, engine_of_product
from dbdyno.engines.prefixes import Why, why_no_prefix
from dbdyno.engines.searches import (
    PrefixSearch,
    compared_columns,
    gives_one_row,
    may_find_less,
    prefix_search,
    text_comparison,
)
from dbdyno.engines.searching import CaseRule, Column
from dbdyno.experiment.recommendations import PREFIX_SCAN
from dbdyno.experiment.sql import places
from dbdyno.results.judging import Pair, judge, other_factors
from dbdyno.stats import CONFIDENCE, MARGIN
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
        finding("other rows", _first_of(texts), dict.fromkeys(ids), {"unlike": "rows", "rows": rows})
        for texts, ids, rows in told.values()
    ]


def other_counts(cells: Sequence[Cell]) -> list[Finding]:
    """Say which statements may have counted other rows, since the systems compare texts by other rules.

    What was counted is not in the results: each count is one row.
    """
    told: dict[str, tuple[list[str], list[str], dict[str, list[str]], dict[str, str]]] = {}
    for pairs in _asked_alike(cells):
        if not all(gives_one_row(each["sql"]) and each["rows"] == 1 for _, each in pairs):
            continue
        word, rules = _rules(pairs)
        by_case = _by_case(rules)
        if not {True, False} <= set(by_case):
            continue
        why = f"{word} {_case_words(by_case)}"
        regards = {"regards": by_case[True], "disregards": by_case[False]}
        words = {system: rule.words for system, rule in rules.items() if rule}
        texts, ids, _, _ = told.setdefault(why, ([], [], regards, words))
        text = f"`{_shown(pairs[0][1])}` returns one row whatever it finds, which may differ between the systems"
        texts.append(f"{text}: {why}")
        ids += [cell["id"] for cell, _ in pairs]
    return [
        finding("counts may differ", _first_of(texts), dict.fromkeys(ids), {"case": regards, "rules": words})
        for texts, ids, regards, words in told.values()
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
    found: dict[str, CaseRule | None] = {}
    for cell, each in pairs:
        system = cell["system"]
        columns = _compared(cell, each)
        found[system["name"]] = None
        if word and columns is not None:
            own, engine = cell["load"] is not None, _known(cell)
            rule = engine.like_rule if word == "LIKE" else engine.equality_rule
            found[system["name"]] = rule(system["settings"], columns, own_tables=own)
    return word or "", found


def _compared(cell: Cell, statement: CellStatement) -> list[Column] | None:
    """Give the columns that a statement compares with texts, as the catalogue has them.

    ``None``: the catalogue was read, and not all of them are in it.
    """
    tables = objects(cell["system"]["catalog"].get("tables"))
    columns: list[Column] = []
    for named in compared_columns(statement["sql"], statement["values"], _engine(cell)) if tables else ():
        table = [each for each in tables if str(each.get("name")).lower() == (named.table or "").lower()]
        own = objects(table[0].get("columns")) if len(table) == 1 else []
        column = [each for each in own if str(each.get("name")).lower() == named.name.lower()]
        if len(column) != 1:
            return None
        columns += column
    return columns


def _engine(cell: Cell) -> str:
    """Give the name by which experiments call a cell's engine; empty where it is unknown."""
    return _known(cell).name


def _known(cell: Cell) -> Engine:
    return engine_of_product(cell["system"]["engine"])


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


def prefix_scans(cells: Sequence[Cell], recommendations: Sequence[Recommendation]) -> list[Finding]:
    """Say which searches used no index although their pattern begins with fixed characters, and what would help.

    From the plans as the engines gave them: a search is told where ``looks_up`` says that the plan is none. Why is
    told where the catalogue says it (:func:`why_no_prefix`).
    """
    groups: dict[tuple[str, str], _Unserved] = {}
    for cell, each, search in _scans(cells):
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
        plans = _all([f"`{plan}`" for plan in group.plans], "or")
        text = f"On {name} no index was used for {patterns}, whose beginning is fixed: the plan is {plans}"
        text += f"; {words}." if words else "."
        can_be_helped = group.why is None or group.why.can_be_helped
        fits = any(each["engine"] == group.engine for each in recommendations) and not tried & set(group.cells)
        if can_be_helped and fits:
            text += " `--try-recommendations` measures what the experiment has against that."
        observed: JsonObject = {"finding": PREFIX_SCAN, "searches": group.searches, "plans": group.plans}
        if group.why:
            observed["catalog"] = group.why.rows
        found.append(finding("prefix scan", text, group.cells, observed))
    return found


@dataclass
class _Unserved:
    """Searches of one system that no index served, for one reason."""

    engine: str
    why: Why | None
    searches: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)


def recommendations_tried(
    cells: Sequence[Cell],
    recommendations: Iterable[Recommendation],
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> list[Finding]:
    """Say what each recommendation that was measured did where it was needed, and what came of it.

    Each is a comparison like those of the table, and all of a run's are decided together (:func:`judge`).
    """
    by_id = {cell["id"]: cell for cell in cells}
    measured: list[tuple[Recommendation, list[tuple[Cell, Cell]]]] = []
    for recommendation in recommendations:
        both = ((by_id.get(base), by_id.get(changed)) for base, changed in recommendation["cells"].items())
        needed = [(base, changed) for base, changed in both if base and changed and any(_scans([base]))]
        if needed:
            measured.append((recommendation, needed))
    pairs = [Pair(base, changed, confidence=confidence) for _, needed in measured for base, changed in needed]
    decided = iter(judge(pairs, margin))
    found: list[Finding] = []
    for recommendation, needed in measured:
        comparisons = [each for each in itertools.islice(decided, len(needed)) if each["ratio"] is not None]
        if not comparisons:
            continue
        unserved = [f"`{search.text}`" for _, changed in needed for _, _, search in _scans([changed])]
        rows = [words for base, changed in needed for words in _rows_changed(base, changed)]
        told = [f"{_gain(each)}: {each['b']} against {each['a']}" for each in comparisons]
        text = f"Recommendation {recommendation['name']} ({recommendation['does']}) was measured: {'; '.join(told)}"
        text += f"; still without an index: {_all(list(dict.fromkeys(unserved)))}" if unserved else ""
        text += f"; it returns other rows: {', '.join(dict.fromkeys(rows))}" if rows else ""
        observed = {
            "recommendation": recommendation["name"],
            "finding": recommendation["answers"],
            "comparisons": comparisons,
            "plans": {each["id"]: [one["plan"] for one in each["statements"]] for pair in needed for each in pair},
        }
        found.append(finding("recommendation", f"{text}.", [changed["id"] for _, changed in needed], observed))
    return found


def _gain(decided: Comparison) -> str:
    """Say what a recommendation's comparison showed: how many times, how sure, and what that decides."""
    ratio, ci95 = decided["ratio"] or 0.0, decided["ci95"]
    what = "the throughput" if decided["metric"] == "throughput" else f"the response time ({decided['metric']})"
    size = f"{_times(ratio)} times {what}"
    size += f" ({_times(ci95[0])} to {_times(ci95[1])})" if ci95 else " (no interval: one round)"
    if decided["unlike"]:
        return f"{size}, but not for the same work: {'; '.join(decided['unlike'])}"
    if decided["lacking"]:
        return f"{size}, which settles nothing: {decided['lacking']}"
    return f"{size}, {decided['verdict']}"


def _rows_changed(base: Cell, changed: Cell) -> Iterator[str]:
    """Say which searches return other rows with a recommendation."""
    before = {each["name"]: each["rows"] for each in base["statements"]}
    for _, each, search in _prefix_searches([changed]):
        was, now = before.get(each["name"]), each["rows"]
        if was is not None and now is not None and was != now:
            yield f"{now:,.6g} for `{search.text}` instead of {was:,.6g}"


def _scans(cells: Iterable[Cell]) -> Iterable[tuple[Cell, CellStatement, PrefixSearch]]:
    """Find the searches whose plan is known and looks nothing up."""
    for cell, each, search in _prefix_searches(cells):
        if _known(cell).looks_up(each["plan"]) is False:
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
