"""What findings about searches share: the statements of several systems, and by what rules they compare texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.analysis.measured.judging import other_factors
from dbdyno.base.text import shortened
from dbdyno.engines import Engine, engine_of_product
from dbdyno.engines.prefix_rules import PrefixSearch
from dbdyno.engines.searches import compared_columns, prefix_search, text_comparison
from dbdyno.engines.searching import CaseRule, Column
from dbdyno.engines.statements import places
from dbdyno.model.result.cell import Cell, CellStatement
from dbdyno.model.result.reading import objects

_LONGEST = 90

# A statement, and the cell it was run in.
Asked = tuple[Cell, CellStatement]


def asked_alike(cells: Sequence[Cell]) -> Iterable[list[Asked]]:
    """Group the statements that ask for the same each time by what they are in the experiment.

    Their texts differ from engine to engine. One system alone is no group.
    """
    asked: dict[str, list[Asked]] = {}
    if len({cell["system"]["name"] for cell in cells}) < 2:
        return []
    for cell in cells:
        engine = engine_name(cell)
        for each in cell["statements"]:
            sql = each["sql"]
            fixed = each["values"] or (text_comparison(sql, [], engine) is not None and not places(sql, engine))
            if fixed and each["rows"] is not None:
                key = json.dumps([each["name"], each["values"], other_factors(cell)], sort_keys=True)
                asked.setdefault(key, []).append((cell, each))
    return asked.values()


def rules_of(pairs: Sequence[Asked]) -> tuple[str, dict[str, CaseRule | None]]:
    """Give the operator by which a statement compares texts, and its rule on each system."""
    words = {text_comparison(each["sql"], each["values"], engine_name(cell)) for cell, each in pairs}
    word = words.pop() if len(words) == 1 else None
    found: dict[str, CaseRule | None] = {}
    for cell, each in pairs:
        system = cell["system"]
        columns = _compared(cell, each)
        found[system["name"]] = None
        if word and columns is not None:
            own, engine = cell["load"] is not None, known(cell)
            rule = engine.like_rule if word == "LIKE" else engine.equality_rule
            found[system["name"]] = rule(system["settings"], columns, own_tables=own)
    return word or "", found


def _compared(cell: Cell, statement: CellStatement) -> list[Column] | None:
    """Give the columns that a statement compares with texts, as the catalogue has them.

    ``None``: the catalogue was read, and not all of them are in it.
    """
    tables = objects(cell["system"]["catalog"].get("tables"))
    columns: list[Column] = []
    for named in compared_columns(statement["sql"], statement["values"], engine_name(cell)) if tables else ():
        table = [each for each in tables if str(each.get("name")).lower() == (named.table or "").lower()]
        own = objects(table[0].get("columns")) if len(table) == 1 else []
        column = [each for each in own if str(each.get("name")).lower() == named.name.lower()]
        if len(column) != 1:
            return None
        columns += column
    return columns


def engine_name(cell: Cell) -> str:
    """Give the name by which experiments call a cell's engine; empty where it is unknown."""
    return known(cell).name


def known(cell: Cell) -> Engine:
    """Give a cell's engine, by what the system calls itself."""
    return engine_of_product(cell["system"]["engine"])


def by_case_of(rules: Mapping[str, CaseRule | None]) -> dict[bool | None, list[str]]:
    """Group systems by whether they regard case; ``None``: it is not known."""
    found: dict[bool | None, list[str]] = {}
    for system, rule in rules.items():
        found.setdefault(rule.regards if rule else None, []).append(system)
    return found


def case_words(by_case: Mapping[bool | None, Sequence[str]]) -> str:
    """Say which systems regard case and which do not, as a clause; ``by_case``: as of :func:`by_case_of`."""
    return f"regards case on {all_of(by_case[True])} and disregards it on {all_of(by_case[False])}"


def first_of(texts: Sequence[str]) -> str:
    """Write the first of several sentences on the same, with how many more there are."""
    return f"{texts[0]}." if len(texts) == 1 else f"{texts[0]}; {len(texts) - 1} more of this kind."


def scans(cells: Iterable[Cell]) -> Iterable[tuple[Cell, CellStatement, PrefixSearch]]:
    """Find the searches whose plan is known and looks nothing up."""
    for cell, each, search in prefix_searches(cells):
        if known(cell).looks_up(each["plan"]) is False:
            yield cell, each, search


def prefix_searches(cells: Iterable[Cell]) -> Iterable[tuple[Cell, CellStatement, PrefixSearch]]:
    """Find the statements that search for how a text begins."""
    for cell in cells:
        for each in cell["statements"]:
            search = prefix_search(each["sql"], each["values"], engine_name(cell))
            if search is not None:
                yield cell, each, search


def shown(statement: CellStatement) -> str:
    """Write a statement with its values in it, shortened where it is long."""
    text = " ".join(statement["sql"].split())
    for value in statement["values"]:
        text = text.replace("?", "'" + str(value) + "'" if isinstance(value, str) else str(value), 1)
    return shortened(text, _LONGEST)


def all_of(names: Sequence[str], word: str = "and") -> str:
    """Write names as people list them: ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
