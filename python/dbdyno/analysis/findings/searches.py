"""The searches of cells: statements of several systems, prefix searches, and how they compare strings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.analysis.findings.words import all_of
from dbdyno.analysis.measured.comparisons import other_factors
from dbdyno.analysis.measured.engines import engine_name, engine_of_cell
from dbdyno.base.text import shortened
from dbdyno.engines.prefix_rules import PrefixSearch
from dbdyno.engines.searches import compared_columns, prefix_search, text_comparison
from dbdyno.engines.statements import places
from dbdyno.engines.string_rules import CaseRule, Column
from dbdyno.model.result.cell import Cell, CellStatement
from dbdyno.model.result.reading import objects

_MAX_SQL_LENGTH = 90

# A statement, and the cell it was run in.
StatementInCell = tuple[Cell, CellStatement]


def same_statements(cells: Sequence[Cell]) -> Iterable[list[StatementInCell]]:
    """Group the statements with fixed values by their name in the experiment, since their SQL differs by engine.

    Returns nothing for a single system.
    """
    asked: dict[str, list[StatementInCell]] = {}
    if len({cell.system.name for cell in cells}) <= 1:
        return []
    for cell in cells:
        engine = engine_name(cell)
        for statement in cell.statements:
            sql = statement.sql
            fixed = statement.values or (text_comparison(sql, [], engine) is not None and not places(sql, engine))
            if fixed and statement.rows is not None:
                key = json.dumps([statement.name, statement.values, other_factors(cell)], sort_keys=True)
                asked.setdefault(key, []).append((cell, statement))
    return asked.values()


def rules_of(pairs: Sequence[StatementInCell]) -> tuple[str, dict[str, CaseRule | None]]:
    """Return the operator by which a statement compares strings, and its rule on each system."""
    words = {text_comparison(statement.sql, statement.values, engine_name(cell)) for cell, statement in pairs}
    word = words.pop() if len(words) == 1 else None
    found: dict[str, CaseRule | None] = {}
    for cell, statement in pairs:
        system = cell.system
        columns = _compared(cell, statement)
        found[system.name] = None
        if word and columns is not None:
            own, engine = cell.load is not None, engine_of_cell(cell)
            rule = engine.like_rule if word == "LIKE" else engine.equality_rule
            found[system.name] = rule(system.settings, columns, own_tables=own)
    return word or "", found


def _compared(cell: Cell, statement: CellStatement) -> list[Column] | None:
    """Return the catalog entries of the columns that a statement compares with strings.

    ``None``: the catalog was read but lacks some of the columns.
    """
    tables = objects(cell.system.catalog.get("tables"))
    columns: list[Column] = []
    for named in compared_columns(statement.sql, statement.values, engine_name(cell)) if tables else ():
        table = [each for each in tables if str(each.get("name")).lower() == (named.table or "").lower()]
        own = objects(table[0].get("columns")) if len(table) == 1 else []
        column = [each for each in own if str(each.get("name")).lower() == named.name.lower()]
        if len(column) != 1:
            return None
        columns += column
    return columns


def by_case_of(rules: Mapping[str, CaseRule | None]) -> dict[bool | None, list[str]]:
    """Group systems by whether their comparison is case-sensitive; ``None``: unknown."""
    found: dict[bool | None, list[str]] = {}
    for system, rule in rules.items():
        found.setdefault(rule.regards if rule else None, []).append(system)
    return found


def case_words(by_case: Mapping[bool | None, Sequence[str]]) -> str:
    """Return a clause that names the systems by case sensitivity. ``by_case``: see :func:`by_case_of`."""
    return f"is case-sensitive on {all_of(by_case[True])} and case-insensitive on {all_of(by_case[False])}"


def scans(cells: Iterable[Cell]) -> Iterable[tuple[Cell, CellStatement, PrefixSearch]]:
    """Yield the prefix searches whose plan is known and uses no index."""
    for cell, statement, search in prefix_searches(cells):
        if engine_of_cell(cell).looks_up(statement.plan) is False:
            yield cell, statement, search


def prefix_searches(cells: Iterable[Cell]) -> Iterable[tuple[Cell, CellStatement, PrefixSearch]]:
    """Yield the statements that search for a prefix of a string."""
    for cell in cells:
        for statement in cell.statements:
            search = prefix_search(statement.sql, statement.values, engine_name(cell))
            if search is not None:
                yield cell, statement, search


def shown(statement: CellStatement) -> str:
    """Return a statement with its values filled in, shortened if it is long."""
    text = " ".join(statement.sql.split())
    for value in statement.values:
        text = text.replace("?", "'" + str(value) + "'" if isinstance(value, str) else str(value), 1)
    return shortened(text, _MAX_SQL_LENGTH)
