"""Statements whose plan differs in kind between two cells, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from dbdyno.analysis.answer.short import STATEMENT
from dbdyno.analysis.findings.searches import shown
from dbdyno.analysis.measured.engines import engine_of_cell
from dbdyno.analysis.measured.metrics import done
from dbdyno.analysis.measured.statements import plan_nodes
from dbdyno.engines.plans import COMPARED, kinds
from dbdyno.model.result.cell import Cell, CellStatement, PlanNode
from dbdyno.model.result.reading import objects

# Longer plans are shortened to the steps that differ.
_MAX_PLAN_STEPS = 4


@dataclass(frozen=True)
class PlanChange:
    """A statement whose plan differs in kind. ``was``, ``now``: its steps on both sides, in words."""

    statement: str
    was: str
    now: str

    @property
    def words(self) -> str:
        """The change in one line."""
        return f"{self.statement}: was {self.was}; is {self.now}"


def plan_changes(a: Cell, b: Cell) -> list[PlanChange]:
    """Return the statements whose plan in b differs in kind from every plan of the same statement in a.

    Plans differ in kind if they read other tables, read a table in another way or order, use an index on other columns,
    sort something else, or join by another method. Estimates, literals, aliases, names of indexes, and steps that only
    pass rows on don't count. On a server, neither does whether an index spares reading the table, because that depends
    on how much of the table was vacuumed.
    """
    names = _same_indexes(a, b)
    is_server = engine_of_cell(b).is_server
    found = []
    for was, now in same_statements(a, b):
        before, after = was.plan_nodes, [_renamed(plan_node, names) for plan_node in now.plan_nodes]
        others = plans_of(a, was)[1:]
        change = plan_change(title_of(b, now), before, after, is_server=is_server)
        if change is not None and kinds(after, is_server=is_server) not in [
            kinds(each, is_server=is_server) for each in others
        ]:
            found.append(change)
    return found


def plan_change(
    statement: str, before: Sequence[PlanNode], after: Sequence[PlanNode], *, is_server: bool
) -> PlanChange | None:
    """Return how two plans of a statement differ in kind; None if they don't."""
    old, new = (kinds(each, is_server=is_server) for each in (before, after))
    # A plan without such steps is unknown, or the engine found no rows for the values while planning.
    if not old or not new or old == new:
        return None
    return PlanChange(statement, *_words(before, after, is_server=is_server))


def title_of(cell: Cell, statement: CellStatement) -> str:
    """Return the statement's name in its file or experiment; its SQL if it has no name."""
    named = cell.factors.get(STATEMENT) if len(cell.statements) == 1 else None
    if named is not None:
        return str(named)
    # Statements without a name have the beginning of their SQL as one.
    is_named = not " ".join(statement.sql.split()).startswith(statement.name.removesuffix("…"))
    return statement.name if is_named else shown(statement)


def same_statements(a: Cell, b: Cell) -> Iterator[tuple[CellStatement, CellStatement]]:
    """Pair statements by text, then by name. The others are paired in order if both sides have equally many."""
    of_a = {statement.sql: statement for statement in a.statements}
    of_b = {statement.sql: statement for statement in b.statements}
    yield from ((of_a[sql], now) for sql, now in of_b.items() if sql in of_a)
    gone = {statement.name: statement for sql, statement in of_a.items() if sql not in of_b}
    new = {statement.name: statement for sql, statement in of_b.items() if sql not in of_a}
    yield from ((gone[name], now) for name, now in new.items() if name in gone)
    others = [
        [statement for name, statement in one.items() if name not in other] for one, other in ((gone, new), (new, gone))
    ]
    if len(others[0]) == len(others[1]):
        yield from zip(*others, strict=True)


def plans_of(cell: Cell, statement: CellStatement) -> list[list[PlanNode]]:
    """Return the plans that a statement had in the rounds of a cell, the usual one first."""
    others = [round_.plans[statement.name] for round_ in done(cell) if statement.name in round_.plans]
    return [statement.plan_nodes, *(plan_nodes(cell.system, statement.sql, each) for each in others)]


def plan_words(nodes: Sequence[PlanNode]) -> str:
    """Describe a plan in words, as ``scan of orders, sort``."""
    return ", ".join(_node_words(node, conditions=False) for node in nodes if node.kind in COMPARED)


def _words(before: Sequence[PlanNode], after: Sequence[PlanNode], *, is_server: bool) -> tuple[str, str]:
    """Describe two plans in words that differ; of long plans only the steps that differ."""
    plans = [[node for node in nodes if node.kind in COMPARED] for nodes in (before, after)]
    if max(map(len, plans)) > _MAX_PLAN_STEPS:
        first, second = (kinds(nodes, is_server=is_server) for nodes in plans)
        codes = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        parts = [each for each in codes if each[0] != "equal"]
        plans = [
            [node for _, start, end, _, _ in parts for node in plans[0][start:end]],
            [node for _, _, _, start, end in parts for node in plans[1][start:end]],
        ]
    was, now = (", ".join(_node_words(node, conditions=False) for node in nodes) for nodes in plans)
    if was == now:
        was, now = (", ".join(_node_words(node, conditions=not is_server) for node in nodes) for nodes in plans)
    return was or "without these steps", now or "without these steps"


def _node_words(node: PlanNode, *, conditions: bool) -> str:
    where = f" ({node.condition})" if conditions and node.condition else ""
    match node.kind:
        case "sort":
            words = "sort" if node.condition in (None, "ORDER BY") else f"sort for {node.condition}"
        case "scan" if node.temp:
            words = f"temporary index on {node.table}{where}"
        case "scan" if node.index is None:
            words = f"scan of {node.table}"
        case "scan":
            words = f"scan of index {node.index}" if node.index_only else f"scan of {node.table} by index {node.index}"
        case "search" if node.index in (None, "PRIMARY"):
            words = f"key of {node.table}{where}"
        case "search":
            words = f"{'only ' if node.index_only else ''}index {node.index}{where}"
        case _:
            words = node.kind
    return words


def _renamed(node: PlanNode, names: Mapping[tuple[str, str], str]) -> PlanNode:
    name = names.get(((node.table or "").lower(), node.index or ""))
    return node if name is None else replace(node, index=name)


def _same_indexes(a: Cell, b: Cell) -> dict[tuple[str, str], str]:
    """Return the indexes of b that have another name in a: by table and name, the name in a."""
    before, after = _indexes(a), _indexes(b)
    return {
        (table, name): same
        for (table, name), keys in after.items()
        if keys
        and (table, name) not in before
        and (same := next((old for (of, old), own in before.items() if of == table and own == keys), None))
    }


def _indexes(cell: Cell) -> dict[tuple[str, str], tuple[object, ...]]:
    """Return the keys of each index by table and name; none if they aren't known completely."""
    found: dict[tuple[str, str], tuple[object, ...]] = {}
    for table in objects(cell.system.catalog.get("tables")):
        for index in objects(table.get("indexes")):
            keys = objects(index.get("keys"))
            is_whole = not index.get("partial") and all(key.get("column") for key in keys)
            columns = tuple((key["column"], str(key.get("collation"))) for key in keys) if is_whole else ()
            found[str(table.get("name")).lower(), str(index.get("name"))] = columns
    return found
